"""JSON-LD: entities with the statements about them, one after another, in one document."""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from holocron_assets.exports.formats import select_rows
from holocron_assets.frozen_model import FrozenModel
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.people_yaml import load_yaml
from holocron_assets.lake.views.spilling import another_connection

DEFAULT_BASE = "urn:holocron:"
"""The vocabulary's place if none is given. Entities are then `urn:uuid:ID`."""

_FILE = files(__package__).joinpath("linked_data.yaml")
_PIECE = 10_000
_LEFT_OUT = {"entity_id", "from_id", "entity_type", "title_key", "alias_key"}


class _Vocabulary(FrozenModel):
    """`linked_data.yaml`."""

    types: dict[str, str]
    context: dict[str, str | dict[str, str]]
    prefixes: dict[str, str]
    renamed: dict[str, dict[str, str]]


class _More(NamedTuple):
    """How a table's rows are read: the column of their entity, and columns of other tables."""

    entity: str = "entity_id"
    selected: str = ""
    joined: str = ""


_PAGES = "left join (select source, title_key, url from source_pages) as pages using (source, title_key)"
_PUBLIC_TAGS = "(select tag_id, min(name) as word from tags where visibility = 'public' group by tag_id)"
_MORE = {
    "entities": _More(selected=", pages.url", joined=_PAGES),
    "entity_forwards": _More(),
    "entity_aliases": _More(),
    "entity_facts": _More(selected=', pages.url as "isBasedOn"', joined=_PAGES),
    "entity_relations": _More("from_id", ', pages.url as "isBasedOn"', _PAGES),
    "entity_files": _More(),
    "entity_tags": _More(selected=", tags.word", joined=f"join {_PUBLIC_TAGS} as tags using (tag_id)"),
}


@cache
def vocabulary() -> _Vocabulary:
    """The names of types and terms."""
    return _Vocabulary.model_validate(load_yaml(_FILE.read_text(encoding="utf-8")))


class Addresses(NamedTuple):
    """The names of things on the web.

    Attributes:
        base: an IRI that ends in '/', '#' or ':'.
    """

    base: str

    def entity(self, entity_id: str) -> str:
        """The IRI of an entity."""
        return f"urn:uuid:{entity_id}" if self.base == DEFAULT_BASE else f"{self.base}entity/{entity_id}"

    def statement(self, statement_id: str) -> str:
        """The IRI of a fact or relation."""
        return f"{self.base}statement/{statement_id}"

    @property
    def vocabulary(self) -> str:
        """The IRI that our own terms begin with."""
        return f"{self.base}vocabulary/"


def write_linked_data(
    connection: duckdb.DuckDBPyConnection, addresses: Addresses, path: Path, *, everything: bool
) -> int:
    """Write entities, and the ids of those that were merged, as one JSON-LD document with a node a line.

    Args:
        connection: from `contents.reading`.
        addresses: the IRIs of entities and terms.
        path: where to write.
        everything: whether rows that do not count are included.

    Returns:
        The number of nodes.
    """
    known = vocabulary()
    context = {"@vocab": addresses.vocabulary, **known.prefixes, **known.context}
    nodes = _nodes(connection, addresses, everything=everything)
    written = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(f'{{"@context": {_json(context)},\n"@graph": [')
        for node in nodes:
            file.write(f"{',' if written else ''}\n{_json(node)}")
            written += 1
        file.write("\n]}\n")
    return written


def _nodes(
    connection: duckdb.DuckDBPyConnection, addresses: Addresses, *, everything: bool
) -> Iterator[dict[str, Any]]:
    def rows(name: str) -> Iterator[Row]:
        return _rows(connection, name, everything=everything)

    streams = {
        name: _ByEntity(rows(name), _MORE[name].entity)
        for name in ("entity_aliases", "entity_facts", "entity_files", "entity_relations", "entity_tags")
    }
    for row in rows("entities"):
        of_it = {name: stream.of(row["entity_id"]) for name, stream in streams.items()}
        yield _entity(row, of_it, addresses)
    for row in rows("entity_forwards"):
        yield {
            "id": addresses.entity(row["entity_id"]),
            "isReplacedBy": addresses.entity(row["merged_into"]),
            "name": row["name"],
        }


def _entity(row: Row, about: Mapping[str, list[Row]], addresses: Addresses) -> dict[str, Any]:
    of_schema = vocabulary().types.get(row["entity_type"])
    names = {alias["alias"] for alias in about["entity_aliases"]} - {row["name"]}
    return _without_empty(
        {
            "id": addresses.entity(row["entity_id"]),
            "type": [row["entity_type"], *([of_schema] if of_schema else [])],
            **_renamed(row, "entity"),
            "alternateName": sorted(names),
            "keywords": sorted({tag["word"] for tag in about["entity_tags"]}),
            "image": [
                _image(file) for file in about["entity_files"] if str(file["mime"]).startswith("image/")
            ],
            "fact": [_fact(fact, addresses) for fact in about["entity_facts"]],
            "relation": [_relation(relation, addresses) for relation in about["entity_relations"]],
        }
    )


def _image(row: Row) -> dict[str, Any]:
    node = {name: row[name] for name in ("name", "caption", "role", "mime", "size_bytes", "sha256", "url")}
    return _without_empty({"type": "schema:ImageObject", **_renamed(node, "image")})


def _fact(row: Row, addresses: Addresses) -> dict[str, Any]:
    node = {"type": "schema:PropertyValue", **_renamed(row, "fact")}
    return _without_empty({"id": addresses.statement(node.pop("fact_id")), **node})


def _relation(row: Row, addresses: Addresses) -> dict[str, Any]:
    node = {"type": "Relation", **_renamed(row, "relation")}
    for name in ("to", "work_id"):
        node[name] = node[name] and addresses.entity(node[name])
    return _without_empty({"id": addresses.statement(node.pop("relation_id")), **node})


def _renamed(row: Row, kind: str) -> dict[str, Any]:
    """A row with the vocabulary's terms, without values that its place or type already says."""
    terms = vocabulary().renamed[kind]
    return {terms.get(name, name): value for name, value in row.items() if name not in _LEFT_OUT}


def _without_empty(node: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in node.items() if value is not None and value != []}


class _ByEntity:
    """Rows about entities, in the order of the entities, read one entity after another."""

    def __init__(self, rows: Iterable[Row], entity_column: str) -> None:
        self._groups = groupby(rows, itemgetter(entity_column))
        self._next = next(self._groups, None)

    def of(self, entity_id: str) -> list[Row]:
        """The rows of an entity. Entities must be asked for in order; the rows of others are skipped."""
        while self._next and self._next[0] < entity_id:
            self._next = next(self._groups, None)
        if not self._next or self._next[0] != entity_id:
            return []
        rows = list(self._next[1])
        self._next = next(self._groups, None)
        return rows


def _rows(connection: duckdb.DuckDBPyConnection, name: str, *, everything: bool) -> Iterator[Row]:
    """A table's rows in the order of the entities, with columns of other tables."""
    selection = select_rows(connection, name, everything=everything)
    sql = f"""
        select row.*{_MORE[name].selected}
        from ({selection.rows}) as row {_MORE[name].joined}
        order by row."{_MORE[name].entity}", {selection.order}
    """  # noqa: S608 - our own names
    for batch in another_connection(connection).sql(sql).to_arrow_reader(_PIECE):
        yield from batch.to_pylist()


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
