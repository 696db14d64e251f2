"""Files that can be made again: a process keeps in the state folder what the next one would compute anew."""

import os
from contextlib import suppress
from pathlib import Path


def keep(file: Path, content: bytes, *, most: int) -> None:
    """Keep a file and the newest others of its folder. Where nothing can be written, nothing is kept.

    Args:
        file: its place; the folder is made if it is missing.
        content: what it holds.
        most: how many files of the folder are kept.
    """
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        aside = file.with_name(f"{file.name}.{os.getpid()}")
        aside.write_bytes(content)
        aside.replace(file)
        for old in sorted(file.parent.iterdir(), key=lambda old: -old.stat().st_mtime)[most:]:
            old.unlink()
