"""What a run says its requests came to."""

from pathlib import Path

import pytest
from fake_crawl import crawling
from fake_mediawiki import page

from holocron_assets.crawl.errors import HostBusy, WikiUnavailable
from holocron_assets.crawl.http import polite_requests
from holocron_assets.crawl.http.log import Tally


def test_a_tally_counts_requests_retries_times_and_decisions(tmp_path: Path) -> None:
    tally = Tally()
    with crawling(tmp_path) as crawl:
        crawl.wiki.will(page(503, "down"))
        crawl.fetch("A")
        crawl.wiki.will(page(429, "", Retry_After="600"))
        for error in (WikiUnavailable, HostBusy):
            with pytest.raises(error):
                crawl.fetch("A")
        for attempt in crawl.attempts:
            tally.add(attempt)
    assert tally.outcomes == {"server_error": 1, "ok": 1, "throttled": 1, "held": 1}
    assert (tally.sent, tally.retries) == (3, 1)
    assert (tally.pace, tally.lowest_pace, tally.breaker) == (0.25, 0.25, "closed")
    assert 0 < tally.slowest_ms <= tally.answer_ms
    assert tally.held_s > 0.9
    assert [decision.split(": ")[0].split(", ")[1] for decision in tally.decisions] == [
        "after server_error",
        "after throttled",
        "after held",
    ]


def test_a_tally_keeps_the_last_twenty_decisions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polite_requests, "_MOST_TRIES", 1)
    tally = Tally()
    with crawling(tmp_path) as crawl:
        crawl.wiki.will(page(429, "", Retry_After="600"))
        with pytest.raises(WikiUnavailable):
            crawl.fetch("A")
        for _ in range(30):
            with pytest.raises(HostBusy):
                crawl.fetch("A")
        for attempt in crawl.attempts:
            tally.add(attempt)
    assert len(tally.decisions) == 20
    assert tally.outcomes.total() == 31
