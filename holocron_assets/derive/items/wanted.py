"""Which pages of a batch, or which entities or pairs of entities of a type, an interrogation wants."""

from collections.abc import Container, Mapping, Sequence
from typing import Any

from holocron_assets.derive.interrogations.conditions import TYPE_TABLES, rows_that_fit
from holocron_assets.derive.interrogations.derived_tables import ROW_TABLES, Over
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.interrogations.questions import PAGE_VALUES
from holocron_assets.derive.interrogations.settings import Wants
from holocron_assets.derive.items.values import row_names
from holocron_assets.lake.files.parquet import read_table
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import ENTITIES, ENTITY_PAIRS, PAGE_SIGNALS, PAGES

_COLUMNS: Mapping[Over, Sequence[str]] = {
    "pages": tuple(dict.fromkeys((*row_names("pages"), *PAGE_VALUES))),
    "pairs": ENTITY_PAIRS.arrow_schema.names,
    "entities": ENTITIES.arrow_schema.names,
}
"""The columns that items are made from."""

Superseded = Container[tuple[str, int]]
"""Pages that a newer batch holds in a newer state: their batch, and their position in it."""


def wanted_rows(
    lake: Lake,
    interrogation: Interrogation,
    partition: str,
    *,
    superseded: Superseded = (),
    columns: Sequence[str] | None = None,
) -> list[dict[str, Any]]:
    """The pages of a batch, or the entities or pairs of a type, that an interrogation wants, in their order.

    It is cheap, since it reads no page's text.

    Args:
        lake: where they are.
        interrogation: what is asked.
        partition: a batch; for entities and pairs, an entity type.
        superseded: pages to leave out.
        columns: those to give, of a page `title_key` among them; by default all that items are made from.

    Returns:
        Each page's row of page_signals, joined with its type's and with its `position` in the batch; each
        pair's row of entity_pairs; each entity's row of entities.

    Raises:
        MissingPartitionError: a partition that they are chosen from does not exist yet.
        ConditionError: the interrogation's condition failed on a row.
    """
    conditions, values = conditions_of(interrogation)
    over = interrogation.over
    given = columns or _COLUMNS[over]
    if over != "pages":
        rows = read_table(lake, ROW_TABLES[over], partition)
        return rows_that_fit(over, [rows], conditions, values, lake, columns=given)
    tables = (PAGE_SIGNALS, TYPE_TABLES[interrogation.wants.of])
    signals, types = (read_table(lake, table, partition) for table in tables)
    rows = rows_that_fit("pages", [signals, types], conditions, values, lake, columns=given)
    positions = _positions(lake, partition)
    placed = [{**row, "position": positions[row["title_key"]]} for row in rows]
    current = [row for row in placed if (partition, row["position"]) not in superseded]
    return sorted(current, key=lambda row: row["position"])


def conditions_of(interrogation: Interrogation) -> tuple[list[str], dict[str, Any]]:
    """SQL conditions for the rows that an interrogation wants, and the values that the conditions name."""
    wants = interrogation.wants
    match interrogation.over:
        case "pages":
            conditions = _page_conditions(wants)
        case "pairs":
            conditions = _pair_conditions(wants)
        case "entities":
            conditions = _entity_conditions(wants, shows_pages=interrogation.shows_pages)
    return [*conditions, *([wants.sql] if wants.sql else [])], _values(wants)


def _positions(lake: Lake, batch: str) -> dict[int, int]:
    """The position in the batch of each page with a text. Two requested titles may be one page."""
    rows = read_table(lake, PAGES, batch, ["title_key", "position", "status"]).to_pylist()
    return {row["title_key"]: row["position"] for row in reversed(rows) if row["status"] == "ok"}


def _page_conditions(wants: Wants) -> list[str]:
    conditions = ["wikitext_length > 0"]
    if not wants.redirects:
        conditions.append("not is_redirect")
    if wants.types is not None:
        conditions.append("list_contains($types, primary_type)")
    return [*conditions, *_shared_conditions(wants)]


def _entity_conditions(wants: Wants, *, shows_pages: bool) -> list[str]:
    """Conditions for entities that stand now, and that have a page if one is shown."""
    conditions = ["valid_to is null", "state not in ('merged', 'suppressed')"]
    if shows_pages:
        conditions.append("origin = 'page'")
    if wants.types is not None:
        conditions.append("list_contains($types, entity_type)")
    return [*conditions, *_shared_conditions(wants)]


def _shared_conditions(wants: Wants) -> list[str]:
    """Conditions that pages and entities have in common."""
    conditions = []
    if wants.confidence_below is not None:
        conditions.append("confidence < $confidence_below")
    if wants.confidence_from is not None:
        conditions.append("confidence >= $confidence_from")
    if wants.sources is not None:
        conditions.append("list_contains($sources, source)")
    return conditions


def _pair_conditions(wants: Wants) -> list[str]:
    conditions = []
    if wants.types is not None:
        conditions.append("list_contains($types, entity_type)")
    if wants.sources is not None:
        conditions.append("(list_contains($sources, first_source) or list_contains($sources, second_source))")
    return conditions


def _values(wants: Wants) -> dict[str, Any]:
    """The values that the conditions name."""
    values = wants.model_dump(include={"types", "sources", "confidence_below", "confidence_from"})
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in values.items()
        if value is not None
    }
