"""One reading of all statements about entities, kept with the snapshot of the lake.

The temporary tables of `statements.sql` and `model_facts.sql` are made once, and again when entities or their
names were written since.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any
from weakref import WeakKeyDictionary

import pyarrow as pa

from holocron_assets.decisions.log import standing, standing_mark
from holocron_assets.entities.facts.dates import find_dates
from holocron_assets.entities.facts.model_tables import (
    CHECKS,
    FACTS,
    LISTED,
    RELATIONS,
    SENTENCES,
    model_rows,
    model_tables,
)
from holocron_assets.entities.facts.vocabulary import load_vocabulary, trusted_keys
from holocron_assets.entities.mentions.mentions import clean_name
from holocron_assets.entities.snapshot import Snapshot
from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.files.parquet import read_footer
from holocron_assets.lake.files.rows import rows_of
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import ENTITIES, ENTITY_ALIASES, ENTITY_MENTIONS, PAGE_FACTS, PAGE_LINKS
from holocron_assets.lake.views.database import query

_FOLDER = files(__package__)
_STATEMENTS = _FOLDER.joinpath("statements.sql").read_text(encoding="utf-8")
_MODEL_FACTS = _FOLDER.joinpath("model_facts.sql").read_text(encoding="utf-8")
_ANSWERS_MARK = """
    select count(*) || '-' || coalesce(bit_xor(hash(title_key, batch)), 0) as mark from present_answers
"""
_STATUS = {"accept": "accepted", "reject": "rejected"}


@dataclass
class _Reading:
    """What a snapshot has read so far.

    Attributes:
        pages: fingerprints of statements about pages, taken before they were read.
        made_from: a mark of the data that the temporary tables were made from.
    """

    pages: Mapping[str, str]
    made_from: str | None = field(default=None)


_READINGS: WeakKeyDictionary[Snapshot, _Reading] = WeakKeyDictionary()


def statement_inputs(snapshot: Snapshot) -> dict[str, str]:
    """Fingerprints of what statements are made from. Entities of every type count: relations lead to them."""
    lake = snapshot.lake
    who = (ENTITIES, ENTITY_ALIASES, ENTITY_MENTIONS)
    return {
        **_reading(snapshot).pages,
        **{table.name: _mark(lake, table, lake.partitions(table)) for table in who},
        "decisions": standing_mark(lake, *_STATUS),
    }


def read_statements(snapshot: Snapshot, inputs: Mapping[str, str]) -> None:
    """Make the temporary tables that statements are made from, unless the snapshot has them.

    Args:
        snapshot: of the lake.
        inputs: from `statement_inputs`.
    """
    reading, mark = _reading(snapshot), content_hash(str(sorted(inputs.items())))
    if reading.made_from == mark:
        return
    lake = snapshot.lake
    text = pa.string()
    _put_vocabulary(snapshot)
    _put(snapshot, "decided", {"statement_id": text, "status": text, "decision_id": text}, _decided(lake))
    names = {"entities": rows_of(lake, ENTITIES), "aliases": rows_of(lake, ENTITY_ALIASES)}
    query(snapshot.connection, _STATEMENTS.format(**names))
    models = {
        name: model_rows(lake, table)
        for name, table in (
            *(("facts", FACTS), ("relations", RELATIONS)),
            *(("listed", LISTED), ("sentences", SENTENCES), ("checks", CHECKS)),
        )
    }
    _read_dates(snapshot, models["facts"], models["relations"], models["sentences"])
    _clean_names(snapshot, models["listed"])
    query(snapshot.connection, _MODEL_FACTS.format(**models, mentions=rows_of(lake, ENTITY_MENTIONS)))
    reading.made_from = mark


def _reading(snapshot: Snapshot) -> _Reading:
    if snapshot not in _READINGS:
        [answers] = query(snapshot.connection, _ANSWERS_MARK)
        tables = (PAGE_FACTS, PAGE_LINKS, *model_tables(snapshot.lake))
        read = {table: batches for table in tables if (batches := _batches(snapshot, table))}
        marks = {table.name: _mark(snapshot.lake, table, batches) for table, batches in read.items()}
        _READINGS[snapshot] = _Reading({"answers": answers["mark"], **marks})
    return _READINGS[snapshot]


def _batches(snapshot: Snapshot, table: Table) -> list[str]:
    """The partitions that the snapshot's views read; newer ones do not count."""
    column = table.partition_column
    rows = query(snapshot.connection, f"select distinct {column} as name from lake.{table.name} order by 1")  # noqa: S608 - names of our own
    return [row["name"] for row in rows]


def _mark(lake: Lake, table: Table, partitions: Sequence[str]) -> str:
    footers = ((name, read_footer(lake, table, name)) for name in partitions)
    return content_hash("\n".join(f"{name} {footer.content_id}" for name, footer in footers if footer))


def _decided(lake: Lake) -> list[dict[str, Any]]:
    """People's decisions to accept and reject statements."""
    return [
        {"statement_id": name, "status": _STATUS[row["kind"]], "decision_id": row["decision_id"]}
        for name, row in standing(lake).statements.items()
    ]


def _put_vocabulary(snapshot: Snapshot) -> None:
    """Tables of the vocabulary: words, types on each side, relations that say the same, and trusted keys."""
    text, words = pa.string(), load_vocabulary()
    _put(snapshot, "vocabulary", {"kind": text, "called": text, "key": text}, words.words())
    types = {"side": text, "key": text, "types": pa.list_(text)}
    _put(snapshot, "vocabulary_types", types, words.types())
    same = {"said": text, "key": text, "is_turned": pa.bool_()}
    _put(snapshot, "same_relations", same, words.same_relations())
    _put(snapshot, "trusted", {"kind": text, "key": text, "model": text}, trusted_keys())


def _put(
    snapshot: Snapshot, name: str, columns: Mapping[str, pa.DataType], rows: Sequence[Mapping[str, Any]]
) -> None:
    arrow = pa.Table.from_pylist(list(rows), schema=pa.schema(list(columns.items())))
    snapshot.connection.register("given_rows", arrow)
    query(snapshot.connection, f"create or replace temp table {name} as from given_rows")
    snapshot.connection.unregister("given_rows")


def _read_dates(snapshot: Snapshot, facts: str, relations: str, sentences: str) -> None:
    """Read the dates in what models and sentences say: in Python, once for each text."""
    texts = f"""
        select distinct trim(value) as text from {facts}
        union select other from {sentences} where kind = 'fact'
        union select start_time from {relations}
        union select end_time from {relations}
    """  # noqa: S608 - tables of our own
    with_digits = query(
        snapshot.connection, f"from ({texts}) where regexp_matches(text, '[0-9]') order by text"
    )
    found = [
        {"text": row["text"], "calendar": first.calendar, "since": first.since, "until": first.until}
        for row in with_digits
        for first in find_dates(row["text"])[:1]
    ]
    number = pa.float64()
    columns = {"text": pa.string(), "calendar": pa.string(), "since": number, "until": number}
    _put(snapshot, "date_spans", columns, found)


def _clean_names(snapshot: Snapshot, listed: str) -> None:
    """Write names on lists as table `entity_mentions` has them."""
    names = query(snapshot.connection, f"select distinct name from {listed} order by name")  # noqa: S608 - a table of our own
    cleaned = [{"name": row["name"], "cleaned": clean_name(row["name"])} for row in names]
    _put(snapshot, "clean_names", {"name": pa.string(), "cleaned": pa.string()}, cleaned)
