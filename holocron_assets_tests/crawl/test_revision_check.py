"""Checking revisions on a fake wiki: every known page, 50 a request, and on from where a run ended."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from changing_wiki import ChangingWiki, changing_wiki, source_of
from crawl_rows import outcome, put_manifest, put_outcomes, put_seeds, put_site
from fake_mediawiki import Behaviour, Handler, api, page

from holocron_assets.crawl.changes import revision_check
from holocron_assets.crawl.changes.revision_check import (
    check_revisions,
    passes,
    seeds_are_due,
    start_pass,
    unfinished_pass,
)
from holocron_assets.crawl.errors import WikiRefused, WikiUnavailable
from holocron_assets.crawl.frontier.batches import cut_batches, manifest
from holocron_assets.crawl.frontier.pending import pending_pages
from holocron_assets.crawl.readers import wiki_client
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGE_CHANGES

HOUR = timedelta(hours=1)


@contextmanager
def crawled_wiki(
    folder: Path, *titles: str, missing: tuple[str, ...] = ()
) -> Iterator[tuple[Lake, ChangingWiki]]:
    """A wiki whose pages were fetched an hour ago, some of which were not there."""
    lake = Lake(folder)
    put_site(lake)
    with changing_wiki(titles) as wiki:
        rows = [
            outcome(title, revision_id=wiki.pages[title][0], fetched_at=utc_now() - HOUR) for title in titles
        ]
        rows += [outcome(title, "missing", fetched_at=utc_now() - HOUR) for title in missing]
        put_manifest(lake, "wiki-000001", *titles, *missing, origin=wiki.fake.api_url)
        put_outcomes(lake, "wiki-000001", *rows, manifest=False)
        yield lake, wiki


def check(lake: Lake, wiki: ChangingWiki, *, seconds: float = 60, **settings: Any) -> tuple[Row, list[Row]]:
    source = source_of(wiki, **settings)
    with wiki_client(lake, source, "wiki-recheck", lake.root / "politeness") as client:
        return check_revisions(lake, source, client, seconds=seconds)


def found(rows: Sequence[Row]) -> dict[str, tuple[str, int | None]]:
    return {row["title"]: (row["kind"], row["revision_id"]) for row in rows}


def asked_titles(wiki: ChangingWiki) -> list[list[str]]:
    return [said["titles"].split("|") for said in wiki.asked(prop="info")]


def test_a_pass_finds_changes_that_were_never_listed(tmp_path: Path) -> None:
    with crawled_wiki(tmp_path, "Same", "Edited", "Deleted", "Moved", missing=("Created", "Absent")) as (
        lake,
        wiki,
    ):
        edited, created = wiki.edit("Edited", listed=False), wiki.edit("Created", listed=False)
        wiki.delete("Deleted", listed=False)
        wiki.move("Moved", "Moved away")
        start_pass(lake, "wiki", "person", utc_now())
        ended, rows = check(lake, wiki)
    assert found(rows) == {
        "Edited": ("edit", edited),
        "Created": ("new", created),
        "Deleted": ("delete", None),
        "Moved": ("edit", wiki.pages["Moved"][0]),
    }
    assert found(read_partition(lake, PAGE_CHANGES, "wiki")) == found(rows)
    assert {row["seen_in"] for row in rows} == {"check"}
    assert (ended["checked"], ended["changed"]) == (6, 4)
    assert ended["finished_at"] is not None
    assert unfinished_pass(lake, "wiki") is None


def test_a_page_asked_for_in_another_variant_of_the_language_is_not_taken_for_deleted(tmp_path: Path) -> None:
    with crawled_wiki(tmp_path) as (lake, wiki):
        revision = wiki.edit("电脑", listed=False)

        def with_variants(asked: Mapping[str, str]) -> dict[str, Any]:
            if "converttitles" not in asked or "電腦" not in asked.get("titles", ""):
                return wiki.answer(asked)
            said = wiki.answer({**asked, "titles": asked["titles"].replace("電腦", "电脑")})
            said["query"]["converted"] = [{"from": "電腦", "to": "电脑"}]
            return said

        wiki.fake.answer = with_variants
        known = outcome("電腦", title="电脑", revision_id=revision, fetched_at=utc_now() - HOUR)
        put_manifest(lake, "wiki-000001", "電腦", origin=wiki.fake.api_url)
        put_outcomes(lake, "wiki-000001", known, manifest=False)
        start_pass(lake, "wiki", "person", utc_now())
        ended, rows = check(lake, wiki)
    assert [title for titles in asked_titles(wiki) for title in titles if title == "電腦"] == ["電腦"]
    assert (ended["finished_at"] is not None, found(rows)) == (True, {})


def test_a_title_that_robots_txt_forbids_does_not_keep_the_others_from_being_checked(tmp_path: Path) -> None:
    polite = {"contact": "test@example.org", "requests_per_second": 100.0}
    with crawled_wiki(tmp_path, "Aa", "Geheimes", "Zz") as (lake, wiki):
        wiki.fake.robots = page(200, "User-agent: *\nDisallow: /*Geheimes\n")
        edited = wiki.edit("Zz", listed=False)
        start_pass(lake, "wiki", "person", utc_now())
        ended, rows = check(lake, wiki, politeness=polite)
    assert found(rows) == {"Zz": ("edit", edited)}
    assert ended["finished_at"] is not None
    assert "Geheimes" not in {title for titles in asked_titles(wiki) for title in titles}


def test_a_check_of_a_wiki_that_refuses_every_page_ends_with_the_refusal(tmp_path: Path) -> None:
    polite = {"contact": "test@example.org", "requests_per_second": 100.0}
    with crawled_wiki(tmp_path, "A", "B") as (lake, wiki):
        wiki.fake.robots = page(200, "User-agent: *\nDisallow: /\n")
        start_pass(lake, "wiki", "person", utc_now())
        with pytest.raises(WikiRefused, match="forbids"):
            check(lake, wiki, politeness=polite)
    assert unfinished_pass(lake, "wiki") is not None


def failing_for(wiki: ChangingWiki, *titles: str) -> Behaviour:
    """Answer 500 to each request that names one of these titles."""

    def behave(handler: Handler) -> None:
        asked = handler.parameters.get("titles", "").split("|")
        (page(500, "too heavy") if set(titles) & set(asked) else api(wiki.answer))(handler)

    return behave


@pytest.mark.system
def test_titles_that_make_the_wiki_fail_do_not_keep_the_others_from_being_checked(tmp_path: Path) -> None:
    titles = [f"Page {number:02}" for number in range(5)]
    with crawled_wiki(tmp_path, *titles) as (lake, wiki):
        heavy = titles[3:]
        revisions = {title: ("edit", wiki.edit(title, listed=False)) for title in titles}
        wiki.fake.behave = failing_for(wiki, *heavy)
        start_pass(lake, "wiki", "person", utc_now())
        ended, rows = check(lake, wiki)
    assert found(rows) == {title: said for title, said in revisions.items() if title not in heavy}
    assert ended["finished_at"] is not None


@pytest.mark.system
def test_a_check_goes_on_past_a_failing_title_that_is_asked_for_alone(tmp_path: Path) -> None:
    with crawled_wiki(tmp_path, "Heavy") as (lake, wiki):
        wiki.edit("Other", listed=False)
        wiki.fake.behave = failing_for(wiki, "Heavy")
        start_pass(lake, "wiki", "person", utc_now())
        assert check(lake, wiki)[0]["finished_at"] is not None


@pytest.mark.system
def test_a_check_of_a_wiki_that_states_no_revisions_ends_with_its_failure(tmp_path: Path) -> None:
    with crawled_wiki(tmp_path, "A") as (lake, wiki):
        wiki.edit("B", listed=False)
        wiki.fake.behave = failing_for(wiki, "A", "B")
        start_pass(lake, "wiki", "person", utc_now())
        with pytest.raises(WikiUnavailable, match="500"):
            check(lake, wiki)
    assert unfinished_pass(lake, "wiki") is not None


@pytest.mark.fault(8, "clock set back an hour before a page is deleted")
def test_a_page_that_was_read_on_a_clock_that_was_ahead_is_found_to_be_gone(tmp_path: Path) -> None:
    with crawled_wiki(tmp_path, "Kept", "Gone") as (lake, wiki):
        ahead = utc_now() + HOUR
        put_manifest(lake, "wiki-000002", "Kept", "Gone")
        read = [
            outcome(title, revision_id=wiki.pages[title][0], fetched_at=ahead) for title in ("Kept", "Gone")
        ]
        put_outcomes(lake, "wiki-000002", *read, manifest=False)
        wiki.delete("Gone", listed=False)
        start_pass(lake, "wiki", "person", utc_now())
        assert found(check(lake, wiki)[1]) == {"Gone": ("delete", None)}
        source = source_of(wiki)
        assert [one.title for one in pending_pages(lake, source, limit=9)] == ["Gone"]

        (batch,) = cut_batches(lake, source, now=utc_now(), gather=False)
        put_outcomes(
            *(lake, batch),
            outcome("Gone", "missing", fetched_at=manifest(lake, batch)[0]["cut_at"]),
            manifest=False,
        )
        assert pending_pages(lake, source, limit=9) == [], "and it is asked for once"
        start_pass(lake, "wiki", "person", utc_now())
        assert check(lake, wiki)[1] == []


def test_a_check_goes_on_past_pages_of_a_namespace_that_the_wiki_renamed(tmp_path: Path) -> None:
    with crawled_wiki(tmp_path, "Old:A", "Old:B", "C") as (lake, wiki):
        space = {"id": 0, "name": "", "canonical": "", "aliases": []}
        renamed = {"id": 100, "name": "New", "canonical": "New", "aliases": ["Old"]}
        put_site(lake, namespaces=[space, renamed])
        revision = wiki.edit("Old:A", listed=False)
        wiki.delete("Old:B", listed=False)
        start_pass(lake, "wiki", "schedule", utc_now())
        ended, rows = check(lake, wiki, namespaces=(0, 100))
    assert found(rows) == {"New:A": ("edit", revision), "New:B": ("delete", None)}
    assert (ended["checked"], ended["changed"]) == (3, 2)
    assert ended["finished_at"] is not None


def test_fifty_titles_are_asked_for_at_once_and_each_once(tmp_path: Path) -> None:
    titles = [f"Page {number}" for number in range(120)]
    with crawled_wiki(tmp_path, *titles) as (lake, wiki):
        start_pass(lake, "wiki", "schedule", utc_now())
        ended, rows = check(lake, wiki)
    assert [len(group) for group in asked_titles(wiki)] == [50, 50, 20]
    assert sorted(title for group in asked_titles(wiki) for title in group) == sorted(titles)
    assert (ended["checked"], rows) == (120, [])


def test_a_page_that_was_fetched_twice_is_compared_with_its_newest_answer(tmp_path: Path) -> None:
    with crawled_wiki(tmp_path, "A", "B") as (lake, wiki):
        newest = wiki.edit("A", listed=False)
        put_manifest(lake, "wiki-000002", "A", "B")
        rows = [outcome("A", revision_id=newest, fetched_at=utc_now())]
        rows.append(outcome("B", "failed", fetched_at=utc_now(), attempts=1, due_at=utc_now()))
        put_outcomes(lake, "wiki-000002", *rows, manifest=False)
        start_pass(lake, "wiki", "person", utc_now())
        assert check(lake, wiki)[1] == []


def test_a_page_that_was_fetched_and_is_missing_since_is_known_to_be_missing(tmp_path: Path) -> None:
    with crawled_wiki(tmp_path, "A") as (lake, wiki):
        wiki.delete("A", listed=False)
        put_manifest(lake, "wiki-000002", "A", "Odd")
        rows = [outcome("A", "missing", fetched_at=utc_now()), outcome("Odd", "invalid")]
        put_outcomes(lake, "wiki-000002", *rows, manifest=False)
        start_pass(lake, "wiki", "person", utc_now())
        ended, changed = check(lake, wiki)
    assert (ended["checked"], changed) == (1, [])
    assert asked_titles(wiki) == [["A"]], "what can be no title is not asked for"


def test_a_run_ends_in_time_and_the_next_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    titles = [f"Page {number}" for number in range(120)]
    monkeypatch.setattr(revision_check, "_STEP", 50)
    with crawled_wiki(tmp_path, *titles) as (lake, wiki):
        wiki.edit("Page 7", listed=False)
        start_pass(lake, "wiki", "schedule", utc_now())
        first, _ = check(lake, wiki, seconds=0)
        assert (first["checked"], first["finished_at"]) == (50, None)
        second, _ = check(lake, wiki)
    assert second["checked"] == 120
    assert sorted(title for group in asked_titles(wiki) for title in group) == sorted(titles)
    assert set(found(read_partition(lake, PAGE_CHANGES, "wiki"))) == {"Page 7"}


@pytest.mark.parametrize("slice_size", [1, 7, 50])
def test_slices_of_any_size_cover_every_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slice_size: int
) -> None:
    monkeypatch.setattr(revision_check, "_SLICE", slice_size)
    titles = [f"Page {number}" for number in range(15)]
    with crawled_wiki(tmp_path, *titles) as (lake, wiki):
        start_pass(lake, "wiki", "schedule", utc_now())
        assert check(lake, wiki)[0]["checked"] == 15
    assert sorted(title for group in asked_titles(wiki) for title in group) == sorted(titles)


def test_a_wiki_that_falls_silent_keeps_what_was_checked(tmp_path: Path) -> None:
    titles = [f"Page {number}" for number in range(100)]
    with crawled_wiki(tmp_path, *titles) as (lake, wiki):
        start_pass(lake, "wiki", "schedule", utc_now())
        answer = wiki.answer

        def answer_once(asked: Any) -> dict[str, Any]:
            wiki.fake.will(page(503, "down", Retry_After="600"))
            return answer(asked)

        wiki.fake.answer = answer_once
        with pytest.raises(WikiUnavailable):
            check(lake, wiki)
    current = unfinished_pass(lake, "wiki")
    assert current is not None
    assert current["checked"] == 50


def test_a_kill_between_changes_and_place_checks_those_pages_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_arguments: Any, **_named: Any) -> None:
        raise KeyboardInterrupt

    with crawled_wiki(tmp_path, "A", "B") as (lake, wiki):
        wiki.edit("A", listed=False)
        start_pass(lake, "wiki", "person", utc_now())
        monkeypatch.setattr(revision_check, "_note", killed)
        with pytest.raises(KeyboardInterrupt):
            check(lake, wiki)
        monkeypatch.undo()
        before = read_partition(lake, PAGE_CHANGES, "wiki")
        ended, _ = check(lake, wiki)
    assert (ended["checked"], ended["changed"]) == (2, 1)
    assert read_partition(lake, PAGE_CHANGES, "wiki") == before


def test_a_pass_is_not_started_while_one_goes_on_but_after_a_gap_it_starts_anew(tmp_path: Path) -> None:
    lake, now = Lake(tmp_path), utc_now()
    assert start_pass(lake, "wiki", "schedule", now)["started_at"] == now
    assert start_pass(lake, "wiki", "person", now + HOUR)["started_at"] == now
    assert start_pass(lake, "wiki", "gap", now + HOUR)["started_at"] == now + HOUR
    assert [(row["why"], row["started_at"]) for row in passes(lake, "wiki")] == [("gap", now + HOUR)]


def test_passes_that_ended_stay_on_record(tmp_path: Path) -> None:
    with crawled_wiki(tmp_path, "A") as (lake, wiki):
        for why in ("schedule", "person"):
            start_pass(lake, "wiki", why, utc_now())
            check(lake, wiki)
    assert [(row["why"], row["checked"]) for row in passes(lake, "wiki")] == [("schedule", 1), ("person", 1)]


def test_a_check_without_a_pass_is_refused(tmp_path: Path) -> None:
    with crawled_wiki(tmp_path, "A") as (lake, wiki), pytest.raises(LookupError, match="no check of 'wiki'"):
        check(lake, wiki)


def test_seeds_are_listed_anew_with_each_pass(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    put_site(lake, fetched_at=utc_now() - HOUR)
    put_seeds(lake, "A")
    assert not seeds_are_due(lake, "wiki")
    start_pass(lake, "wiki", "schedule", utc_now())
    assert seeds_are_due(lake, "wiki")
    put_site(lake, fetched_at=utc_now())
    assert seeds_are_due(lake, "wiki"), "the wiki was asked what it is, but its list broke off"
    put_seeds(lake, "A")
    assert not seeds_are_due(lake, "wiki")
