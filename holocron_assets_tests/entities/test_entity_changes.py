from datetime import UTC, datetime, timedelta
from typing import Any

from holocron_assets.entities.identity.changes import EntityChanges, entity_changes
from holocron_assets.lake.declaration.schema import Row

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)


def entity(identifier: str, **changes: Any) -> Row:
    return {
        "entity_id": identifier,
        "entity_type": "Species",
        "title": identifier,
        "state": "promoted",
        "valid_from": NOON,
        "valid_to": None,
        **changes,
    }


def closed(row: Row) -> Row:
    return {**row, "valid_to": LATER}


def test_each_entity_counts_once_by_what_happened_to_it() -> None:
    gone, kept, edited = entity("gone"), entity("kept"), entity("edited")
    back, asleep = entity("back", state="suppressed"), entity("asleep", state="suppressed")
    after = [
        closed(gone),
        entity("gone", state="suppressed", valid_from=LATER),
        kept,
        closed(edited),
        entity("edited", state="candidate", valid_from=LATER),
        closed(back),
        entity("back", valid_from=LATER),
        asleep,
        entity("fresh", state="staged", valid_from=LATER),
    ]
    assert entity_changes([gone, kept, edited, back, asleep], after) == EntityChanges(
        new=1,
        changed=1,
        suppressed=1,
        returned=1,
        unchanged=2,
        by_state={"candidate": 1, "promoted": 2, "staged": 1, "suppressed": 2},
    )


def test_an_empty_file_has_no_changes() -> None:
    nothing = EntityChanges(new=0, changed=0, suppressed=0, returned=0, unchanged=0, by_state={})
    assert entity_changes([], []) == nothing
