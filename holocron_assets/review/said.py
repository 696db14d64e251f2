"""What people said before about something: decisions with what became of them."""

from collections.abc import Collection
from typing import NamedTuple

from holocron_assets.decisions.log import all_decisions, undone
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.place.paths import Lake


class Said(NamedTuple):
    """A decision.

    Attributes:
        row: of table `decisions`.
        is_undone: whether it was taken back.
    """

    row: Row
    is_undone: bool


def said_of(
    lake: Lake,
    *,
    title_keys: Collection[int] = (),
    entity_ids: Collection[str] = (),
    statement_ids: Collection[str] = (),
) -> list[Said]:
    """Decisions about any of these, the newest first; undoing is told by what it undid."""
    made = all_decisions(lake)
    gone = undone(made)
    return [
        Said(row, row["decision_id"] in gone)
        for row in reversed(made)
        if row["kind"] != "undo"
        and (
            {row["entity_id"], row["other_id"]} & set(entity_ids)
            or row["statement_id"] in statement_ids
            or (row["kind"] in {"classify", "requeue"} and row["title_key"] in title_keys)
        )
    ]


def decision_of(lake: Lake, decision_id: str) -> Said | None:
    """One decision, by its id; None if there is none."""
    made = all_decisions(lake)
    found = next((row for row in made if row["decision_id"] == decision_id), None)
    return Said(found, decision_id in undone(made)) if found else None
