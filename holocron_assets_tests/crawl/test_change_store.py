"""Table `page_changes`: what stays in it, and what is dropped because nothing has to be fetched for it."""

from datetime import datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from crawl_rows import (
    HOUR,
    LONG_AGO,
    frontier,
    known,
    outcome,
    put_changes,
    put_manifest,
    put_outcomes,
    put_seeds,
    wiki_source,
)

from holocron_assets.crawl.changes.store import add_changes, drop_settled
from holocron_assets.crawl.frontier.known_links import make_known_links
from holocron_assets.crawl.sources.source import Seeds, Source
from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGE_CHANGES

MINUTE = timedelta(minutes=1)
READ_AT = LONG_AGO + HOUR
WHOLE = wiki_source(seeds=Seeds(all_pages=True))


def kept(lake: Lake, source: Source | None = None) -> list[str]:
    """What stays, in order of titles."""
    number = drop_settled(lake, source or wiki_source())
    rows = read_partition(lake, PAGE_CHANGES, "wiki")
    assert len(rows) == number
    return sorted(row["title"] for row in rows)


@pytest.fixture(params=["new batches", "compacted batches"])
def lake(tmp_path: Path, request: pytest.FixtureRequest) -> Lake:
    """A lake in which pages were read in good and bad ways."""
    lake = Lake(tmp_path)
    put_seeds(lake, "A", "Gone", "Dead", "Failed")
    put_outcomes(
        lake,
        "wiki-000001",
        outcome("A", revision_id=5, fetched_at=READ_AT),
        outcome("Gone", "missing", fetched_at=READ_AT),
        outcome("Dead", "dead", attempts=4, fetched_at=READ_AT),
        outcome("Failed", "failed", fetched_at=READ_AT, due_at=READ_AT + MINUTE),
    )
    if request.param == "compacted batches":
        make_known_links(lake, wiki_source())
    return lake


@pytest.mark.parametrize("kind", ["edit", "delete"])
def test_a_change_of_a_page_that_was_never_answered_for_stays_until_it_was_asked_for(
    lake: Lake, kind: str
) -> None:
    put_changes(lake, *[(title, kind, READ_AT + MINUTE) for title in ("Dead", "Failed")], revision_id=6)
    assert kept(lake) == ["Dead", "Failed"]
    dead = [
        outcome(title, "dead", attempts=4, fetched_at=READ_AT + 6 * MINUTE) for title in ("Dead", "Failed")
    ]
    put_outcomes(lake, "wiki-000002", *dead)
    assert kept(lake) == []


def test_a_change_of_a_page_that_was_read_and_then_died_does_not_stay(lake: Lake) -> None:
    put_changes(lake, ("A", "edit", READ_AT + MINUTE), revision_id=6)
    dead = outcome("A", "dead", attempts=4, fetched_at=READ_AT + 5.9 * MINUTE)
    put_outcomes(lake, "wiki-000002", dead)
    assert kept(lake) == ["A"]
    put_outcomes(lake, "wiki-000003", {**dead, "fetched_at": READ_AT + 6 * MINUTE})
    assert kept(lake) == []


@pytest.mark.parametrize(
    ("revision", "changed_at", "stays"),
    [
        (5, READ_AT, False),
        (4, READ_AT, False),
        (6, READ_AT, True),
        (6, READ_AT - 4.9 * MINUTE, True),
        (6, READ_AT - 5 * MINUTE, False),
    ],
)
def test_an_edit_is_settled_by_its_revision_or_by_asking_that_is_surely_later(
    lake: Lake, revision: int, changed_at: datetime, *, stays: bool
) -> None:
    put_changes(lake, ("A", "edit", changed_at), revision_id=revision)
    assert kept(lake) == (["A"] if stays else [])


@pytest.mark.parametrize(("changed_at", "stays"), [(READ_AT - MINUTE, True), (READ_AT - HOUR, False)])
def test_a_page_that_was_missing_settles_an_edit_only_when_it_is_surely_later(
    lake: Lake, changed_at: datetime, *, stays: bool
) -> None:
    put_changes(lake, ("Gone", "new", changed_at), revision_id=6)
    assert kept(lake) == (["Gone"] if stays else [])


@pytest.mark.parametrize("kind", ["delete", "restore", "move"])
@pytest.mark.parametrize(
    ("changed_at", "seen_at", "stays"),
    [
        (READ_AT, READ_AT + MINUTE, True),
        (READ_AT, READ_AT, False),
        (READ_AT - 4.9 * MINUTE, READ_AT + HOUR, True),
        (READ_AT - 5 * MINUTE, READ_AT + HOUR, False),
    ],
)
def test_other_changes_are_settled_by_a_request_after_they_were_read_or_surely_after_them(
    lake: Lake, kind: str, changed_at: datetime, seen_at: datetime, *, stays: bool
) -> None:
    title = "Gone" if kind == "delete" else "A"
    put_changes(lake, (title, kind, seen_at), changed_at=changed_at)
    assert kept(lake) == ([title] if stays else [])


def test_a_page_that_nobody_asked_for_is_forgotten_unless_it_is_being_read(lake: Lake) -> None:
    put_changes(lake, ("Unknown", "new", READ_AT), ("Being read", "edit", READ_AT), revision_id=6)
    put_manifest(lake, "wiki-000002", "Being read")
    assert kept(lake) == ["Being read"]


def test_where_every_page_is_wanted_an_unknown_one_stays_unless_it_is_gone(lake: Lake) -> None:
    listed = [("Fresh", "new"), ("Left", "delete"), ("Moved", "move")]
    put_changes(lake, *[(title, kind, READ_AT) for title, kind in listed])
    assert kept(lake, WHOLE) == ["Fresh", "Moved"]


def test_changes_that_a_source_does_not_want_any_more_are_dropped(lake: Lake) -> None:
    titles = ("A", "Gone", "Template:T", "Ship")
    rows = [outcome(title, revision_id=1, fetched_at=READ_AT) for title in titles]
    put_outcomes(lake, "wiki-000002", *rows)
    put_changes(lake, *[(title, "edit", READ_AT + MINUTE) for title in titles], revision_id=9)
    assert kept(lake, wiki_source(include=("^[AGS]",))) == ["A", "Gone", "Ship"]
    assert kept(lake, wiki_source(exclude=("^Sh", "^Gon"))) == ["A"]


def test_what_stays_is_what_the_frontier_fetches(tmp_path: Path) -> None:
    """A page for each outcome, kind of change, revision, and time around the answer."""
    lake, outcomes, changes = Lake(tmp_path), [], []
    answers = {"ok": 5, "missing": None, "dead": None}
    kinds, minutes = ("edit", "new", "delete", "restore", "move"), (-9, -5, -4, 0, 1)
    for status, kind, minute, revision in product(answers, kinds, minutes, (None, 5, 6)):
        title = f"{status.title()} {kind} {minute} {revision}"
        outcomes.append(outcome(title, status, revision_id=answers[status], fetched_at=READ_AT))
        at = {"changed_at": READ_AT + minute * MINUTE, "seen_at": READ_AT + MINUTE}
        changes.append(change(title, 0, kind=kind, revision_id=revision, **at))
    put_outcomes(lake, "wiki-000001", *outcomes)
    add_changes(lake, "wiki", changes)
    found = frontier(lake, wiki_source(depth=None))
    fetched = sorted(title for title, row in found.items() if row["reason"] == "changed")
    assert kept(lake) == fetched
    assert 0 < len(fetched) < len(changes)


def change(title: str, minute: int, **columns: Any) -> dict[str, Any]:
    at = READ_AT + minute * MINUTE
    said = {"kind": "edit", "seen_in": "check", "revision_id": minute, "changed_at": at, "seen_at": at}
    return {**known(title), **said, **columns}


def test_changes_are_added_to_those_that_wait_and_each_title_has_one(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    assert add_changes(lake, "wiki", [change("A", 1), change("B", 1)]).rows == 2
    before = read_partition(lake, PAGE_CHANGES, "wiki")
    footer = add_changes(lake, "wiki", [change("B", 2), change("C", 2), change("C", 3)])
    rows = {row["title"]: row for row in read_partition(lake, PAGE_CHANGES, "wiki")}
    assert footer.rows == len(rows) == 3
    assert rows["A"] == before[0]
    assert (rows["B"]["revision_id"], rows["B"]["seen_at"]) == (2, READ_AT + MINUTE)
    assert (rows["C"]["revision_id"], rows["C"]["seen_at"]) == (3, READ_AT + 2 * MINUTE)
