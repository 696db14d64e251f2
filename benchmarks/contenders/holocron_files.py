"""Holocron's contender for files: the reader of a batch, whose objects and request log are synced.

Run in benchmarks/: python -m contenders.holocron_files FOLDER IN_FLIGHT FILE_OF_URLS
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from contenders.report import Stopwatch
from holocron_assets.crawl.files.artifact import artifact_key, url_id
from holocron_assets.crawl.files.reader import file_reader
from holocron_assets.crawl.sources.file_source import FileListing, FileSource
from holocron_assets.crawl.sources.settings import Politeness
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import FILE_BATCHES

_BATCH = "bench-000001"
# The rate is no limit here: what is measured is the work, not the politeness.
_AS_FAST_AS_IT_GOES = {"requests_per_second": 1e6, "burst": 1_000_000}


def main() -> None:
    """Read the files, and report."""
    folder, in_flight, names = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    source = fast_source(in_flight)
    rows = [manifest(_BATCH, number, url) for number, url in enumerate(Path(names).read_text().split())]
    stopwatch = Stopwatch()
    with (
        file_reader(Lake(folder / "data"), source, _BATCH, folder / "hosts") as reader,
        ThreadPoolExecutor(in_flight) as pool,
    ):
        read = list(pool.map(lambda row: reader.read([row], "bench")[0], rows))
    done = [row for row in read if row["status"] == "ok"]
    stopwatch.report(folder, pages=len(done))


def fast_source(in_flight: int) -> FileSource:
    """A source of files on loopback that is asked as fast as it goes."""
    polite = Politeness(contact="bench@example.org", requests_in_flight=in_flight)
    return FileSource(
        kind="http_files",
        name="bench",
        enabled=True,
        lists=(FileListing(file="list.csv"),),
        max_bytes=2**40,
        private_hosts=("127.0.0.1",),
        politeness=polite.model_copy(update=_AS_FAST_AS_IT_GOES),
    )


def manifest(batch: str, number: int, url: str) -> Row:
    """The row of a file in the manifest of its batch."""
    empty = dict.fromkeys(column.name for column in FILE_BATCHES.columns)
    known = {"source": "bench", "batch": batch, "position": number, "name": url, "url": url, "failures": 0}
    ids = {"artifact_id": url_id(url), "artifact_key": artifact_key(url_id(url))}
    return {**empty, **known, **ids, "reason": "new", "cut_at": datetime.now(UTC)}


if __name__ == "__main__":
    main()
