"""Changes as rows: which are rows at all, and which of several counts."""

from datetime import timedelta
from typing import Any

import pytest
from crawl_rows import LONG_AGO, key, wiki_source

from holocron_assets.crawl.changes.rows import Seen, change_rows, merged
from holocron_assets.crawl.mediawiki.changes import Change, ChangeKind
from holocron_assets.lake.tables import PAGE_CHANGES
from holocron_assets.lake.titles import DEFAULT_SITE

MINUTE = timedelta(minutes=1)


def row(  # noqa: PLR0913 - what a test says of a change, all of it optional
    kind: ChangeKind = "edit",
    revision: int | None = None,
    *,
    title: str = "A",
    changed: int = 0,
    seen: int | None = None,
    ahead: timedelta = timedelta(),
) -> dict[str, Any]:
    """A change `changed` minutes after a moment, that we saw after `seen` minutes."""
    how = Seen("recent_changes", LONG_AGO + (changed if seen is None else seen) * MINUTE, ahead)
    change = Change(title, kind, revision, LONG_AGO + changed * MINUTE + ahead)
    (made,) = change_rows([change], how, wiki_source(), DEFAULT_SITE)
    return made


def test_rows_fit_their_table_and_bear_the_canonical_title() -> None:
    made = row("edit", 7, title="some_page")
    PAGE_CHANGES.to_arrow([made], "wiki")
    assert (made["title"], made["title_key"]) == ("Some page", key("Some page"))


def test_changes_in_other_namespaces_and_of_impossible_titles_are_no_rows() -> None:
    titles = ["Talk:A", "A", "No [brackets]", "File:A.png"]
    changes = [Change(title, "edit", 1, LONG_AGO) for title in titles]
    how = Seen("recent_changes", LONG_AGO, timedelta())
    source = wiki_source(namespaces=(0, 6))
    found = [made["title"] for made in change_rows(changes, how, source, DEFAULT_SITE)]
    assert found == ["A", "File:A.png"]


def test_changes_that_the_patterns_of_a_source_keep_out_are_no_rows() -> None:
    changes = [Change(title, "edit", 1, LONG_AGO) for title in ("Ship", "Shop", "Ship/Old", "Crew")]
    how = Seen("recent_changes", LONG_AGO, timedelta())
    source = wiki_source(include=("^Sh", "^Never"), exclude=("/Old$", "(?i)SHOP"))
    assert [made["title"] for made in change_rows(changes, how, source, DEFAULT_SITE)] == ["Ship"]


@pytest.mark.parametrize("ahead", [timedelta(hours=2), timedelta(days=-1)])
def test_a_clock_that_is_wrong_by_minutes_is_set_right(ahead: timedelta) -> None:
    assert row(changed=3, ahead=ahead)["changed_at"] == LONG_AGO + 3 * MINUTE


def test_the_seconds_that_an_answer_takes_are_not_taken_for_a_wrong_clock() -> None:
    late = timedelta(seconds=-20)
    assert row(changed=3, ahead=late)["changed_at"] == LONG_AGO + 3 * MINUTE + late


def test_the_newest_change_of_a_title_counts() -> None:
    edit, deletion = row("edit", 5, changed=1), row("delete", changed=11)
    other = row("edit", 9, title="B")
    assert merged([edit, other], [deletion]) == [deletion, other]
    late = row("edit", 5, changed=1, seen=13)
    assert merged([deletion], [late]) == [deletion]


def test_of_two_edits_the_newer_revision_counts_whatever_the_clocks_said() -> None:
    first, second = row("edit", 5, changed=40), row("edit", 6, changed=1, seen=41)
    assert [one["revision_id"] for one in merged([first], [second])] == [6]
    assert [one["revision_id"] for one in merged([second], [{**first, "seen_at": second["seen_at"]}])] == [6]


def test_of_changes_at_nearly_the_same_time_the_one_reported_last_counts_and_is_not_the_earlier() -> None:
    edit, deletion = row("edit", 5, changed=4), row("delete", changed=2, seen=5)
    assert merged([edit], [deletion]) == [{**deletion, "changed_at": edit["changed_at"]}]


def test_of_changes_in_one_second_the_one_reported_last_counts() -> None:
    deletion, restoration = row("delete"), row("restore")
    assert merged([], [deletion, restoration]) == [restoration]


@pytest.mark.parametrize(("kind", "revision"), [("edit", 5), ("delete", None)])
def test_a_change_that_is_reported_twice_was_seen_when_it_was_reported_first(
    kind: ChangeKind, revision: int | None
) -> None:
    before = row(kind, revision, changed=1, seen=2)
    assert merged([before], [row(kind, revision, changed=1, seen=30)]) == [before]


def test_a_check_that_finds_a_revision_that_was_reported_finds_nothing_new() -> None:
    before = row("edit", 5, changed=1)
    assert merged([before], [{**row("edit", 5, changed=50), "seen_in": "check"}]) == [before]


def test_a_page_that_is_edited_again_and_again_waits_since_the_first_edit() -> None:
    (waiting,) = merged([row("edit", 5, changed=1, seen=2)], [row("edit", 6, changed=40, seen=41)])
    assert waiting["revision_id"] == 6
    assert waiting["seen_at"] == LONG_AGO + 2 * MINUTE


def test_a_deletion_after_an_edit_was_seen_when_the_deletion_was() -> None:
    (waiting,) = merged([row("edit", 5, changed=1, seen=2)], [row("delete", changed=40, seen=41)])
    assert waiting["seen_at"] == LONG_AGO + 41 * MINUTE


def test_a_change_that_is_reported_after_the_clock_was_set_back_counts_though_its_time_is_earlier() -> None:
    before, after = row("move", changed=90), row("edit", 7, changed=31, seen=32)
    assert merged([before], [after]) == [after]
