"""Open databases are kept for the next caller, and nothing of one caller reaches another."""

import os
from pathlib import Path

import duckdb
import pytest

from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.views.empty_database import closed_database
from holocron_assets.lake.views.spilling import another_connection, spilling_database

_MADE = "select table_name from duckdb_tables() where database_name <> 'memory'"


def _identity(connection: duckdb.DuckDBPyConnection) -> str:
    """A text that is a database's own: a row outside of what its callers get."""
    connection.execute("create table if not exists memory.main.mark as select uuid()::varchar as mark")
    return str(connection.execute("from memory.main.mark").fetchall()[0][0])


def _folder(connection: duckdb.DuckDBPyConnection) -> str:
    """The folder that a database would spill to."""
    found = connection.execute("select current_setting('temp_directory')").fetchone()
    assert found
    return str(found[0])


def test_the_next_caller_gets_the_same_database_and_nothing_that_was_made_in_it(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    with spilling_database(lake, memory="100MB") as connection:
        first = _identity(connection)
        connection.execute("create schema lake")
        connection.execute("create table lake.pages as select 1 as page_id")
        connection.execute("create temp table chosen as select 2 as page_id")
        connection.execute("create macro doubled(a) as a * 2")
        connection.execute("set variable of_caller = 3")

    with spilling_database(lake, memory="100MB") as connection:
        assert _identity(connection) == first
        assert connection.execute(_MADE).fetchall() == []
        assert connection.execute("select getvariable('of_caller')").fetchall() == [(None,)]
        with pytest.raises(duckdb.CatalogException):
            connection.execute("select doubled(1)")


def test_a_second_connection_sees_what_its_caller_made(tmp_path: Path) -> None:
    with spilling_database(Lake(tmp_path), memory="100MB") as connection:
        connection.execute("create table pages as select 1 as page_id")
        with another_connection(connection) as other:
            assert other.execute("from pages").fetchall() == [(1,)]


def test_two_callers_at_a_time_have_a_database_each(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    with (
        spilling_database(lake, memory="100MB") as one,
        spilling_database(lake, memory="100MB") as other,
    ):
        assert _identity(one) != _identity(other)


def test_a_kept_database_has_the_folder_and_the_memory_of_its_caller(tmp_path: Path) -> None:
    with spilling_database(Lake(tmp_path / "one"), memory="100MB"):
        pass
    with spilling_database(Lake(tmp_path / "it's other"), memory="200MB") as connection:
        assert str(tmp_path / "it's other") in _folder(connection)
        limit = connection.execute("select current_setting('memory_limit')").fetchall()
        assert limit == [("190.7 MiB",)]


def test_a_database_whose_caller_failed_is_closed(tmp_path: Path) -> None:
    lake, seen = Lake(tmp_path), []

    def ask(sql: str) -> None:
        with spilling_database(lake, memory="100MB") as connection:
            seen.append(_identity(connection))
            connection.execute(sql)

    with pytest.raises(duckdb.CatalogException):
        ask("from nothing_of_this_name")
    ask("select 1")

    assert seen[0] != seen[1]


def test_a_database_with_an_open_transaction_is_closed(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    with spilling_database(lake, memory="100MB") as connection:
        first = _identity(connection)
        connection.execute("begin; create table pages as select 1 as page_id")

    with spilling_database(lake, memory="100MB") as connection:
        assert connection.execute(_MADE).fetchall() == []
        connection.execute("begin; commit")
        assert _identity(connection) != first


def test_a_database_with_settings_of_its_caller_is_not_kept(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    with spilling_database(lake, memory="100MB", kind="own") as connection:
        connection.execute("set enable_external_access = false; set lock_configuration = true")

    with spilling_database(lake, memory="100MB") as connection:
        connection.execute("set threads = 1")  # refused where the configuration is locked


def test_a_locked_database_is_kept_for_its_lake_and_opens_no_file_of_another(tmp_path: Path) -> None:
    one, other = Lake(tmp_path / "one"), Lake(tmp_path / "it's other")
    (other.root / "lake").mkdir(parents=True)
    file = other.root / "lake" / "numbers.csv"
    file.write_text("number\n1\n", encoding="utf-8")
    seen = []
    for lake in (one, other, one):
        with spilling_database(lake, memory="100MB", kind="locked") as connection:
            seen.append(_identity(connection))
            connection.execute("create table pages as select 1 as page_id")
            with pytest.raises(duckdb.InvalidInputException, match="locked"):
                connection.execute("set threads = 2")
            if lake is other:
                assert connection.execute("from read_csv($1)", [str(file)]).fetchall() == [(1,)]
            else:
                with pytest.raises(duckdb.PermissionException):
                    connection.execute("from read_csv($1)", [str(file)])
    assert seen[0] == seen[2] != seen[1]

    with spilling_database(one, memory="100MB") as connection:
        connection.execute("set threads = 1")
        assert _identity(connection) not in seen, "who may open any file gets no locked one"


def test_a_database_that_spilled_is_closed_and_its_files_are_removed(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    with spilling_database(lake, memory="20MB") as connection:
        first = _identity(connection)
        connection.execute("create table rows as select range as a, hash(range) as b from range(3_000_000)")
        assert list(tmp_path.glob("spill-*"))

    assert list(tmp_path.glob("spill-*")) == []
    with spilling_database(lake, memory="20MB") as connection:
        assert _identity(connection) != first


def test_a_forked_process_opens_its_own(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    with spilling_database(lake, memory="100MB") as connection:
        first = _identity(connection)

    if not (child := os.fork()):
        with spilling_database(lake, memory="100MB") as connection:
            connection.execute("select sum(range) from range(1_000_000)").fetchall()
            os._exit(_identity(connection) == first)
    _, status = os.waitpid(child, 0)

    assert status == 0


def test_a_closed_database_is_shared_and_nothing_temporary_reaches_another_caller() -> None:
    with closed_database() as one, closed_database() as other:
        assert _identity(one) == _identity(other)
        one.execute("create temp table chosen as select 1 as page_id")
        with pytest.raises(duckdb.CatalogException):
            other.execute("from chosen")
        with pytest.raises(duckdb.PermissionException):
            one.execute("from read_csv('/etc/hostname')")


def test_after_an_internal_error_the_next_caller_gets_another_closed_database() -> None:
    with closed_database() as connection:
        first = _identity(connection)

    def fail() -> None:
        with closed_database():
            raise duckdb.InternalException("as DuckDB raises it")

    with pytest.raises(duckdb.InternalException):
        fail()
    with closed_database() as connection:
        assert _identity(connection) != first


def test_a_forked_process_opens_its_own_closed_database_and_leaves_its_parents_open() -> None:
    with closed_database() as connection:
        first = _identity(connection)

    if not (child := os.fork()):
        with closed_database() as connection:
            os._exit(_identity(connection) == first)
    _, status = os.waitpid(child, 0)

    assert status == 0
    with closed_database() as connection:
        assert _identity(connection) == first
