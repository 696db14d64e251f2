"""Queries read the lake's views, and can do nothing else."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import duckdb
import pytest

from holocron_assets.derive.evidence.queries import (
    AskSql,
    QueryError,
    ask_query,
    check_query,
    locked_database,
)
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.files.parquet import write_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGE_LINKS

LINKS = [("Aay", "Varn"), ("Cee", "Varn"), ("Bee", "Varn"), ("Bee", "Other"), ("Old Varn", "Varn")]
LINKS_HERE = "select from_title, kind from page_links where target_key = $title_key"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = Lake(tmp_path / "data")
    rows = [
        {
            "source": "sample",
            "batch": "sample-000001",
            "from_key": title_key("sample", one),
            "from_title": one,
            "kind": "redirect" if one.startswith("Old") else "link",
            "target": other,
            "target_key": title_key("sample", other),
            "target_namespace": 0,
            "position": 0,
        }
        for one, other in LINKS
    ]
    write_partition(lake, PAGE_LINKS, "sample-000001", rows)
    return lake


@pytest.fixture
def ask(lake: Lake) -> Iterator[AskSql]:
    with locked_database(lake) as connection:
        yield partial(ask_query, connection)


def test_a_query_names_values_of_the_page(ask: AskSql) -> None:
    found = ask(f"{LINKS_HERE} order by from_title desc", {"title_key": title_key("sample", "Varn")}, 10)
    assert found.columns == ("from_title", "kind")
    assert found.rows == (("Old Varn", "redirect"), ("Cee", "link"), ("Bee", "link"), ("Aay", "link"))


def test_rows_without_an_order_are_sorted(ask: AskSql) -> None:
    found = ask(LINKS_HERE, {"title_key": title_key("sample", "Varn"), "title": "not named"}, 10)
    assert [title for title, _ in found.rows] == ["Aay", "Bee", "Cee", "Old Varn"]


def test_no_threads_share_a_query_since_fractions_would_add_up_otherwise_each_time(lake: Lake) -> None:
    with locked_database(lake) as connection:
        assert connection.execute("select current_setting('threads')").fetchall() == [(1,)]


def test_more_rows_than_anyone_reads_are_refused_before_they_fill_the_memory(ask: AskSql) -> None:
    with pytest.raises(QueryError, match="more than 10,000 rows"):
        ask("from range(2_000_000_000);", {}, 10)


def test_no_rows_are_no_rows(ask: AskSql) -> None:
    assert ask(LINKS_HERE, {"title_key": 0}, 10).rows == ()


def test_a_value_that_is_not_there_is_named(ask: AskSql) -> None:
    with pytest.raises(QueryError, match=r"no value is called \['title_key'\]"):
        ask(LINKS_HERE, {"title": "Varn"}, 10)


def test_a_query_that_fails_says_why(ask: AskSql) -> None:
    with pytest.raises(QueryError, match="moods"):
        ask("select * from moods", {}, 10)


def test_a_query_ends_when_its_time_is_over_and_the_next_is_answered(ask: AskSql) -> None:
    with pytest.raises(QueryError, match=r"longer than 0\.2 s") as failed:
        ask("select count(*) from range(100000000) a, range(100000000) b where hash(a, b) = 7", {}, 0.2)
    assert failed.value.is_transient
    assert ask("select 1 as one", {}, 10).rows == ((1,),)


@pytest.mark.parametrize("sql", ["select * from moods", "select cast('x' as int)", "select 1 +"])
def test_a_wrong_query_is_wrong_for_good(ask: AskSql, sql: str) -> None:
    with pytest.raises(QueryError) as failed:
        ask(sql, {}, 10)
    assert not failed.value.is_transient


@pytest.mark.parametrize("error", [duckdb.IOException, duckdb.OutOfMemoryException])
def test_what_the_machine_is_to_blame_for_may_pass(
    ask: AskSql, error: type[duckdb.Error], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holocron_assets.derive.evidence.queries.query", Mock(side_effect=error("full")))
    with pytest.raises(QueryError) as failed:
        ask("select 1", {}, 10)
    assert failed.value.is_transient


@pytest.mark.parametrize(
    "sql",
    [
        "select 1; select 2",
        "insert into page_links values (1)",
        "with gone as (insert into page_links values (1) returning *) select 1",
        "with gone as (delete from page_links returning *) from gone",
        "copy page_links to 'x.csv'",
        "set threads = 1",
        "attach 'x.duckdb'",
        "install httpfs",
        "pragma database_list",
        "explain analyze select 1",
        "create table t as select 1",
        "from read_csv('/etc/hosts')",
        "select (select content from read_text('/etc/hosts'))",
        "from '/etc/hosts.csv'",
        'from "data.parquet"',
        "from glob('/*')",
        "from query('select 1')",
        "from query_table(['page_links'])",
        "from duckdb_settings()",
        "from duckdb_views",
        "from information_schema.tables",
        "from other.main.pages",
        "describe page_links",
        "select now()",
        "select current_date",
        "select random()",
        "select uuid()",
        "select getvariable('lake_root')",
        "select current_setting('temp_directory')",
        "from page_links tablesample 10%",
        "from page_links using sample 3",
        "select age(timestamp '2026-01-01')",
        "select",
        "",
    ],
)
def test_what_does_more_than_read_views_is_refused_before_it_runs(sql: str) -> None:
    with pytest.raises(QueryError, match="query "):
        check_query(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "with recursive n as (select 1 as i union all select i + 1 from n where i < 3) from n",
        "select unnest([1, 2]) as i union all select 3",
        "select from_title, row_number() over (order by from_title) from lake.page_links",
        "select * from page_links a join page_types b on a.from_key = b.title_key left join range(3) on true",
        "select list(from_title order by from_title) from (from page_links) where kind > 'l' group by target",
        "unpivot (select 1 as a, 2 as b) on a, b",
    ],
)
def test_what_only_reads_is_allowed(sql: str, ask: AskSql) -> None:
    ask(sql, {}, 10)


def test_the_database_itself_opens_nothing_outside_the_lake(lake: Lake, tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("a,b\n1,2\n")
    with locked_database(lake) as connection:
        for sql in (
            f"from read_csv('{tmp_path}/secret.csv')",
            f"copy (select 1) to '{tmp_path}/written.csv'",
            "from read_csv('http://127.0.0.1:9/x.csv')",
            "set enable_external_access = true",
        ):
            with pytest.raises((duckdb.PermissionException, duckdb.InvalidInputException)):
                connection.execute(sql)
    assert not (tmp_path / "written.csv").exists()
