"""Writing the tables of tags: tags and their relations by source, entities' tags by type."""

from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

import duckdb
import pyarrow as pa

from holocron_assets.entities.snapshot import Snapshot
from holocron_assets.entities.tags.registered import registered, registered_categories
from holocron_assets.entities.tags.vocabulary import read_vocabulary
from holocron_assets.lake.declaration.keys import content_hash, rows_hash_sql
from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.declaration.versions import code_version
from holocron_assets.lake.files.parquet import Footer, read_footer, write_table
from holocron_assets.lake.files.rows import rows_of
from holocron_assets.lake.tables import ENTITIES, ENTITY_TAGS, TAG_RELATIONS, TAGS
from holocron_assets.lake.views.database import query

TAGS_VERSION = code_version(__name__)

_SETUP, _TAGS, _RELATIONS, _ENTITY_TAGS = (
    files(__package__).joinpath(f"{name}.sql").read_text(encoding="utf-8")
    for name in ("tags", "tag_rows", "tag_relation_rows", "entity_tag_rows")
)
_PAGE_HASH = rows_hash_sql("target_id, tag_id, name, method, weight, confidence")
_MARK = rows_hash_sql("title_key, mark")
_SOURCE_MARK = f"select {_MARK} as mark from page_tag_marks where source = $source"  # noqa: S608 - our own
_TYPE_MARKS = f"""
    with members as (
        select
            entities.entity_type, entities.entity_id,
            coalesce(entities.merged_into, entities.entity_id) as survivor,
            entities.state = 'merged' as is_merged,
            title_key_now(pages.title_key, entities.title_key, entities.page_id) as title_key
        from ({{entities}}) as entities
        left join present_pages as pages using (source, page_id)
        where entities.valid_to is null and entities.state <> 'suppressed'
    )
    select entity_type, entities, page_tags
    from (
        select entity_type, {rows_hash_sql("entity_id, survivor, is_merged, title_key")} as entities
        from members group by entity_type
    )
    left join (
        select entity_type, {_MARK} as page_tags
        from (select distinct entity_type, title_key from members) join page_tag_marks using (title_key)
        group by entity_type
    ) using (entity_type)
"""  # noqa: S608 - the same
_NOTHING = r"[^\s\S]"
_NONE = "none"
"""The fingerprint of what is not there."""


def stale_tags(snapshot: Snapshot, sources: Sequence[str], vocabulary_file: Path) -> list[str]:
    """Sources whose tags are stale: their pages and the vocabulary would give others today."""
    return [
        name
        for name in sources
        if _is_stale(snapshot, TAGS, name, _of_source(snapshot, name, vocabulary_file))
    ]


def stale_tag_relations(snapshot: Snapshot, sources: Sequence[str], vocabulary_file: Path) -> list[str]:
    """Sources whose tag relations are stale: category pages and the vocabulary would give others today."""
    return [
        name
        for name in sources
        if _is_stale(snapshot, TAG_RELATIONS, name, _of_source(snapshot, name, vocabulary_file))
    ]


def stale_entity_tags(snapshot: Snapshot, entity_types: Sequence[str], vocabulary_file: Path) -> list[str]:
    """Types whose entities' tags are stale: their pages and the vocabulary would give others today."""
    inputs = _of_types(snapshot, entity_types, vocabulary_file)
    return [name for name in entity_types if _is_stale(snapshot, ENTITY_TAGS, name, inputs[name])]


def store_tags(snapshot: Snapshot, source: str, vocabulary_file: Path) -> Footer:
    """Write table `tags` for one source.

    Args:
        snapshot: of the lake where pages' tags are and tags go.
        source: the source; it names the partition.
        vocabulary_file: a file as `data/tags.yaml`.

    Returns:
        The new file's footer.

    Raises:
        DataFileError: the vocabulary cannot be used.
    """
    inputs, vocabulary = _of_source(snapshot, source, vocabulary_file), read_vocabulary(vocabulary_file)
    patterns = {
        name: "|".join(f"(?:{pattern})" for pattern in vocabulary.patterns(name, source)) or _NOTHING
        for name in ("hidden", "internal")
    }
    connection = _prepared(snapshot)
    with registered(connection, vocabulary), registered_categories(connection):
        rows = _asked(snapshot, _TAGS, source=source, **patterns)
    return _write(snapshot, TAGS, source, _if_tagged(rows, inputs), inputs)


def store_tag_relations(snapshot: Snapshot, source: str, vocabulary_file: Path) -> Footer:
    """Write table `tag_relations` for one source; otherwise like `store_tags`."""
    inputs, vocabulary = _of_source(snapshot, source, vocabulary_file), read_vocabulary(vocabulary_file)
    connection = _prepared(snapshot)
    with registered(connection, vocabulary), registered_categories(connection):
        rows = _asked(snapshot, _RELATIONS, source=source)
    return _write(snapshot, TAG_RELATIONS, source, _if_tagged(rows, inputs), inputs)


def store_entity_tags(snapshot: Snapshot, entity_type: str, vocabulary_file: Path, run_id: str) -> Footer:
    """Write table `entity_tags` for one type; otherwise like `store_tags`.

    Args:
        snapshot: of the lake where pages' tags and entities are.
        entity_type: the type; it names the partition.
        vocabulary_file: a file as `data/tags.yaml`.
        run_id: the run that makes the rows.
    """
    inputs = _of_types(snapshot, [entity_type], vocabulary_file)[entity_type]
    vocabulary = read_vocabulary(vocabulary_file)
    sql = _ENTITY_TAGS.format(entities=rows_of(snapshot.lake, ENTITIES, [entity_type]))
    with registered(_prepared(snapshot), vocabulary):
        rows = _asked(snapshot, sql, entity_type=entity_type, run_id=run_id)
    return _write(snapshot, ENTITY_TAGS, entity_type, rows, inputs)


def vocabulary_mark(file: Path) -> str:
    """A mark of the file's content, valid or not: an error is reported when tables are made."""
    return content_hash(file.read_text(encoding="utf-8", errors="replace")) if file.is_file() else "missing"


def _asked(snapshot: Snapshot, sql: str, **values: str) -> pa.Table:
    return snapshot.connection.sql(sql, params=values).to_arrow_table()


def _if_tagged(rows: pa.Table, inputs: Mapping[str, str]) -> pa.Table:
    """The rows of a source; none once its last page is gone, as in a lake that never had one of its pages."""
    return rows.slice(0, 0) if _NONE in inputs.values() else rows


def _write(
    snapshot: Snapshot, table: Table, partition: str, rows: pa.Table, inputs: Mapping[str, str]
) -> Footer:
    return write_table(snapshot.lake, table, partition, rows, code_version=TAGS_VERSION, inputs=inputs)


def _is_stale(snapshot: Snapshot, table: Table, partition: str, inputs: Mapping[str, str]) -> bool:
    footer = read_footer(snapshot.lake, table, partition)
    if footer is None:
        return _NONE not in inputs.values()
    return not footer.is_of(TAGS_VERSION, inputs)


def _of_source(snapshot: Snapshot, source: str, vocabulary_file: Path) -> dict[str, str]:
    """Fingerprints of what a source's tags and their relations are made from."""
    mark = query(_prepared(snapshot), _SOURCE_MARK, {"source": source})[0]["mark"]
    return {"page_tags": str(mark or _NONE), "vocabulary": vocabulary_mark(vocabulary_file)}


def _of_types(
    snapshot: Snapshot, entity_types: Sequence[str], vocabulary_file: Path
) -> dict[str, dict[str, str]]:
    """Fingerprints of what the tags of some types' entities are made from, by type, in one query."""
    there = [name for name in entity_types if read_footer(snapshot.lake, ENTITIES, name)]
    sql = _TYPE_MARKS.format(entities=rows_of(snapshot.lake, ENTITIES, there))
    marks = {row["entity_type"]: row for row in query(_prepared(snapshot), sql)}
    vocabulary = vocabulary_mark(vocabulary_file)
    found = {name: {"entities": _NONE} for name in entity_types}
    for name in there:
        of_rows = {key: str(marks.get(name, {}).get(key) or "0") for key in ("entities", "page_tags")}
        found[name] = {**of_rows, "vocabulary": vocabulary}
    return found


def _prepared(snapshot: Snapshot) -> duckdb.DuckDBPyConnection:
    query(snapshot.connection, _SETUP.format(page_hash=_PAGE_HASH))
    return snapshot.connection
