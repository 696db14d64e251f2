"""Reads and writes pairs: which records of a type may be one."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from holocron_assets.entities.facts.rules import FACT_READER_VERSION, RULES_FOLDER, rules_version
from holocron_assets.entities.identity.candidate_records import marks_of, records_of
from holocron_assets.entities.identity.common import blocks_of
from holocron_assets.entities.identity.evidence.pages import said_of_both, with_evidence
from holocron_assets.entities.identity.evidence.spelling import SpellingReader
from holocron_assets.entities.identity.pairs import pair_rows
from holocron_assets.entities.identity.policy import DEFAULT_IDENTITY_FILE, load_identity_policy
from holocron_assets.entities.identity.records import Record
from holocron_assets.entities.names.names import NameReader
from holocron_assets.entities.snapshot import Snapshot
from holocron_assets.entities.type_now import type_now
from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.declaration.versions import code_version
from holocron_assets.lake.files.parquet import (
    Footer,
    read_footer,
    read_partition,
    read_table,
    write_partition,
    write_table,
)
from holocron_assets.lake.tables import COMPARED_NAMES, ENTITIES, ENTITY_PAIRS
from holocron_assets.settings import infobox_rules_folder

PAIRS_VERSION = code_version(__name__)
_PAIRS = "pairs"


def stale_pairs(snapshot: Snapshot, entity_types: Sequence[str]) -> list[str]:
    """Types whose pairs are stale: their candidates and names would give others today."""
    return [name for name in entity_types if _is_stale(snapshot, name)]


def store_pairs(
    snapshot: Snapshot, entity_type: str, *, entity_types: AbstractSet[str]
) -> tuple[Footer, list[Row]]:
    """Compare one type's candidates by name, and write tables `entity_pairs` and `compared_names`.

    Only records that are new or have other names are compared, each with all others. Of those others only the
    ones that share a block with it are read: `compared_names` says which they are.

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
    lake, inputs, singling_out = snapshot.lake, _inputs(snapshot, entity_type), policy.within_one_wiki.facts
    now, (kept, compared) = type_now(snapshot, entity_type), _standing(snapshot, entity_type)
    marks = marks_of(now.marks(), snapshot, singling_out)
    changed = _changed(marks, compared)
    fresh = list(records_of(now.identified(changed), snapshot, singling_out))
    reader, spelling = NameReader(policy.words), SpellingReader(policy.spelling)
    blocks = [blocks_of(record, reader, spelling, policy.words) for record in fresh]
    names = _compared(fresh, marks, blocks)
    if compared is not None and changed is not None:
        names = pa.concat_tables([_unchanged(compared, marks, changed), names])
        near = _near(names, changed | {row[side] for row in kept for side in ("first_id", "second_id")})
        fresh += records_of(now.identified(near - changed), snapshot, singling_out)
    found = pair_rows(fresh, policy, changed=changed, kept=kept, reader=reader)
    rows = with_evidence(found, said_of_both(snapshot.connection, found, snapshot.languages))
    footer = write_partition(lake, ENTITY_PAIRS, entity_type, rows, code_version=PAIRS_VERSION, inputs=inputs)
    # Unless both are of one run, all are compared again: a run may end between the two.
    inputs = {**inputs, _PAIRS: footer.content_id}
    names = names.sort_by("entity_id")
    write_table(lake, COMPARED_NAMES, entity_type, names, code_version=PAIRS_VERSION, inputs=inputs)
    return footer, rows


def _changed(marks: Mapping[str, str], compared: pa.Table | None) -> AbstractSet[str] | None:
    if compared is None:
        return None
    known = dict(zip(*(compared.column(name).to_pylist() for name in ("entity_id", "mark")), strict=True))
    return {name for name, found in marks.items() if known.get(name) != found}


def _unchanged(compared: pa.Table, marks: Mapping[str, str], changed: AbstractSet[str]) -> pa.Table:
    gone = set(compared.column("entity_id").to_pylist()) - marks.keys()
    return compared.filter(pc.invert(_is_one_of(compared, changed | gone)))


def _compared(records: Sequence[Record], marks: Mapping[str, str], blocks: Sequence[list[int]]) -> pa.Table:
    """Rows of `compared_names`."""
    ids = [record.entity_id for record in records]
    columns = {"entity_id": ids, "mark": [marks[name] for name in ids], "blocks": blocks}
    return pa.table(columns, schema=COMPARED_NAMES.arrow_schema)


def _near(names: pa.Table, asked: AbstractSet[str]) -> AbstractSet[str]:
    """The entities that have a block in common with some of them, these included.

    Whoever is in no block of theirs is compared with none of them, and takes no place beside them in a block.
    """
    blocks = names.column("blocks").combine_chunks()
    numbers, rows = blocks.flatten(), pc.list_parent_indices(blocks)
    of_asked = numbers.filter(_is_one_of(names, asked).combine_chunks().take(rows)).unique()
    found = rows.filter(pc.is_in(numbers, value_set=of_asked)).unique()
    return set(names.column("entity_id").take(found).to_pylist())


def _is_one_of(names: pa.Table, ids: AbstractSet[str]) -> pa.ChunkedArray:
    return pc.is_in(names.column("entity_id"), value_set=pa.array(sorted(ids), pa.string()))


def _standing(snapshot: Snapshot, entity_type: str) -> tuple[list[dict[str, Any]], pa.Table | None]:
    """The standing pairs, and the compared records; None if other code or policy made them."""
    pairs, names = (
        read_footer(snapshot.lake, table, entity_type) for table in (ENTITY_PAIRS, COMPARED_NAMES)
    )
    if pairs is None or names is None or not all(map(_is_of_today, (pairs, names))):
        return [], None
    if names.inputs.get(_PAIRS) != pairs.content_id:
        return [], None
    compared = read_table(snapshot.lake, COMPARED_NAMES, entity_type, COMPARED_NAMES.arrow_schema.names)
    return read_partition(snapshot.lake, ENTITY_PAIRS, entity_type), compared


def _is_of_today(footer: Footer) -> bool:
    return (footer.code_version, footer.inputs.get("policy")) == (PAIRS_VERSION, _policy())


def _is_stale(snapshot: Snapshot, entity_type: str) -> bool:
    footer = read_footer(snapshot.lake, ENTITY_PAIRS, entity_type)
    if footer is None:  # of a type without candidates, people may still merge entities
        return entity_type in snapshot.candidate_marks or snapshot.lake.has(ENTITIES, entity_type)
    is_new = footer.is_of(PAIRS_VERSION, _inputs(snapshot, entity_type))
    return not is_new or entity_type in snapshot.unheld


def _inputs(snapshot: Snapshot, entity_type: str) -> dict[str, str]:
    """Fingerprints of what a type's pairs are made from.

    Pairs do not wait until all facts are read anew. So batches whose facts other code read count one by one,
    and the pairs are made again after them.
    """
    fact_reader = f"{FACT_READER_VERSION}-{rules_version(RULES_FOLDER, infobox_rules_folder())}"
    older = [each for each in snapshot.fact_readers.items() if each[1] != fact_reader]
    return {
        "candidates": snapshot.candidate_marks.get(entity_type, "none"),
        "names": snapshot.names_mark,
        "policy": _policy(),
        # With other facts, a page has another revision, unless other code or other rules read them.
        "fact_reader": fact_reader,
        "older_facts": content_hash(str(sorted(older))) if older else "none",
    }


def _policy() -> str:
    return content_hash(DEFAULT_IDENTITY_FILE.read_text(encoding="utf-8"))
