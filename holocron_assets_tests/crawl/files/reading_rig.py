"""What reads artifacts in tests: sources of files, rows of their manifests, and the reader over loopback."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from holocron_assets.crawl.files.artifact import artifact_key
from holocron_assets.crawl.files.reader import FileReader, file_reader
from holocron_assets.crawl.sources.file_source import FileListing, FileSource
from holocron_assets.crawl.sources.settings import Politeness
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import HTTP_ATTEMPTS
from holocron_assets.lake.tables.files import FILE_BATCHES, FILES

BATCH = "files-000001"
POLITE = Politeness(
    contact="tests@example.org",
    requests_per_second=100.0,
    burst=100,
    requests_in_flight=4,
    timeout_seconds=5.0,
)


def a_list(**settings: Any) -> FileSource:
    """A source of listed files on loopback."""
    return FileSource(
        **{
            "kind": "http_files",
            "name": "files",
            "enabled": True,
            "lists": (FileListing(file="list.csv"),),
            "private_hosts": ("127.0.0.1",),
            "politeness": POLITE,
            **settings,
        }
    )


def a_wiki(api_url: str, **settings: Any) -> FileSource:
    """A source of the files of a wiki on loopback."""
    known = {"address": api_url, "wanted": "all", "lists": (), "kind": "mediawiki_files"}
    return a_list(**{**known, **settings})


def wanted(name: str, url: str | None = None, **known: Any) -> Row:
    """A row of table `file_batches`."""
    artifact_id = known.pop("artifact_id", f"url:{url or 'http://nowhere.example/' + name}")
    row = dict.fromkeys(column.name for column in FILE_BATCHES.columns) | {
        "source": "files",
        "batch": BATCH,
        "position": 0,
        "name": name,
        "artifact_id": artifact_id,
        "artifact_key": artifact_key(artifact_id),
        "url": url,
        "failures": 0,
        "reason": "new",
        "cut_at": datetime(2026, 1, 1, tzinfo=UTC),
        **known,
    }
    FILE_BATCHES.to_arrow([row], BATCH)
    return row


@contextmanager
def reading(folder: Path, source: FileSource) -> Iterator[FileReader]:
    """The reader of a batch of a source."""
    with file_reader(Lake(folder / "data"), source, BATCH, folder / "hosts") as reader:
        yield reader


def read_one(folder: Path, source: FileSource, row: Row) -> Row:
    """The row that comes of one artifact; but for a traceback, it fits its table."""
    with reading(folder, source) as reader:
        (found,) = reader.read([row], "a-run")
    FILES.to_arrow([{name: value for name, value in found.items() if name != "traceback"}], BATCH)
    return found


def attempts(folder: Path) -> list[Row]:
    """The stored requests for files, in order; without those for robots.txt."""
    rows = read_partition(Lake(folder / "data"), HTTP_ATTEMPTS, BATCH)
    return [row for row in sorted(rows, key=lambda row: row["started_at"]) if row["resolver"]]


def imageinfo(title: str, **info: Any) -> bytes:
    """What a wiki's API says of a file."""
    pages = [{"title": title, "ns": 6, "imageinfo": [info]}] if info else [{"title": title, "missing": True}]
    return json.dumps({"batchcomplete": True, "query": {"pages": pages}}).encode()
