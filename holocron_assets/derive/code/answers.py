"""Makes an answer from the rows of a query or of a function."""

from collections.abc import Iterable, Mapping
from datetime import date, time
from decimal import Decimal
from typing import Any

from holocron_assets.derive.engine.replies import check_answer
from holocron_assets.derive.interrogations.answer_schema import Schema
from holocron_assets.errors import PermanentError
from holocron_assets.lake.declaration.schema import Row


class RowsDoNotFitError(PermanentError):
    """The rows of an item make no answer."""


def check_filled(schema: Schema, each: str | None) -> None:
    """Refuse a schema that rows cannot fill: with `rows.each`, an answer consists only of its rows.

    Raises:
        ValueError: names what would stay empty.
    """
    others = sorted(schema["properties"].keys() - {each}) if each else []
    if others:
        raise ValueError(f"answer_schema: {', '.join(others)}: only a model fills them in addition to {each}")


def row_columns(schema: Schema, each: str | None) -> tuple[frozenset[str], frozenset[str]]:
    """The columns that rows may have, and those that they must have."""
    row = schema if each is None else schema["properties"][each]["items"]
    return frozenset(row["properties"]), frozenset(row["required"])


def answer_of_rows(rows: Iterable[Row], schema: Schema, each: str | None) -> dict[str, Any]:
    """The answer that an item's rows make.

    Args:
        rows: the item's rows. An optional value that is empty is left out.
        schema: schema of an answer.
        each: the answer's array that has the rows as objects; without it, the answer is one row.

    Raises:
        InvalidAnswerError: they do not fit the schema.
        RowsDoNotFitError: an answer of one row has none or several; or something in the list is no row.
    """
    _, required = row_columns(schema, each)
    plain = [_plain_row(row, required) for row in rows]
    if each is None and len(plain) != 1:
        raise RowsDoNotFitError(f"gave {len(plain)} rows; without `rows.each`, an answer is one row")
    answer = plain[0] if each is None else {each: plain}
    check_answer(answer, schema)
    return answer


def plain_value(value: Any) -> Any:
    """A value as JSON can hold it: a time in ISO 8601, and a value of a type that JSON lacks as text."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case date() | time():
            return value.isoformat()
        case Mapping():
            return {str(name): plain_value(part) for name, part in value.items()}
        case list() | tuple():
            return [plain_value(part) for part in value]
    return str(value)


def _plain_row(row: Any, required: frozenset[str]) -> dict[str, Any]:
    if not isinstance(row, Mapping):
        raise RowsDoNotFitError(f"gave {type(row).__name__} instead of a row, a mapping of column names")
    plain: dict[str, Any] = plain_value(row)
    return {name: value for name, value in plain.items() if value is not None or name in required}
