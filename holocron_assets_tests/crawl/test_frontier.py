"""The frontier: what a source knows of and has not fetched."""

from datetime import timedelta
from pathlib import Path

import duckdb
import pytest
import time_machine
from crawl_rows import (
    HOUR,
    LONG_AGO,
    TEMPLATES,
    dump_source,
    frontier,
    outcome,
    put_changes,
    put_links,
    put_manifest,
    put_outcomes,
    put_seeds,
    put_site,
    statuses,
    titles,
    wiki_source,
)

from holocron_assets.crawl.frontier import pending
from holocron_assets.crawl.frontier.pending import Outlook, outlook, pending_pages
from holocron_assets.crawl.frontier.requeue import requeue, retry_now
from holocron_assets.crawl.frontier.views import frontier_tables, frontier_views
from holocron_assets.crawl.sources.source import Source
from holocron_assets.derive.opening import open_lake
from holocron_assets.lake.attempts import DELAYS
from holocron_assets.lake.files.parquet import DamagedPartitionError
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGES, SEED_TITLES
from holocron_assets.lake.views.database import connect, publish, query
from holocron_assets.operations.views import all_views

pytestmark = pytest.mark.system
MINUTE = timedelta(minutes=1)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return open_lake(tmp_path)


def test_an_empty_lake_has_nothing_pending_and_no_error(lake: Lake) -> None:
    assert pending_pages(lake, wiki_source(), limit=10) == []
    assert frontier(lake) == {}


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sources whose frontier was read."""
    read: list[str] = []

    def tables(lake: Lake, source: Source) -> str:
        read.append(source.name)
        return frontier_tables(lake, source)

    monkeypatch.setattr(pending, "frontier_tables", tables)
    return read


def test_a_frontier_at_rest_is_read_again_only_after_the_lake_changed(
    lake: Lake, readings: list[str]
) -> None:
    put_seeds(lake, "A")
    assert titles(pending_pages(lake, wiki_source(), limit=9)) == ["A"]
    put_outcomes(lake, "wiki-000001", outcome("A"))
    readings.clear()
    for _ in range(3):
        assert pending_pages(lake, wiki_source(), limit=9) == []
        assert outlook(lake, wiki_source()) == Outlook(is_pending=False, has_shortcuts=False, next_due=None)
    assert readings == ["wiki"]
    put_changes(lake, ("A", "edit", utc_now()))
    assert titles(pending_pages(lake, wiki_source(), limit=9)) == ["A"]
    assert pending_pages(lake, wiki_source(depth=1, exclude=("A",)), limit=9) == []


def test_a_frontier_at_rest_is_not_read_again_because_another_source_is_crawled(
    lake: Lake, readings: list[str]
) -> None:
    put_seeds(lake, "A", source="other")
    put_outcomes(lake, "other-000001", outcome("A", source="other"))
    for number in range(1, 4):
        put_outcomes(lake, f"wiki-{number:06d}", outcome("A"))
        assert pending_pages(lake, wiki_source("other"), limit=9) == []
    put_seeds(lake, "A", "B", source="other")
    assert titles(pending_pages(lake, wiki_source("other"), limit=9)) == ["B"]
    assert readings == ["other"] * 2


def test_a_frontier_at_rest_is_read_again_once_a_page_is_due_or_the_clock_was_set_back(
    lake: Lake, readings: list[str]
) -> None:
    now = utc_now()
    put_seeds(lake, "A")
    put_outcomes(lake, "wiki-000001", outcome("A", "failed", fetched_at=now, due_at=now + 5 * MINUTE))
    for moved, read in ((0, 1), (4, 1), (5, 2), (1, 2), (-1, 3)):
        with time_machine.travel(now + moved * MINUTE, tick=False):
            is_due = moved == 5
            assert titles(pending_pages(lake, wiki_source(), limit=9)) == ["A"] * is_due
        assert len(readings) == read


def test_seeds_are_pending_and_links_within_depth_follow(lake: Lake) -> None:
    put_seeds(lake, "A")
    assert statuses(lake, wiki_source(depth=1)) == {"A": "pending"}
    put_outcomes(lake, "wiki-000001", outcome("A"))
    put_links(lake, "wiki-000001", ("A", "B"))
    assert statuses(lake, wiki_source(depth=1)) == {"A": "done", "B": "pending"}
    put_outcomes(lake, "wiki-000002", outcome("B"))
    put_links(lake, "wiki-000002", ("B", "C"))
    rows = frontier(lake, wiki_source(depth=1))
    assert rows["C"]["status"] == "skipped"
    assert rows["C"]["reason"] == "more than 1 links from every seed"
    assert frontier(lake, wiki_source(depth=2))["C"]["status"] == "pending"
    assert frontier(lake, wiki_source(depth=None))["C"]["status"] == "pending"


def test_depth_is_the_fewest_links_whatever_was_found_first(lake: Lake) -> None:
    put_seeds(lake, "A")
    put_outcomes(lake, "wiki-000001", outcome("A"), outcome("B"), outcome("C"), outcome("D"))
    put_links(lake, "wiki-000001", ("A", "B"), ("B", "C"), ("C", "D"), ("D", "E"))
    assert frontier(lake, wiki_source(depth=None))["E"]["depth"] == 4
    assert statuses(lake, wiki_source(depth=2))["E"] == "skipped"
    put_outcomes(lake, "wiki-000002", outcome("F"))
    put_links(lake, "wiki-000002", ("F", "D"))
    put_seeds(lake, "A", "F")
    assert frontier(lake, wiki_source(depth=2))["E"]["depth"] == 2
    assert statuses(lake, wiki_source(depth=2))["E"] == "pending"


def test_a_circle_of_links_ends(lake: Lake) -> None:
    put_seeds(lake, "A")
    put_outcomes(lake, "wiki-000001", outcome("A"), outcome("B"))
    put_links(lake, "wiki-000001", ("A", "A"), ("A", "B"), ("B", "A"), ("B", "B", "redirect"))
    rows = frontier(lake, wiki_source(depth=None))
    assert {title: row["depth"] for title, row in rows.items()} == {"A": 0, "B": 1}


def test_following_redirects_adds_no_depth(lake: Lake) -> None:
    put_seeds(lake, "A")
    put_outcomes(lake, "wiki-000001", outcome("A"), outcome("B"))
    put_links(lake, "wiki-000001", ("A", "B", "redirect"), ("B", "C", "redirect"), ("B", "D"))
    rows = frontier(lake, wiki_source(depth=0))
    assert (rows["C"]["status"], rows["C"]["depth"]) == ("pending", 0)
    assert rows["D"]["status"] == "skipped"
    assert frontier(lake, wiki_source(depth=1))["D"]["depth"] == 1


def test_a_page_that_the_wiki_calls_otherwise_leads_on_to_its_links(lake: Lake) -> None:
    put_seeds(lake, "Asked")
    put_outcomes(lake, "wiki-000001", outcome("Asked", title="Named by the wiki"))
    put_links(lake, "wiki-000001", ("Named by the wiki", "B"), ("B", "Named by the wiki"))
    rows = frontier(lake, wiki_source(depth=1))
    assert {title: row["status"] for title, row in rows.items()} == {
        "Asked": "done",
        "Named by the wiki": "done",
        "B": "pending",
    }
    assert rows["B"]["depth"] == 1


def test_other_namespaces_and_titles_outside_the_patterns_are_skipped_with_the_reason(lake: Lake) -> None:
    put_seeds(lake, "It's", "Template:T", "Gallery", "Other", "Other's")
    chosen = wiki_source(include=("'", "^G"), exclude=("^Gal", r'"\d'))
    assert {title: row["reason"] for title, row in frontier(lake, chosen).items()} == {
        "It's": "new",
        "Other's": "new",
        "Gallery": "a pattern to exclude fits it",
        "Other": "no pattern to include fits it",
        "Template:T": "namespace 10 is not asked for",
    }
    everything = wiki_source(namespaces=(0, TEMPLATES))
    assert set(statuses(lake, everything).values()) == {"pending"}


def test_patterns_are_those_of_each_source(lake: Lake) -> None:
    put_seeds(lake, "X", source="one")
    put_seeds(lake, "Y", source="one_b")
    one, other = wiki_source("one", exclude=("X", "Y")), wiki_source("one_b", include=("X", "Y"))
    assert statuses(lake, one, other) == {"X": "skipped", "Y": "pending"}


def test_a_title_that_no_seed_leads_to_says_so(lake: Lake) -> None:
    put_seeds(lake, "A")
    put_outcomes(lake, "wiki-000001", outcome("Added by hand"))
    put_links(lake, "wiki-000001", ("Added by hand", "B"))
    assert frontier(lake, wiki_source(depth=None))["B"]["reason"] == "no seed leads to it"


def test_what_more_pages_link_to_comes_first_and_a_page_counts_once(lake: Lake) -> None:
    put_seeds(lake, "A", "B", "C", "D")
    put_outcomes(lake, "wiki-000001", outcome("A"), outcome("B"))
    put_links(lake, "wiki-000001", ("A", "C"), ("A", "D"), ("B", "D"))
    # A was read again since: its links are those of the newer answer
    put_outcomes(lake, "wiki-000002", outcome("A", fetched_at=LONG_AGO + HOUR))
    put_links(lake, "wiki-000002", ("A", "C"), ("A", "D"), ("A", "E"))
    pending = pending_pages(lake, wiki_source(depth=1), limit=10)
    assert titles(pending) == ["D", "C", "E"]
    assert titles(pending_pages(lake, wiki_source(depth=1), limit=1)) == ["D"]
    assert {title: row["inbound"] for title, row in frontier(lake, wiki_source()).items()} == {
        "A": 0,
        "B": 0,
        "C": 1,
        "D": 2,
        "E": 1,
    }


def test_links_that_a_page_has_no_more_lead_nowhere(lake: Lake) -> None:
    put_seeds(lake, "A")
    put_outcomes(lake, "wiki-000001", outcome("A"))
    put_links(lake, "wiki-000001", ("A", "B"))
    put_outcomes(lake, "wiki-000002", outcome("A", "missing", fetched_at=LONG_AGO + HOUR))
    assert statuses(lake, wiki_source(depth=1)) == {"A": "done"}


def test_a_page_is_discovered_from_the_page_nearest_to_a_seed(lake: Lake) -> None:
    put_seeds(lake, "S")
    put_outcomes(lake, "wiki-000001", outcome("S"), outcome("A"), outcome("Z"))
    put_links(lake, "wiki-000001", ("S", "Z"), ("Z", "A"), ("A", "X"), ("Z", "X"), ("X", "S"))
    (page,) = pending_pages(lake, wiki_source(depth=None), limit=10)
    assert (page.title, page.depth, page.discovered_from) == ("X", 2, "Z")


def test_a_seed_is_not_discovered_from_any_page(lake: Lake) -> None:
    put_seeds(lake, "A", "B")
    put_outcomes(lake, "wiki-000001", outcome("A"))
    put_links(lake, "wiki-000001", ("A", "B"))
    (page,) = pending_pages(lake, wiki_source(depth=1), limit=10)
    assert (page.title, page.depth, page.discovered_from) == ("B", 0, None)


@pytest.mark.parametrize("status", ["ok", "missing", "invalid"])
def test_an_answer_of_the_wiki_is_an_end(lake: Lake, status: str) -> None:
    put_seeds(lake, "A")
    put_outcomes(lake, "wiki-000001", outcome("A", status))
    assert statuses(lake, wiki_source()) == {"A": "done"}


def test_a_page_of_an_unfinished_batch_is_in_flight(lake: Lake) -> None:
    put_seeds(lake, "A", "B")
    put_manifest(lake, "wiki-000001", "A")
    assert statuses(lake, wiki_source()) == {"A": "in flight", "B": "pending"}
    put_outcomes(lake, "wiki-000001", outcome("A"))
    put_manifest(lake, "wiki-000002", "A", reason="added")
    assert statuses(lake, wiki_source()) == {"A": "in flight", "B": "pending"}


def test_titles_that_differ_by_case_are_two_and_by_composition_one(lake: Lake) -> None:
    put_seeds(lake, "Éclair", "ÉCLAIR")
    put_outcomes(lake, "wiki-000001", outcome("E\u0301clair"))
    assert statuses(lake, wiki_source()) == {"Éclair": "done", "ÉCLAIR": "pending"}


def test_the_same_title_of_two_sources_is_two_pages(lake: Lake) -> None:
    put_seeds(lake, "A", source="one")
    put_seeds(lake, "A", source="one_b")
    put_outcomes(lake, "one-000001", outcome("A", source="one"))
    assert pending_pages(lake, wiki_source("one"), limit=9) == []
    assert titles(pending_pages(lake, wiki_source("one_b"), limit=9)) == ["A"]


def test_odd_titles_pass_through(lake: Lake) -> None:
    odd = ['"Quoted"', "It's", "A/B/C", "100% $1 x", "\\n\\", "'; drop view frontier; --"]
    put_seeds(lake, *odd)
    assert sorted(titles(pending_pages(lake, wiki_source(exclude=("nothing';--",)), limit=9))) == sorted(odd)


def test_a_failed_page_waits_until_it_is_due_and_counts_its_failures(lake: Lake) -> None:
    put_seeds(lake, "Later", "Now")
    soon = utc_now() + DELAYS[-1]
    put_outcomes(
        lake,
        "wiki-000001",
        outcome("Later", "failed", attempts=2, due_at=soon),
        outcome("Now", "failed", attempts=3, due_at=LONG_AGO),
    )
    row = frontier(lake, wiki_source())["Later"]
    assert (row["status"], row["reason"], row["due_at"]) == ("waiting", "Later: failed", soon)
    (page,) = pending_pages(lake, wiki_source(), limit=9)
    assert (page.title, page.failures, page.reason) == ("Now", 3, "retry")


def test_a_page_that_is_due_later_than_any_delay_has_it_from_a_wrong_clock_and_does_not_wait(
    lake: Lake,
) -> None:
    put_seeds(lake, "A")
    put_outcomes(lake, "wiki-000001", outcome("A", "failed", due_at=utc_now() + DELAYS[-1] + HOUR))
    assert statuses(lake, wiki_source()) == {"A": "pending"}


def test_a_page_that_failed_is_tried_again_although_no_filter_wants_it(lake: Lake) -> None:
    put_outcomes(lake, "wiki-000001", outcome("Template:Added", "failed", due_at=LONG_AGO))
    (page,) = pending_pages(lake, wiki_source(), limit=9)
    assert (page.title, page.namespace, page.reason) == ("Template:Added", TEMPLATES, "retry")


def test_reading_again_what_was_read_before_comes_back_when_it_failed(lake: Lake) -> None:
    put_seeds(lake, "A")
    put_outcomes(lake, "wiki-000001", outcome("A"))
    put_outcomes(
        lake, "wiki-000002", outcome("A", "failed", due_at=LONG_AGO + 2 * HOUR, fetched_at=LONG_AGO + HOUR)
    )
    assert statuses(lake, wiki_source()) == {"A": "pending"}
    put_outcomes(lake, "wiki-000003", outcome("A", fetched_at=LONG_AGO + 3 * HOUR))
    assert statuses(lake, wiki_source()) == {"A": "done"}


def test_a_dead_page_stays_dead_until_a_person_requeues_it(lake: Lake) -> None:
    put_seeds(lake, "A")
    put_outcomes(lake, "wiki-000001", outcome("A", "dead", attempts=4))
    row = frontier(lake, wiki_source())["A"]
    assert (row["status"], row["reason"]) == ("dead", "A: dead")
    requeue(lake, source="wiki", titles=["A"], author="Ann", reason="the wiki was mended")
    (page,) = pending_pages(lake, wiki_source(), limit=9)
    assert (page.title, page.failures, page.reason) == ("A", 0, "requeue")
    put_outcomes(lake, "wiki-000002", outcome("A", "dead", attempts=4, fetched_at=utc_now() + HOUR))
    assert statuses(lake, wiki_source()) == {"A": "dead"}


def test_a_page_that_failed_is_due_at_once_when_a_person_wants_it_and_its_count_goes_on(lake: Lake) -> None:
    put_seeds(lake, "A")
    soon = utc_now() + timedelta(minutes=5)
    put_outcomes(lake, "wiki-000001", outcome("A", "failed", due_at=soon, attempts=3))
    assert statuses(lake, wiki_source()) == {"A": "waiting"}
    retry_now(lake, [("wiki", "A")], author="Ann", reason="it was mended")
    (page,) = pending_pages(lake, wiki_source(), limit=9)
    assert (page.title, page.failures, page.reason) == ("A", 3, "retry")
    again = outcome("A", "failed", due_at=soon, fetched_at=utc_now(), attempts=3)
    put_outcomes(lake, "wiki-000002", again)
    assert statuses(lake, wiki_source()) == {"A": "waiting"}


def test_pages_of_a_dump_come_in_its_order_and_only_what_it_holds(lake: Lake, tmp_path: Path) -> None:
    source = dump_source(tmp_path / "dump.xml")
    put_seeds(lake, "B", "A", source="dump", ordinal=[0, 1], revision_id=[7, 8])
    assert [(page.title, page.ordinal) for page in pending_pages(lake, source, limit=9)] == [
        ("B", 0),
        ("A", 1),
    ]
    put_outcomes(lake, "dump-000001", outcome("A", source="dump", revision_id=8))
    put_links(lake, "dump-000001", ("A", "C"))
    row = frontier(lake, source)["C"]
    assert (row["status"], row["reason"]) == ("skipped", "the dump does not hold it")


def test_a_newer_revision_of_a_dump_is_pending_and_the_same_or_an_older_is_not(
    lake: Lake, tmp_path: Path
) -> None:
    put_seeds(lake, "Same", "Newer", "Older", source="dump", ordinal=[0, 1, 2], revision_id=[7, 8, 6])
    rows = [outcome(title, source="dump", revision_id=7) for title in ("Same", "Newer", "Older")]
    put_outcomes(lake, "dump-000001", *rows)
    assert statuses(lake, dump_source(tmp_path / "dump.xml")) == {
        "Same": "done",
        "Newer": "pending",
        "Older": "done",
    }


def test_a_dump_holds_what_the_wiki_was_once_without(lake: Lake, tmp_path: Path) -> None:
    put_seeds(lake, "A", source="dump", ordinal=[0], revision_id=[7])
    put_outcomes(lake, "dump-000001", outcome("A", "missing", source="dump"))
    assert statuses(lake, dump_source(tmp_path / "dump.xml")) == {"A": "pending"}


def test_without_revision_ids_a_dump_is_read_again_when_its_file_is_newer(lake: Lake, tmp_path: Path) -> None:
    source = dump_source(tmp_path / "dump.xml")
    put_outcomes(lake, "dump-000001", outcome("A", source="dump"))
    put_site(lake, "dump", fetched_at=LONG_AGO - HOUR)
    put_seeds(lake, "A", source="dump", ordinal=[0], listed_at=[LONG_AGO + HOUR])
    assert statuses(lake, source) == {"A": "done"}
    put_site(lake, "dump", fetched_at=LONG_AGO + timedelta(minutes=1))
    assert statuses(lake, source) == {"A": "pending"}
    # a file from the future must not be read for ever
    put_site(lake, "dump", fetched_at=LONG_AGO + 1000 * HOUR)
    put_outcomes(lake, "dump-000002", outcome("A", source="dump", fetched_at=LONG_AGO + 2 * HOUR))
    assert statuses(lake, source) == {"A": "done"}


def test_a_page_that_failed_and_left_the_dump_is_not_asked_for_again(lake: Lake, tmp_path: Path) -> None:
    put_seeds(lake, "A", source="dump", ordinal=[0], revision_id=[7])
    put_outcomes(lake, "dump-000001", outcome("Gone", "failed", source="dump", due_at=LONG_AGO))
    row = frontier(lake, dump_source(tmp_path / "dump.xml"))["Gone"]
    assert (row["status"], row["reason"]) == ("skipped", "the dump does not hold it")


def test_a_lake_that_cannot_be_read_is_never_taken_for_no_work(lake: Lake) -> None:
    put_seeds(lake, "A")
    lake.file(SEED_TITLES, "wiki").write_bytes(b"no Parquet")
    with pytest.raises((duckdb.Error, DamagedPartitionError)):
        pending_pages(lake, wiki_source(), limit=9)


def test_any_client_can_ask_the_published_database_for_the_frontier(lake: Lake) -> None:
    put_seeds(lake, "A", "Gallery")
    path = publish(lake, more_views=frontier_views([wiki_source(exclude=("^Gal",))]))
    with duckdb.connect(path, read_only=True) as connection:
        found = connection.execute("select title, status from frontier order by title").fetchall()
    assert found == [("A", "pending"), ("Gallery", "skipped")]


def test_the_status_of_pages_is_counted_with_what_was_skipped_and_why(lake: Lake) -> None:
    put_seeds(lake, "A", "B", "Template:T")
    due_at = utc_now() + DELAYS[-1]
    put_outcomes(lake, "wiki-000001", outcome("A", "failed", due_at=due_at), outcome("B"))
    with connect(lake, more_views=all_views([wiki_source()], lake)) as connection:
        columns = "status, reason, items, next_due_at"
        rows = query(connection, f"select {columns} from processing_reasons where stage = 'pages'")  # noqa: S608 - ours
    assert rows == [
        {"status": "done", "reason": None, "items": 1, "next_due_at": None},
        {"status": "skipped", "reason": "namespace 10 is not asked for", "items": 1, "next_due_at": None},
        {"status": "waiting", "reason": None, "items": 1, "next_due_at": due_at},
    ]


def test_a_damaged_partition_of_pages_hides_no_page(lake: Lake) -> None:
    put_seeds(lake, "A")
    put_outcomes(lake, "wiki-000001", outcome("A"))
    lake.file(PAGES, "wiki-000001").write_bytes(b"PAR1 torn PAR1")
    with pytest.raises((duckdb.Error, DamagedPartitionError)):
        frontier(lake, wiki_source())
