"""A page that brings a captcha or a long wait each time fails alone, and its wiki is left in peace."""

from itertools import pairwise
from pathlib import Path

import pytest
from crawl_rows import put_manifest
from fake_mediawiki import CAPTCHA, Behaviour, page
from fetching_rig import SwiftClock
from small_wiki import SmallWiki, reading, small_wiki, source_of_wiki

from holocron_assets.crawl.errors import WikiUnavailable
from holocron_assets.crawl.fetch import fetch_batch
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.place.paths import Lake

BATCH = "wiki-000001"
TITLES = [f"Page {number}" for number in range(60)]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SwiftClock:
    monkeypatch.setattr("holocron_assets.crawl.http.polite_requests._MOST_TRIES", 1)
    return SwiftClock(monkeypatch)


def run(lake: Lake, wiki: SmallWiki, clock: SwiftClock) -> list[Row] | None:
    """The rows of the batch, or None after a run that ended: then the clock stands where the next is due."""
    with reading(lake, source_of_wiki(wiki), BATCH) as reader:
        try:
            return fetch_batch(lake, BATCH, reader, "test")
        except WikiUnavailable as error:
            clock.ahead += max(error.due_at.timestamp() - clock.time(), 0) + 1
            return None


def run_to_the_end(lake: Lake, wiki: SmallWiki, clock: SwiftClock) -> tuple[list[Row], int]:
    """The rows of the batch, and how many runs ended before."""
    for ended in range(12):
        if rows := run(lake, wiki, clock):
            return rows, ended
    raise AssertionError("the batch is never done")


@pytest.mark.parametrize(
    ("refusal", "least_wait"),
    [
        (page(403, CAPTCHA), 3600),
        (page(503, "", Retry_After="600"), 600),
        (page(429, "", Retry_After="600"), 600),
    ],
    ids=["captcha", "503", "429"],
)
def test_a_page_that_its_wiki_refuses_each_time_fails_alone_and_no_wait_is_cut_short(
    tmp_path: Path, clock: SwiftClock, refusal: Behaviour, least_wait: float
) -> None:
    lake, asked = Lake(tmp_path), list[tuple[float, bool]]()

    def refuses(titles: set[str]) -> bool:
        asked.append((clock.time(), "Page 31" in titles))
        return asked[-1][1]

    put_manifest(lake, BATCH, *TITLES)
    with small_wiki(TITLES) as wiki:
        wiki.refusal, wiki.refuses = refusal, refuses
        rows, ended = run_to_the_end(lake, wiki, clock)
    assert {row["requested_title"] for row in rows if row["status"] != "ok"} == {"Page 31"}
    assert [row["attempts"] for row in rows] == [1] * 60
    assert ended == 5  # refused thrice with 50, then with 10 and alone
    for (at, is_refused), (following, _) in pairwise(asked):
        assert not is_refused or following - at >= least_wait


def test_of_a_wiki_that_refuses_everything_for_days_no_page_is_to_blame_and_no_group_is_split(
    tmp_path: Path, clock: SwiftClock
) -> None:
    lake = Lake(tmp_path)
    put_manifest(lake, BATCH, *TITLES)
    with small_wiki(TITLES) as wiki:
        wiki.refusal, wiki.refuses = page(403, CAPTCHA), lambda _: True
        for _ in range(8):
            assert run(lake, wiki, clock) is None
        assert len(wiki.fake.requests) == 8  # one a run
        wiki.refuses = lambda _: False
        wiki.fake.requests.clear()
        rows = run(lake, wiki, clock)
        asked = [request.parameters.get("titles", "").split("|") for request in wiki.fake.requests]
        assert [len(titles) for titles in asked] == [1, 1, 50, 10]  # a random page first
    assert rows
    assert {(row["status"], row["attempts"]) for row in rows} == {("ok", 1)}


def test_a_page_that_a_small_wiki_cannot_serve_fails_alone_though_the_group_holds_all_its_pages(
    tmp_path: Path, clock: SwiftClock
) -> None:
    lake, few = Lake(tmp_path), TITLES[:20]
    put_manifest(lake, BATCH, *few)
    with small_wiki(few) as wiki:
        wiki.refusal, wiki.refuses = page(500, "broken"), lambda titles: "Page 7" in titles
        rows, ended = run_to_the_end(lake, wiki, clock)
    assert ([row["requested_title"] for row in rows if row["status"] != "ok"], ended) == (["Page 7"], 0)
