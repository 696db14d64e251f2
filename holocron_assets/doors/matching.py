"""Which entity a name of other data may mean, with a score, and with properties that agree or do not."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel, Field

from holocron_assets.doors.questions import ViewQuery
from holocron_assets.lake.place.paths import Lake
from holocron_assets.retrieval.search import Searcher

MOST_CANDIDATES = 50

_WEIGHED = 20
"""Candidates of a name whose properties are looked at, at least."""
_SHARE_OF_PROPERTIES = 0.3
_COUNTS = frozenset({"promoted", "adjudicated"})

_ENTITIES = """
    select entity_id, entity_type, name, title, source, continuity, state from entities
    where list_contains($ids, entity_id) and state not in ('merged', 'suppressed')
"""
_FORWARDS = """
    select entity_id, merged_into from entities
    where list_contains($ids, entity_id) and merged_into is not null
"""
_VALUES = """
    select distinct entity_id, fact_key as pid, value, null as other_id from entity_facts
    where list_contains($ids, entity_id) and list_contains($pids, fact_key)
    union all
    select distinct from_id, relation, to_name, to_id from entity_relations
    where list_contains($ids, from_id) and list_contains($pids, relation)
    order by all
"""

Values = Mapping[tuple[str, str], Sequence[Mapping[str, Any]]]
"""What is stated, by entity and property: each with its `value`, and `other_id` if that is an entity."""


class GivenProperty(BaseModel):
    """What is known of a thing of other data.

    Attributes:
        pid: the key of a fact or relation.
        v: a value, several, or an entity with its `id`.
    """

    pid: str
    v: Any = None

    def texts(self) -> set[str]:
        """The values as texts to be compared, of which one has to agree; empty if none is given."""
        values = self.v if isinstance(self.v, list) else [self.v]
        return _folded(value.get("id") if isinstance(value, dict) else value for value in values)


class NameQuery(BaseModel):
    """A name of other data.

    Attributes:
        query: the name, or an entity's id.
        type: types of entities, of which a candidate has one.
        limit: the most candidates.
        properties: what else is known.
    """

    query: str = ""
    type: str | list[str] = Field(default_factory=list)
    limit: float = Field(default=10, ge=1, allow_inf_nan=False)
    properties: list[GivenProperty] = Field(default_factory=list)

    @property
    def types(self) -> list[str]:
        """The types, as a list."""
        types = [self.type] if isinstance(self.type, str) else self.type
        return [one for one in types if one]


@dataclass(frozen=True)
class Candidate:
    """An entity that a name may mean.

    Attributes:
        entity: its row.
        fit: how well one of its names fits, up to 1.
        agreeing: the share of the given properties that agree; None if none was given.
        is_match: whether it is the one that is meant: nothing speaks against it, and no other is as good.
    """

    entity: Mapping[str, Any]
    fit: float
    agreeing: float | None
    is_match: bool = False

    @property
    def score(self) -> float:
        """Up to 100."""
        if self.agreeing is None:
            return 100 * self.fit
        return 100 * ((1 - _SHARE_OF_PROPERTIES) * self.fit + _SHARE_OF_PROPERTIES * self.agreeing)

    @property
    def is_whole(self) -> bool:
        """Whether nothing speaks against it: the whole name fits, all properties agree, and it counts."""
        return self.fit >= 1 and self.agreeing in {None, 1} and self.entity["state"] in _COUNTS


def candidates(lake: Lake, searcher: Searcher, queries: Sequence[NameQuery]) -> list[list[Candidate]]:
    """The candidates of each name, the best first.

    Args:
        lake: where entities are.
        searcher: finds names.
        queries: the names.
    """
    now = ids_now(lake, {query.query for query in queries})
    fits = [_fits(searcher, query, now[query.query]) for query in queries]
    ids = {entity_id for fit in fits for entity_id in fit}
    entities = entities_of(lake, ids)
    values = values_of(lake, ids, {one.pid for query in queries for one in query.properties})
    found = []
    for query, fit in zip(queries, fits, strict=True):
        known = [one for one in fit if one in entities and _is_wanted(entities[one], query)]
        ranked = [Candidate(entities[one], fit[one], _agreeing(values, one, query)) for one in known]
        found.append(_judged(ranked)[: min(int(query.limit), MOST_CANDIDATES)])
    return found


def ids_now(lake: Lake, ids: Iterable[str]) -> dict[str, str]:
    """The id of the entity that each id stands for: of a merged one, that which it was merged into."""
    asked = {one: one for one in ids}
    rows = ViewQuery(["entities"], _FORWARDS, {"ids": list(asked)}).rows(lake) if asked else []
    return asked | {row["entity_id"]: row["merged_into"] for row in rows}


def entities_of(lake: Lake, ids: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Entities by id; those that are unknown, merged or suppressed are left out."""
    wanted = list(ids)
    rows = ViewQuery(["entities"], _ENTITIES, {"ids": wanted}).rows(lake) if wanted else []
    return {row["entity_id"]: row for row in rows}


def values_of(lake: Lake, ids: Iterable[str], pids: Iterable[str]) -> Values:
    """What is stated or accepted of some entities, by facts and relations of some keys."""
    wanted = {"ids": list(ids), "pids": list(pids)}
    values: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    if all(wanted.values()):
        for row in ViewQuery(["entity_facts", "entity_relations"], _VALUES, wanted).rows(lake):
            values[row["entity_id"], row["pid"]].append(row)
    return values


def _judged(among: Iterable[Candidate]) -> list[Candidate]:
    """Candidates, the best first; it is a match if it is whole and the only one that is so good."""
    ranked = sorted(among, key=lambda one: -one.score)
    if ranked and ranked[0].is_whole and all(one.score < ranked[0].score for one in ranked[1:]):
        ranked[0] = replace(ranked[0], is_match=True)
    return ranked


def _fits(searcher: Searcher, query: NameQuery, own_id: str) -> dict[str, float]:
    """How well entities are called so, by id. What is asked fits wholly where it is an entity's own id."""
    if not query.query:
        return {}
    limit = max(_WEIGHED, min(int(query.limit), MOST_CANDIDATES))
    hits = searcher.names(query.query, limit, wanted={"type": query.types} if query.types else None)
    fits = {own_id: 1.0}
    for hit in hits:
        if entity_id := hit.row["entity_id"]:
            fits[entity_id] = max(hit.score, fits.get(entity_id, 0))
    return fits


def _is_wanted(entity: Mapping[str, Any], query: NameQuery) -> bool:
    return not query.types or entity["entity_type"] in query.types


def _agreeing(values: Values, entity_id: str, query: NameQuery) -> float | None:
    given = [(one.pid, texts) for one in query.properties if (texts := one.texts())]
    if not given:
        return None
    agree = sum(
        any(
            texts & _folded((stated["value"], stated["other_id"]))
            for stated in values.get((entity_id, pid), ())
        )
        for pid, texts in given
    )
    return agree / len(given)


def _folded(values: Iterable[object]) -> set[str]:
    return {str(value).strip().casefold() for value in values if value is not None}
