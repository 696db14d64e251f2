"""Artifacts that people add: a source of files with one list, which this machine keeps."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from holocron_assets.crawl.sources.file_source import FileSource
from holocron_assets.crawl.sources.files import load_file_source, refuse_taken
from holocron_assets.crawl.sources.lists import Item, ListError, item_of, read_list_file
from holocron_assets.lake.files.durable import make_folder, replacing
from holocron_assets.lake.place.paths import Lake

ADDED = "added"
"""The usual name of the source of what people add."""

_FOLDER = "lists"
_SOURCE = """\
# Files that people add with `holocron files add`. Each line of the list names one.
name: {name}
enabled: true
kind: http_files
lists:
  - file: {folder}/{name}.jsonl

# Limits for each host. The contact is sent with every request.
politeness:
  contact: {contact}
  requests_per_second: 1
"""


def make_added_source(folder: Path, name: str, contact: str) -> Path:
    """Make the source file of files that people add, with an empty list.

    Args:
        folder: the sources folder.
        name: the source's name.
        contact: e-mail or web address that is sent with every request.

    Returns:
        The new file.

    Raises:
        SourceError: name or contact is not valid; nothing is left behind.
    """
    path, listed = refuse_taken(folder, name), folder / _FOLDER / f"{name}.jsonl"
    with replacing(path) as aside:
        aside.write_text(
            _SOURCE.format(name=name, folder=_FOLDER, contact=json.dumps(contact)), encoding="utf-8"
        )
    try:
        load_file_source(path)
    except Exception:
        path.unlink()
        raise
    make_folder(listed.parent)
    listed.touch()
    return path


def add_to_list(lake: Lake, source: FileSource, records: Iterable[dict[str, Any]]) -> tuple[int, int]:
    """Append artifacts to the list of a source, each once.

    Args:
        lake: its lock lets one process append at a time.
        source: a source whose first list is a file of JSON lines.
        records: the artifacts, as lines of the list.

    Returns:
        How many were added, and how many the list named already.

    Raises:
        ListError: the source has no such list.
        ArtifactError: a record names no artifact; nothing is added.
    """
    named = [(item_of(record).artifact_id, record) for record in records]
    path = _list_of(source)
    with lake.lock(f"list-{source.name}"):
        known = {found.artifact_id for found in read_list_file(path) if isinstance(found, Item)}
        new = {artifact_id: record for artifact_id, record in named if artifact_id not in known}
        if new:
            lines = "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in new.values())
            before = path.read_text(encoding="utf-8")
            with replacing(path) as aside:
                between = "\n" if before and not before.endswith("\n") else ""
                aside.write_text(f"{before}{between}{lines}", encoding="utf-8")
    return len(new), len(named) - len(new)


def _list_of(source: FileSource) -> Path:
    paths = [Path(listing.file) for listing in source.lists if listing.file]
    if not paths or paths[0].suffix.lower() == ".csv":
        raise ListError(
            f"source {source.name!r} has no list of JSON lines on this machine: name another with --source"
        )
    return paths[0]
