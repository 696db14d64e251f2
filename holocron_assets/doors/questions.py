"""What all doors ask the lake about entities: each question is SQL over public views."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from holocron_assets.errors import PermanentError
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.views.database import arrow, connect, query

Some = str | Sequence[str] | None
"""One value, several, or any."""

_NAMED = """
    select entity_id, entity_type, name, title, source, state, continuity, merged_into
    from entities
    where entity_id = $entity or lower(title) = lower($entity) or lower(name) = lower($entity)
        or entity_id in (select entity_id from entity_aliases where lower(alias) = lower($entity))
    order by
        merged_into is not null, entity_id <> $entity, state = 'suppressed', title <> $entity,
        lower(title) <> lower($entity), lower(name) <> lower($entity),
        state not in ('promoted', 'adjudicated'), entity_id
"""


class NoEntityError(PermanentError, LookupError):
    """No entity is called so; the message says what to do."""


@dataclass(frozen=True)
class ViewQuery:
    """A query of the lake's views.

    Attributes:
        relations: the views that it reads.
        sql: its SQL.
        parameters: the values of its parameters.
    """

    relations: Sequence[str]
    sql: str
    parameters: Mapping[str, Any]

    def rows(self, lake: Lake) -> list[dict[str, Any]]:
        """The answer, as rows."""
        with connect(lake, relations=self.relations) as connection:
            return query(connection, self.sql, self.parameters)

    def part(self, lake: Lake, limit: int, skip: int) -> tuple[list[dict[str, Any]], int]:
        """Some rows of the answer, which its SQL puts in order, and how many there are in all."""
        asked = {**self.parameters, "limit": limit, "skip": skip}
        in_all = f"select count(*) as total from ({self.sql})"  # noqa: S608 - a question of our own
        with connect(lake, relations=self.relations) as connection:
            rows = query(connection, f"{self.sql} limit $limit offset $skip", asked)
            [counted] = query(connection, in_all, self.parameters)
        return rows, counted["total"]

    def table(self, lake: Lake) -> pa.Table:
        """The answer, as an Arrow table; it has its columns even without rows."""
        with connect(lake, relations=self.relations) as connection:
            return arrow(connection, self.sql, self.parameters)


def entities(type: Some, state: Some, source: Some, continuity: Some) -> ViewQuery:  # noqa: A002
    """Entities, by name. None stands for any value."""
    wanted = {"entity_type": type, "state": state, "source": source, "continuity": continuity}
    where, values = _conditions(wanted)
    return ViewQuery(["entities"], f"from entities where {where} order by name, entity_id", values)


def aliases(entity_id: str) -> ViewQuery:
    """The names of an entity."""
    sql = "select distinct alias, kind from entity_aliases where entity_id = $id order by kind, alias"
    return ViewQuery(["entity_aliases"], sql, {"id": entity_id})


def facts(entity_id: str | None, key: Some, type: Some) -> ViewQuery:  # noqa: A002
    """Facts that are stated or accepted, with the name of their entity. None stands for any value."""
    where, values = _conditions({"facts.fact_key": key, "facts.entity_type": type, "entity_id": entity_id})
    sql = f"""
        select entities.name, facts.*
        from entity_facts as facts join entities using (entity_id)
        where {where}
        order by entities.name, entity_id, facts.fact_key, facts.value, facts.fact_id
    """  # noqa: S608 - conditions on columns of our own
    return ViewQuery(["entity_facts", "entities"], sql, values)


def relations(entity_id: str | None, relation: Some, type: Some) -> ViewQuery:  # noqa: A002
    """Relations that are stated or accepted, with the name of the entity that they are of.

    Args:
        entity_id: of the entity at either end.
        relation: their names.
        type: types of the entity that they are of.
    """
    where, values = _conditions({"relations.relation": relation, "relations.entity_type": type})
    sql = f"""
        select entities.name as from_name, relations.*
        from entity_relations as relations join entities on entities.entity_id = relations.from_id
        where {where} and ($id is null or relations.from_id = $id or relations.to_id = $id)
        order by from_name, relations.from_id, relations.relation, relations.to_name, relations.relation_id
    """  # noqa: S608 - the same
    return ViewQuery(["entity_relations", "entities"], sql, {**values, "id": entity_id})


def passages(source: str, title: str) -> ViewQuery:
    """The passages of a page as it is now, in their order."""
    sql = """
        select headings, text, start_offset as start, end_offset as end, revision_id
        from lake.page_chunks semi join current_pages using (batch, title_key)
        where source = $source and title = $title
        order by position
    """
    return ViewQuery(["lake.page_chunks", "current_pages"], sql, {"source": source, "title": title})


def entity_called(lake: Lake, entity: str) -> dict[str, Any]:
    """The row of an entity that is called so; of several, one whose title it is, and then a promoted one.

    A suppressed one comes last, unless it is named by its id.

    Args:
        lake: where it is looked up.
        entity: an id, a title or a name, whatever its case. A merged one stands for what it was merged into.

    Raises:
        NoEntityError: there is none.
    """
    # As wikis write titles: what a person or program types may have an accent as a letter of its own.
    written = unicodedata.normalize("NFC", entity)
    found = ViewQuery(["entities", "entity_aliases"], _NAMED, {"entity": written}).rows(lake)
    if not found:
        raise NoEntityError(f"no entity is called {entity!r}. A search finds entities by part of a name")
    survivor = found[0]["merged_into"]
    return entity_called(lake, survivor) if survivor else found[0]


def _conditions(wanted: Mapping[str, Some]) -> tuple[str, dict[str, Any]]:
    """A condition on columns, and the values of its parameters."""
    given = {name: value for name, value in wanted.items() if value is not None}
    values = {
        f"wanted_{number}": [value] if isinstance(value, str) else list(value)
        for number, value in enumerate(given.values())
    }
    parts = [f"list_contains(${key}, {name})" for key, name in zip(values, given, strict=True)]
    return " and ".join(parts) or "true", values
