"""A query of a person's own, over the views that it names."""

from pathlib import Path
from typing import Any

import duckdb
import pytest

from holocron_assets.derive.interrogations.loading import derived_tables
from holocron_assets.doors.asking_sql import ask_sql
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.views.database import query


def test_a_query_that_fails_by_what_it_reads_is_run_once(tmp_path: Path) -> None:
    asked: list[str] = []

    def read(connection: duckdb.DuckDBPyConnection, sql: str) -> list[dict[str, Any]]:
        asked.append(sql)
        return query(connection, sql)

    failing = "select cast(name as integer) from (select name from entities union all select 'words')"
    with pytest.raises(duckdb.ConversionException, match="words"):
        ask_sql(Lake(tmp_path, tuple(derived_tables())), [], failing, read)
    assert asked == [failing]
