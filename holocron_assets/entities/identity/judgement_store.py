"""Reads and writes judgements of a type's pairs."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime

from holocron_assets.entities.identity.clusters import followed
from holocron_assets.entities.identity.evidence.weights import examples_of, weights_from
from holocron_assets.entities.identity.judgements import judged, since_when
from holocron_assets.entities.identity.policy import DEFAULT_IDENTITY_FILE, load_identity_policy
from holocron_assets.entities.snapshot import Snapshot
from holocron_assets.entities.type_now import type_now
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.declaration.versions import code_version
from holocron_assets.lake.files.parquet import (
    Footer,
    read_footer,
    read_partition,
    rows_there,
    write_partition,
)
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import ENTITY_JUDGEMENTS, ENTITY_PAIRS

JUDGEMENTS_VERSION = code_version(__name__)
_SIDES = ("first_id", "second_id")
CHECKS_NAME = "derived_identity_check"
"""The table of a model's answers to whether two entities are one."""


def stale_judgements(snapshot: Snapshot, entity_types: Sequence[str]) -> list[str]:
    """Types whose judgements are stale: their pairs, a model and people would give others today."""
    return [name for name in entity_types if _is_stale(snapshot, name)]


def store_judgements(
    snapshot: Snapshot, entity_type: str, *, entity_types: AbstractSet[str], now: datetime
) -> tuple[Footer, list[Row]]:
    """Judge one type's pairs, and write table `entity_judgements`.

    Args:
        snapshot: of the lake where pairs are and judgements go.
        entity_type: the type; it names the partition.
        entity_types: all entity-worthy types.
        now: the time of new judgements.

    Returns:
        The new file's footer, and its rows.

    Raises:
        DataFileError: the identity policy is not valid.
        MissingPartitionError: the type has no pairs yet.
    """
    policy = load_identity_policy(DEFAULT_IDENTITY_FILE, entity_types)
    lake, inputs = snapshot.lake, _inputs(snapshot, entity_type)  # before what they are fingerprints of
    pairs = read_partition(lake, ENTITY_PAIRS, entity_type)
    ids = {row[side] for row in pairs for side in _SIDES}
    members = type_now(snapshot, entity_type).members(ids | snapshot.people.paired)
    judgements = judged(
        entity_type,
        pairs,
        snapshot.people.pairs,
        author=policy.author,
        known=members.keys(),
        checks=_checks(lake, entity_type),
        weights=weights_from(examples_of(pairs, snapshot.people.pairs), policy.weights),
    )
    standing = rows_there(lake, ENTITY_JUDGEMENTS, entity_type)
    rows = since_when(followed(judgements, members, snapshot.people.held), standing, now)
    inputs |= _departures(snapshot, entity_type, rows)
    footer = write_partition(
        lake, ENTITY_JUDGEMENTS, entity_type, rows, code_version=JUDGEMENTS_VERSION, inputs=inputs
    )
    return footer, rows


def _is_stale(snapshot: Snapshot, entity_type: str) -> bool:
    if read_footer(snapshot.lake, ENTITY_PAIRS, entity_type) is None:
        return False
    footer = read_footer(snapshot.lake, ENTITY_JUDGEMENTS, entity_type)
    leaves = entity_type in snapshot.leaving
    standing = rows_there(snapshot.lake, ENTITY_JUDGEMENTS, entity_type) if leaves else []
    inputs = _inputs(snapshot, entity_type) | _departures(snapshot, entity_type, standing)
    is_new = footer is not None and footer.is_of(JUDGEMENTS_VERSION, inputs)
    return not is_new or entity_type in snapshot.unheld


def _departures(snapshot: Snapshot, entity_type: str, judgements: Sequence[Row]) -> dict[str, str]:
    """A fingerprint of the entities that the type gives up, though judgements make them one with others."""
    merged = [row for row in judgements if row["is_followed"] and row["judgement"] == "same"]
    leaving = snapshot.leaving.get(entity_type, set()) & {row[side] for row in merged for side in _SIDES}
    return {"departures": " ".join(sorted(leaving))}


def _inputs(snapshot: Snapshot, entity_type: str) -> dict[str, str]:
    """Fingerprints of what a type's judgements are made from."""
    pairs = read_footer(snapshot.lake, ENTITY_PAIRS, entity_type)
    table = snapshot.lake.derived_table(CHECKS_NAME)
    checks = read_footer(snapshot.lake, table, entity_type) if table else None
    return {
        "pairs": pairs.content_id if pairs else "",
        "checks": checks.content_id if checks else "",
        "candidates": snapshot.candidate_marks.get(entity_type, "none"),
        "people": snapshot.people_mark,
    }


def _checks(lake: Lake, entity_type: str) -> Mapping[str, Row]:
    table = lake.derived_table(CHECKS_NAME)
    return {row["item_id"]: row for row in rows_there(lake, table, entity_type)} if table else {}
