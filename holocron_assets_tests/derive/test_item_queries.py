"""A query asked about many items at once gives each the rows that it gives when asked about it alone."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import duckdb
import pytest

from holocron_assets.derive.evidence.item_queries import NotAtOnceError, asking_at_once, item_query
from holocron_assets.derive.evidence.queries import AskSql, QueryError, ask_query, locked_database
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.files.parquet import write_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGE_LINKS

TITLES = ("Varn", "Other", "Nobody", "Third")
ITEMS = [
    {"title": title, "title_key": title_key("sample", title), "source": "sample", "page_id": number or None}
    for number, title in enumerate(TITLES)
]
AT_ONCE = "holocron_assets.derive.evidence.item_queries.ask_query"

HERE = "from page_links where target_key = $title_key"
SAME = [
    f"select from_title, kind {HERE}",
    f"select from_title, position {HERE} order by position desc, from_title",
    f"select from_title, position {HERE} order by position desc, from_title limit 2",
    f"select from_title {HERE} order by position, from_title limit 2 offset 1",
    f"select kind, count(*) as links {HERE} group by kind order by links desc, kind",
    f"select count(*) as links {HERE} and position > 1000",
    f"select max(position) as most {HERE} having count(*) > 100",
    f"with here as (select * {HERE}) select a.from_title, b.from_title from here a join here b using (kind)",  # noqa: S608 - a test's
    "with recursive n as (select 1 as i union all select i + 1 from n where i < 3) select i, $title from n",
    f"(select from_title {HERE} order by from_title limit 1) union all select 'end of ' || $title",
    f"select distinct position % 2 as odd {HERE} order by odd",
    "select $title as title, $page_id as page_id, $title_key + 1 as next, ['a', $source] as list",
    "select unnest([1, 2, $page_id]) as number",
    "select upper($title), $title, 1 + $page_id",
    f"select (select min(from_title) {HERE}) as first, exists (select 1 {HERE}) as any",
    f"select *, row_number() over (partition by kind order by from_title) as place {HERE} qualify place < 3",
    "select from_title from page_links where target_key in (select $title_key) and kind not in ('redirect')",
    f"select {{'a': from_title, 'b': [position]}} as both {HERE}",
    "select 7 as seven where $title <> 'Varn';",
    f"select from_title {HERE} -- the links",
    f"select from_title as title, position {HERE} order by 2 desc, title",
    f"select position {HERE} order by lower(from_title) desc",
    f'select page_links.from_title as "a name" {HERE} order by page_links.from_title desc',
    f"select * {HERE} order by all desc",
    f"select from_title {HERE} union all select 'Z ' || $title order by from_title desc",
    f"select kind, max(position) as most {HERE} group by all order by count(*) desc, kind",
]


@pytest.fixture
def database(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    lake = Lake(tmp_path / "data")
    rows = [_link(f"Page {number:02}", TITLES[number % 2 * (1 + number % 3)], number) for number in range(40)]
    write_partition(lake, PAGE_LINKS, "sample-000001", rows)
    with locked_database(lake) as connection:
        yield connection


def _link(one: str, other: str, position: int) -> dict[str, Any]:
    return {
        "source": "sample",
        "batch": "sample-000001",
        "from_key": title_key("sample", one),
        "from_title": one,
        "kind": "redirect" if position % 7 == 0 else "link",
        "target": other,
        "target_key": title_key("sample", other),
        "target_namespace": 0,
        "position": position % 5,
    }


@pytest.fixture
def ask(database: duckdb.DuckDBPyConnection) -> Iterator[AskSql]:
    with asking_at_once(database, ITEMS) as asking:
        yield asking


@pytest.mark.parametrize("sql", SAME)
def test_every_item_gets_the_rows_that_it_gets_alone(
    database: duckdb.DuckDBPyConnection, ask: AskSql, monkeypatch: pytest.MonkeyPatch, sql: str
) -> None:
    alone = [ask_query(database, sql, values, 10) for values in ITEMS]
    monkeypatch.setattr(AT_ONCE, pytest.fail)
    assert [ask(sql, values, 10) for values in ITEMS] == alone


def test_the_rows_of_each_of_many_items_keep_their_order(tmp_path: Path) -> None:
    titles = [f"Title {number}" for number in range(40)]
    lake = Lake(tmp_path / "many")
    rows = [_link(f"Page {number:03}", titles[number % 40], number) for number in range(200)]
    write_partition(lake, PAGE_LINKS, "sample-000001", rows)
    items = [{"title_key": title_key("sample", title)} for title in titles]
    sql = f"select from_title {HERE} order by from_title desc"
    with locked_database(lake) as connection, asking_at_once(connection, items) as ask:
        found = [[title for (title,) in ask(sql, item, 10).rows] for item in items]
    pages = [[f"Page {number:03}" for number in range(200) if number % 40 == place] for place in range(40)]
    assert found == [own[::-1] for own in pages]


@pytest.mark.parametrize("at_once", [True, False])
def test_rows_that_tie_come_in_the_order_of_their_columns(
    database: duckdb.DuckDBPyConnection, ask: AskSql, *, at_once: bool
) -> None:
    asked = ask if at_once else partial(ask_query, database)
    found = asked(f"select from_title, kind {HERE} order by kind limit 3", ITEMS[0], 10)
    assert [title for title, _ in found.rows] == ["Page 02", "Page 04", "Page 06"]


@pytest.mark.parametrize(
    "sql", [f"select from_title {HERE} limit 2", f"select 1 {HERE} order by 1 limit $page_id"]
)
def test_what_cannot_be_asked_at_once_is_asked_item_by_item(
    database: duckdb.DuckDBPyConnection, ask: AskSql, sql: str
) -> None:
    alone = [ask_query(database, sql, values, 10) for values in ITEMS]
    assert [ask(sql, values, 10) for values in ITEMS] == alone


def test_a_limit_without_an_order_is_not_asked_at_once(database: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(NotAtOnceError, match="where they lie"):
        item_query(database, f"select from_title {HERE} limit 2")


def test_a_query_that_fails_about_one_item_fails_about_no_other(ask: AskSql) -> None:
    sql = "select cast(case when $title = 'Other' then 'x' else '1' end as integer) as one"
    assert ask(sql, ITEMS[0], 10).rows == ((1,),)
    with pytest.raises(QueryError, match="Could not convert"):
        ask(sql, ITEMS[1], 10)
    assert ask(sql, ITEMS[2], 10).rows == ((1,),)


def test_an_item_with_too_many_rows_is_refused_and_the_others_are_not(ask: AskSql) -> None:
    sql = "select range as n from range(case when $title = 'Other' then 10_001 else 2 end)"
    assert len(ask(sql, ITEMS[0], 10).rows) == 2
    with pytest.raises(QueryError, match="more than 10,000 rows"):
        ask(sql, ITEMS[1], 10)


def test_a_query_is_asked_once_however_many_items_there_are(
    ask: AskSql, monkeypatch: pytest.MonkeyPatch
) -> None:
    rewritten, alone = Mock(wraps=item_query), Mock(wraps=ask_query)
    monkeypatch.setattr("holocron_assets.derive.evidence.item_queries.item_query", rewritten)
    monkeypatch.setattr(AT_ONCE, alone)
    for values in ITEMS * 3:
        ask(SAME[0], values, 10)
    rewritten.assert_called_once()
    alone.assert_not_called()
