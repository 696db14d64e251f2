"""Further relations for SQL about tags: the vocabulary, and the tags that category pages are about."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import duckdb
import pyarrow as pa

from holocron_assets.entities.tags.names import tag_id, tag_name
from holocron_assets.entities.tags.vocabulary import Vocabulary
from holocron_assets.lake.titles import CATEGORY_NAMESPACE
from holocron_assets.lake.views.database import query

_CATEGORY_PAGES = """
    -- Without the namespace's prefix; column `name` also lacks what says the continuity.
    select signals.source, signals.title_key, substr(signals.title, strpos(signals.title, ':') + 1) as name
    from lake.page_signals as signals
    semi join present_answers as present
        on signals.batch = present.batch and signals.title_key = present.title_key
    where signals.namespace = $namespace and not signals.is_redirect
"""
_CATEGORIES = pa.schema(
    [("source", pa.string()), ("title_key", pa.int64()), ("tag_id", pa.string()), ("name", pa.string())]
)


@contextmanager
def registered(connection: duckdb.DuckDBPyConnection, vocabulary: Vocabulary) -> Iterator[None]:
    """Let SQL read the vocabulary, as `vocabulary_tags`, `vocabulary_relations` and `vocabulary_words`."""
    tags = vocabulary.tags.items()
    tables: dict[str, dict[str, list[str | None]]] = {
        "vocabulary_tags": {
            "tag_id": [name for name, _ in tags],
            "name": [tag.name for _, tag in tags],
            "description": [tag.description for _, tag in tags],
            "visibility": [tag.visibility for _, tag in tags],
        },
        "vocabulary_relations": {
            name: [relation[place] for relation in vocabulary.relations]
            for place, name in enumerate(("from_tag", "relation", "to_tag"))
        },
        "vocabulary_words": {"tag_id": [*vocabulary.words], "word": [*vocabulary.words.values()]},
    }
    with _registered(connection, {name: _texts(columns) for name, columns in tables.items()}):
        yield


@contextmanager
def registered_categories(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Let SQL read which tag each category page is about, as `category_pages`."""
    pages = query(connection, _CATEGORY_PAGES, {"namespace": CATEGORY_NAMESPACE})
    rows = [
        {**page, "tag_id": tag_id("category", page["name"]), "name": tag_name(page["name"])} for page in pages
    ]
    with _registered(connection, {"category_pages": pa.Table.from_pylist(rows, schema=_CATEGORIES)}):
        yield


def _texts(columns: Mapping[str, list[str | None]]) -> pa.Table:
    return pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})


@contextmanager
def _registered(connection: duckdb.DuckDBPyConnection, tables: Mapping[str, pa.Table]) -> Iterator[None]:
    for name, table in tables.items():
        connection.register(name, table)
    try:
        yield
    finally:
        for name in tables:
            connection.unregister(name)
