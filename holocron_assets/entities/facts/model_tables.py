"""The tables of interrogations that statements are made from, where the lake has them."""

from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.place.paths import Lake

_PAGE = frozenset({"source", "batch", "title", "title_key", "revision_id", "supported", "model"})
_COLUMNS = {
    "derived_entity_facts": _PAGE | {"fact_key", "value", "unit", "evidence", "confidence"},
    "derived_relationship_extraction": _PAGE
    | {
        "from_name",
        "relation",
        "to_name",
        "start_time",
        "end_time",
        "work_context",
        "evidence",
        "confidence",
    },
    "derived_entity_extraction": _PAGE | {"name", "type", "attributes", "evidence"},
    "derived_sentence_statements": frozenset(
        {"source", "batch", "title", "title_key", "revision_id", "supported"}
        | {"kind", "key", "other", "to_title", "evidence"}
    ),
    "derived_statement_checks": frozenset({"batch", "title_key", "statement", "failed"}),
}
"""The columns read from each. An interrogation that was changed to other columns is not read."""

FACTS, RELATIONS, LISTED, SENTENCES, CHECKS = _COLUMNS
_TYPES = {
    **dict.fromkeys(("title_key", "revision_id"), "bigint"),
    "supported": "boolean",
    "confidence": "double",
    "attributes": "struct(name varchar, value varchar)[]",
}


def model_tables(lake: Lake) -> list[Table]:
    """The tables of models' statements that the lake has."""
    return [
        table
        for table in lake.derived_tables
        if table.name in _COLUMNS and _COLUMNS[table.name] <= set(table.arrow_schema.names)
    ]


def model_rows(lake: Lake, name: str) -> str:
    """SQL of the columns of a model's table; it gives no rows if the lake has no such table."""
    columns = sorted(_COLUMNS[name])
    if any(table.name == name for table in model_tables(lake)):
        return f"(select {', '.join(columns)} from lake.{name})"  # noqa: S608 - names of our own
    empty = ", ".join(f"null::{_TYPES.get(column, 'varchar')} as {column}" for column in columns)
    return f"(select {empty} where false)"
