"""Cutting batches: what is pending, once, in order, under a name of its own."""

import subprocess
import sys
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest
from crawl_rows import (
    HOUR,
    LONG_AGO,
    dump_source,
    outcome,
    put_changes,
    put_links,
    put_manifest,
    put_outcomes,
    put_seeds,
    statuses,
    wiki_source,
)

from holocron_assets.crawl.frontier.batches import (
    NoManifestError,
    batches_of,
    cut_batches,
    cut_given_titles,
    manifest,
    unfinished_batches,
)
from holocron_assets.errors import PermanentError
from holocron_assets.lake.place.paths import Lake, source_of
from holocron_assets.lake.tables import BATCH_PAGES, PAGES
from holocron_assets.lake.titles import DEFAULT_SITE

pytestmark = pytest.mark.system

PROGRAM = Path(__file__).with_name("cut_many.py")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def cut(
    lake: Lake,
    *,
    depth: int | None = 0,
    batch_size: int = 2,
    now_after: timedelta = HOUR,
    most: int | None = None,
) -> list[str]:
    """Cut what is pending, and say how many pages each new batch has."""
    source = wiki_source(depth=depth, batch_size=batch_size)
    names = cut_batches(lake, source, now=LONG_AGO + now_after, most=most)
    return [f"{name[-2:]}:{''.join(row['title'] for row in manifest(lake, name))}" for name in names]


def test_an_empty_wiki_gives_no_batch_and_no_error(lake: Lake) -> None:
    put_seeds(lake)
    assert cut(lake) == []
    assert cut(Lake(lake.root / "new")) == []


def test_what_is_pending_is_cut_in_order_and_only_once(lake: Lake) -> None:
    put_seeds(lake, *"ABCDE")
    assert cut(lake) == ["01:AB", "02:CD", "03:E"]
    assert cut(lake) == []
    assert set(statuses(lake, wiki_source()).values()) == {"in flight"}


def test_a_manifest_says_all_that_is_needed_to_read_its_pages(lake: Lake) -> None:
    put_seeds(lake, "A", source="dump", ordinal=[7], revision_id=[1])
    put_outcomes(lake, "dump-000001", outcome("A", "failed", source="dump", attempts=2, due_at=LONG_AGO))
    source = dump_source(lake.root / "wiki.xml")
    (batch,) = cut_batches(lake, source, now=LONG_AGO + timedelta(minutes=1))
    (row,) = manifest(lake, batch)
    assert row == {
        "source": "dump",
        "batch": "dump-000002",
        "position": 0,
        "title": "A",
        "title_key": row["title_key"],
        "namespace": 0,
        "depth": 0,
        "discovered_from": None,
        "failures": 2,
        "reason": "retry",
        "ordinal": 7,
        "origin": source.address,
        "cut_at": LONG_AGO + timedelta(minutes=1),
    }


def test_a_page_that_was_read_by_a_clock_that_was_ahead_moves_no_other_page_there(lake: Lake) -> None:
    ahead = LONG_AGO + timedelta(days=1)
    put_seeds(lake, *"AB")
    put_outcomes(lake, "wiki-000001", outcome("A", "failed", due_at=LONG_AGO, fetched_at=ahead))
    (batch,) = cut_batches(lake, wiki_source(), now=LONG_AGO + timedelta(minutes=20))
    cut_at = {row["title"]: row["cut_at"] for row in manifest(lake, batch)}
    assert cut_at["A"] > ahead
    assert cut_at["B"] == LONG_AGO + timedelta(minutes=20)


def test_a_crawl_that_follows_links_has_no_more_than_four_batches_unfinished(lake: Lake) -> None:
    put_seeds(lake, *"ABCDEFGHIJKL")
    assert cut(lake, depth=1) == ["01:AB", "02:CD", "03:EF", "04:GH"]
    assert cut(lake, depth=1) == []
    put_outcomes(lake, "wiki-000002", outcome("C"), outcome("D"), manifest=False)
    assert unfinished_batches(lake, "wiki") == ["wiki-000001", "wiki-000003", "wiki-000004"]
    assert cut(lake, depth=1) == ["05:IJ"]


def test_a_queue_without_a_batch_under_way_gets_forty_and_is_filled_when_half_are_done(lake: Lake) -> None:
    put_seeds(lake, *[f"Page {number:03}" for number in range(100)])
    assert len(cut(lake)) == 40
    for number in range(1, 20):
        put_outcomes(lake, f"wiki-{number:06d}", outcome(f"Read {number}"), manifest=False)
    assert cut(lake) == []
    put_outcomes(lake, "wiki-000020", outcome("Read 20"), manifest=False)
    assert [name[:2] for name in cut(lake)] == [str(number) for number in range(41, 61)]


def test_no_more_is_cut_than_is_asked_for(lake: Lake) -> None:
    put_seeds(lake, *"ABCDEF")
    source = wiki_source(batch_size=2)
    assert cut_batches(lake, source, now=LONG_AGO, most=1) == ["wiki-000001"]
    assert cut_batches(lake, source, now=LONG_AGO, most=0) == []


def test_a_crawl_that_follows_links_cuts_a_short_batch_only_when_nothing_else_is_open(lake: Lake) -> None:
    put_seeds(lake, *"ABC")
    assert cut(lake, depth=1) == ["01:AB"]
    assert cut(lake, depth=1) == []
    put_outcomes(lake, "wiki-000001", outcome("A"), outcome("B"), manifest=False)
    assert cut(lake, depth=1) == ["02:C"]
    put_outcomes(lake, "wiki-000002", outcome("C"), manifest=False)
    put_links(lake, "wiki-000002", ("C", "D"), ("C", "E"), ("A", "F"))
    assert cut(lake, depth=None) == ["03:DE"]


def test_a_batch_that_is_stuck_for_an_hour_keeps_no_short_one_waiting(lake: Lake) -> None:
    put_manifest(lake, "wiki-000001", "Stuck")
    put_seeds(lake, "A")
    assert cut(lake, depth=1, now_after=timedelta(minutes=59)) == []
    assert cut(lake, depth=1, now_after=timedelta(minutes=60)) == ["02:A"]


def test_a_name_is_never_used_twice(lake: Lake) -> None:
    put_seeds(lake, "A")
    lake.file(BATCH_PAGES, "wiki-000007").parent.mkdir(parents=True)  # a crash before the manifest was there
    lake.file(PAGES, "wiki-000009").parent.mkdir(parents=True)  # somebody deleted a manifest
    lake.file(BATCH_PAGES, "wiki-b-000020").parent.mkdir(parents=True)
    lake.file(BATCH_PAGES, "wiki-backup").parent.mkdir(parents=True)
    assert cut(lake) == ["10:A"]


def test_sources_whose_names_begin_alike_keep_apart(lake: Lake) -> None:
    put_seeds(lake, "A", source="wiki")
    put_seeds(lake, "B", source="wiki_2")
    assert cut_batches(lake, wiki_source("wiki_2"), now=LONG_AGO) == ["wiki_2-000001"]
    assert cut_batches(lake, wiki_source("wiki"), now=LONG_AGO) == ["wiki-000001"]
    assert batches_of(lake, "wiki") == ["wiki-000001"]
    assert source_of("wiki_2-000001") == "wiki_2"


def test_processes_that_cut_at_once_share_no_page_and_no_name(lake: Lake) -> None:
    titles = [f"Page {number}" for number in range(60)]
    put_seeds(lake, *titles)
    command = [sys.executable, str(PROGRAM), str(lake.root), "9"]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]  # noqa: S603 - our own program
    printed = [name for one in running for name in one.communicate(timeout=120)[0].split()]
    assert [one.returncode for one in running] == [0, 0, 0]
    assert sorted(printed) == [f"wiki-{number:06d}" for number in range(1, 21)]
    cut_titles = Counter(row["title"] for name in printed for row in manifest(lake, name))
    assert cut_titles == Counter(titles)


def test_a_batch_that_was_never_cut_says_which_command_cuts_one(lake: Lake) -> None:
    with pytest.raises(NoManifestError) as caught:
        manifest(lake, "wiki-000042")
    assert "'wiki-000042' has no manifest" in str(caught.value)
    assert "`holocron crawl --source NAME [--title TITLE ...]`" in str(caught.value)
    assert "`add_pages`" in str(caught.value)


def test_given_titles_whose_batch_is_not_read_yet_are_not_cut_again(lake: Lake) -> None:
    source = wiki_source(batch_size=2)

    def cut(*titles: str) -> list[str]:
        return cut_given_titles(lake, source, DEFAULT_SITE, titles, now=LONG_AGO)

    first, second = cut("A", "B", "C")
    assert cut("A", "B ", "C#History") == [first, second]
    put_outcomes(lake, first, outcome("A"), outcome("B"))
    other, again = cut("A", "B", "C")
    assert other == second
    assert again not in {first, second}, "what was read is fetched again, as a person wants it"
    assert not {*cut("C", "B", "A")} & {first, second, again}, "other pages are together here"


def test_given_titles_are_normalised_and_cut_once_whatever_was_fetched_before(lake: Lake) -> None:
    put_outcomes(lake, "wiki-000001", outcome("Éclair"))
    given = ["e\u0301clair", "Éclair#History", "ÉCLAIR", "template:foo_bar", "A/B"]
    source = wiki_source(batch_size=3)
    names = cut_given_titles(lake, source, DEFAULT_SITE, given, now=LONG_AGO)
    assert names == ["wiki-000002", "wiki-000003"]
    rows = [row for name in names for row in manifest(lake, name)]
    assert [(row["title"], row["namespace"]) for row in rows] == [
        ("Éclair", 0),
        ("ÉCLAIR", 0),
        ("Template:Foo bar", 10),
        ("A/B", 0),
    ]
    assert {row["reason"] for row in rows} == {"added"}


def test_titles_that_no_page_can_have_are_all_named_and_nothing_is_cut(lake: Lake) -> None:
    given = ["A", "nul\0", "../../etc/passwd", "x" * 256, "", "wikipedia:Paris"]
    with pytest.raises(PermanentError) as caught:
        cut_given_titles(lake, wiki_source(), DEFAULT_SITE, given, now=LONG_AGO)
    for text in given[1:]:
        assert repr(text)[:200] in str(caught.value)
    assert batches_of(lake, "wiki") == []


def test_giving_no_titles_or_titles_of_a_dump_is_refused(lake: Lake) -> None:
    with pytest.raises(PermanentError, match="no titles were given to fetch from 'wiki'"):
        cut_given_titles(lake, wiki_source(), DEFAULT_SITE, [], now=LONG_AGO)
    with pytest.raises(PermanentError, match="'dump' is a dump"):
        cut_given_titles(lake, dump_source(lake.root / "x.xml"), DEFAULT_SITE, ["A"], now=LONG_AGO)


def put_read(lake: Lake, *names: str) -> None:
    """Pages that were read in a first batch."""
    put_outcomes(lake, "wiki-000001", *[outcome(name, revision_id=1) for name in names])


def test_pages_that_changed_wait_for_each_other_for_an_hour(lake: Lake) -> None:
    put_read(lake, *"ABC")
    put_changes(lake, ("A", "edit", LONG_AGO + HOUR), revision_id=2)
    assert cut(lake, now_after=HOUR * 1.9) == []
    assert cut(lake, now_after=HOUR * 2) == ["02:A"]
    assert {row["reason"] for row in manifest(lake, "wiki-000002")} == {"changed"}


def test_pages_that_changed_are_cut_at_once_when_they_fill_a_batch(lake: Lake) -> None:
    put_read(lake, *"ABC")
    edits = [
        (title, "edit", LONG_AGO + HOUR + timedelta(minutes=number)) for number, title in enumerate("CAB")
    ]
    put_changes(lake, *edits, revision_id=2)
    assert cut(lake, now_after=HOUR * 1.5) == ["02:CA"]
    assert cut(lake, now_after=HOUR * 1.5) == []
    assert statuses(lake, wiki_source()) == {"A": "in flight", "B": "pending", "C": "in flight"}


def test_all_pages_that_changed_go_with_the_one_that_waited_for_an_hour(lake: Lake) -> None:
    put_read(lake, *"ABC")
    times = {"A": LONG_AGO + HOUR, "B": LONG_AGO + HOUR * 1.5, "C": LONG_AGO + HOUR * 1.9}
    put_changes(lake, *[(title, "edit", at) for title, at in times.items()], revision_id=2)
    assert cut(lake, now_after=HOUR * 2) == ["02:AB", "03:C"]


def test_pages_that_changed_fill_up_a_batch_that_is_cut_for_new_ones(lake: Lake) -> None:
    put_read(lake, *"ABC")
    put_seeds(lake, "M", "N")
    put_changes(lake, ("A", "edit", LONG_AGO + HOUR), ("B", "edit", LONG_AGO + HOUR * 1.1), revision_id=2)
    assert cut(lake, batch_size=3, now_after=HOUR * 1.2) == ["02:MNA"]
    assert cut(lake, batch_size=3, now_after=HOUR * 1.3) == []


def test_new_pages_keep_their_rules_next_to_pages_that_changed(lake: Lake) -> None:
    put_read(lake, *"ABC")
    put_seeds(lake, *"MN", "O")
    put_changes(lake, ("A", "edit", LONG_AGO + HOUR), revision_id=2)
    assert cut(lake, depth=1, now_after=HOUR * 1.1) == ["02:MN"]
    assert cut(lake, depth=1, now_after=HOUR * 2) == ["03:AO"]


def test_more_pages_that_changed_than_there_is_room_for_are_cut_in_order(lake: Lake) -> None:
    put_read(lake, *"ABCDEFG")
    put_changes(lake, *[(title, "edit", LONG_AGO + HOUR) for title in "ABCDEFG"], revision_id=2)
    put_seeds(lake, "N")
    assert cut(lake, most=2, now_after=HOUR * 1.1) == ["02:AB", "03:CD"]


def test_pages_that_changed_and_wait_take_no_room_from_new_ones(lake: Lake) -> None:
    put_read(lake, *"ABC")
    put_changes(lake, ("A", "edit", LONG_AGO + HOUR), revision_id=2)
    put_seeds(lake, *"MNOP")
    assert cut(lake, most=2, now_after=HOUR * 1.1) == ["02:MN", "03:OP"]


def test_without_gathering_changes_are_cut_at_once(lake: Lake) -> None:
    put_read(lake, "A")
    put_changes(lake, ("A", "edit", LONG_AGO + HOUR), revision_id=2)
    assert cut_batches(lake, wiki_source(), now=LONG_AGO + HOUR, gather=False) == ["wiki-000002"]
