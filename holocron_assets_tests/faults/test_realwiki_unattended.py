"""All sample pages of ../shared in a real MediaWiki: the sensors do everything, and are killed once."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any
from urllib.parse import parse_qs, urlsplit
from urllib.request import urlopen

import pytest
from fake_ollama import Chat
from held import processes_of
from real_mediawiki import SHARED, RealWiki, wiki_of
from small_and_open import repeats
from unattended import start_ui
from whole_holocron import UNFINISHED, WholeHolocron, kill_group, steady_answer, until, whole_holocron

from holocron_assets.lake.files.parquet import read_footer
from holocron_assets.lake.tables import ENTITIES, PAGES, REVIEW_ITEMS
from holocron_assets.planning.job_names import QUALITY_JOB, VIEWS_JOB

pytestmark = [pytest.mark.full, pytest.mark.realwiki]

SOURCE = """
name: real
enabled: true
kind: mediawiki_api
address: {api_url}
private_hosts: [127.0.0.1]
namespaces: [0]
seeds: {{all_pages: true}}
batch_size: 500
politeness: {{contact: tests@example.org, requests_per_second: 20.0, requests_in_flight: 2}}
"""
INTERROGATIONS = ("page_classification", "page_events", "entity_timeline", "entity_summary")
TITLES_UNDER_WAY = 2 * 50
QUESTIONS_UNDER_WAY = 8
PAGES_BEFORE_THE_KILL, QUESTIONS_BEFORE_THE_KILL = 3, 20
IDLE_SECONDS = 60.0
DATED = re.compile(r"[\w' ]{3,60}\b\d{1,5}\b")


@pytest.fixture
def wiki(tmp_path: Path) -> Iterator[RealWiki]:
    """A wiki of 4,715 pages."""
    if not (SHARED / "realwiki" / "realwiki").exists():
        pytest.skip("needs the real MediaWiki of ../shared, which is not next to this checkout")
    with wiki_of(tmp_path, {}, SHARED / "wookieepedia" / "sample_pages.jsonl.gz") as running:
        yield running


@pytest.fixture
def whole(tmp_path: Path, wiki: RealWiki) -> Iterator[WholeHolocron]:
    folder = tmp_path / "holocron"
    folder.mkdir()
    with whole_holocron(folder, pages=0, interrogations=INTERROGATIONS) as whole:
        (whole.holocron.sources_folder / "tiny.yaml").unlink()
        (whole.holocron.sources_folder / "real.yaml").write_text(SOURCE.format(api_url=wiki.api_url))
        whole.ollama.answer = answer
        yield whole


def answer(chat: Chat) -> Any:
    """What fits the schema; of events the first that the page dates, in its own words."""
    match list(chat.body["format"]["properties"]):
        case ["events"]:
            found = DATED.search(chat.messages[-1]["content"].replace("\n", " "))
            said = found[0].strip() if found else ""
            event = {"evidence": said, "event": "It happened", "date": said[-40:], "year": 1}
            return {"events": [event] if found else []}
        case ["summary"]:
            return {"summary": "Something happened once. Then more did."}
    return steady_answer(chat)


def pages_of(api_url: str) -> int:
    address = f"{api_url}?action=query&meta=siteinfo&siprop=statistics&format=json"
    with urlopen(address) as reply:  # noqa: S310 - a wiki of our own on loopback
        return int(json.load(reply)["query"]["statistics"]["pages"])


def titles_asked_for(wiki: RealWiki) -> Counter[str]:
    """How often each page was asked for, as the wiki's own log has it."""
    lines = (wiki.state / "server.log").read_text().splitlines()
    paths = [match[1] for line in lines if (match := re.search(r"(?:GET|POST) (\S+)", line))]
    asked = [parse_qs(urlsplit(path).query) for path in paths if "api.php" in path]
    return Counter(title for said in asked if "titles" in said for title in said["titles"][0].split("|"))


def ask(whole: WholeHolocron, sql: str) -> list[dict[str, Any]]:
    done = whole.command("sql", "--json", sql)
    assert done.returncode == 0, done.stdout + done.stderr
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


def pages_fetched(whole: WholeHolocron) -> int:
    """How many pages the lake has."""
    footers = [read_footer(whole.lake, PAGES, name) for name in whole.lake.partitions(PAGES)]
    return sum(footer.rows for footer in footers if footer)


def until_all_is_done(whole: WholeHolocron, pages: int) -> None:
    """Wait until nothing has been under way for a minute: that long a sensor may take to see work."""
    since = monotonic()

    def is_done() -> bool:
        nonlocal since
        if pages_fetched(whole) < pages or not whole.lake.partitions(REVIEW_ITEMS) or whole.is_busy():
            since = monotonic()
        return monotonic() - since > IDLE_SECONDS

    until(is_done, "everything is done", seconds=1500, every=2)


@pytest.mark.fault(1, "all processes are killed at once while a wiki of 4,715 pages is worked on")
def test_the_sensors_take_a_real_wiki_to_its_entities_and_repeat_nothing_after_a_kill(
    wiki: RealWiki, whole: WholeHolocron
) -> None:
    pages = pages_of(wiki.api_url)
    first = start_ui(whole)
    until(
        lambda: (
            len(whole.lake.partitions(PAGES)) >= PAGES_BEFORE_THE_KILL
            and len(whole.ollama.chats) >= QUESTIONS_BEFORE_THE_KILL
        ),
        "pages are fetched and a model is asked",
        seconds=600,
    )
    kill_group(first)
    whole.end()
    until(lambda: not processes_of(whole.holocron.folder), "all is gone", seconds=60)
    assert pages_fetched(whole) < pages, "the kill came too late to cut anything short"

    start_ui(whole)
    until_all_is_done(whole, pages)
    whole.end()

    counted = ask(whole, "select count(*) as pages, count(distinct title_key) as titles from current_pages")
    assert counted == [{"pages": pages, "titles": pages}]
    asked = titles_asked_for(wiki)
    assert len(asked) == pages
    assert repeats(asked) <= TITLES_UNDER_WAY
    questions = Counter(chat.prompt for chat in whole.ollama.chats)
    assert repeats(questions) <= QUESTIONS_UNDER_WAY
    assert ask(whole, "select * from dead_letters") == []
    assert ask(whole, "select * from derived_entity_summary where summary is not null limit 1")
    due = json.loads(whole.command("status", "--json").stdout)["interrogations"]
    assert {row["interrogation"]: row["due"] for row in due if row["due"]} == {}
    assert not whole.runs(*UNFINISHED)
    assert whole.lake.partitions(ENTITIES)
    asked_so_far, before = len(whole.ollama.chats), {run.run_id for run in whole.runs()}
    whole.finish()
    left = {run.job_name for run in whole.runs() if run.run_id not in before}
    assert left <= {VIEWS_JOB, QUALITY_JOB}, "only views wait: their sensor ticks every five minutes"
    assert "Nothing to do" in whole.finish()
    assert len(whole.ollama.chats) == asked_so_far
