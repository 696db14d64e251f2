"""A lake of articles: of each, what it shares with others, and what is known of its type."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from review_lake import write

from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import Row, Table
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import (
    PAGE_SIGNALS,
    PAGE_TYPES,
    PAGES,
    RULE_CLASSIFICATIONS,
    SITES,
    TYPE_PREDICTIONS,
)


def article_lake(folder: Path, **batches: Iterable[dict[str, Any]]) -> Lake:
    """The lake, with pages in batches.

    Args:
        folder: where it is made.
        batches: pages by their batch, with `_` for `-`: columns of pages, page_signals, rule_classifications
            and page_types, and those of type_predictions in a mapping `learned`, if the model says something.
            By default a page is an article, and its type is open.
    """
    lake = Lake(folder)
    predictions: dict[str, list[Row]] = {}
    for name, pages in batches.items():
        source, batch = name.rpartition("_")[0], name.replace("_", "-")
        rows = [_page(source, batch, page) for page in pages]
        for table in (PAGES, PAGE_SIGNALS, RULE_CLASSIFICATIONS, PAGE_TYPES):
            write(lake, table, batch, [_of(table, row) for row in rows])
        said = predictions.setdefault(source, [])
        said += [_of(TYPE_PREDICTIONS, {**row, **row["learned"]}) for row in rows if "learned" in row]
    for source, said in predictions.items():
        write(lake, SITES, source, [{"source": source, "namespaces": [], "extensions": []}])
        write(lake, TYPE_PREDICTIONS, source, said)
    return lake


def _page(source: str, batch: str, page: dict[str, Any]) -> dict[str, Any]:
    key = title_key(source, page["title"])
    asked = {"requested_title": page["title"], "requested_key": key, "position": key, "status": "ok"}
    unsure = {"primary_type": "Unknown", "method": "rules", "confidence": 0.4, "needs_review": True}
    article = {"source": source, "batch": batch, "title_key": key, "page_id": key, "namespace": 0}
    return {**article, **asked, **unsure, **page}


def _of(table: Table, row: dict[str, Any]) -> Row:
    names = {column.name for column in table.columns}
    return {name: value for name, value in row.items() if name in names}
