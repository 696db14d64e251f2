"""Reads and writes the knowledge base's tables, one entity type at a time."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from holocron_assets.entities.history import current_rows, resolve_entities
from holocron_assets.entities.identity.changes import EntityChanges, entity_changes
from holocron_assets.entities.identity.clusters import Merge, merges
from holocron_assets.entities.names.aliases import alias_rows
from holocron_assets.entities.names.first_titles import NO_FIRST_TITLES
from holocron_assets.entities.promotion import DEFAULT_POLICY_FILE, DEFAULT_WORTH_FILE, load_policy
from holocron_assets.entities.reviews import IN_DISPUTE
from holocron_assets.entities.snapshot import Snapshot
from holocron_assets.entities.type_now import type_now
from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.declaration.versions import code_version
from holocron_assets.lake.files.parquet import (
    Footer,
    read_footer,
    read_partition,
    write_partition,
    write_table,
)
from holocron_assets.lake.tables import (
    ENTITIES,
    ENTITY_ALIASES,
    ENTITY_FACTS,
    ENTITY_JUDGEMENTS,
    ENTITY_RELATIONS,
)

ENTITIES_VERSION = code_version(__name__)
ALIASES_VERSION = ENTITIES_VERSION

_NAMED_BY = (
    *("entity_id", "entity_type", "source", "name", "title", "title_key", "revision_id", "state"),
    *("merged_into", "valid_to"),
)
_FOLLOWING = (ENTITY_ALIASES, ENTITY_FACTS, ENTITY_RELATIONS)


def stale_entities(snapshot: Snapshot, entity_types: Sequence[str]) -> list[str]:
    """Types whose entities are stale: their candidates would give others today."""
    return [name for name in entity_types if _entities_are_stale(snapshot, name)]


def stale_aliases(snapshot: Snapshot, entity_types: Sequence[str]) -> list[str]:
    """Types whose aliases are stale: their standing entities, and the redirects, would give others today."""
    return [name for name in entity_types if _aliases_are_stale(snapshot, name)]


def store_entities(
    snapshot: Snapshot, entity_type: str, *, entity_types: AbstractSet[str], now: datetime, run_id: str
) -> tuple[Footer, pa.Table, EntityChanges]:
    """Resolve one type's candidates against its standing entities, and write table `entities`.

    Args:
        snapshot: of the lake where candidates are and entities go.
        entity_type: the type; it names the partition.
        entity_types: all entity-worthy types, to validate the promotion policy by.
        now: the moment from which new rows are valid.
        run_id: the run that makes them.

    Returns:
        The new file's footer, all its rows, and what changed.

    Raises:
        DataFileError: the promotion policy is not valid.
    """
    policy = load_policy(DEFAULT_POLICY_FILE, entity_types)
    of_type, merged = type_now(snapshot, entity_type), _merged(snapshot, entity_type)
    busy = {*merged, *snapshot.people.states, *snapshot.people.paired}
    busy |= {identifier for name, identifier in snapshot.pages_now if name == entity_type}
    candidates, current, left = of_type.changed(busy, policy)
    rows = resolve_entities(
        entity_type,
        candidates,
        current,
        policy=policy,
        now=now,
        run_id=run_id,
        elsewhere=snapshot.elsewhere(entity_type) if candidates or current else (),
        pages=snapshot.pages_now,
        merged=merged,
        people=snapshot.people,
        taken=of_type.taken,
        first_titles=snapshot.first_titles if candidates else NO_FIRST_TITLES,
    )
    candidates.clear()  # those of 200,000 entities take 200 MB, and what is written takes as much
    now_held = current_rows(rows)
    disputed = [row for row in now_held.values() if IN_DISPUTE in (row["review_reason"] or "")]
    leaving = [name for name, row in now_held.items() if snapshot.gives_up(row)]
    inputs = _entity_inputs(snapshot, entity_type, disputed, leaving)
    table = pa.concat_tables([left, ENTITIES.to_arrow(rows, entity_type)]).sort_by(
        [("entity_id", "ascending"), ("valid_from", "ascending")]
    )
    footer = write_table(
        snapshot.lake, ENTITIES, entity_type, table, code_version=ENTITIES_VERSION, inputs=inputs
    )
    snapshot.put_entities(entity_type, rows)
    return footer, table, entity_changes(current, rows).with_unchanged(_states(left))


def store_aliases(snapshot: Snapshot, entity_type: str) -> tuple[Footer, list[Row]]:
    """Write table `entity_aliases` for one type.

    Args:
        snapshot: of the lake where entities and redirects are and aliases go.
        entity_type: the type; it names the partition.

    Raises:
        MissingPartitionError: the type's entities were not resolved yet.
    """
    lake = snapshot.lake
    entities = read_footer(lake, ENTITIES, entity_type)
    standing = read_partition(lake, ENTITIES, entity_type, _NAMED_BY)
    now = snapshot.titles_now(entity_type)
    named = [
        {**row, "title_key": now.get(row["entity_id"], row["title_key"])}
        for row in current_rows(standing).values()
    ]
    rows = alias_rows(named, snapshot.redirects, snapshot.stated_names)
    footer = write_partition(
        lake,
        ENTITY_ALIASES,
        entity_type,
        rows,
        code_version=ALIASES_VERSION,
        inputs=_alias_inputs(snapshot, entity_type, entities) if entities else {},
    )
    return footer, rows


def _states(rows: pa.Table) -> Counter[str]:
    """How many entities have each state."""
    return Counter(rows.filter(pc.is_null(rows.column("valid_to"))).column("state").to_pylist())


def _merged(snapshot: Snapshot, entity_type: str) -> Mapping[str, Merge]:
    """For each merged entity of the type, the entity that it was merged into."""
    if not snapshot.lake.has(ENTITY_JUDGEMENTS, entity_type):
        return {}
    rows = read_partition(snapshot.lake, ENTITY_JUDGEMENTS, entity_type)
    ids = {row[side] for row in rows for side in ("first_id", "second_id")}
    return merges(rows, type_now(snapshot, entity_type).members(ids), snapshot.people.held)


def _entities_are_stale(snapshot: Snapshot, entity_type: str) -> bool:
    footer = read_footer(snapshot.lake, ENTITIES, entity_type)
    if footer is None:
        # If a damaged file was set aside, what followed from it must not stay, also if no page has the type.
        is_left = any(snapshot.lake.has(table, entity_type) for table in _FOLLOWING)
        return is_left or entity_type in snapshot.candidate_marks
    disputed, leaving = snapshot.in_dispute.get(entity_type, ()), snapshot.leaving.get(entity_type, ())
    is_new = footer.is_of(ENTITIES_VERSION, _entity_inputs(snapshot, entity_type, disputed, leaving))
    return not is_new or entity_type in snapshot.unheld


def _aliases_are_stale(snapshot: Snapshot, entity_type: str) -> bool:
    entities = read_footer(snapshot.lake, ENTITIES, entity_type)
    if entities is None:
        return False
    footer = read_footer(snapshot.lake, ENTITY_ALIASES, entity_type)
    inputs = _alias_inputs(snapshot, entity_type, entities)
    return footer is None or not footer.is_of(ALIASES_VERSION, inputs)


def _entity_inputs(
    snapshot: Snapshot, entity_type: str, disputed: Iterable[Row], leaving: Iterable[str]
) -> dict[str, str]:
    """Fingerprints of the data that a type's entities are made from.

    Args:
        snapshot: of the lake.
        entity_type: the type.
        disputed: its entities whose type is in dispute.
        leaving: ids of those that it gives up and still holds. If their page was about no entity before, no
            candidate of this type is gone with it.
    """
    files = (DEFAULT_POLICY_FILE, DEFAULT_WORTH_FILE)
    policy = content_hash("".join(file.read_text(encoding="utf-8") for file in files))
    judgements = read_footer(snapshot.lake, ENTITY_JUDGEMENTS, entity_type)
    return {
        "candidates": snapshot.candidate_marks.get(entity_type, "none"),
        "policy": policy,
        "disputes": snapshot.disputes_mark(disputed),
        "departures": " ".join(sorted(leaving)),
        "judgements": judgements.content_id if judgements else "",
        "people": snapshot.people_mark,
    }


def _alias_inputs(snapshot: Snapshot, entity_type: str, entities: Footer) -> dict[str, str]:
    """Fingerprints of what a type's aliases are made from."""
    return {
        "entities": entities.content_id,
        "redirects": snapshot.redirects_mark,
        "names": snapshot.names_mark,
        "titles": str(snapshot.titles_now(entity_type) or ""),
        "mentions": snapshot.mentions.marks.get(entity_type, "none"),
    }
