"""robots.txt, clause by clause of RFC 9309, before a fake wiki's API."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
from broken_server import BROKEN
from fake_crawl import Crawl, crawling, page_object
from fake_mediawiki import CAPTCHA, NO_ROBOTS, Behaviour, FakeWiki, Handler, hang, page, reset, truncated
from filelock import FileLock

from holocron_assets.crawl.errors import HostBusy, WikiRefused, WikiUnavailable
from holocron_assets.crawl.http import polite_requests
from holocron_assets.crawl.mediawiki.client import MOST_TITLES
from holocron_assets.crawl.politeness.host_state import HostState
from holocron_assets.crawl.politeness.limits import HostLimits
from holocron_assets.crawl.politeness.rules import Decision
from holocron_assets.telemetry.logs import configure_logs

FORBIDS_US = "User-agent: *\nAllow: /\n\nUser-agent: holocron\nDisallow: /api.php\n"


@pytest.fixture
def crawl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Crawl]:
    monkeypatch.setattr(polite_requests, "_MOST_TRIES", 1)
    with crawling(tmp_path, obey_robots=True) as crawl:
        crawl.wiki.answer = lambda _: {"batchcomplete": True, "query": {"pages": [page_object("A")]}}
        yield crawl


@pytest.fixture
def json_log(capsys: pytest.CaptureFixture[str]) -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """Gives the lines that were logged since; logs are as they were afterwards."""
    configure_logs({"HOLOCRON_LOG": "json"})
    yield lambda: [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    configure_logs({})


def says(text: str) -> Behaviour:
    return lambda handler: handler.reply(200, text.encode(), {"Content-Type": "text/plain"})


def redirect(location: str) -> Behaviour:
    return page(301, "", Location=location)


def in_turn(behaviours: list[Behaviour]) -> Behaviour:
    def behave(handler: Handler) -> None:
        behaviours.pop(0)(handler)

    return behave


def well_again(crawl: Crawl) -> None:
    """Let the host be asked at once, as if its hold had passed."""
    crawl.limits.learn(lambda _: Decision("ok", retry=False, wait_seconds=None, state=HostState()))


def test_robots_txt_is_read_before_the_first_request_and_then_no_more(crawl: Crawl) -> None:
    crawl.wiki.robots = says("User-agent: *\nDisallow: /index.php\n")
    crawl.fetch("A")
    crawl.fetch("A")
    assert (crawl.wiki.robots_requests, len(crawl.wiki.requests)) == (1, 2)
    assert crawl.outcomes() == ["ok", "ok", "ok"]
    assert crawl.attempts[0]["url"] == f"http://{crawl.wiki.host}/robots.txt"


def test_what_it_forbids_is_not_asked_and_the_error_says_what_to_do(crawl: Crawl) -> None:
    crawl.wiki.robots = says(FORBIDS_US)
    with pytest.raises(WikiRefused) as caught:
        crawl.fetch("A")
    said = str(caught.value)
    for part in (
        crawl.wiki.host,
        f"http://{crawl.wiki.host}/robots.txt",
        "api.php?action=query",
        "sample.yaml",
    ):
        assert part in said
    assert "obey_robots: false" in said
    assert caught.value.outcome == "robots"
    assert crawl.wiki.requests == []
    assert crawl.outcomes() == ["ok", "robots"]
    assert crawl.attempts[1]["status"] is None


def test_with_permission_nothing_is_read_and_nothing_forbidden(tmp_path: Path) -> None:
    with crawling(tmp_path, obey_robots=False) as crawl:
        crawl.wiki.robots = says(FORBIDS_US)
        crawl.fetch("A")
        assert (crawl.wiki.robots_requests, len(crawl.wiki.requests)) == (0, 1)


@pytest.mark.parametrize(
    ("rules", "allowed"),
    [
        ("", True),
        ("User-agent: *\nDisallow: /\n", False),
        ("User-agent: *\nDisallow:\n", True),
        ("\ufeffUser-agent: *\nDisallow: /api.php\n", False),
        ("User-agent: *\r\nDisallow: /api\r\n", False),
        # section 2.2.1: our own group counts alone, in any case; groups of one name are one
        ("User-agent: *\nDisallow: /\nUser-agent: HOLOCRON\nDisallow: /x\n", True),
        ("User-agent: Holocron\nDisallow: /x\nUser-agent: Holocron\nDisallow: /api\n", False),
        ("User-agent: otherbot\nDisallow: /\n", True),
        # section 2.2.2: the longest match counts, and of two alike the one that allows
        ("User-agent: *\nDisallow: /\nAllow: /api.php\n", True),
        ("User-agent: *\nAllow: /api\nDisallow: /api.php\n", False),
        ("User-agent: *\nDisallow: /api.php\nAllow: /api.php\n", True),
        ("User-agent: *\nDisallow: /API.PHP\n", True),
        # section 2.2.3: special characters
        ("User-agent: *\nDisallow: /*?*titles=\n", False),
        ("User-agent: *\nDisallow: /api.php$\n", True),
        ("User-agent: *\nDisallow: /*.php # all of it\n", False),
        ("<html><title>Not found</title></html>", True),
    ],
)
def test_rfc9309_2_2_rules(crawl: Crawl, rules: str, *, allowed: bool) -> None:
    crawl.wiki.robots = says(rules)
    if allowed:
        crawl.fetch("A")
    else:
        with pytest.raises(WikiRefused):
            crawl.fetch("A")
    assert len(crawl.wiki.requests) == allowed


def test_a_rule_about_titles_holds_for_a_request_that_is_posted_for_its_length(crawl: Crawl) -> None:
    crawl.wiki.robots = says("User-agent: *\nDisallow: /*Geheimes\nDisallow: /closed/\n")
    long = [f"{number:02}" + "é" * 120 for number in range(MOST_TITLES - 1)]
    with pytest.raises(WikiRefused, match="forbids"):
        crawl.fetch(*long, "Geheimes")
    assert crawl.wiki.requests == []
    crawl.fetch(*long)
    assert [request.verb for request in crawl.wiki.requests] == ["POST"]


def test_rfc9309_2_3_1_2_five_redirects_are_followed_across_hosts(crawl: Crawl) -> None:
    with FakeWiki() as other:
        other.robots = says("User-agent: *\nDisallow: /api.php\n")
        steps = [redirect("/robots.txt?again"), redirect("robots.txt"), redirect("?once-more")]
        steps += [
            redirect(f"//{crawl.wiki.host}/robots.txt"),
            redirect(f"http://{other.host}/robots.txt?x=1"),
        ]
        crawl.wiki.robots = in_turn(steps)
        with pytest.raises(WikiRefused, match=f"http://{crawl.wiki.host}/robots.txt forbids"):
            crawl.fetch("A")
        assert (crawl.wiki.robots_requests, other.robots_requests) == (5, 1)
    assert crawl.attempts[5]["url"] == f"http://{other.host}/robots.txt?x=1"


@pytest.mark.fault(4, "robots.txt that redirects to itself")
def test_rfc9309_2_3_1_2_after_more_than_five_redirects_there_is_none(crawl: Crawl) -> None:
    crawl.wiki.robots = redirect("/robots.txt")
    crawl.fetch("A")
    assert crawl.wiki.robots_requests == 6


@pytest.mark.fault(4, "robots.txt that redirects to no web address")
@pytest.mark.parametrize(
    "location",
    ["", "file:///etc/passwd", "ftp://x/robots.txt", "http://[bad", "http://u:p@127.0.0.1/"],
)
def test_a_redirect_that_leads_nowhere_means_that_there_is_none(crawl: Crawl, location: str) -> None:
    crawl.wiki.robots = redirect(location)
    crawl.fetch("A")
    assert crawl.wiki.robots_requests == 1


@pytest.mark.fault(4, "robots.txt that is not there")
@pytest.mark.parametrize(
    ("status", "level"), [(404, "info"), (410, "info"), (403, "warning"), (500, "warning")]
)
def test_only_a_robots_txt_that_should_be_there_is_missed_in_the_log(
    crawl: Crawl, json_log: Callable[[], list[dict[str, Any]]], status: int, level: str
) -> None:
    crawl.wiki.robots = page(status, "no")
    with suppress(WikiUnavailable):
        crawl.fetch("A")
    line = next(line for line in json_log() if line["event"] == "asked a wiki")
    url = f"http://{crawl.wiki.host}/robots.txt" if level == "warning" else None
    assert (line["status"], line["level"], line.get("url")) == (status, level, url)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 418, 451])
def test_rfc9309_2_3_1_3_without_one_everything_is_allowed(crawl: Crawl, status: int) -> None:
    crawl.wiki.robots = page(status, "for people")
    crawl.fetch("A")
    assert crawl.outcomes() == ["client_error", "ok"]


@pytest.mark.fault(4, "robots.txt that cannot be reached")
@pytest.mark.parametrize(
    "behaviour", [page(500, ""), page(503, "", Retry_After="60"), page(429, ""), reset, truncated, hang]
)
def test_rfc9309_2_3_1_4_while_it_cannot_be_reached_everything_is_forbidden(
    crawl: Crawl, behaviour: Behaviour
) -> None:
    crawl.wiki.robots = behaviour
    with pytest.raises(WikiUnavailable, match=r"robots\.txt cannot be read, and until it can") as caught:
        crawl.fetch("A")
    assert caught.value.due_at > datetime.now(UTC)
    assert caught.value.outcome == "robots_unreachable"
    assert crawl.wiki.requests == []
    well_again(crawl)
    crawl.wiki.robots = NO_ROBOTS
    crawl.fetch("A")


@pytest.mark.fault(4, "a captcha for robots.txt")
def test_a_captcha_for_robots_txt_leaves_the_wiki_alone(crawl: Crawl) -> None:
    crawl.wiki.robots = page(403, CAPTCHA)
    with pytest.raises(WikiUnavailable):
        crawl.fetch("A")
    assert crawl.outcomes() == ["captcha"]
    assert crawl.attempts[0]["breaker"] == "open"


def test_a_wikis_own_page_with_a_captcha_form_that_says_not_found_is_no_wall(crawl: Crawl) -> None:
    crawl.wiki.robots = page(404, CAPTCHA)
    crawl.fetch("A")


def test_rfc9309_2_4_it_is_read_again_after_a_day_by_whichever_process(crawl: Crawl) -> None:
    noon = datetime(2026, 11, 21, 12, tzinfo=UTC)
    with time_machine.travel(noon) as clock:
        crawl.fetch("A")
        clock.move_to(noon + timedelta(hours=23))
        crawl.restart()
        crawl.fetch("A")
        assert crawl.wiki.robots_requests == 1
        clock.move_to(noon + timedelta(hours=25))
        crawl.wiki.robots = says(FORBIDS_US)
        with pytest.raises(WikiRefused):
            crawl.fetch("A")
        assert crawl.wiki.robots_requests == 2


@pytest.mark.fault(4, "robots.txt that cannot be reached any more")
def test_rfc9309_2_4_while_it_cannot_be_reached_the_old_one_counts(crawl: Crawl) -> None:
    noon = datetime(2026, 11, 21, 12, tzinfo=UTC)
    with time_machine.travel(noon) as clock:
        crawl.wiki.robots = says("User-agent: *\nDisallow: /*titles=B&\n")
        crawl.fetch("A")
        crawl.wiki.robots = page(500, "")
        for hours, asked in ((30, 2), (30.5, 2), (31.1, 3)):
            clock.move_to(noon + timedelta(hours=hours))
            well_again(crawl)
            crawl.restart()
            with pytest.raises(WikiRefused):
                crawl.fetch("B")
            assert crawl.wiki.robots_requests == asked


def test_a_clock_that_was_set_back_makes_it_be_read_again(crawl: Crawl) -> None:
    with time_machine.travel(datetime(2026, 11, 21, tzinfo=UTC)) as clock:
        crawl.fetch("A")
        clock.move_to(datetime(2026, 11, 19, tzinfo=UTC))
        well_again(crawl)
        crawl.fetch("A")
        assert crawl.wiki.robots_requests == 2


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"url": 1}', '{"url": "http://other/robots.txt"}'])
def test_a_damaged_copy_is_as_good_as_none(crawl: Crawl, damage: str) -> None:
    (crawl.limits.folder / "robots.json").write_text(damage)
    crawl.fetch("A")
    assert crawl.wiki.robots_requests == 1
    assert json.loads((crawl.limits.folder / "robots.json").read_text())["text"] == ""


def test_rfc9309_2_5_the_first_500_kibibytes_are_read(crawl: Crawl) -> None:
    line = "# a comment, which says nothing at all\n"
    filler = line * (500 * 1024 // len(line))
    crawl.wiki.robots = says(f"User-agent: *\n{filler}Disallow: /api.php\n")
    crawl.fetch("A")
    crawl.restart()
    (crawl.limits.folder / "robots.json").unlink()
    crawl.wiki.robots = says(f"User-agent: *\n{filler[: -100 * len(line)]}Disallow: /api.php\n")
    with pytest.raises(WikiRefused):
        crawl.fetch("A")


@pytest.mark.fault(4, "robots.txt that is a bomb: 10,000 rules for each of 15,000 agents")
def test_a_bomb_of_agents_and_rules_is_as_good_as_unreachable(crawl: Crawl) -> None:
    agents = "".join(f"User-agent: a{number}\nno rule\n" for number in range(15_000))
    crawl.wiki.robots = says(agents + "Disallow: /x\n" * 10_000)
    with pytest.raises(WikiUnavailable, match=r"names too many agents for its rules") as caught:
        crawl.fetch("A")
    assert caught.value.outcome == "robots_unreachable"
    assert crawl.wiki.requests == []


@pytest.mark.fault(4, "robots.txt with thousands of groups, as large wikis have")
def test_many_agents_with_rules_of_their_own_are_no_bomb(crawl: Crawl) -> None:
    groups = "".join(f"User-agent: a{number}\nDisallow: /*{number}*\n" for number in range(10_000))
    crawl.wiki.robots = says(f"{groups}User-agent: *\nDisallow: /api.php\n")
    with pytest.raises(WikiRefused):
        crawl.fetch("A")


@pytest.mark.fault(4, "robots.txt that allows, forbids and allows again")
def test_a_robots_txt_that_changes_its_mind_is_obeyed_from_the_day_it_is_read_again(crawl: Crawl) -> None:
    noon = datetime(2026, 11, 21, 12, tzinfo=UTC)
    with time_machine.travel(noon) as clock:
        for day, robots in enumerate((NO_ROBOTS, says(FORBIDS_US), NO_ROBOTS)):
            clock.move_to(noon + timedelta(days=1.1 * day))
            crawl.wiki.robots = robots
            crawl.restart()
            if day == 1:
                with pytest.raises(WikiRefused):
                    crawl.fetch("A")
            else:
                crawl.fetch("A")
    assert (crawl.wiki.robots_requests, len(crawl.wiki.requests)) == (3, 2)


@pytest.mark.fault(4, "robots.txt that is no whole answer")
@pytest.mark.parametrize(
    "name",
    [
        "a gzip bomb",
        "a gzip that breaks off",  # what comes before the break would be rules, but not all of them
        "a body that breaks off",
        "a body that drips",
        "a body larger than the limit",
        "headers that drip",
        "an endless header",
        "an answer that is noise",
    ],
)
def test_a_robots_txt_of_which_no_whole_one_comes_forbids_everything_for_now(crawl: Crawl, name: str) -> None:
    crawl.wiki.robots = BROKEN[name]
    with pytest.raises(WikiUnavailable) as caught:
        crawl.fetch("A")
    assert caught.value.outcome == "robots_unreachable"
    assert crawl.wiki.requests == []


def test_threads_read_it_once(crawl: Crawl) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(crawl.fetch, "ABCD"))
    assert crawl.wiki.robots_requests == 1


def test_a_crawl_delay_slows_down_to_it(crawl: Crawl) -> None:
    crawl.wiki.robots = says("User-agent: *\nCrawl-delay: 0.4\n")
    crawl.fetch("A")
    crawl.fetch("A")
    _, first, second = (attempt["started_at"].timestamp() for attempt in crawl.attempts)
    assert second - first > 0.39


def test_a_crawl_delay_too_long_to_sleep_through_raises_with_its_due_time(crawl: Crawl) -> None:
    crawl.wiki.robots = says("User-agent: *\nCrawl-delay: 1e300\n")
    crawl.fetch("A")
    with pytest.raises(HostBusy, match="no request may be sent within") as caught:
        crawl.fetch("A")
    assert caught.value.due_at - datetime.now(UTC) < timedelta(days=1)
    assert crawl.outcomes() == ["ok", "ok", "rate"]


def test_a_hurried_request_does_not_wait_for_another_process_that_reads_robots_txt(crawl: Crawl) -> None:
    hurried = HostLimits(
        crawl.wiki.host, crawl.limits.politeness, crawl.limits.folder.parent, patience_seconds=0.2
    )
    lock = FileLock(crawl.limits.folder / "robots.lock")
    crawl.limits = hurried
    crawl.restart()
    with lock, hurried, pytest.raises(HostBusy) as caught:
        crawl.fetch("A")
    assert "another process asks for" in caught.value.reason
    assert datetime.now(UTC) < caught.value.due_at < datetime.now(UTC) + timedelta(minutes=1)
    assert crawl.wiki.robots_requests == 0
