"""JSON-LD: entities with what is told of them, one after the other, in one document."""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
from pydantic import BaseModel, ConfigDict
from ruamel.yaml import YAML

from holocron_assets.exports.formats import select_rows
from holocron_assets.lake.schema import Row

DEFAULT_BASE = "urn:holocron:"
"""Where the vocabulary is, if nothing is said. Entities are then `urn:uuid:ID`."""

_FILE = files(__package__).joinpath("linked_data.yaml")
_PIECE = 10_000
_ADDRESSES = "select source, title_key, url from source_pages"
_NOT_TOLD = {"entity_id", "from_id", "entity_type", "title_key", "alias_key"}


class _Vocabulary(BaseModel):
    """`linked_data.yaml`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    types: dict[str, str]
    context: dict[str, str | dict[str, str]]
    prefixes: dict[str, str]
    renamed: dict[str, dict[str, str]]


@cache
def vocabulary() -> _Vocabulary:
    """What is called how."""
    return _Vocabulary.model_validate(YAML(typ="safe").load(_FILE.read_text(encoding="utf-8")))


class Addresses(NamedTuple):
    """What things are called on the web.

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
        addresses: what entities and terms are called.
        path: where to write.
        everything: what does not stand too.

    Returns:
        How many nodes there are.
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

    told = {
        "alternateName": _Told(rows("entity_aliases"), "entity_id"),
        "fact": _Told(rows("entity_facts"), "entity_id"),
        "relation": _Told(rows("entity_relations"), "from_id"),
        "keywords": _Told(rows("entity_tags"), "entity_id"),
    }
    for row in rows("entities"):
        of_it = {name: stream.of(row["entity_id"]) for name, stream in told.items()}
        yield _entity(row, of_it, addresses)
    for row in rows("entity_forwards"):
        yield {
            "id": addresses.entity(row["entity_id"]),
            "isReplacedBy": addresses.entity(row["merged_into"]),
            "name": row["name"],
        }


def _entity(row: Row, told: Mapping[str, list[Row]], addresses: Addresses) -> dict[str, Any]:
    of_schema = vocabulary().types.get(row["entity_type"])
    names = {alias["alias"] for alias in told["alternateName"]} - {row["name"]}
    return _without_empty(
        {
            "id": addresses.entity(row["entity_id"]),
            "type": [row["entity_type"], *([of_schema] if of_schema else [])],
            **_renamed(row, "entity"),
            "alternateName": sorted(names),
            "keywords": sorted({tag["tag_id"] for tag in told["keywords"]}),
            "fact": [_fact(fact, addresses) for fact in told["fact"]],
            "relation": [_relation(relation, addresses) for relation in told["relation"]],
        }
    )


def _fact(row: Row, addresses: Addresses) -> dict[str, Any]:
    told = {"type": "schema:PropertyValue", **_renamed(row, "fact")}
    return _without_empty({"id": addresses.statement(told.pop("fact_id")), **told})


def _relation(row: Row, addresses: Addresses) -> dict[str, Any]:
    told = {"type": "Relation", **_renamed(row, "relation")}
    for name in ("to", "work_id"):
        told[name] = told[name] and addresses.entity(told[name])
    return _without_empty({"id": addresses.statement(told.pop("relation_id")), **told})


def _renamed(row: Row, kind: str) -> dict[str, Any]:
    """A row by the terms of the vocabulary, without what its place or type says already."""
    terms = vocabulary().renamed[kind]
    return {terms.get(name, name): value for name, value in row.items() if name not in _NOT_TOLD}


def _without_empty(node: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in node.items() if value is not None and value != []}


class _Told:
    """Rows about entities, ordered by entity, that are read as the entities are."""

    def __init__(self, rows: Iterable[Row], entity_column: str) -> None:
        self._groups = groupby(rows, itemgetter(entity_column))
        self._next = next(self._groups, None)

    def of(self, entity_id: str) -> list[Row]:
        """The rows of an entity. Entities are asked for in order; those in between are passed over."""
        while self._next and self._next[0] < entity_id:
            self._next = next(self._groups, None)
        if not self._next or self._next[0] != entity_id:
            return []
        rows = list(self._next[1])
        self._next = next(self._groups, None)
        return rows


def _rows(connection: duckdb.DuckDBPyConnection, name: str, *, everything: bool) -> Iterator[Row]:
    """A table's rows, ordered by entity, each with the address of the page that says so."""
    selection = select_rows(connection, name, everything=everything)
    entity = "from_id" if name == "entity_relations" else "entity_id"
    address = "url" if name in ("entities", "entity_forwards") else "isBasedOn"
    sql = f"""
        select row.*, pages.url as "{address}"
        from ({selection.rows}) as row left join ({_ADDRESSES}) as pages using (source, title_key)
        order by row."{entity}", {selection.order}
    """  # noqa: S608 - our own names
    if "title_key" not in selection.columns:
        sql = f'select row.* from ({selection.rows}) as row order by row."{entity}", {selection.order}'  # noqa: S608
    for batch in connection.cursor().sql(sql).to_arrow_reader(_PIECE):
        yield from batch.to_pylist()


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
