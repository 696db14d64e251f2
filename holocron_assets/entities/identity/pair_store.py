"""Reads and writes pairs: which records of a type may be one."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from holocron_assets.entities.identity.candidate_records import records_of
from holocron_assets.entities.identity.pairs import pair_rows
from holocron_assets.entities.identity.policy import DEFAULT_IDENTITY_FILE, load_identity_policy
from holocron_assets.entities.identity.records import names_hash
from holocron_assets.entities.snapshot import Snapshot
from holocron_assets.entities.type_now import type_now
from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.declaration.versions import code_version
from holocron_assets.lake.files.parquet import Footer, read_footer, read_partition, write_partition
from holocron_assets.lake.tables import COMPARED_NAMES, ENTITY_PAIRS

PAIRS_VERSION = code_version(__name__)
_PAIRS = "pairs"


def stale_pairs(snapshot: Snapshot, entity_types: Sequence[str]) -> list[str]:
    """Types whose pairs are stale: their candidates and names would give others today."""
    return [name for name in entity_types if _is_stale(snapshot, name)]


def store_pairs(
    snapshot: Snapshot, entity_type: str, *, entity_types: AbstractSet[str]
) -> tuple[Footer, list[Row]]:
    """Compare one type's candidates by name, and write tables `entity_pairs` and `compared_names`.

    Only records that are new or have other names are compared, each with all others.

    Args:
        snapshot: of the lake where candidates are and pairs go.
        entity_type: the type; it names the partition.
        entity_types: all entity-worthy types, to validate the identity policy by.

    Returns:
        The new file's footer, and its rows.

    Raises:
        DataFileError: the identity policy is not valid.
    """
    policy = load_identity_policy(DEFAULT_IDENTITY_FILE, entity_types)
    lake, inputs = snapshot.lake, _inputs(snapshot, entity_type)
    records = list(
        records_of(type_now(snapshot, entity_type).identified(), snapshot, policy.within_one_wiki.facts)
    )
    hashes = {record.entity_id: names_hash(record) for record in records}
    kept, compared = _standing(snapshot, entity_type)
    rows = pair_rows(records, policy, changed=_changed(hashes, compared), kept=kept)
    names = [{"entity_id": name, "names_hash": hashes[name]} for name in sorted(hashes)]
    footer = write_partition(lake, ENTITY_PAIRS, entity_type, rows, code_version=PAIRS_VERSION, inputs=inputs)
    # Unless both are of one run, all are compared again: a run may end between the two.
    inputs = {**inputs, _PAIRS: footer.content_id}
    write_partition(lake, COMPARED_NAMES, entity_type, names, code_version=PAIRS_VERSION, inputs=inputs)
    return footer, rows


def _changed(hashes: Mapping[str, str], compared: Mapping[str, str] | None) -> AbstractSet[str] | None:
    if compared is None:
        return None
    return {name for name, found in hashes.items() if compared.get(name) != found}


def _standing(snapshot: Snapshot, entity_type: str) -> tuple[list[dict[str, Any]], Mapping[str, str] | None]:
    """The standing pairs, and the compared values of records; None if other code or policy made them."""
    pairs, names = (
        read_footer(snapshot.lake, table, entity_type) for table in (ENTITY_PAIRS, COMPARED_NAMES)
    )
    if pairs is None or names is None or not all(map(_is_of_today, (pairs, names))):
        return [], None
    if names.inputs.get(_PAIRS) != pairs.content_id:
        return [], None
    rows = read_partition(snapshot.lake, COMPARED_NAMES, entity_type)
    compared = {row["entity_id"]: row["names_hash"] for row in rows}
    return read_partition(snapshot.lake, ENTITY_PAIRS, entity_type), compared


def _is_of_today(footer: Footer) -> bool:
    return (footer.code_version, footer.inputs.get("policy")) == (PAIRS_VERSION, _policy())


def _is_stale(snapshot: Snapshot, entity_type: str) -> bool:
    footer = read_footer(snapshot.lake, ENTITY_PAIRS, entity_type)
    if footer is None:
        return entity_type in snapshot.candidate_marks
    wanted = (PAIRS_VERSION, _inputs(snapshot, entity_type))
    return (footer.code_version, dict(footer.inputs)) != wanted or entity_type in snapshot.unheld


def _inputs(snapshot: Snapshot, entity_type: str) -> dict[str, str]:
    """Fingerprints of what a type's pairs are made from."""
    return {
        "candidates": snapshot.candidate_marks.get(entity_type, "none"),
        "names": snapshot.names_mark,
        "policy": _policy(),
    }


def _policy() -> str:
    return content_hash(DEFAULT_IDENTITY_FILE.read_text(encoding="utf-8"))
