"""Checks that the columns of a query of kind `sql` are those of the answer's rows."""

from collections.abc import Mapping
from typing import Any

import duckdb

from holocron_assets.derive.code.answers import row_columns
from holocron_assets.derive.evidence.queries import QueryError, ask_query
from holocron_assets.derive.interrogations.interrogation import Interrogation

_SECONDS = 10.0


def check_columns(
    connection: duckdb.DuckDBPyConnection, interrogation: Interrogation, values: Mapping[str, Any]
) -> None:
    """Refuse a query whose columns are not those of the answer's rows.

    Args:
        connection: to a lake, which may be empty; see `locked_database`.
        interrogation: of kind 'sql'.
        values: the values that its query may name; any of them may be null.

    Raises:
        QueryError: it cannot be asked, or its columns do not fit.
    """
    sql = (interrogation.sql or "").rstrip().removesuffix(";")
    # At least one row, so that its columns are known.
    found = ask_query(connection, f"from (select 1) left join ({sql}\n) on true", values, _SECONDS).columns[
        1:
    ]
    known, required = row_columns(interrogation.answer_schema, interrogation.rows.each)
    if lacking := sorted(required.difference(found)):
        raise QueryError(f"it gives no {', '.join(lacking)}, which the answer's rows must have")
    if unknown := sorted(set(found) - known):
        raise QueryError(f"it gives {', '.join(unknown)}, which the answer's rows do not have")
