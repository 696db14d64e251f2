"""Counts of a run's changes to a type's entities."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from holocron_assets.entities.history import current_rows
from holocron_assets.lake.declaration.schema import Row


@dataclass(frozen=True)
class EntityChanges:
    """Entities of one type by their change in a run: each counts once in the first five.

    Attributes:
        new: entities that did not stand before.
        changed: a value of theirs changed.
        suppressed: no page supports them any more.
        returned: they were suppressed, and a page supports them again.
        unchanged: nothing changed.
        by_state: entities that now have each state.
    """

    new: int
    changed: int
    suppressed: int
    returned: int
    unchanged: int
    by_state: Mapping[str, int]

    def with_unchanged(self, states: Counter[str]) -> "EntityChanges":
        """The same counts with so many more unchanged entities of each state."""
        by_state = Counter(self.by_state) + states
        return replace(
            self, unchanged=self.unchanged + states.total(), by_state=dict(sorted(by_state.items()))
        )


def entity_changes(before: Sequence[Row], after: Sequence[Row]) -> EntityChanges:
    """Count the changes between two versions (all rows, history included) of a type's file."""
    earlier, later = current_rows(before), current_rows(after)
    kinds = Counter(_kind(earlier.get(identifier), row) for identifier, row in later.items())
    return EntityChanges(
        new=kinds["new"],
        changed=kinds["changed"],
        suppressed=kinds["suppressed"],
        returned=kinds["returned"],
        unchanged=kinds["unchanged"],
        by_state=dict(sorted(Counter(row["state"] for row in later.values()).items())),
    )


def _kind(before: Row | None, after: Row) -> str:
    if before is None:
        return "new"
    if before["valid_from"] == after["valid_from"]:
        return "unchanged"
    was, is_now = before["state"] == "suppressed", after["state"] == "suppressed"
    if was != is_now:
        return "suppressed" if is_now else "returned"
    return "changed"
