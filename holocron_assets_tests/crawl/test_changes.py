"""Reading the changes of a fake wiki: what is listed, where a reading goes on, and what is never lost."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
from changing_wiki import ChangingWiki, changing_wiki, source_of
from crawl_rows import dump_source, outcome, put_manifest, put_outcomes, put_site, wiki_source
from fake_mediawiki import api_error, page

from holocron_assets.crawl.changes import recent as changes_module
from holocron_assets.crawl.changes.recent import ChangesReading, next_reading, read_changes
from holocron_assets.crawl.changes.revision_check import passes, start_pass, unfinished_pass
from holocron_assets.crawl.changes.store import drop_settled, last_reading
from holocron_assets.crawl.frontier.batches import cut_batches, manifest
from holocron_assets.crawl.readers import wiki_client
from holocron_assets.crawl.sources.source import Seeds, Source
from holocron_assets.lake.files.parquet import read_partition, write_partition
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import HTTP_ATTEMPTS, PAGE_CHANGES, PAGES, SEED_TITLES

MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)


@contextmanager
def crawled_wiki(folder: Path, *titles: str, **settings: Any) -> Iterator[tuple[Lake, ChangingWiki]]:
    """A wiki that was crawled an hour ago, and the lake that holds what was fetched."""
    lake = Lake(folder)
    put_site(lake)
    with changing_wiki(titles, **settings) as wiki:
        hold(lake, wiki, *titles)
        yield lake, wiki


def hold(
    lake: Lake, wiki: ChangingWiki, *titles: str, batch: int = 1, ago: timedelta = 60 * MINUTE, **columns: Any
) -> None:
    """Have titles in the lake as the wiki has them now, fetched a while ago."""
    at, name = utc_now() - ago, f"wiki-{batch:06d}"
    known = {"status": "ok", "fetched_at": at, **columns}
    rows = [outcome(title, **{"revision_id": wiki.pages.get(title, (0, ""))[0], **known}) for title in titles]
    put_manifest(lake, name, *titles, cut_at=at, origin=wiki.fake.api_url)
    put_outcomes(lake, name, *rows, manifest=False)


@contextmanager
def ago(span: timedelta) -> Iterator[None]:
    """Let what people do to the wiki have happened a while ago."""
    with time_machine.travel(utc_now() - span):
        yield


def reading(lake: Lake, wiki: ChangingWiki, *, seconds: float = 10) -> ChangesReading:
    source = source_of(wiki)
    with wiki_client(lake, source, "wiki-changes", lake.root / "politeness") as client:
        return read_changes(lake, source, client, seconds=seconds)


def hurried_reading(
    lake: Lake, wiki: ChangingWiki, *, patience_seconds: float, requests_per_second: float = 100.0
) -> ChangesReading:
    """A reading as a sensor makes it, which has to be done soon."""
    source = source_of(
        wiki,
        politeness={
            "contact": "test@example.org",
            "requests_per_second": requests_per_second,
            "obey_robots": False,
        },
    )
    folder = lake.root / "politeness"
    with wiki_client(lake, source, "wiki-changes", folder, patience_seconds=patience_seconds) as client:
        return read_changes(lake, source, client, seconds=patience_seconds)


def kinds_and_titles(reading: ChangesReading) -> list[tuple[str, str]]:
    return [(row["kind"], row["title"]) for row in reading.rows]


def stored(lake: Lake) -> dict[str, Any]:
    return {row["title"]: row for row in read_partition(lake, PAGE_CHANGES, "wiki")}


def test_a_reading_lists_what_changed_and_the_next_one_only_what_changed_since(tmp_path: Path) -> None:
    with crawled_wiki(tmp_path, "A", "B", "C", "D") as (lake, wiki):
        wiki.edit("A")
        wiki.delete("B")
        wiki.move("C", "C two")
        first = reading(lake, wiki)
        second = reading(lake, wiki)
        wiki.restore("B")
        third = reading(lake, wiki)
    assert kinds_and_titles(first) == [("edit", "A"), ("delete", "B"), ("move", "C"), ("move", "C two")]
    assert (kinds_and_titles(second), second.footer) == ([], None)
    assert kinds_and_titles(third) == [("restore", "B")]
    kinds = {title: row["kind"] for title, row in stored(lake).items()}
    assert kinds == {"A": "edit", "B": "restore", "C": "move", "C two": "move"}


def test_the_first_reading_begins_when_the_first_pages_were_begun(tmp_path: Path) -> None:
    with crawled_wiki(tmp_path, "A", "B", "C") as (lake, wiki):
        with ago(2 * 60 * MINUTE):
            wiki.edit("A")
        with ago(61 * MINUTE):
            wiki.edit("B")
        with ago(59 * MINUTE):
            wiki.edit("C")
        first = reading(lake, wiki)
    assert kinds_and_titles(first) == [("edit", "B"), ("edit", "C")], "a margin for clocks, but not for ever"
    assert not first.gap


def test_the_first_reading_begins_when_a_listing_of_seeds_began_that_went_on_later(tmp_path: Path) -> None:
    with crawled_wiki(tmp_path, "A", "B") as (lake, wiki):
        began_at = (utc_now() - 180 * MINUTE).isoformat()
        marks = {"began_at": began_at, "asked_at": began_at, "wiki_time": began_at}
        write_partition(lake, SEED_TITLES, "wiki", [], inputs=marks)
        with ago(120 * MINUTE):
            wiki.move("A", "A two")
        with ago(90 * MINUTE):
            put_site(lake, fetched_at=utc_now(), wiki_time=utc_now())
        assert kinds_and_titles(reading(lake, wiki)) == [("move", "A"), ("move", "A two")]


@pytest.mark.parametrize("ahead", [timedelta(hours=3), timedelta(hours=-3)])
def test_a_wiki_whose_clock_is_wrong_is_asked_by_its_own_clock(tmp_path: Path, ahead: timedelta) -> None:
    with crawled_wiki(tmp_path, "A", "B", clock_ahead=ahead) as (lake, wiki):
        with ago(2 * 60 * MINUTE):
            wiki.edit("A")
        with ago(30 * MINUTE):
            wiki.delete("B")
        assert kinds_and_titles(reading(lake, wiki)) == [("delete", "B")]
        wiki.edit("A")
        assert kinds_and_titles(reading(lake, wiki)) == [("edit", "A")]
    changed_ago = utc_now() - stored(lake)["B"]["changed_at"]
    assert abs(changed_ago - 30 * MINUTE) < MINUTE
    state = last_reading(lake, "wiki")
    assert state is not None
    assert abs(state["place"] - utc_now() - ahead) < MINUTE


def test_a_long_list_is_read_in_several_readings_from_where_each_stopped(tmp_path: Path) -> None:
    titles = [f"Page {number}" for number in range(5)]
    with crawled_wiki(tmp_path, *titles, list_limit=2) as (lake, wiki):
        for title in titles:
            wiki.edit(title)
        readings = [reading(lake, wiki, seconds=0) for _ in range(3)]
        following = [said.get("rccontinue") for said in wiki.asked(list="recentchanges", rclimit="max")]
    assert [len(one.rows) for one in readings] == [2, 2, 1]
    assert [one.goes_on for one in readings] == [True, True, False]
    assert [place is not None for place in following] == [False, True, True]
    assert set(stored(lake)) == set(titles)
    assert readings[1].due_at <= utc_now() < readings[2].due_at


def test_an_entry_that_is_listed_late_is_read_and_the_others_are_not_read_again(tmp_path: Path) -> None:
    with crawled_wiki(tmp_path, "A", "B") as (lake, wiki):
        wiki.delete("A")
        reading(lake, wiki)
        with ago(3 * MINUTE):
            wiki.delete("B")
        assert kinds_and_titles(reading(lake, wiki)) == [("delete", "B")]


def test_a_kill_before_the_changes_are_written_loses_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with crawled_wiki(tmp_path, "A") as (lake, wiki):
        wiki.edit("A")
        monkeypatch.setattr(changes_module, "add_changes", _killed)
        with pytest.raises(KeyboardInterrupt):
            reading(lake, wiki)
        monkeypatch.undo()
        assert kinds_and_titles(reading(lake, wiki)) == [("edit", "A")]


def test_a_kill_after_the_changes_are_written_reports_them_twice_and_keeps_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with crawled_wiki(tmp_path, "A", "B") as (lake, wiki):
        wiki.edit("A")
        wiki.delete("B")
        monkeypatch.setattr(changes_module, "write_partition", _killed)
        with pytest.raises(KeyboardInterrupt):
            reading(lake, wiki)
        before = stored(lake)
        monkeypatch.undo()
        assert kinds_and_titles(reading(lake, wiki)) == [("edit", "A"), ("delete", "B")]
    assert stored(lake) == before


def test_a_list_that_does_not_reach_back_starts_a_check_of_everything(tmp_path: Path) -> None:
    with crawled_wiki(tmp_path, "A", "B") as (lake, wiki):
        with ago(90 * MINUTE):
            wiki.edit("B")
        with ago(50 * MINUTE):
            wiki.edit("A")
        assert not reading(lake, wiki).gap
        wiki.forget(older_than=utc_now())
        with time_machine.travel(utc_now() + 2 * DAY):
            wiki.edit("B")
            late = reading(lake, wiki)
            assert not reading(lake, wiki).gap, "one check is enough"
    assert (late.gap, kinds_and_titles(late)) == (True, [("edit", "B")])
    (begun,) = passes(lake, "wiki")
    assert (begun["why"], begun["finished_at"]) == ("gap", None)
    state = last_reading(lake, "wiki")
    assert state is not None
    assert state["reaches_back_to"] > utc_now()


@contextmanager
def reading_that_stopped_half_way(folder: Path) -> Iterator[tuple[Lake, ChangingWiki]]:
    """A wiki whose list was read as far as the edits of A and B. The edits of C and D come after them."""
    with crawled_wiki(folder, "A", "B", "C", "D", list_limit=2) as (lake, wiki):
        for minutes, title in enumerate(("A", "B", "C", "D")):
            with ago((20 - 5 * minutes) * MINUTE):
                wiki.edit(title)
        assert reading(lake, wiki, seconds=0).goes_on
        yield lake, wiki


def test_a_gap_is_found_by_a_reading_that_goes_on_in_the_middle_of_a_list_after_days(tmp_path: Path) -> None:
    with reading_that_stopped_half_way(tmp_path) as (lake, wiki):
        now = utc_now()
        for days in (1, 2, 3):  # the wiki is away, and is asked each day
            with time_machine.travel(now + days * DAY - 60 * MINUTE):
                wiki.fake.will(page(503, "down", Retry_After="600"))
                assert reading(lake, wiki).problem
        wiki.forget(older_than=now + DAY)
        with time_machine.travel(now + 3 * DAY):
            wiki.edit("D")
            late = reading(lake, wiki)
            assert not reading(lake, wiki).gap, "one check is enough"
    assert (late.gap, kinds_and_titles(late)) == (True, [("edit", "D")])


def test_a_list_that_still_reaches_back_is_no_gap_though_it_goes_on_after_days(tmp_path: Path) -> None:
    with reading_that_stopped_half_way(tmp_path) as (lake, wiki), time_machine.travel(utc_now() + 3 * DAY):
        late = reading(lake, wiki)
    assert (late.gap, kinds_and_titles(late)) == (False, [("edit", "C"), ("edit", "D")])


def test_a_reading_that_goes_on_after_a_short_pause_asks_no_more_than_the_list(tmp_path: Path) -> None:
    with crawled_wiki(tmp_path, "A", list_limit=2) as (lake, wiki):
        with time_machine.travel(utc_now() - 30 * DAY):
            hold(lake, wiki, "A", batch=2)
            for title in ("A", "B", "C", "D", "E"):
                wiki.edit(title)
        for hours in (0, 1, 24):
            with time_machine.travel(utc_now() + hours * 60 * MINUTE):
                reading(lake, wiki, seconds=0)
        assert set(stored(lake)) == {"A", "B", "C", "D", "E"}
    assert len(wiki.asked(list="recentchanges", rclimit="1")) == 1, "before anything else was asked"


def test_a_gap_starts_a_check_anew_that_had_come_half_way(tmp_path: Path) -> None:
    with crawled_wiki(tmp_path, "A") as (lake, wiki):
        start_pass(lake, "wiki", "person", utc_now() - DAY)
        with time_machine.travel(utc_now() + 2 * DAY):
            wiki.edit("A")
            assert reading(lake, wiki).gap, "nothing that is as old as the first fetch is listed"
    begun = unfinished_pass(lake, "wiki")
    assert begun is not None
    assert begun["why"] == "gap"
    assert len(passes(lake, "wiki")) == 1


def test_an_empty_list_is_a_gap_only_after_a_day_without_a_reading(tmp_path: Path) -> None:
    with crawled_wiki(tmp_path, "A") as (lake, wiki):
        assert not reading(lake, wiki).gap
        with time_machine.travel(utc_now() + 23 * 60 * MINUTE):
            assert not reading(lake, wiki).gap
        with time_machine.travel(utc_now() + 4 * DAY):
            assert reading(lake, wiki).gap


def test_the_first_edit_of_an_empty_list_is_a_gap_only_after_a_day_without_a_reading(
    tmp_path: Path,
) -> None:
    with crawled_wiki(tmp_path, "A") as (lake, wiki):
        reading(lake, wiki)
        with time_machine.travel(utc_now() + 5 * MINUTE):
            wiki.edit("A")
            first = reading(lake, wiki)
        wiki.forget(older_than=utc_now() + DAY)
        with time_machine.travel(utc_now() + 2 * DAY):
            wiki.edit("A")
            late = reading(lake, wiki)
    assert (kinds_and_titles(first), first.gap) == ([("edit", "A")], False)
    assert (kinds_and_titles(late), late.gap) == ([("edit", "A")], True)


def test_a_host_that_may_be_asked_once_a_tick_is_kept_current_one_request_a_tick(tmp_path: Path) -> None:
    with crawled_wiki(tmp_path, "A", "B") as (lake, wiki):
        now, asked = utc_now(), []

        def tick(after: timedelta) -> ChangesReading:
            with time_machine.travel(now + after):
                made = hurried_reading(lake, wiki, patience_seconds=1, requests_per_second=0.1)
            asked.append(len(wiki.asked(list="recentchanges")))
            return made

        begun = tick(MINUTE / 2)
        wiki.edit("A")
        first = tick(MINUTE)
        wiki.forget(older_than=utc_now() + DAY)
        with time_machine.travel(now + 2 * DAY):
            wiki.edit("B")
        late = tick(2 * DAY)
        proven = tick(2 * DAY + MINUTE / 2)
        state = last_reading(lake, "wiki")
    assert asked == [1, 2, 3, 4], "the oldest entry, the list; and two days later the list, the oldest entry"
    assert "its rate is 0.1" in (begun.problem or "")
    assert (kinds_and_titles(first), first.problem, first.due_at > now + 5 * MINUTE) == (
        [("edit", "A")],
        None,
        True,
    )
    assert (kinds_and_titles(late), late.gap, late.due_at < now + 2 * DAY + MINUTE / 2) == (
        [("edit", "B")],
        False,
        True,
    )
    assert (kinds_and_titles(proven), proven.gap, proven.problem) == ([], True, None)
    assert proven.due_at > now + 2 * DAY + 5 * MINUTE
    assert state is not None
    assert state["unproven_since"] is None


def test_a_slow_answer_is_waited_for_and_is_no_failure_of_the_host(tmp_path: Path) -> None:
    with crawled_wiki(tmp_path, "A") as (lake, wiki):
        wiki.fake.delay_seconds = 0.6
        made = hurried_reading(lake, wiki, patience_seconds=0.5)
    assert "the time to ask it is over for now" in (made.problem or "")
    outcomes = [row["outcome"] for row in read_partition(lake, HTTP_ATTEMPTS, "wiki-changes")]
    assert outcomes == ["ok", "slot"]


def test_pages_that_were_read_from_an_export_are_checked_once(tmp_path: Path) -> None:
    with crawled_wiki(tmp_path, "A") as (lake, wiki):
        put_manifest(lake, "wiki-000002", "B", origin="/somewhere/export.xml", cut_at=utc_now())
        assert reading(lake, wiki).gap
        assert not reading(lake, wiki).gap


def test_a_wiki_whose_changes_were_read_before_and_of_which_an_export_was_read_since_has_all_pages_checked(
    tmp_path: Path,
) -> None:
    with crawled_wiki(tmp_path, "A") as (lake, wiki):
        assert not reading(lake, wiki).gap
        put_manifest(lake, "wiki-000002", "B", origin="/somewhere/export.xml", cut_at=utc_now())
        wiki.fake.will(page(503, "down", Retry_After="600"))
        assert reading(lake, wiki).gap, "whether the wiki answers or not"
        assert not reading(lake, wiki).gap, "one check is enough"
    begun = unfinished_pass(lake, "wiki")
    assert begun is not None


def test_a_wiki_that_does_not_answer_is_asked_again_from_the_same_place(tmp_path: Path) -> None:
    with crawled_wiki(tmp_path, "A") as (lake, wiki):
        reading(lake, wiki)
        wiki.edit("A")
        wiki.fake.will(page(503, "down", Retry_After="600"))
        refused = reading(lake, wiki)
        state = last_reading(lake, "wiki")
    assert refused.problem is not None
    assert "503" in refused.problem
    assert utc_now() + 9 * MINUTE < refused.due_at < utc_now() + 11 * MINUTE
    assert next_reading(lake, source_of(wiki)) == refused.due_at
    assert state is not None
    assert state["problem"] == refused.problem
    with crawled_wiki(tmp_path, "A") as (lake, again):
        again.entries = wiki.entries
        assert kinds_and_titles(reading(lake, again)) == [("edit", "A")]


def test_changes_that_were_read_before_a_wiki_stopped_answering_are_kept(tmp_path: Path) -> None:
    with crawled_wiki(tmp_path, "A", "B", "C", list_limit=2) as (lake, wiki):
        with ago(2 * MINUTE):
            wiki.edit("C")
        reading(lake, wiki)
        for title in ("A", "B", "C"):
            wiki.edit(title)
        answer = wiki.answer

        def answer_once(asked: Any) -> dict[str, Any]:
            wiki.fake.will(page(503, "down", Retry_After="600"))
            return answer(asked)

        wiki.fake.answer = answer_once
        half = reading(lake, wiki)
        assert (kinds_and_titles(half), half.goes_on) == ([("edit", "A")], False)
        assert half.problem is not None
        state = last_reading(lake, "wiki")
    assert state is not None
    assert state["continuation"] is not None


def test_a_continuation_that_the_wiki_refuses_is_given_up_for_the_place(tmp_path: Path) -> None:
    with crawled_wiki(tmp_path, "A", "B", "C", list_limit=2) as (lake, wiki):
        for title in ("A", "B", "C"):
            wiki.edit(title)
        assert reading(lake, wiki, seconds=0).goes_on
        wiki.fake.will(api_error("badcontinue"))
        refused = reading(lake, wiki)
        assert refused.problem is not None
        assert "badcontinue" in refused.problem
        assert kinds_and_titles(reading(lake, wiki)) == [("edit", "C")]


def test_a_wiki_that_refuses_to_list_changes_is_asked_again_only_when_a_reading_is_due(
    tmp_path: Path,
) -> None:
    with crawled_wiki(tmp_path, "A") as (lake, wiki):
        wiki.fake.will(api_error("readapidenied"))
        refused = reading(lake, wiki)
    assert refused.problem is not None
    assert refused.due_at > utc_now() + 4 * MINUTE


def test_readings_are_due_as_often_as_the_source_says(tmp_path: Path) -> None:
    with crawled_wiki(tmp_path, "A") as (lake, wiki):
        source = source_of(wiki, changes={"every_minutes": 30})
        assert (next_reading(lake, source) or utc_now()) <= utc_now()
        with wiki_client(lake, source, "wiki-changes", tmp_path / "politeness") as client:
            made = read_changes(lake, source, client, seconds=10)
    assert next_reading(lake, source) == made.due_at
    assert abs(made.due_at - utc_now() - 30 * MINUTE) < MINUTE


def test_exports_and_wikis_without_a_batch_have_no_readings_of_changes(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    assert next_reading(lake, wiki_source()) is None
    put_manifest(lake, "dump-000001", "A")
    assert next_reading(lake, dump_source(tmp_path / "x.xml")) is None


def test_settled_changes_are_dropped_and_the_others_stay(tmp_path: Path) -> None:
    titles = ("Edited", "Edited twice", "Deleted", "Deleted later")
    with crawled_wiki(tmp_path, *titles) as (lake, wiki):
        wiki.edit("Edited")
        wiki.edit("Edited twice")
        wiki.delete("Deleted")
        wiki.edit("Never asked for")
        reading(lake, wiki)
        hold(lake, wiki, "Edited", "Edited twice", batch=2, ago=timedelta())
        hold(lake, wiki, "Deleted", batch=3, ago=timedelta(), status="missing")
        wiki.edit("Edited twice")
        wiki.delete("Deleted later")
        reading(lake, wiki)
        assert drop_settled(lake, source_of(wiki)) == 2
    assert set(stored(lake)) == {"Edited twice", "Deleted later"}


def test_a_change_of_a_page_that_is_in_flight_stays(tmp_path: Path) -> None:
    with crawled_wiki(tmp_path, "A") as (lake, wiki):
        put_manifest(lake, "wiki-000002", "Being read", origin=wiki.fake.api_url)
        wiki.edit("Being read")
        wiki.edit("Never asked for")
        reading(lake, wiki)
        assert drop_settled(lake, source_of(wiki)) == 1
    assert set(stored(lake)) == {"Being read"}


@contextmanager
def wiki_crawled_by_a_clock_that_was_ahead(
    folder: Path, *titles: str
) -> Iterator[tuple[Lake, ChangingWiki, Source]]:
    """As `crawled_wiki`, by a clock that was set back by an hour since. Every page of the wiki is wanted."""
    lake = Lake(folder)
    put_site(lake)
    with changing_wiki(titles) as wiki:
        with ago(120 * MINUTE):
            wiki.edit(titles[0])
        hold(lake, wiki, *titles, ago=-60 * MINUTE)
        yield lake, wiki, source_of(wiki, seeds=Seeds(all_pages=True))


def test_a_first_reading_after_the_clock_was_set_back_reads_all_and_checks_all(tmp_path: Path) -> None:
    with wiki_crawled_by_a_clock_that_was_ahead(tmp_path, "A", "B") as (lake, wiki, _):
        first = reading(lake, wiki)
    assert (kinds_and_titles(first), first.gap) == ([("edit", "A")], True)
    assert unfinished_pass(lake, "wiki")


def test_a_deletion_and_a_move_after_the_clock_was_set_back_are_fetched_and_count_as_later(
    tmp_path: Path,
) -> None:
    with wiki_crawled_by_a_clock_that_was_ahead(tmp_path, "A", "B", "C") as (lake, wiki, source):
        reading(lake, wiki)
        held_at = max(row["fetched_at"] for row in read_partition(lake, PAGES, "wiki-000001"))
        wiki.delete("B")
        wiki.move("C", "C two")
        reading(lake, wiki)
        assert drop_settled(lake, source) == 3
        [batch] = cut_batches(lake, source, now=utc_now(), gather=False)
        wanted = manifest(lake, batch)
        assert {row["title"] for row in wanted} == {"B", "C", "C two"}
        assert all(row["cut_at"] > held_at for row in wanted)
        answers = {"B": "missing", "C": "ok", "C two": "ok"}
        rows = [outcome(row["title"], answers[row["title"]], fetched_at=row["cut_at"]) for row in wanted]
        put_outcomes(lake, batch, *rows, manifest=False)
        assert drop_settled(lake, source) == 0, "each was asked for once"


def test_a_move_after_the_clock_was_set_back_counts_as_later_though_the_last_reading_of_the_page_is_lost(
    tmp_path: Path,
) -> None:
    with wiki_crawled_by_a_clock_that_was_ahead(tmp_path, "A", "B") as (lake, wiki, source):
        reading(lake, wiki)
        held_at = max(row["fetched_at"] for row in read_partition(lake, PAGES, "wiki-000001"))
        wiki.edit("B two")  # B, which was moved and read there: that batch was damaged
        wiki.move("B two", "B three")
        reading(lake, wiki)
        [batch] = cut_batches(lake, source, now=utc_now(), gather=False)
        asked = {row["title"]: row["cut_at"] for row in manifest(lake, batch)}
    assert {"B two", "B three"} <= asked.keys()
    assert min(asked.values()) > held_at, "otherwise what was read of B counts"


def test_an_edit_after_the_clock_was_set_back_waits_for_nothing_and_is_not_forgotten(tmp_path: Path) -> None:
    with wiki_crawled_by_a_clock_that_was_ahead(tmp_path, "A", "B") as (lake, wiki, source):
        reading(lake, wiki)
        wiki.edit("B")
        reading(lake, wiki)
        with time_machine.travel(utc_now() + 120 * MINUTE):  # later than the request that was of the future
            drop_settled(lake, source)
        assert "B" in stored(lake)
        [batch] = cut_batches(lake, source, now=utc_now(), gather=True)
    assert "B" in {row["title"] for row in manifest(lake, batch)}


def test_a_second_edit_after_the_clock_was_set_back_waits_for_nothing_either(tmp_path: Path) -> None:
    with wiki_crawled_by_a_clock_that_was_ahead(tmp_path, "A", "B") as (lake, wiki, source):
        for number in (2, 3):
            wiki.edit("B")
            reading(lake, wiki)
            [batch] = cut_batches(lake, source, now=utc_now(), gather=False)
            asked = {row["title"]: row["cut_at"] for row in manifest(lake, batch)}
            assert "B" in asked, f"it has edition {number}"
            rows = [
                outcome(title, "ok", fetched_at=at, revision_id=wiki.pages[title][0])
                for title, at in asked.items()
            ]
            put_outcomes(lake, batch, *rows, manifest=False)


def test_edits_that_are_read_when_the_clock_has_caught_up_with_wrong_requests_are_fetched(
    tmp_path: Path,
) -> None:
    with wiki_crawled_by_a_clock_that_was_ahead(tmp_path, "A", "B") as (lake, wiki, source):
        reading(lake, wiki)
        wiki.edit("A")
        reading(lake, wiki)
        [batch] = cut_batches(lake, source, now=utc_now(), gather=False)
        [asked] = manifest(lake, batch)
        put_outcomes(lake, batch, outcome("A", "ok", fetched_at=asked["cut_at"]), manifest=False)
        wiki.edit("A")  # both after their requests, which seem to be later
        wiki.edit("B")
        with time_machine.travel(utc_now() + 120 * MINUTE):
            reading(lake, wiki)
            drop_settled(lake, source)
        assert set(stored(lake)) == {"A", "B"}


def test_a_first_reading_goes_by_the_wikis_clock_though_a_clock_was_set_since_the_crawl_began(
    tmp_path: Path,
) -> None:
    with crawled_wiki(tmp_path, "A", "B") as (lake, wiki):
        began_at = utc_now() - 61 * MINUTE
        put_site(lake, fetched_at=began_at, wiki_time=began_at)
        with ago(59 * MINUTE):
            wiki.edit("A")
            wiki.delete("B")
        wiki.clock_ahead = 120 * MINUTE  # ours was set back, and an hour and more passed
        assert kinds_and_titles(reading(lake, wiki)) == [("edit", "A"), ("delete", "B")]
        assert drop_settled(lake, source_of(wiki)) == 2, "nothing of it was fetched"


def test_what_changed_before_a_clock_was_set_is_fetched_though_it_seems_older_than_the_page(
    tmp_path: Path,
) -> None:
    with crawled_wiki(tmp_path, "A", "B") as (lake, wiki):
        reading(lake, wiki)
        wiki.edit("A")
        wiki.delete("B")
        wiki.clock_ahead = 120 * MINUTE
        reading(lake, wiki)
        assert drop_settled(lake, source_of(wiki)) == 2
        state = last_reading(lake, "wiki")
    assert state is not None
    assert state["clock_ahead"] == pytest.approx(120 * 60, abs=60), "the next reading compares with this"


def test_changes_after_a_fetch_are_not_lost_where_a_clock_is_corrected_by_minutes(tmp_path: Path) -> None:
    with crawled_wiki(tmp_path, "A", "B") as (lake, wiki):
        wiki.clock_ahead = -2.6 * MINUTE  # ours is wrong; and these are rounded to three minutes
        wiki.edit("A")
        wiki.edit("B")
        reading(lake, wiki)
        hold(lake, wiki, "A", "B", batch=2, ago=timedelta())
        wiki.clock_ahead = timedelta()  # ours was set right
        wiki.edit("A")
        wiki.delete("B")
        reading(lake, wiki)
        assert drop_settled(lake, source_of(wiki)) == 2
    assert {title: row["kind"] for title, row in stored(lake).items()} == {"A": "edit", "B": "delete"}


def test_an_edit_right_after_a_fetch_is_not_lost_where_the_clock_was_set_back_by_minutes(
    tmp_path: Path,
) -> None:
    with crawled_wiki(tmp_path, "A") as (lake, wiki):
        wiki.clock_ahead = -5.3 * MINUTE
        reading(lake, wiki)
        hold(lake, wiki, "A", batch=2, ago=-4.8 * MINUTE)
        wiki.clock_ahead = -0.4 * MINUTE
        wiki.edit("A")
        with time_machine.travel(utc_now() + 5 * MINUTE):  # the next reading is due
            reading(lake, wiki)
            assert drop_settled(lake, source_of(wiki)) == 1


def _killed(*_arguments: Any, **_named: Any) -> None:
    raise KeyboardInterrupt
