"""One reading of all statements about entities, kept with the snapshot of the lake.

The temporary tables of `holders.sql`, `statements.sql`, `model_facts.sql` and `entity_relations.sql` are made
once, and again when entities or their names were written since.

Most decisions change little that statements are made from. So a partition's fingerprints are of what it reads
of the entities, and not of their files: a promoted entity leaves all statements as they are, and an accepted
fact those of other types. What people reject verifies nothing, so a rejected relation concerns all types: the
other end may be of any.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any
from weakref import WeakKeyDictionary

import pyarrow as pa
import pyarrow.compute as pc

from holocron_assets.decisions.log import by_time
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
from holocron_assets.entities.facts.stated_keys import types_of_names, types_of_pages
from holocron_assets.entities.facts.vocabulary import load_vocabulary, trusted_keys
from holocron_assets.entities.mentions.mentions import clean_name
from holocron_assets.entities.snapshot import Snapshot
from holocron_assets.lake.declaration.keys import content_hash, rows_mark_sql
from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.files.parquet import read_footer
from holocron_assets.lake.files.rows import rows_of
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import (
    ENTITIES,
    ENTITY_ALIASES,
    ENTITY_FACTS,
    ENTITY_MENTIONS,
    ENTITY_RELATIONS,
    PAGE_FACTS,
    PAGE_LINKS,
)
from holocron_assets.lake.views.database import arrow, query
from holocron_assets.languages.language import ENGLISH, language_code, load_language

_FOLDER = files(__package__)
_HOLDERS = _FOLDER.joinpath("holders.sql").read_text(encoding="utf-8")
_STATEMENTS = _FOLDER.joinpath("statements.sql").read_text(encoding="utf-8")
_RELATIONS = _FOLDER.joinpath("entity_relations.sql").read_text(encoding="utf-8")
_MODEL_FACTS = _FOLDER.joinpath("model_facts.sql").read_text(encoding="utf-8")
_ANSWERS_MARK = f"""
    select {rows_mark_sql("title_key, batch")} as mark from present_answers
"""  # noqa: S608 - a query of our own
_HOLDERS_MARKS = f"""
    select
        entity_type,
        {rows_mark_sql("title_key, source, title, name, continuity, entity_id")} as mark
    from holders
    group by entity_type
    order by entity_type
"""  # noqa: S608 - the same
_NAMES_MARK = f"""
    select {rows_mark_sql("source, name, side, entity_id, entity_type")} as mark
    from known_names
"""  # noqa: S608 - the same
_PLACED = """
    select fact_id as statement_id, 'entity_facts' as of_table, entity_type
    from ({facts}) semi join decided_ids on decided_ids.statement_id = fact_id
    union all
    select relation_id, 'entity_relations', entity_type
    from ({relations}) semi join decided_ids on decided_ids.statement_id = relation_id
"""
_ROWS = {
    table.name: _FOLDER.joinpath(file).read_text(encoding="utf-8")
    for table, file in ((ENTITY_FACTS, "entity_facts.sql"), (ENTITY_RELATIONS, "entity_relation_rows.sql"))
}
_COUNTED = """
    select entity_type, count(*) as statements
    from (
        select entity_type from infobox_facts
        union all select entity_type from model_facts
        union all select entity_type from model_relations
    )
    group by entity_type
"""
MOST_AT_ONCE = 60_000
"""Statements that are made in one query, if they are about several types: about 25 MB."""
_STATUS = {"accept": "accepted", "reject": "rejected"}

_Partition = tuple[str, str]
"""Name of a table of statements, and an entity type."""


@dataclass
class _Reading:
    """What a snapshot has read so far.

    Attributes:
        pages: fingerprints of statements about pages, taken before they were read.
        languages: by source, the language that its pages count as.
        held_from: a mark of the files that the tables of `holders.sql` were made from.
        holders: by entity type, a mark of the titles that its entities hold; and one of all names.
        made_from: a mark of the data that the other temporary tables were made from.
        placed: the partition that has each statement that people decided about; None before they are read.
        counted: by entity type, how many statements there are.
        made: by table, the statements that were made last from those tables.
    """

    pages: Mapping[str, str]
    languages: Mapping[str, str]
    held_from: str | None = field(default=None)
    holders: Mapping[str, str] = field(default_factory=dict)
    made_from: str | None = field(default=None)
    placed: dict[str, _Partition] | None = field(default=None)
    counted: Mapping[str, int] = field(default_factory=dict)
    made: dict[str, "_Made"] = field(default_factory=dict)


@dataclass(frozen=True)
class _Made:
    """The statements of a table about entities of some types."""

    types: Sequence[str]
    rows: pa.Table


_NAMES = "names"
_READINGS: WeakKeyDictionary[Snapshot, _Reading] = WeakKeyDictionary()


def statement_inputs(snapshot: Snapshot, table: Table, entity_type: str) -> dict[str, str]:
    """Fingerprints of what one type's facts or relations are made from.

    Facts are said by the pages that the type's entities hold. Relations lead to entities of every type, so
    that all titles and names count.

    Args:
        snapshot: of the lake.
        table: `entity_facts` or `entity_relations`.
        entity_type: the type.
    """
    reading = _reading(snapshot)
    _read_holders(snapshot)
    held = reading.holders
    of_facts = {"entities": held.get(entity_type, "none"), "mentions": _files_mark(snapshot, ENTITY_MENTIONS)}
    return {
        **reading.pages,
        **(of_facts if table is ENTITY_FACTS else {"entities": content_hash(str(sorted(held.items())))}),
        "decisions": _decisions_mark(snapshot, (table.name, entity_type)),
    }


def read_statements(snapshot: Snapshot) -> None:
    """Make the temporary tables that statements are made from, unless the snapshot has them."""
    reading = _reading(snapshot)
    _read_holders(snapshot)
    mark = f"{reading.held_from} {_files_mark(snapshot, ENTITY_MENTIONS)}"
    if reading.made_from == mark:
        return
    lake = snapshot.lake
    _put_vocabulary(snapshot)
    _put_first_titles(snapshot)
    _put_languages(snapshot, reading.languages)
    wikis = [{"source": source, "wiki": wiki} for source, wiki in snapshot.wikis.items()]
    _put(snapshot, "wikis", dict.fromkeys(("source", "wiki"), pa.string()), wikis)
    columns = {**dict.fromkeys(("statement_id", "status", "decision_id"), pa.string()), "place": pa.int64()}
    _put(snapshot, "decided", columns, _decided(snapshot))
    query(snapshot.connection, _STATEMENTS)
    models = {
        name: model_rows(lake, table)
        for name, table in (
            *(("facts", FACTS), ("relations", RELATIONS)),
            *(("listed", LISTED), ("sentences", SENTENCES), ("checks", CHECKS)),
        )
    }
    _read_dates(snapshot, models, reading.languages)
    _clean_names(snapshot, models["listed"])
    query(snapshot.connection, _MODEL_FACTS.format(**models, mentions=rows_of(lake, ENTITY_MENTIONS)))
    query(snapshot.connection, _RELATIONS)
    counted = query(snapshot.connection, _COUNTED)
    reading.counted = {row["entity_type"]: row["statements"] for row in counted}
    reading.made_from, reading.made = mark, {}


def statements_of_type(
    snapshot: Snapshot, table: Table, entity_type: str, run_id: str, find_next: Callable[[], Sequence[str]]
) -> pa.Table:
    """The statements about one type's entities, in the order of their file.

    DuckDB plans such a query for longer than it takes for the statements of some thousand pages. So those of
    the types that are asked for next are made with it, as long as all are not many.

    Args:
        snapshot: of the lake.
        table: `entity_facts` or `entity_relations`.
        entity_type: the type.
        run_id: the run that makes them: one for each snapshot.
        find_next: names the types whose statements are asked for next.
    """
    read_statements(snapshot)
    reading = _reading(snapshot)
    made = reading.made.get(table.name)
    if made is None or entity_type not in made.types:
        types = _together(entity_type, find_next(), reading.counted)
        rows = arrow(snapshot.connection, _ROWS[table.name], {"types": types, "run": run_id})
        made = reading.made[table.name] = _Made(types, rows)
    return made.rows.filter(pc.field("entity_type") == entity_type)


def _together(entity_type: str, others: Sequence[str], counted: Mapping[str, int]) -> list[str]:
    """The type, and those of the others whose statements fit in one query with its own."""
    together, statements = [entity_type], counted.get(entity_type, 0)
    for name in others:
        more = counted.get(name, 0)
        if name != entity_type and statements + more <= MOST_AT_ONCE:
            together.append(name)
            statements += more
    return together


def put_statements(snapshot: Snapshot, table: Table, entity_type: str, ids: Iterable[str]) -> None:
    """Note which statements a partition has now, so that decisions about them are its inputs.

    Args:
        snapshot: of the lake.
        table: `entity_facts` or `entity_relations`.
        entity_type: the type.
        ids: of all its statements.
    """
    partition, placed = (table.name, entity_type), _placed(snapshot)
    for name in [name for name, place in placed.items() if place == partition]:
        del placed[name]
    placed.update((name, partition) for name in ids if name in snapshot.decisions.statements)


def _read_holders(snapshot: Snapshot) -> None:
    """Make the tables of `holders.sql`, unless no entity and no name was written since."""
    reading = _reading(snapshot)
    mark = f"{_files_mark(snapshot, ENTITIES)} {_files_mark(snapshot, ENTITY_ALIASES)}"
    if reading.held_from == mark:
        return
    files_now = {
        "entities": rows_of(snapshot.lake, ENTITIES),
        "aliases": rows_of(snapshot.lake, ENTITY_ALIASES),
    }
    query(snapshot.connection, _HOLDERS.format(**files_now))
    marks = {row["entity_type"]: row["mark"] for row in query(snapshot.connection, _HOLDERS_MARKS)}
    [names] = query(snapshot.connection, _NAMES_MARK)
    reading.holders, reading.held_from = {**marks, _NAMES: names["mark"]}, mark


def _decisions_mark(snapshot: Snapshot, partition: _Partition) -> str:
    """A mark of the decisions about a partition's statements, and of those about statements that no file has.

    The latter may be about what a page says twice: only a decision keeps the second one. A rejected relation
    counts for relations of every type: it verifies none that says the same from the other end.
    """
    placed = _placed(snapshot)
    counted = [
        row["decision_id"]
        for name, row in sorted(snapshot.decisions.statements.items())
        if _concerns(row["kind"], placed.get(name, partition), partition)
    ]
    return content_hash("\n".join(counted))


def _concerns(kind: str, decided: _Partition, partition: _Partition) -> bool:
    """Whether a decision about a statement of one partition may change rows of another, or of the same."""
    is_voice = kind == "reject" and decided[0] == partition[0] == ENTITY_RELATIONS.name
    return is_voice or decided == partition


def _placed(snapshot: Snapshot) -> dict[str, _Partition]:
    """Where each statement is that a person decided about, if a file has it."""
    reading = _reading(snapshot)
    if reading.placed is None:
        decided = [{"statement_id": name} for name in snapshot.decisions.statements]
        reading.placed = _find_placed(snapshot, decided) if decided else {}
    return reading.placed


def _find_placed(snapshot: Snapshot, decided: Sequence[Mapping[str, Any]]) -> dict[str, _Partition]:
    facts, relations = rows_of(snapshot.lake, ENTITY_FACTS), rows_of(snapshot.lake, ENTITY_RELATIONS)
    _put(snapshot, "decided_ids", {"statement_id": pa.string()}, decided)
    rows = query(snapshot.connection, _PLACED.format(facts=facts, relations=relations))
    return {row["statement_id"]: (row["of_table"], row["entity_type"]) for row in rows}


def _reading(snapshot: Snapshot) -> _Reading:
    if snapshot not in _READINGS:
        [answers] = query(snapshot.connection, _ANSWERS_MARK)
        tables = (PAGE_FACTS, PAGE_LINKS, *model_tables(snapshot.lake))
        read = {table: batches for table in tables if (batches := _batches(snapshot, table))}
        marks = {table.name: _mark(snapshot.lake, table, batches) for table, batches in read.items()}
        languages = _languages(snapshot)
        titles = content_hash(str(list(snapshot.first_titles.by_page.items())))
        marks |= {"answers": answers["mark"], "languages": content_hash(str(sorted(languages.items())))}
        marks["wikis"] = content_hash(str(sorted(snapshot.wikis.items())))
        _READINGS[snapshot] = _Reading({"first_titles": titles, **marks}, languages)
    return _READINGS[snapshot]


def _batches(snapshot: Snapshot, table: Table) -> list[str]:
    """The partitions that the snapshot's views read; newer ones do not count."""
    column = table.partition_column
    rows = query(snapshot.connection, f"select distinct {column} as name from lake.{table.name} order by 1")  # noqa: S608 - names of our own
    return [row["name"] for row in rows]


def _mark(lake: Lake, table: Table, partitions: Sequence[str]) -> str:
    footers = ((name, read_footer(lake, table, name)) for name in partitions)
    return content_hash("\n".join(f"{name} {footer.content_id}" for name, footer in footers if footer))


def _files_mark(snapshot: Snapshot, table: Table) -> str:
    return _mark(snapshot.lake, table, snapshot.lake.partitions(table))


def _decided(snapshot: Snapshot) -> list[dict[str, Any]]:
    """People's decisions to accept and reject statements, numbered in the order of their time."""
    made = sorted(snapshot.decisions.statements.values(), key=by_time)
    names = ("statement_id", "decision_id")
    return [
        {**{name: row[name] for name in names}, "status": _STATUS[row["kind"]], "place": place}
        for place, row in enumerate(made)
    ]


def _put_first_titles(snapshot: Snapshot) -> None:
    """A table of the pages that were moved, in the order in which they were first read."""
    columns = {"source": pa.string(), "page_id": pa.int64(), "title": pa.string(), "place": pa.int64()}
    rows = [
        {"source": source, "page_id": page_id, "title": title, "place": place}
        for place, ((source, page_id), title) in enumerate(snapshot.first_titles.by_page.items())
    ]
    _put(snapshot, "first_titles", columns, rows)


def _languages(snapshot: Snapshot) -> dict[str, str]:
    rows = query(snapshot.connection, "select source, language from lake.sites")
    return {row["source"]: language_code(row["language"]) for row in rows}


def _put_languages(snapshot: Snapshot, languages: Mapping[str, str]) -> None:
    """A table of the language of each source, and of its sign before decimals."""
    rows = [
        {"source": source, "language": code, "decimal": load_language(code).values.decimal}
        for source, code in languages.items()
    ]
    _put(snapshot, "languages", dict.fromkeys(("source", "language", "decimal"), pa.string()), rows)


def _put_vocabulary(snapshot: Snapshot) -> None:
    """Tables of the vocabulary: words, types on each side, relations that say the same, and trusted keys."""
    text, words = pa.string(), load_vocabulary()
    _put(snapshot, "vocabulary", {"kind": text, "called": text, "key": text}, words.words())
    types = {"side": text, "key": text, "types": pa.list_(text)}
    of_pages = [{"side": "page", **row} for row in types_of_pages()]
    of_names = [{"side": "named", **row} for row in types_of_names()]
    _put(snapshot, "vocabulary_types", types, [*words.types(), *of_pages, *of_names])
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


def _read_dates(snapshot: Snapshot, said: Mapping[str, str], languages: Mapping[str, str]) -> None:
    """Read the dates in what models and sentences say: in Python, once for each text of a language."""
    texts = f"""
        select distinct source, trim(value) as text from {said["facts"]}
        union select source, other from {said["sentences"]} where kind = 'fact'
        union select source, start_time from {said["relations"]}
        union select source, end_time from {said["relations"]}
    """  # noqa: S608 - tables of our own
    with_digits = query(snapshot.connection, f"from ({texts}) where regexp_matches(text, '[0-9]')")
    asked = {(languages.get(row["source"], ENGLISH), row["text"]) for row in with_digits}
    found = [
        {"language": code, "text": text, "calendar": one.calendar, "since": one.since, "until": one.until}
        for code, text in sorted(asked)
        for one in find_dates(text, code)[:1]
    ]
    text, number = pa.string(), pa.float64()
    columns = {"language": text, "text": text, "calendar": text, "since": number, "until": number}
    _put(snapshot, "date_spans", columns, found)


def _clean_names(snapshot: Snapshot, listed: str) -> None:
    """Write names on lists as table `entity_mentions` has them."""
    names = query(snapshot.connection, f"select distinct name from {listed} order by name")  # noqa: S608 - a table of our own
    cleaned = [{"name": row["name"], "cleaned": clean_name(row["name"])} for row in names]
    _put(snapshot, "clean_names", {"name": pa.string(), "cleaned": pa.string()}, cleaned)
