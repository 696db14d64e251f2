"""Sources of files for tests, and rows of their tables."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from holocron_assets.crawl.files.artifact import artifact_key
from holocron_assets.crawl.sources.file_source import FileSource
from holocron_assets.lake.files.parquet import read_partition, write_partition
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import FILE_BATCHES, FILE_LIST, FILES

QUICK = {"contact": "tests@example.org", "requests_per_second": 100.0, "requests_in_flight": 4}


def list_source(*files: str, name: str = "files", **changes: Any) -> FileSource:
    """A source of lists on this machine."""
    lists = [{"file": file} for file in files or ("list.jsonl",)]
    settings = {"kind": "http_files", "enabled": True, "lists": lists, "politeness": QUICK, **changes}
    return FileSource.model_validate({"name": name, **settings})


def wiki_files(
    api_url: str = "http://wiki.example/api.php", name: str = "pictures", **changes: Any
) -> FileSource:
    """A source of a wiki's files."""
    settings = {"kind": "mediawiki_files", "enabled": True, "address": api_url, "wanted": "all", **changes}
    return FileSource.model_validate({"name": name, "politeness": QUICK, **settings})


def put_list(lake: Lake, *names: str, source: str = "files", **columns: Sequence[Any]) -> None:
    """List artifacts: each name is an address, unless `artifact_id` is given."""
    rows = [
        {
            "source": source,
            "name": name,
            "artifact_id": f"url:{name}",
            "position": position,
            "url": name,
            "pages_of": [],
            "origin": "list.jsonl",
            "listed_at": utc_now(),
            **{column: values[position] for column, values in columns.items()},
        }
        for position, name in enumerate(names)
    ]
    keyed = [{**row, "artifact_key": artifact_key(row["artifact_id"])} for row in rows]
    write_partition(lake, FILE_LIST, source, keyed)


def put_outcomes(lake: Lake, batch: str, status: str = "ok", *, at: datetime, **columns: Any) -> None:
    """Give each artifact of a batch's manifest an outcome."""
    copied = ("source", "batch", "position", "name", "artifact_id", "artifact_key", "version")
    rows = [
        {
            **{name: wanted[name] for name in copied},
            "status": status,
            "reason": "http-200" if status == "ok" else "http-500",
            "sha256": "0" * 64 if status == "ok" else None,
            "attempts": wanted["failures"] + 1,
            "fetched_at": at,
            "candidates": [],
            "run_id": "run",
            **columns,
        }
        for wanted in read_partition(lake, FILE_BATCHES, batch)
    ]
    write_partition(lake, FILES, batch, rows)
