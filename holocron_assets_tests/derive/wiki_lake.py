"""A lake that holds a batch of a few pages, up to their types, and pairs of entities."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from holocron_assets.classify.merge import page_type_row
from holocron_assets.classify.rules import classify_page
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.files.parquet import write_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import (
    ENTITIES,
    ENTITY_PAIRS,
    PAGE_SIGNALS,
    PAGE_TYPES,
    PAGES,
    RULE_CLASSIFICATIONS,
    SITES,
)
from holocron_assets.lake.titles import DEFAULT_SITE
from holocron_assets.signals.extract import signal_row

SOURCE = "wiki"
BATCH = f"{SOURCE}-000001"
_NOW = datetime(2026, 5, 4, tzinfo=UTC)


def write_wiki(lake: Lake, texts: Mapping[str, str], batch: str = BATCH) -> None:
    """Write pages by title, their signals and types."""
    source = batch.rpartition("-")[0]
    site = {"source": source, "site_name": source, "title_case": "first-letter", "fetched_at": _NOW}
    write_partition(lake, SITES, source, [{**site, "namespaces": [], "interwiki_prefixes": []}])
    pages = [_page(batch, number, title, text) for number, (title, text) in enumerate(texts.items())]
    signals = [signal_row(page, DEFAULT_SITE) for page in pages]
    rules = [classify_page(row) for row in signals]
    types = [page_type_row(row, by_rules, "no run") for row, by_rules in zip(signals, rules, strict=True)]
    for table, rows in (
        (PAGES, pages),
        (PAGE_SIGNALS, signals),
        (RULE_CLASSIFICATIONS, rules),
        (PAGE_TYPES, types),
    ):
        write_partition(lake, table, batch, rows)


def write_pair(lake: Lake, first: str, second: str, entity_type: str, batches: tuple[str, str]) -> str:
    """Write one pair of entities by their pages' titles; give its id."""
    sides = {"first": (first, batches[0]), "second": (second, batches[1])}
    row: dict[str, Any] = {"entity_type": entity_type, "continuity": "canon", "reason": "similar names"}
    for side, (title, batch) in sides.items():
        source = batch.rpartition("-")[0]
        row |= {f"{side}_id": f"id-of-{title}", f"{side}_source": source}
        row |= {f"{side}_title": title, f"{side}_batch": batch, f"{side}_origin": "page"}
    pair_id = f"{row['first_id']}+{row['second_id']}"
    judged = {"pair_id": pair_id, "score": 0.9, "method": "fuzzy", "verdict": "unsure"}
    write_partition(lake, ENTITY_PAIRS, entity_type, [{**row, **judged}])
    return pair_id


def a_wiki(folder: Path, texts: Mapping[str, str]) -> Lake:
    """A lake of one batch."""
    lake = Lake(folder)
    write_wiki(lake, texts)
    return lake


def _page(batch: str, position: int, title: str, text: str) -> dict[str, Any]:
    source = batch.rpartition("-")[0]
    key = title_key(source, title)
    redirect = text.partition("[[")[2].partition("]]")[0] if text.startswith("#REDIRECT") else None
    return {
        "source": source,
        "batch": batch,
        "position": position,
        "requested_title": title,
        "requested_key": key,
        "title": title,
        "title_key": key,
        "namespace": 0,
        "page_id": position + 1,
        "revision_id": position + 100,
        "content_model": "wikitext",
        "wikitext": text,
        "categories": None,
        "links": None,
        "redirect_target": redirect,
        "status": "ok",
        "attempts": 1,
        "fetched_at": _NOW,
        "depth": 0,
        "run_id": "no run",
    }


def write_entities(lake: Lake, entity_type: str, titles: Mapping[str, str], batch: str = BATCH) -> None:
    """Write the entities of a type: titles by id, with '>ID' after what is merged into another."""
    source = batch.rpartition("-")[0]
    rows = []
    for position, (entity_id, target) in enumerate(titles.items()):
        title, _, merged_into = target.partition(">")
        rows.append(
            {
                "entity_id": entity_id,
                "entity_type": entity_type,
                "source": source,
                "name": title,
                "continuity": "canon",
                "title": title,
                "title_key": title_key(source, title),
                "page_id": position + 1,
                "revision_id": position + 100,
                "batch": batch,
                "confidence": 0.9,
                "method": "rules",
                "rule_ids": [],
                "origin": "page",
                "state": "merged" if merged_into else "promoted",
                "state_by": "policy:test",
                "state_reason": "it is sure",
                "merged_into": merged_into or None,
                "state_at": _NOW,
                "valid_from": _NOW,
                "run_id": "no run",
            }
        )
    write_partition(lake, ENTITIES, entity_type, rows)
