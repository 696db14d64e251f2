"""Pooch's contender for files: one after the other, as it does.

Run in benchmarks/: python -m contenders.pooch_files FOLDER IN_FLIGHT FILE_OF_URLS
"""

import sys
from pathlib import Path

import pooch

from contenders.report import Stopwatch


def main() -> None:
    """Fetch the files, and report."""
    folder, _, names = sys.argv[1:]
    urls = Path(names).read_text().split()
    stopwatch = Stopwatch()
    for url in urls:
        pooch.retrieve(url, known_hash=None, path=f"{folder}/files")
    stopwatch.report(Path(folder), pages=len(urls))


if __name__ == "__main__":
    main()
