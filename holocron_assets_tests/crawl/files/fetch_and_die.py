"""Fetch a file in a process that may be killed, or measured: prints what became of it, and its memory.

Run: fetch_and_die.py FOLDER URL MAX_BYTES
"""

import resource
import sys
from pathlib import Path

from fetching_rig import rigged


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(folder: str, url: str, max_bytes: str) -> None:
    with rigged(Path(folder)) as rig:
        before = peak_mib()
        made = rig.fetch(url, max_bytes=int(max_bytes))
        print(made.verdict.reason, made.sha256, peak_mib() - before)  # noqa: T201 - the test reads it


if __name__ == "__main__":
    main(*sys.argv[1:])
