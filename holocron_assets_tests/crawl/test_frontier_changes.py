"""Pages that their wiki listed as changed: which are fetched again."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
from crawl_rows import (
    HOUR,
    LONG_AGO,
    TEMPLATES,
    frontier,
    outcome,
    put_changes,
    put_links,
    put_outcomes,
    put_seeds,
    statuses,
    wiki_source,
)

from holocron_assets.crawl.changes.answered import settled_changes
from holocron_assets.crawl.frontier.known_links import make_known_links
from holocron_assets.crawl.frontier.pending import pending_pages
from holocron_assets.crawl.sources.source import Seeds
from holocron_assets.lake.place.paths import Lake

pytestmark = pytest.mark.system

READ_AT = LONG_AGO + HOUR
MINUTE = timedelta(minutes=1)
WHOLE = wiki_source(seeds=Seeds(all_pages=True))


@pytest.fixture(params=["new batches", "compacted batches"])
def lake(tmp_path: Path, request: pytest.FixtureRequest) -> Lake:
    """A lake in which pages were read in good and bad ways."""
    lake = Lake(tmp_path)
    put_seeds(lake, "A", "Gone", "Dead")
    put_outcomes(
        lake,
        "wiki-000001",
        outcome("A", revision_id=5, fetched_at=READ_AT),
        outcome("Gone", "missing", fetched_at=READ_AT),
        outcome("Dead", "dead", attempts=4, fetched_at=READ_AT),
    )
    put_links(lake, "wiki-000001", ("A", "Red"))
    if request.param == "compacted batches":
        for source in (wiki_source(), WHOLE):
            make_known_links(lake, source)
    return lake


def pending(lake: Lake) -> list[tuple[str, str]]:
    return [(page.title, page.reason) for page in pending_pages(lake, wiki_source(), limit=9)]


@pytest.mark.parametrize("kind", ["edit", "new"])
@pytest.mark.parametrize(
    ("revision", "changed_at", "is_pending"),
    [
        (6, READ_AT + MINUTE, True),
        (6, READ_AT - 4 * MINUTE, True),  # read just after, but from a copy that lagged
        (6, READ_AT - 5 * MINUTE, False),  # read long after: the wiki has that revision no more
        (5, READ_AT + MINUTE, False),
        (4, READ_AT + MINUTE, False),
        (None, READ_AT + MINUTE, True),
        (None, READ_AT - MINUTE, False),
    ],
)
def test_an_edit_is_fetched_unless_its_revision_or_what_came_after_it_is_there(
    lake: Lake, kind: str, revision: int | None, changed_at: datetime, *, is_pending: bool
) -> None:
    put_changes(lake, ("A", kind, changed_at), revision_id=revision)
    assert pending(lake) == ([("A", "changed")] if is_pending else [])
    assert statuses(lake, wiki_source())["A"] == ("pending" if is_pending else "done")


@pytest.mark.parametrize("kind", ["delete", "restore", "move"])
@pytest.mark.parametrize(
    ("changed_at", "seen_at", "is_pending"),
    [
        (READ_AT + MINUTE, READ_AT + MINUTE, True),
        (READ_AT - 4 * MINUTE, READ_AT + MINUTE, True),  # clocks may differ
        (READ_AT - 4 * MINUTE, READ_AT, False),
        (READ_AT - 5 * MINUTE, READ_AT + MINUTE, False),
    ],
)
def test_what_has_no_revision_is_fetched_unless_it_was_read_after_it(
    lake: Lake, kind: str, changed_at: datetime, seen_at: datetime, *, is_pending: bool
) -> None:
    title = "Gone" if kind == "delete" else "A"
    put_changes(lake, (title, kind, seen_at), changed_at=changed_at)
    assert pending(lake) == ([(title, "changed")] if is_pending else [])


@pytest.mark.parametrize(
    ("kind", "lagging", "right"),
    [
        ("delete", {"revision_id": 5}, {"status": "missing"}),
        ("restore", {"status": "missing"}, {"revision_id": 5}),
        ("move", {"status": "missing"}, {"revision_id": 5}),
    ],
)
@pytest.mark.parametrize("is_right_then", [True, False])
def test_an_answer_that_contradicts_what_was_just_reported_is_asked_for_once_more(
    lake: Lake, kind: str, lagging: dict[str, Any], right: dict[str, Any], *, is_right_then: bool
) -> None:
    changed_at = READ_AT + HOUR
    put_changes(lake, ("A", kind, changed_at + MINUTE), changed_at=changed_at)
    asked_at = changed_at + 2 * MINUTE
    put_outcomes(lake, "wiki-000002", outcome("A", fetched_at=asked_at, **lagging))
    with time_machine.travel(asked_at):
        row = frontier(lake, wiki_source())["A"]
        assert (row["status"], row["reason"], row["due_at"]) == (
            *("waiting", "changed"),
            changed_at + 5 * MINUTE,
        )
        assert settled_changes(lake, wiki_source()) == []
    with time_machine.travel(changed_at + 5 * MINUTE):
        assert pending(lake) == [("A", "changed")]
    answer = right if is_right_then else lagging
    put_outcomes(lake, "wiki-000003", outcome("A", fetched_at=changed_at + 5 * MINUTE, **answer))
    assert pending(lake) == []
    assert len(settled_changes(lake, wiki_source())) == 1


def test_a_page_that_was_missing_is_fetched_when_it_is_there(lake: Lake) -> None:
    put_changes(lake, ("Gone", "new", READ_AT + MINUTE), revision_id=3)
    assert pending(lake) == [("Gone", "changed")]
    put_outcomes(lake, "wiki-000002", outcome("Gone", revision_id=3, fetched_at=READ_AT + 2 * MINUTE))
    assert pending(lake) == []


def test_a_change_revives_a_page_that_had_died(lake: Lake) -> None:
    put_changes(lake, ("Dead", "edit", READ_AT + MINUTE), revision_id=3)
    (page,) = pending_pages(lake, wiki_source(), limit=9)
    assert (page.title, page.reason, page.failures, page.reported_at) == (
        "Dead",
        "changed",
        0,
        READ_AT + MINUTE,
    )
    put_outcomes(lake, "wiki-000002", outcome("Dead", "dead", attempts=4, fetched_at=READ_AT + 9 * MINUTE))
    assert statuses(lake, wiki_source())["Dead"] == "dead"


def test_unknown_titles_are_wanted_where_every_page_is_and_the_change_brings_one(lake: Lake) -> None:
    listed = [
        ("Fresh", "new"),
        ("Undone", "restore"),
        ("Left", "delete"),
        ("Red", "new"),
        ("Template:T", "new"),
    ]
    put_changes(lake, *[(title, kind, READ_AT + MINUTE) for title, kind in listed], revision_id=9)
    assert pending(lake) == []
    found = {page.title: (page.reason, page.depth) for page in pending_pages(lake, WHOLE, limit=9)}
    assert found == dict.fromkeys(("Fresh", "Red", "Undone"), ("changed", 0))
    row = frontier(lake, WHOLE)["Template:T"]
    assert (row["status"], row["reason"]) == ("skipped", "namespace 10 is not asked for")


@pytest.mark.parametrize("is_compacted", [False, True])
def test_a_page_of_a_wiki_that_is_wanted_whole_leads_on_before_the_wiki_is_listed_again(
    lake: Lake, *, is_compacted: bool
) -> None:
    put_changes(lake)  # that the page is new was reported once: it has been fetched since
    put_outcomes(lake, "wiki-000002", outcome("New", fetched_at=READ_AT))
    put_links(lake, "wiki-000002", ("New", "Also red"))
    whole, listed = (
        wiki_source(seeds=seeds, depth="unlimited") for seeds in (WHOLE.seeds, wiki_source().seeds)
    )
    if is_compacted:
        make_known_links(lake, whole)
    assert {page.title for page in pending_pages(lake, whole, limit=9)} == {"Red", "Also red"}
    if not is_compacted:
        assert frontier(lake, listed)["Also red"]["reason"] == "no seed leads to it"


def test_filters_hold_for_pages_that_changed_and_reach_does_not(lake: Lake) -> None:
    put_outcomes(
        lake,
        "wiki-000002",
        *[
            outcome(title, fetched_at=READ_AT, revision_id=1)
            for title in ("Template:Added", "Added", "Gallery")
        ],
    )
    titles = ("Template:Added", "Added", "Gallery")
    put_changes(lake, *[(title, "edit", READ_AT + MINUTE) for title in titles], revision_id=2)
    chosen = wiki_source(exclude=("^Gal",))
    assert [page.title for page in pending_pages(lake, chosen, limit=9)] == ["Added"]
    found = statuses(lake, chosen)
    assert {title: found[title] for title in titles} == {
        "Template:Added": "done",
        "Added": "pending",
        "Gallery": "done",
    }
    assert statuses(lake, wiki_source(namespaces=(0, TEMPLATES)))["Template:Added"] == "pending"


def test_the_page_that_was_reported_first_comes_first_and_changed_pages_before_new_ones(
    lake: Lake,
) -> None:
    put_seeds(lake, "A", "Gone", "Dead", "New", "Newer")
    put_changes(
        lake, ("A", "edit", READ_AT + 2 * MINUTE), ("Gone", "restore", READ_AT + MINUTE), revision_id=9
    )
    pages = pending_pages(lake, wiki_source(), limit=3)
    assert [(page.title, page.reason) for page in pages[:2]] == [("Gone", "changed"), ("A", "changed")]
    assert [page.reason for page in pages[2:]] == ["new"]


def test_a_page_that_failed_when_it_was_fetched_again_is_tried_when_due(lake: Lake) -> None:
    put_changes(lake, ("A", "edit", READ_AT + MINUTE), revision_id=6)
    put_outcomes(
        lake,
        "wiki-000002",
        outcome("A", "failed", fetched_at=READ_AT + 2 * MINUTE, due_at=READ_AT + 4 * MINUTE),
    )
    with time_machine.travel(READ_AT + 3 * MINUTE):
        assert statuses(lake, wiki_source())["A"] == "waiting"
    with time_machine.travel(READ_AT + 5 * MINUTE):
        assert statuses(lake, wiki_source())["A"] == "pending"


@pytest.mark.parametrize(
    ("status", "columns"), [("dead", {"attempts": 4}), ("missing", {}), ("ok", {"revision_id": 5})]
)
def test_an_edit_that_the_wiki_does_not_give_yet_waits_until_it_surely_would(
    lake: Lake, status: str, columns: dict[str, Any]
) -> None:
    asked_at = READ_AT + HOUR
    put_changes(lake, ("A", "edit", asked_at - MINUTE), revision_id=6)
    put_outcomes(lake, "wiki-000002", outcome("A", status, fetched_at=asked_at, **columns))
    with time_machine.travel(asked_at + 3 * MINUTE):
        row = frontier(lake, wiki_source())["A"]
        assert pending(lake) == []
    assert (row["status"], row["reason"], row["due_at"]) == ("waiting", "changed", asked_at + 4 * MINUTE)
    with time_machine.travel(asked_at + 4 * MINUTE):
        assert pending(lake) == [("A", "changed")]
    put_outcomes(lake, "wiki-000003", outcome("A", status, fetched_at=asked_at + 4 * MINUTE, **columns))
    assert pending(lake) == []


def test_a_page_that_is_edited_while_its_edit_is_fetched_is_fetched_at_once(lake: Lake) -> None:
    asked_at = READ_AT + HOUR
    put_outcomes(lake, "wiki-000002", outcome("A", revision_id=6, fetched_at=asked_at))
    changed_at = asked_at + 2 * MINUTE
    put_changes(lake, ("A", "edit", asked_at - MINUTE), changed_at=changed_at, revision_id=7)
    with time_machine.travel(changed_at):
        assert pending(lake) == [("A", "changed")]
