"""Flags for review over a real lake: raised by what happens to pages, kept until something else does."""

from pathlib import Path

import pytest
from resolved_wiki import Seen, Wiki, missing, redirect, wiki_of

pytestmark = pytest.mark.system

VARN = Seen("Varn", 4)
EDITED = Seen("Varn", 4, revision_id=101)


def resolved(folder: Path, *pages: Seen) -> Wiki:
    wiki = wiki_of(folder, *pages)
    wiki.resolve_all()
    return wiki


def crawl(wiki: Wiki, *pages: Seen) -> Wiki:
    wiki.crawl(*pages)
    wiki.resolve_all()
    return wiki


def test_new_and_merely_edited_pages_raise_no_flag(tmp_path: Path) -> None:
    wiki = resolved(tmp_path, VARN, Seen("Gort", 5))
    assert wiki.reviews() == {}
    crawl(wiki, EDITED, Seen("Ithra", 6))
    assert wiki.reviews() == {}


@pytest.mark.parametrize(
    ("pages", "title", "reason"),
    [
        ([missing("Varn")], "Varn", "page deleted"),
        ([redirect("Varn", "Gort", 4, revision_id=101)], "Varn", "page became a redirect to 'Gort'"),
        ([Seen("Varnite", 4, revision_id=101)], "Varnite", "page moved from 'Varn' to 'Varnite'"),
        (
            [Seen("Varnite", 4, revision_id=101), redirect("Varn", "Varnite", 9)],
            "Varnite",
            "page moved from 'Varn' to 'Varnite'",
        ),
        (
            [Seen("Varnite", 4, None, revision_id=101), missing("Varn")],
            "Varn",
            "page moved from 'Varn' to 'Varnite'; type changed from Species to Unknown",
        ),
        ([Seen("Varn", 4, "Droid", revision_id=101)], "Varn", "type changed from Species to Droid"),
        ([Seen("Varn", 4, None, revision_id=101)], "Varn", "type changed from Species to Unknown"),
    ],
)
def test_what_happened_to_a_page_flags_its_entity(
    tmp_path: Path, pages: list[Seen], title: str, reason: str
) -> None:
    wiki = crawl(resolved(tmp_path, VARN, Seen("Gort", 5)), *pages)
    assert wiki.reviews() == {title: reason}


@pytest.mark.parametrize("gone", [missing("Varn"), redirect("Varn", "Gort", 4, revision_id=101)])
@pytest.mark.parametrize("noticed", [True, False])
def test_a_page_that_is_back_flags_its_entity_whether_or_not_its_absence_was_noticed(
    tmp_path: Path, gone: Seen, *, noticed: bool
) -> None:
    wiki = resolved(tmp_path, VARN, Seen("Gort", 5))
    before = wiki.ids()
    wiki.crawl(gone)
    if noticed:
        wiki.resolve_all()
    crawl(wiki, VARN)
    assert wiki.reviews() == {"Varn": "page restored"}
    assert wiki.ids() == before


def test_a_page_deleted_and_made_anew_keeps_its_entity_and_is_flagged(tmp_path: Path) -> None:
    wiki = resolved(tmp_path, VARN)
    before = wiki.ids()
    crawl(crawl(wiki, missing("Varn")), Seen("Varn", 88, revision_id=200))
    assert (wiki.ids(), wiki.reviews()) == (before, {"Varn": "page restored"})


def test_a_title_that_was_missing_before_it_had_a_page_is_a_new_one(tmp_path: Path) -> None:
    wiki = resolved(tmp_path, missing("Varn"), redirect("Gort", "Varn"))
    crawl(wiki, VARN, Seen("Gort", 5))
    assert (sorted(wiki.ids()), wiki.reviews()) == (["Gort", "Varn"], {})


def test_a_flag_stays_with_its_date_through_edits_and_runs(tmp_path: Path) -> None:
    wiki = crawl(resolved(tmp_path, VARN), Seen("Varnite", 4, revision_id=101))
    raised = wiki.query("select review_reason, review_since from entity_reviews")
    for revision in (102, 103):
        crawl(wiki, Seen("Varnite", 4, revision_id=revision))
    assert wiki.query("select review_reason, review_since from entity_reviews") == raised
    assert wiki.query("select count(*) as rows from entity_history") == [{"rows": 4}]


def test_resolving_again_neither_loses_nor_repeats_a_flag(tmp_path: Path) -> None:
    wiki = crawl(resolved(tmp_path, VARN, Seen("Gort", 5)), missing("Varn"), Seen("Gorte", 5))
    history = wiki.query("from entity_history")
    wiki.batches += 1
    wiki.resolve("Species")
    assert wiki.query("from entity_history") == history


def test_what_happens_next_is_the_flag_and_history_keeps_the_one_before(tmp_path: Path) -> None:
    wiki = resolved(tmp_path, VARN)
    for page in (missing("Varn"), VARN, Seen("Varnite", 4, revision_id=101)):
        crawl(wiki, page)
    history = wiki.query("select review_reason from entity_history order by valid_from")
    assert [row["review_reason"] for row in history] == [
        None,
        "page deleted",
        "page restored",
        "page moved from 'Varn' to 'Varnite'",
    ]


def test_an_entity_whose_page_was_retyped_and_back_is_one_with_its_id(tmp_path: Path) -> None:
    wiki = resolved(tmp_path, VARN)
    before = wiki.ids()
    crawl(wiki, Seen("Varn", 4, "Droid", revision_id=101))
    assert wiki.entities() == {"Droid Varn": "promoted", "Species Varn": "suppressed"}
    assert (wiki.ids(), wiki.reviews()) == (before, {"Varn": "type changed from Species to Droid"})
    crawl(wiki, Seen("Varn", 4, "Species", revision_id=102))
    assert wiki.entities() == {"Droid Varn": "suppressed", "Species Varn": "promoted"}
    assert (wiki.ids(), wiki.reviews()) == (before, {"Varn": "type changed from Droid to Species"})


def test_an_id_survives_a_move_a_deletion_a_restoration_and_a_change_of_type(tmp_path: Path) -> None:
    wiki = resolved(tmp_path, VARN)
    (before,) = wiki.ids().values()
    crawl(wiki, Seen("Varnite", 4, revision_id=101))
    crawl(wiki, missing("Varnite"))
    crawl(wiki, Seen("Varnite", 4, revision_id=101))
    crawl(wiki, Seen("Varnite", 4, "Droid", revision_id=102))
    assert wiki.ids() == {"Varnite": before}
    assert wiki.reviews() == {"Varnite": "type changed from Species to Droid"}
