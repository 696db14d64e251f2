"""Which entities a type gives up, because their pages have another type now.

The type that takes a page must not find that another type still holds it, whatever the order of types. So
each type first says which entities it gives up, and the files of the entities follow.
"""

from collections.abc import Sequence

from holocron_assets.entities.people import People
from holocron_assets.entities.promotion import by_person
from holocron_assets.entities.reviews import has_left, is_disputed
from holocron_assets.entities.snapshot import Snapshot
from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.declaration.versions import code_version
from holocron_assets.lake.files.parquet import Footer, read_footer, write_partition
from holocron_assets.lake.tables import ENTITIES, ENTITY_DEPARTURES

DEPARTURES_VERSION = code_version(__name__)

_OUT = "suppressed"
_COLUMNS = ("entity_id", "entity_type", "source", "title", "title_key", "page_id", "valid_from")


def stale_departures(snapshot: Snapshot, entity_types: Sequence[str]) -> list[str]:
    """Types that may give up other entities today than their table says."""
    inputs = _inputs(snapshot)
    return [name for name in entity_types if _is_stale(snapshot, name, inputs)]


def store_departures(snapshot: Snapshot, entity_type: str, run_id: str) -> tuple[Footer, list[Row]]:
    """Write table `entity_departures` for one type.

    Args:
        snapshot: of the lake where entities and pages are.
        entity_type: the type that gives entities up; it names the partition.
        run_id: the run that makes the rows.

    Returns:
        The new file's footer, and its rows. Entities that a person keeps, or whose type is in dispute, have
        no row.
    """
    pages = {
        identifier: now.page
        for (held_as, identifier), now in snapshot.pages_now.items()
        if held_as == entity_type and now.page and now.page["entity_type"] != entity_type
    }
    rows: list[Row] = []
    for row in snapshot.standing_rows(entity_type, pages.keys()) if pages else ():
        page = pages[row["entity_id"]]
        if _is_given_up(row, page, snapshot.people):
            own = {name: row[name] for name in _COLUMNS}
            rows.append({**own, "to_type": page["entity_type"], "run_id": run_id})
    footer = write_partition(
        snapshot.lake,
        ENTITY_DEPARTURES,
        entity_type,
        rows,
        code_version=DEPARTURES_VERSION,
        inputs=_inputs(snapshot),
    )
    snapshot.put_departures()
    return footer, rows


def _is_given_up(row: Row, page: Row, people: People) -> bool:
    """Whether an entity that stands in its type will leave it, by the rule of `entities`."""
    if row["state"] == _OUT:
        return False
    if row["state"] == "merged":  # it holds no page, but it may be merged within its type only
        return has_left(row, page, people.keeps)
    decision = people.states.get(row["entity_id"])
    if decision:
        return by_person(decision).state == _OUT or has_left(row, page, people.keeps)
    return not is_disputed(row, page, people.keeps)


def _is_stale(snapshot: Snapshot, entity_type: str, inputs: dict[str, str]) -> bool:
    footer = read_footer(snapshot.lake, ENTITY_DEPARTURES, entity_type)
    if footer is None:
        return entity_type in snapshot.candidate_marks or snapshot.lake.has(ENTITIES, entity_type)
    return not footer.is_of(DEPARTURES_VERSION, inputs)


def _inputs(snapshot: Snapshot) -> dict[str, str]:
    """Fingerprints of the present types of all pages, and of people's decisions."""
    return {
        "candidates": content_hash(repr(sorted(snapshot.candidate_marks.items()))),
        "people": snapshot.people_mark,
    }
