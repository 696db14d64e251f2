"""One SQL query for what all interrogations want, to count it. `wanted.py` gives one partition's rows."""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from itertools import groupby
from string import Template

from holocron_assets.derive.interrogations.conditions import TYPE_TABLES, relations_of_condition
from holocron_assets.derive.interrogations.derived_tables import ROW_TABLES
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.items.wanted import conditions_of
from holocron_assets.lake.tables import (
    ENTITIES,
    ENTITY_PAIRS,
    LLM_RUNS,
    PAGE_SIGNALS,
    PAGE_TYPES,
    PAGES,
    RULE_CLASSIFICATIONS,
    TYPE_PREDICTIONS,
)
from holocron_assets.lake.views.literals import quoted

WANTED_TABLES = (PAGES, PAGE_SIGNALS, PAGE_TYPES, RULE_CLASSIFICATIONS, ENTITY_PAIRS, ENTITIES)
"""The tables that the query reads."""

_SPARED_BY = (TYPE_PREDICTIONS, LLM_RUNS)
"""What it reads too, where an interrogation spares pages of whose type the learned model is sure."""

_BY_TYPE = {
    ENTITY_PAIRS.name: "first_source as source, entity_type as partition, pair_id as item",
    ENTITIES.name: "source, entity_type as partition, entity_id as item",
}
"""The columns chosen from tables that are partitioned by entity type."""

_NOTHING = (
    "select null::varchar as interrogation, null::varchar as source, null::varchar as partition, "
    "null::varchar as item where false"
)
_UNPREDICTED = """(
    title_key not in (select title_key from lake.type_predictions where not abstains)
    or title_key::varchar in (
        select split_part(item_id, '#', 1) from lake.llm_runs where interrogation = {name}
    )
)"""
_NO_VERSIONS = "select null::varchar as interrogation, null::varchar as prompt_version where false"


def wanted_sql(interrogations: Sequence[Interrogation], superseded: str) -> str:
    """SQL of what interrogations want: columns interrogation, source, partition and item.

    An item is a page, by its title key, a pair or an entity. Where a condition fails on a row, the row is not
    chosen here.

    Args:
        interrogations: which.
        superseded: a relation with the pages to leave out, by batch and title_key.
    """
    ordered = sorted(interrogations, key=_rows_of)
    parts = [_wanted_of(rows, list(several), superseded) for rows, several in groupby(ordered, key=_rows_of)]
    return "\nunion all\n".join(parts) or _NOTHING


def wanted_relations(interrogations: Iterable[Interrogation]) -> AbstractSet[tuple[str, str]]:
    """Schema and name of each relation that `wanted_sql` reads, with view `superseded_pages` to leave out."""
    some = list(interrogations)
    tables = [*WANTED_TABLES, *(_SPARED_BY if any(one.wants.unpredicted for one in some) else ())]
    own = {("", "superseded_pages"), *(("lake", table.name) for table in tables)}
    return own.union(*(one.relations_of_condition for one in some))


def versions_sql(interrogations: Sequence[Interrogation]) -> str:
    """SQL of each interrogation's prompt version now: items with another version are asked about again."""
    rows = [
        f"select {_literal(one.name)} as interrogation, {_literal(one.prompt_version)} as prompt_version"
        for one in interrogations
    ]
    return " union all ".join(rows) or _NO_VERSIONS


def _rows_of(interrogation: Interrogation) -> str:
    """The table that an interrogation chooses from: of pages, the one of their types."""
    over = interrogation.over
    return interrogation.wants.of if over == "pages" else ROW_TABLES[over].name


def _wanted_of(rows: str, interrogations: Sequence[Interrogation], superseded: str) -> str:
    """What several interrogations want of the same rows, which are read once."""
    chosen = ", ".join(f"if({_condition(one)}, {_literal(one.name)}, null)" for one in interrogations)
    if rows in _BY_TYPE:
        columns, chosen_from = _BY_TYPE[rows], f"lake.{rows} as wanted_rows"
    else:
        columns = "source, batch as partition, title_key::varchar as item"
        chosen_from = f"(from {_typed(rows)} anti join {superseded} using (batch, title_key)) as wanted_rows"
    return (
        f"select interrogation, * exclude (interrogation) "  # noqa: S608 - names are declared, conditions were checked
        f"from (select unnest([{chosen}]) as interrogation, {columns} from {chosen_from}) "
        "where interrogation is not null"
    )


def _typed(types: str) -> str:
    """Pages with their signals and types, in SQL."""
    columns = {column.name for column in TYPE_TABLES[types].columns}
    shared = {column.name for column in PAGE_SIGNALS.columns} & columns
    own = ", ".join(sorted(shared - {"batch", "title_key"}))
    return (
        f"lake.{PAGE_SIGNALS.name} join (from lake.{types} select * exclude ({own})) using (batch, title_key)"
    )


def _condition(interrogation: Interrogation) -> str:
    conditions, values = conditions_of(interrogation)
    if interrogation.wants.unpredicted:
        conditions.append(_UNPREDICTED.format(name=_literal(interrogation.name)))
    literals = {name: _literal(value) for name, value in values.items()}
    own = interrogation.wants.sql
    texts = [one if one == own else Template(one).substitute(literals) for one in conditions]
    return " and ".join(map(_or_false, texts)) or "true"


def _or_false(condition: str) -> str:
    attempt = "" if relations_of_condition(condition) else "try"  # there is none around a subquery
    return f"coalesce({attempt}({condition}), false)"


def _literal(value: object) -> str:
    match value:
        case list():
            return f"[{', '.join(map(_literal, value))}]"
        case str():
            return quoted(value)
        case _:
            return repr(value)
