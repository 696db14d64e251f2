"""Facts and relations in one shape: the statement, its origin, and a person's decision about it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from holocron_assets.decisions.log import Standing
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.tables import ENTITY_FACTS, ENTITY_RELATIONS
from holocron_assets.review.reading import Reader

STANDING = frozenset({"stated", "accepted"})
"""The statuses of statements that count."""

NOT_STANDING = ("proposed", "unmapped", "unsupported", "rejected")
"""The others, the likeliest to be true first."""


@dataclass(frozen=True)
class Statement:
    """A fact or a relation.

    Attributes:
        row: its row of `entity_facts` or `entity_relations`.
        statement_id: its id.
        entity_id: the entity that it is about.
        entity_name: that entity's name. The page that says it may be another entity's.
        predicate: key of the fact, or name of the relation.
        value: value of the fact, or the page's name for the other entity.
        to_id: the other entity of a relation, if it is known.
        status: as in the table, or as a person decided since.
        decision: the decision that the status follows from, if one does.
        is_disputed: whether there are several values, only one can be true, and nobody accepted one.
    """

    row: Row
    statement_id: str
    entity_id: str
    entity_name: str
    predicate: str
    value: str
    to_id: str | None
    status: str
    decision: Row | None
    is_disputed: bool = False

    @property
    def is_standing(self) -> bool:
        """Whether it counts."""
        return self.status in STANDING

    @property
    def said_by(self) -> str:
        """The rule or model that read it from the page."""
        return str(self.row["rule_id"] or self.row["model"] or self.row["method"])

    @property
    def details(self) -> list[str]:
        """Further details: qualifier, unit, period and work. What another of them says is left out."""
        row = self.row
        period = [row.get("start_time"), row.get("end_time")]
        is_said = all(text in (row["qualifier"] or "") for text in period if text)
        when = None if is_said else " to ".join(text or "?" for text in period)
        work = f"in {row['work']}" if row.get("work") else None
        unit = row.get("unit")
        shown_unit = unit if unit and unit not in self.value else None
        return [text for text in (row["qualifier"], shown_unit, when, work) if text]


def statements_of(
    reader: Reader, condition: str, values: dict[str, Any], decided: Standing, *, within: Iterable[str]
) -> list[Statement]:
    """Facts and then relations for which a condition holds.

    Args:
        reader: reads the lake.
        condition: as for `Reader.find`, over `statement_id` and `entity_id`.
        values: values of the condition's parameters.
        decided: the decisions that count.
        within: the entity types to search.
    """
    types = list(within)
    facts = reader.find(
        ENTITY_FACTS,
        f"{condition} order by fact_key, confidence desc, fact_id",
        values,
        within=types,
        columns="*, fact_id as statement_id",
    )
    relations = _relations(reader, condition, values, types)
    names = _entity_names(reader, [*facts, *relations])
    found = [_statement(row, names, decided) for row in facts]
    return _with_disputes(found) + [_statement(row, names, decided) for row in relations]


def relations_to(reader: Reader, entity_id: str, decided: Standing, most: int) -> list[Statement]:
    """At most `most` relations of others to this entity that count, the surest first within each name."""
    values = {"id": entity_id, "most": most, "statuses": sorted(STANDING), "accepted": _accepted(decided)}
    counting = "to_id = $id and (list_contains($statuses, status) or list_contains($accepted, relation_id))"
    found = _relations(reader, counting, values, None, limit=" limit $most")
    names = _entity_names(reader, found)
    return [one for row in found if (one := _statement(row, names, decided)).is_standing]


def _accepted(decided: Standing) -> list[str]:
    return [name for name, row in decided.statements.items() if row["kind"] == "accept"]


def _relations(
    reader: Reader,
    condition: str,
    values: dict[str, Any],
    within: Iterable[str] | None,
    limit: str = "",
) -> list[dict[str, Any]]:
    return reader.find(
        ENTITY_RELATIONS,
        f"{condition} order by relation, confidence desc, relation_id{limit}",
        values,
        within=within,
        columns="*, relation_id as statement_id, from_id as entity_id",
    )


def _entity_names(reader: Reader, rows: Sequence[Row]) -> dict[str, str]:
    """The names of the entities that statements are about, by id; an entity may be gone since."""
    ids, types = ({row[column] for row in rows} for column in ("entity_id", "entity_type"))
    return {name: row["name"] for name, row in reader.entities(sorted(ids), within=types).items()}


def _with_disputes(facts: Sequence[Statement]) -> list[Statement]:
    """Facts, marked if they are still disputed after what people decided about them."""
    values: dict[tuple[str, str], list[str]] = {}
    for fact in facts:
        if fact.row["is_disputed"] and fact.is_standing:
            values.setdefault((fact.entity_id, fact.predicate), []).append(fact.status)
    disputed = {about for about, found in values.items() if len(found) > 1 and "accepted" not in found}
    return [
        replace(
            fact, is_disputed=bool(fact.row["is_disputed"]) and (fact.entity_id, fact.predicate) in disputed
        )
        for fact in facts
    ]


def by_predicate(statements: Iterable[Statement]) -> dict[str, Sequence[Statement]]:
    """Statements by predicate, in their order."""
    found: dict[str, list[Statement]] = {}
    for statement in statements:
        found.setdefault(statement.predicate, []).append(statement)
    return dict(found)


def _statement(row: Row, names: Mapping[str, str], decided: Standing) -> Statement:
    decision = decided.statements.get(row["statement_id"])
    status = {"accept": "accepted", "reject": "rejected"}[decision["kind"]] if decision else row["status"]
    return Statement(
        row,
        row["statement_id"],
        row["entity_id"],
        names.get(row["entity_id"], row["title"]),
        row.get("fact_key") or row["relation"],
        row.get("value") or row.get("to_name") or "",
        row.get("to_id"),
        status,
        decision,
    )
