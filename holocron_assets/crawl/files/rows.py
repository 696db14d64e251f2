"""Rows of table `file_list`: what a source states of an artifact."""

import json
from datetime import datetime
from typing import Any

from holocron_assets.crawl.files.artifact import artifact_key
from holocron_assets.crawl.files.lists import Item
from holocron_assets.crawl.mediawiki.files import ReportedFile


def wiki_row(source: str, file: ReportedFile, origin: str, now: datetime) -> dict[str, Any]:
    """The row of a wiki's file. It is one artifact with every other file of the same SHA-1.

    So a file that was moved is not fetched again, and one that was replaced is.

    Args:
        source: name of the source.
        file: what the wiki states.
        origin: what made the source want it.
        now: when it was listed.
    """
    return {
        **_identified(source, file.title, f"sha1:{file.sha1}"),
        "url": file.url,
        "size_bytes": file.size,
        "sha1": file.sha1,
        "mime": file.mime,
        "saved_at": file.timestamp,
        "archive_name": file.archivename,
        "origin": origin,
        "listed_at": now,
    }


def list_row(source: str, item: Item, origin: str, now: datetime) -> dict[str, Any]:
    """The row of an item of a list.

    Args:
        source: name of the source.
        item: what the list names.
        origin: the list.
        now: when it was listed.
    """
    fields = item.stated.get("fields")
    return {
        **_identified(source, item.name, item.artifact_id),
        **item.stated,
        "fields": json.dumps(fields, sort_keys=True, ensure_ascii=False) if fields else None,
        "origin": origin,
        "listed_at": now,
    }


def _identified(source: str, name: str, artifact_id: str) -> dict[str, Any]:
    return {
        "source": source,
        "name": name,
        "artifact_id": artifact_id,
        "artifact_key": artifact_key(artifact_id),
    }
