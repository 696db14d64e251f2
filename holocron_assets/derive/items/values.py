"""The values of an item that queries may name, by what an interrogation asks about."""

from collections.abc import Mapping
from typing import Any

from holocron_assets.derive.evidence.page_parts import SQL_VALUES, PageParts, query_values
from holocron_assets.derive.interrogations.derived_tables import Over
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.lake.declaration.schema import Row

_SIDES = ("first", "second")
_OF_ROW: Mapping[Over, tuple[str, ...]] = {
    "pages": SQL_VALUES,
    "pairs": (
        *("pair_id", "entity_type", "continuity"),
        *(f"{side}_{name}" for side in _SIDES for name in ("id", "source", "batch", "title")),
    ),
    "entities": ("entity_id", "entity_type", "name", "continuity", *SQL_VALUES),
}
"""Columns of an item's row that queries may name."""


def row_names(over: Over) -> tuple[str, ...]:
    """The columns of an item's row that queries may name."""
    return _OF_ROW[over]


def query_names(interrogation: Interrogation) -> tuple[str, ...]:
    """The names that an interrogation's queries may use: values of its item's row, and of a pair's pages."""
    of_row = _OF_ROW[interrogation.over]
    if interrogation.over != "pairs" or not interrogation.reads_pages:
        return of_row
    return tuple(dict.fromkeys((*of_row, *(f"{side}_{name}" for side in _SIDES for name in SQL_VALUES))))


def query_values_of(over: Over, row: Row, pages: Mapping[str, PageParts]) -> dict[str, Any]:
    """The values of an item that queries may name.

    Args:
        over: the kind of the item.
        row: of the table that it was chosen from.
        pages: those of its pages that were read, by role.
    """
    return {**{name: row[name] for name in _OF_ROW[over]}, **query_values(pages)}
