import random
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest
from asked_lake import ask_lake

from holocron_assets.decisions.log import new_decision, record
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import Column, Table, type_int, type_string
from holocron_assets.lake.files.parquet import DamagedPartitionError, write_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import (
    ALL_TABLES,
    ENTITIES,
    ENTITY_ALIASES,
    ENTITY_CANDIDATES,
    HTTP_ATTEMPTS,
    PAGE_LINKS,
    PAGE_SIGNALS,
    PAGE_TYPES,
    PAGES,
    RULE_CLASSIFICATIONS,
    SITES,
)
from holocron_assets.lake.views.database import connect, publish, query
from holocron_assets.lake.views.public_views import all_behind, public_views
from holocron_assets.lake.views.publishing import publish_views, views_are_stale

pytestmark = pytest.mark.system

DAY = timedelta(days=1)
START = datetime(2026, 3, 1, tzinfo=UTC)
VIEWS_OF_TABLES = {
    "pages": PAGES,
    "current_pages": PAGES,
    "page_links": PAGE_LINKS,
    "page_signals": PAGE_SIGNALS,
    "rule_classifications": RULE_CLASSIFICATIONS,
    "page_types": PAGE_TYPES,
    "entity_candidates": ENTITY_CANDIDATES,
    "entities": ENTITIES,
    "entity_history": ENTITIES,
    "entity_aliases": ENTITY_ALIASES,
    "http_attempts": HTTP_ATTEMPTS,
    "sites": SITES,
}


DERIVED_FROM_PAGES = Table(
    "derived_moods",
    "derived",
    "The mood of a page",
    key=("title_key",),
    columns=(
        Column("batch", type_string, "Batch"),
        Column("title_key", type_int, "Title key"),
        Column("mood", type_string, "Mood"),
    ),
    partition_column="batch",
)
DERIVED_FROM_PAIRS = Table(
    "derived_likeness", "derived", "A pair", key=("pair_id",), columns=(Column("pair_id", type_string, "Id"),)
)


def page(title: str, day: int = 0, **changes: Any) -> dict[str, Any]:
    """A page as a wiki answered it on a day; with `http_status` None, as a dump holds it."""
    return {
        **dict.fromkeys(column.name for column in PAGES.columns),
        "source": "sample",
        "requested_title": title,
        "requested_key": title_key(changes.get("source", "sample"), title),
        "title": title,
        "title_key": title_key(changes.get("source", "sample"), title),
        "namespace": 0,
        "status": "ok",
        "http_status": 200,
        "attempts": 1,
        "fetched_at": START + day * DAY,
        "depth": 0,
        "run_id": "run-1",
        **changes,
    }


def missing(title: str, day: int = 0) -> dict[str, Any]:
    return page(title, day, status="missing")


def in_dump(title: str, revision_day: int, **changes: Any) -> dict[str, Any]:
    """A page of a dump that was read on day 9."""
    return page(title, 9, http_status=None, revision_at=START + revision_day * DAY, **changes)


def entity(entity_type: str, **changes: Any) -> dict[str, Any]:
    return {
        "entity_id": f"id of {entity_type}",
        "entity_type": entity_type,
        **dict.fromkeys(("source", "name", "continuity", "title", "batch", "method", "origin"), "any"),
        "title_key": 1,
        "confidence": 0.9,
        "rule_ids": [],
        **dict.fromkeys(("state", "state_by", "state_reason", "run_id"), "any"),
        **dict.fromkeys(("state_at", "valid_from"), START),
        **changes,
    }


def lake_of(folder: Path, *batches: Iterable[dict[str, Any]]) -> Lake:
    lake = Lake(folder)
    for number, pages in enumerate(batches):
        batch = f"sample-{number:06}"
        rows = [{**row, "batch": batch, "position": position} for position, row in enumerate(pages)]
        write_partition(lake, PAGES, batch, rows)
    return lake


def asked(lake: Lake, sql: str) -> list[dict[str, Any]]:
    return ask_lake(lake, sql)


def current(lake: Lake) -> list[tuple[str, str]]:
    rows = asked(lake, "select title, batch from current_pages order by title")
    return [(row["title"], row["batch"]) for row in rows]


def described(lake: Lake, view: str) -> dict[str, str]:
    return {row["column_name"]: row["column_type"] for row in asked(lake, f"describe {view}")}


@pytest.mark.parametrize("view", VIEWS_OF_TABLES)
def test_an_empty_lake_gives_every_view_with_the_declared_columns(tmp_path: Path, view: str) -> None:
    assert asked(Lake(tmp_path), f"select * from {view}") == []  # noqa: S608 - a name from above
    assert list(described(Lake(tmp_path), view)) == VIEWS_OF_TABLES[view].arrow_schema.names


def test_an_empty_lake_gives_every_other_view_too(tmp_path: Path) -> None:
    with connect(Lake(tmp_path)) as connection:
        for row in query(connection, "select schema_name || '.' || view_name as name from duckdb_views()"):
            query(connection, f"select * from {row['name']}")  # noqa: S608 - a name from the catalog


def test_files_from_before_a_column_was_declared_are_read_with_newer_ones(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    before = replace(ENTITIES, columns=tuple(column for column in ENTITIES.columns if not column.added))
    write_partition(lake, before, "Droid", [entity("Droid")])
    write_partition(lake, ENTITIES, "Species", [{**entity("Species"), "review_reason": "page deleted"}])
    rows = asked(lake, "select entity_type, review_reason from entities")
    reasons = {row["entity_type"]: row["review_reason"] for row in rows}
    assert reasons == {"Droid": None, "Species": "page deleted"}
    assert described(lake, "entities") == described(Lake(tmp_path / "empty"), "entities")


def test_an_entity_is_one_row_in_the_type_where_it_stands(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    left = entity("Droid", entity_id="1", state="suppressed", valid_from=START + DAY, review_reason="retyped")
    gone = entity("Droid", entity_id="2", state="suppressed", valid_to=START + DAY)
    suppressed = entity("Droid", entity_id="3", state="suppressed")
    last_suppressed = entity("Species", entity_id="3", state="suppressed", valid_from=START + DAY)
    write_partition(lake, ENTITIES, "Droid", [left, gone, suppressed])
    write_partition(lake, ENTITIES, "Species", [entity("Species", entity_id="1"), last_suppressed])
    rows = asked(lake, "select entity_id, entity_type, state from entities order by entity_id")
    assert [tuple(row.values()) for row in rows] == [("1", "Species", "any"), ("3", "Species", "suppressed")]
    assert asked(lake, "from entity_reviews") == []
    assert asked(lake, "select count(*) as rows from entity_history") == [{"rows": 5}]


@pytest.mark.parametrize("table", ALL_TABLES, ids=lambda table: table.name)
def test_a_view_has_the_same_types_with_and_without_files(tmp_path: Path, table: Any) -> None:
    empty = described(Lake(tmp_path / "empty"), f"lake.{table.name}")
    write_partition(Lake(tmp_path / "full"), table, "sample", [])
    assert described(Lake(tmp_path / "full"), f"lake.{table.name}") == empty


def test_times_come_out_in_utc_and_parameters_go_in(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, [page("Varn"), page("Gort", 1)])
    with connect(lake) as connection:
        sql = "select fetched_at from pages where title = $title"
        assert query(connection, sql, {"title": "Gort"}) == [{"fetched_at": START + DAY}]


def test_a_folder_name_is_no_pattern_and_ends_no_string(tmp_path: Path) -> None:
    odd = tmp_path / "it's [an] o*d 'näme'"
    assert current(lake_of(odd, [page("Varn")])) == [("Varn", "sample-000000")]
    with duckdb.connect(publish(Lake(odd)), read_only=True) as client:
        assert client.execute("select title from current_pages").fetchall() == [("Varn",)]


def test_the_newest_answer_about_a_title_counts(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, [page("Varn", 2)], [page("Varn", 1)], [page("Gort", 1)], [missing("Gort", 2)])
    assert current(lake) == [("Varn", "sample-000000")]


def test_a_failure_is_no_answer(tmp_path: Path) -> None:
    failures = [page("Varn", 1, status="failed"), page("Gort", 1, status="dead")]
    assert current(lake_of(tmp_path, [page("Varn")], failures)) == [("Varn", "sample-000000")]


def test_a_dump_is_as_true_as_its_revisions_are_new(tmp_path: Path) -> None:
    asked_for = [page("Varn", 5), page("Gort", 5)]
    lake = lake_of(tmp_path, asked_for, [in_dump("Varn", 3), in_dump("Gort", 6)])
    assert current(lake) == [("Gort", "sample-000001"), ("Varn", "sample-000000")]


def test_one_answer_counts_where_several_came_at_once(tmp_path: Path) -> None:
    twice = [page("Varn"), {**page("varn"), "title": "Varn", "title_key": title_key("sample", "Varn")}]
    lake = lake_of(tmp_path, twice, twice)
    assert asked(lake, "select batch, position from current_pages") == [
        {"batch": "sample-000001", "position": 0}
    ]


def test_a_moved_page_is_current_at_its_new_title_only(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, [page("Varn", 1, page_id=4)], [page("Varnite", 2, page_id=4)])
    assert current(lake) == [("Varnite", "sample-000001")]


def test_the_redirect_that_a_move_leaves_behind_is_current_as_well_as_the_page(tmp_path: Path) -> None:
    lake = lake_of(
        tmp_path,
        [page("Varn", 1, page_id=4)],
        [page("Varnite", 2, page_id=4), page("Varn", 2, page_id=9, redirect_target="Varnite")],
    )
    assert current(lake) == [("Varn", "sample-000001"), ("Varnite", "sample-000001")]


def test_a_page_that_moved_back_is_current_where_it_was_seen_last(tmp_path: Path) -> None:
    days = [page("Varn", 1, page_id=4)], [page("Varnite", 2, page_id=4)], [page("Varn", 3, page_id=4)]
    assert current(lake_of(tmp_path, *days)) == [("Varn", "sample-000002")]


def test_a_page_that_moved_and_was_deleted_does_not_come_back_at_its_old_title(tmp_path: Path) -> None:
    days = [page("Varn", 1, page_id=4)], [page("Varnite", 2, page_id=4)], [missing("Varnite", 3)]
    assert current(lake_of(tmp_path, *days)) == []


def test_titles_that_swapped_pages_are_both_current(tmp_path: Path) -> None:
    before = [page("Varn", 1, page_id=4), page("Gort", 1, page_id=5)]
    after = [page("Varn", 2, page_id=5), page("Gort", 2, page_id=4)]
    assert current(lake_of(tmp_path, before, after)) == [
        ("Gort", "sample-000001"),
        ("Varn", "sample-000001"),
    ]


def test_a_dump_shows_a_move_that_came_after_the_wiki_was_asked(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, [page("Varn", 1, page_id=4)], [in_dump("Varnite", 3, page_id=4)])
    assert current(lake) == [("Varnite", "sample-000001")]
    older = lake_of(tmp_path / "older", [page("Varn", 5, page_id=4)], [in_dump("Varnite", 3, page_id=4)])
    assert current(older) == [("Varn", "sample-000000")]


def test_pages_without_id_are_known_by_title_alone(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, [in_dump("Varn", 1), in_dump("Gort", 2)], [page("Varn", 10, page_id=4)])
    assert current(lake) == [("Gort", "sample-000000"), ("Varn", "sample-000001")]


def test_page_ids_of_other_sources_are_other_pages(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, [page("Varn", 1, page_id=4)], [page("Gort", 2, page_id=4, source="other")])
    assert [title for title, _ in current(lake)] == ["Gort", "Varn"]


def test_current_answers_are_the_newest_of_their_title_and_of_their_page(tmp_path: Path) -> None:
    chosen = random.Random(11)  # noqa: S311 - no secret
    batches = [
        [
            page(
                f"Title {title}",
                chosen.randrange(6),
                page_id=chosen.choice([None, *range(12)]),
                status=chosen.choice(["ok", "ok", "ok", "missing", "failed"]),
                http_status=chosen.choice([200, None]),
                revision_at=START + chosen.randrange(6) * DAY,
                source=chosen.choice(["sample", "other"]),
            )
            for title in chosen.sample(range(30), 20)
        ]
        for _ in range(8)
    ]
    lake = lake_of(tmp_path, *batches)
    plainly = """
        select batch, position
        from answers
        qualify
            status = 'ok'
            and row_number() over (partition by source, title_key order by moment desc) = 1
            and (
                page_id is null
                or row_number() over (partition by source, page_id, status = 'ok' order by moment desc) = 1
            )
        order by all
    """
    expected = asked(lake, plainly)
    assert len(expected) > 10
    assert asked(lake, "select batch, position from current_answers order by all") == expected
    assert asked(lake, "select batch, position from current_pages order by all") == expected


def test_a_dead_page_is_a_dead_letter_until_it_is_requeued_or_answered(tmp_path: Path) -> None:
    dead = {"status": "dead", "error": "Varn: no answer"}
    lake = lake_of(tmp_path, [page("Varn", 1, **dead), page("Gort", 1, **dead)], [page("Gort", 2)])
    letters = "select title, stage, error from dead_letters"
    assert asked(lake, letters) == [{"title": "Varn", "stage": "pages", "error": "Varn: no answer"}]
    decision: dict[str, Any] = {"source": "sample", "title": "Varn", "author": "someone", "reason": "mended"}
    record(lake, [new_decision("requeue", now=START + 2 * DAY, **decision)])
    assert asked(lake, letters) == []
    lake_of_again = [{**page("Varn", 3, **dead), "batch": "sample-000009", "position": 0}]
    write_partition(lake, PAGES, "sample-000009", lake_of_again)
    assert len(asked(lake, letters)) == 1


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(
    "damage",
    [lambda whole: whole[: len(whole) // 2], lambda whole: whole[:-1], lambda whole: whole[:0]],
    ids=["cut", "cut by a byte", "empty"],
)
def test_a_view_over_a_damaged_file_names_it(tmp_path: Path, damage: Any, *, first: bool) -> None:
    lake = lake_of(tmp_path, [page("Varn")], [page("Gort")])
    file = lake.file(PAGES, "sample-000000" if first else "sample-000001")
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(DamagedPartitionError, match=f"table pages, partition '{file.parent.name}': {file} "):
        asked(lake, "select count(*) from pages where wikitext is null")
    assert publish(lake).is_file(), "a damaged file must not keep the views of all others from people"


def test_a_flipped_bit_that_duckdb_trips_over_is_named(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, [page("Varn", wikitext="text " * 50)], [page("Gort", wikitext="text " * 50)])
    file = lake.file(PAGES, "sample-000001")
    whole = file.read_bytes()
    named = 0
    with connect(lake) as connection:
        for place in range(4, len(whole) // 2, 23):
            file.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
            try:
                query(connection, "select * from pages")
            except DamagedPartitionError as error:
                named += str(file) in str(error)
            except duckdb.InvalidInputException:
                continue  # as bad SQL raises it too, no file is looked for
    assert named > 0


def test_an_error_in_sql_stays_duckdbs_own(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, [page("Varn")])
    with pytest.raises(duckdb.CatalogException, match="nowhere"):
        asked(lake, "from nowhere")
    with pytest.raises(duckdb.ConversionException):
        asked(lake, "select title::integer from pages")


def test_more_views_see_the_lakes_own(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, [page("Varn")])
    with connect(lake, more_views="create view titles as select title from current_pages") as connection:
        assert query(connection, "from titles") == [{"title": "Varn"}]


def test_a_published_database_is_read_by_any_client_from_any_folder(tmp_path: Path) -> None:
    lake = lake_of(tmp_path / "data", [page("Varn")])
    database = publish(lake, more_views="create view titles as select title from current_pages")
    (tmp_path / "elsewhere").mkdir()
    program = (
        "import duckdb, sys; client = duckdb.connect(sys.argv[1], read_only=True); "
        "print(client.execute('select title, (select count(*) from entities) from titles').fetchall())"
    )
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", program, database],
        cwd=tmp_path / "elsewhere",
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[('Varn', 0)]\n"


def test_a_published_database_shows_new_files_of_tables_that_had_some(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, [page("Varn")])
    with duckdb.connect(publish(lake), read_only=True) as client:
        lake_of(tmp_path, [page("Varn")], [page("Gort")])
        assert client.execute("select count(*) from current_pages").fetchall() == [(2,)]


@pytest.mark.parametrize("kept", [0, 100])
def test_a_cut_file_of_columns_is_written_anew_when_the_database_is_published(
    tmp_path: Path, kept: int
) -> None:
    lake = Lake(tmp_path)
    publish(lake)
    columns = lake.folder(PAGES) / ".columns.parquet"
    whole = columns.read_bytes()
    columns.write_bytes(whole[:kept])
    publish(lake)
    assert columns.read_bytes() == whole
    with duckdb.connect(lake.database, read_only=True) as client:
        assert client.execute("select count(*) from lake.pages").fetchone() == (0,)


def test_a_published_database_has_only_views_whatever_else_their_statements_say(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, [page("Varn")])
    more = """
        create schema if not exists aside;
        -- a view; of a view
        create or replace view aside.titles as select title from current_pages; -- no more
        create or replace macro first_of(text) as text[1];
        create view initials as
        with named as (from aside.titles) -- of titles
        select first_of(title) || ';' as initial from named
    """
    with duckdb.connect(publish(lake, more_views=more), read_only=True) as client:
        assert client.execute("from initials").fetchall() == [("V;",)]
        assert client.execute("from duckdb_tables()").fetchall() == []
        lake_of(tmp_path, [page("Varn")], [page("Gort")])
        assert client.execute("from initials order by all").fetchall() == [("G;",), ("V;",)]


def test_publishing_again_while_a_client_reads_disturbs_neither(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, [page("Varn")])
    with duckdb.connect(publish(lake), read_only=True) as client:
        publish(lake, more_views="create view one as select 1 as one")
        assert client.execute("select title from current_pages").fetchall() == [("Varn",)]
    with duckdb.connect(lake.database, read_only=True) as client:
        assert client.execute("from one").fetchall() == [(1,)]


def test_what_a_killed_client_left_behind_does_not_spoil_the_next_database(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, [page("Varn")])
    program = (
        "import duckdb, os, sys; client = duckdb.connect(sys.argv[1]); "
        "client.execute('create table note as select 1'); os._exit(1)"
    )
    subprocess.run([sys.executable, "-c", program, publish(lake)], check=False)  # noqa: S603 - our own program
    assert lake.database.with_name("holocron.duckdb.wal").exists()
    with duckdb.connect(publish(lake), read_only=True) as client:
        assert client.execute("select title from current_pages").fetchall() == [("Varn",)]


def test_what_an_interrogation_said_is_seen_of_pages_as_they_are_now(tmp_path: Path) -> None:
    lake = Lake(
        lake_of(tmp_path, [page("Vessa"), page("Thuum")], [page("Vessa", day=1)]).root, (DERIVED_FROM_PAGES,)
    )
    for batch, titles in {"sample-000000": ("Vessa", "Thuum"), "sample-000001": ("Vessa",)}.items():
        rows = [
            {"batch": batch, "title_key": title_key("sample", title), "mood": f"{title} in {batch}"}
            for title in titles
        ]
        write_partition(lake, DERIVED_FROM_PAGES, batch, rows)
    moods = asked(lake, "select mood from derived_moods order by mood")
    assert moods == [{"mood": "Thuum in sample-000000"}, {"mood": "Vessa in sample-000001"}]
    assert len(asked(lake, "from lake.derived_moods")) == 3


def test_what_an_interrogation_said_of_pairs_is_seen_as_it_is(tmp_path: Path) -> None:
    lake = Lake(tmp_path, (DERIVED_FROM_PAIRS,))
    write_partition(lake, DERIVED_FROM_PAIRS, "Droid", [{"pair_id": "a+b"}])
    assert asked(lake, "from derived_likeness") == [{"pair_id": "a+b"}]


def test_an_interrogation_without_answers_has_an_empty_view(tmp_path: Path) -> None:
    assert asked(Lake(tmp_path, (DERIVED_FROM_PAGES,)), "from derived_moods") == []


def test_what_a_shadow_said_is_no_public_view(tmp_path: Path) -> None:
    lake = Lake(tmp_path, (replace(DERIVED_FROM_PAGES, name="shadow_moods_2"),))
    assert asked(lake, "from lake.shadow_moods_2") == []
    with pytest.raises(duckdb.CatalogException):
        asked(lake, "from shadow_moods_2")


def test_the_database_is_published_again_when_an_interrogation_is_dropped_in(tmp_path: Path) -> None:
    assert "derived_moods" not in publish_views(Lake(tmp_path), "")
    with_another = Lake(tmp_path, (DERIVED_FROM_PAGES,))
    assert views_are_stale(with_another, "")
    assert "derived_moods" in publish_views(with_another, "")
    assert not views_are_stale(with_another, "")


def test_every_view_is_there_by_itself_with_what_it_stands_on(tmp_path: Path) -> None:
    lake = Lake(tmp_path, (DERIVED_FROM_PAGES, DERIVED_FROM_PAIRS))
    names = [*(view.name for view in public_views(lake)), *(f"lake.{table.name}" for table in lake.tables)]
    with connect(lake) as everything:
        for name in names:
            with connect(lake, relations=[name]) as connection:
                assert query(connection, f"describe {name}") == query(everything, f"describe {name}")
                assert len(query(connection, "show all tables")) < len(query(everything, "show all tables"))


def test_names_that_no_view_has_are_reported(tmp_path: Path) -> None:
    behind = all_behind(Lake(tmp_path), ["pages", "lake.sites", "frontier", "lake.nothing"])
    assert behind.unknown == {"frontier", "lake.nothing"}
    assert behind.tables == {"pages", "sites"}
    assert [view.name for view in behind.views] == ["pages"]
