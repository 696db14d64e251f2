"""The values that a question's template may name: those known of an item without reading its page."""

from collections.abc import Callable, Mapping
from typing import Any

from holocron_assets.derive.evidence.chunks import Chunk
from holocron_assets.derive.interrogations.derived_tables import Over
from holocron_assets.lake.declaration.schema import Row

SAMPLES: Mapping[Over, Mapping[str, Any]] = {
    "pages": {
        "title": "Grey Harbour",
        "name": "Grey Harbour",
        "source": "sample",
        "continuity": "canon",
        "types": [{"type": "LocationPlace", "weight": 0.6}],
        "primary_type": "LocationPlace",
        "confidence": 0.6,
        "section": "History",
        "chunk": 1,
        "chunks": 2,
    },
    "pairs": {
        "entity_type": "LocationPlace",
        "continuity": "canon",
        "first": {"title": "Grey Harbour", "source": "sample"},
        "second": {"title": "Gray Harbour", "source": "other"},
        "reason": "similar names",
    },
    "entities": {
        "entity_type": "LocationPlace",
        "title": "Grey Harbour",
        "name": "Grey Harbour",
        "source": "sample",
        "continuity": "canon",
    },
}
"""Values of a made-up item, to try templates with. Their names are those that templates may use."""

PAGE_VALUES = ("title", "name", "source", "continuity", "types", "primary_type", "confidence")
"""Columns of a page's row that a template may name."""


def page_variables(row: Row, chunk: Chunk | None, chunks: int) -> dict[str, Any]:
    """The values of a page that a template may name.

    Args:
        row: of the page, as `wanted_rows` gives it.
        chunk: the chunk asked about, if the page is read in chunks.
        chunks: how many the page has.
    """
    place = {"section": chunk.section if chunk else "", "chunk": chunk.number + 1 if chunk else 1}
    return {**{name: row[name] for name in PAGE_VALUES}, **place, "chunks": chunks}


def pair_variables(pair: Row) -> dict[str, Any]:
    """The values of a pair that a template may name: title and source of both entities' pages."""
    entities = {
        side: {"title": pair[f"{side}_title"], "source": pair[f"{side}_source"]}
        for side in ("first", "second")
    }
    return {**{name: pair[name] for name in ("entity_type", "continuity", "reason")}, **entities}


def entity_variables(entity: Row) -> dict[str, Any]:
    """The values of an entity that a template may name; not its id, which may change."""
    return {name: entity[name] for name in ("entity_type", "title", "name", "source", "continuity")}


def redacted(value: Any, redact: Callable[[str], str]) -> Any:
    """A value with every text in it redacted, always in the same order."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {name: redacted(part, redact) for name, part in value.items()}
    if isinstance(value, list):
        return [redacted(part, redact) for part in value]
    return value
