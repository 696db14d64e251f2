"""A stamp of Holocron's code: two processes with one stamp run the same code.

It reads names, sizes and times of the files, never their contents.
"""

import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from time import time

from holocron_assets.lake.declaration.keys import content_hash

_CODE = Path(__file__).parents[2]
_STARTED = time()


@cache
def code_stamp() -> str | None:
    """A hash of names, sizes and times of Holocron's files, with Python's version.

    None if a file is newer than this process, which may have loaded what was there before.
    """
    stats = {entry.path: entry.stat() for entry in files_below(_CODE)}
    if max(stat.st_mtime for stat in stats.values()) > _STARTED:
        return None
    lines = [f"{path} {stat.st_mtime_ns} {stat.st_size}" for path, stat in sorted(stats.items())]
    return content_hash("\n".join([*lines, sys.version]))


def files_below(folder: Path | str) -> Iterator[os.DirEntry[str]]:
    """The files of a folder and those below it, without what Python compiled.

    Raises:
        OSError: the folder cannot be read.
    """
    for entry in os.scandir(folder):
        if not entry.is_dir():
            yield entry
        elif entry.name != "__pycache__":
            yield from files_below(entry.path)
