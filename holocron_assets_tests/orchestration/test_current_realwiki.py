"""A real MediaWiki that people work on while the sensors run: exactly what changed is fetched and redone."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import dagster as dg
import pytest
import time_machine
from real_mediawiki import SHARED, RealWiki, wiki_of
from sample_holocron import Holocron
from watched import Watched

from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.tables import BATCH_PAGES, COMPARED_NAMES, PAGES
from holocron_assets.lake.views.database import connect, query
from holocron_assets.orchestration.sensors.changes import changed_pages
from holocron_assets.orchestration.sensors.crawl_and_entities import SENSORS
from holocron_assets.planning.batch_steps import BATCH_STEPS
from holocron_assets.planning.entity_stages import STAGES

pytestmark = pytest.mark.realwiki

PLANETS = [f"Planet {number:02}" for number in range(30)]
DROIDS = [f"Droid {number:02}" for number in range(20)]
SPECIES = [f"Kin {number:02}" for number in range(10)]
TEXTS = {
    **{title: f"'''{title}''' is a planet. [[Category:Planets]]" for title in PLANETS},
    **{title: f"'''{title}''' is an astromech droid. [[Category:Droids]]" for title in DROIDS},
    **{title: f"'''{title}''' is a sentient species. [[Category:Sentient species]]" for title in SPECIES},
    "Lost planet": "'''Lost planet''' is a planet. [[Category:Planets]]",
}
EDITED, DELETED, MOVED = PLANETS[:20], DROIDS[:3], DROIDS[3:5]
TARGETS = [f"{title} of old" for title in MOVED]
CHANGED = {*EDITED, *DELETED, *MOVED, *TARGETS, "Lost planet"}
BATCH_SIZE = 20
SOURCE = """
name: real
enabled: true
kind: mediawiki_api
address: {api_url}
private_hosts: [127.0.0.1]
seeds: {{all_pages: true}}
batch_size: {batch_size}
politeness: {{contact: tests@example.org, requests_per_second: 50.0}}
changes: {{every_minutes: 1}}
"""


@pytest.fixture
def wiki(tmp_path: Path) -> Iterator[RealWiki]:
    """A wiki of its own, since it is changed."""
    if not (SHARED / "realwiki" / "realwiki").exists():
        pytest.skip("needs the real MediaWiki of ../shared, which is not next to this checkout")
    with wiki_of(tmp_path, TEXTS) as running:
        running.admin("delete", "Lost planet")
        yield running


@pytest.fixture
def watched(tmp_path: Path, wiki: RealWiki) -> Iterator[Watched]:
    holocron = Holocron(tmp_path / "holocron")
    holocron.sources_folder.mkdir(parents=True)
    text = SOURCE.format(api_url=wiki.api_url, batch_size=BATCH_SIZE)
    (holocron.sources_folder / "real.yaml").write_text(text)
    with dg.DagsterInstance.ephemeral() as instance:
        yield Watched(holocron, instance)


def let_sensors_work(watched: Watched) -> None:
    """Tick every sensor and run what it asks for, until none asks for anything."""
    asked = True
    while asked:
        ticks = [watched.tick(sensor) for sensor in (changed_pages, *SENSORS)]
        requests = {request.run_key: request for tick in ticks for request in tick.asked}
        for request in requests.values():
            watched.run(request)
        asked = bool(requests)


@contextmanager
def later(minutes: int) -> Iterator[None]:
    """Let our clock be ahead: the wiki's is not, and need not be right."""
    with time_machine.travel(utc_now() + timedelta(minutes=minutes)):
        yield


def people_work_on(wiki: RealWiki) -> None:
    for title in EDITED:
        wiki.admin("edit", title, text=f"'''{title}''' is a planet of ice. [[Category:Planets]]")
    for title in DELETED:
        wiki.admin("delete", title)
    for title, target in zip(MOVED, TARGETS, strict=True):
        wiki.admin("move", title, target)
    wiki.admin("undelete", "Lost planet")


def requests_of(wiki: RealWiki, since: int) -> list[dict[str, list[str]]]:
    """Parameters of the requests in the wiki's own log, from a line on."""
    lines = (wiki.state / "server.log").read_text().splitlines()[since:]
    paths = [match[1] for line in lines if (match := re.search(r"(?:GET|POST) (\S+)", line))]
    return [parse_qs(urlsplit(path).query) for path in paths if "api.php" in path]


def log_length(wiki: RealWiki) -> int:
    return len((wiki.state / "server.log").read_text().splitlines())


def files(watched: Watched) -> dict[str, str]:
    """Hashes of all files of the lake, except those that every reading and request adds to."""
    lake = watched.holocron.lake
    growing = ("http_attempts", "change_looks", "page_changes")
    paths = [path for path in lake.files() if path.parent.parent.name not in growing]
    return {"/".join(path.parts[-3:-1]): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def ask(watched: Watched, sql: str, parameters: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    with connect(watched.holocron.lake) as connection:
        return query(connection, sql, parameters)


def test_what_people_change_is_fetched_and_redone_and_nothing_else(wiki: RealWiki, watched: Watched) -> None:
    let_sensors_work(watched)
    before, start = files(watched), log_length(wiki)
    there = {row["title"] for row in ask(watched, "from current_pages")}
    assert there == {*TEXTS, "Main Page"} - {"Lost planet"}

    people_work_on(wiki)
    with later(minutes=2):
        let_sensors_work(watched)
    first = set(files(watched)) - set(before)
    fetched_at_once = [name for name in first if name.startswith("pages/")]
    assert len(fetched_at_once) == 1, "a full batch is cut at once, and the rest waits for more"
    with later(minutes=70):
        let_sensors_work(watched)
    after = files(watched)

    asked = Counter(
        title
        for said in requests_of(wiki, start)
        if "titles" in said
        for title in said["titles"][0].split("|")
    )
    assert asked == Counter(CHANGED), "each changed page is asked for once, and no other"
    others = [said for said in requests_of(wiki, start) if "titles" not in said]
    assert {said["list"][0] for said in others} <= {"recentchanges"}
    batches = sorted(
        name.removeprefix("pages/") for name in set(after) - set(before) if name.startswith("pages/")
    )
    recorded = "select sum(titles) as titles from http_attempts where scope = any($batches)"
    rows = ask(watched, recorded, {"batches": batches})
    assert rows == [{"titles": len(CHANGED)}]

    tables = [BATCH_PAGES, PAGES, *(step.table for step in BATCH_STEPS)]
    assert set(after) - set(before) == {f"{table.name}/{batch}" for table in tables for batch in batches}
    redone = {name for name in before if after[name] != before[name]}
    of_entities = tuple(f"{table}/" for table in (COMPARED_NAMES.name, *(each.name for each in STAGES)))
    assert {name for name in redone if not name.startswith(of_entities)} == set()
    assert {name for name in redone if name.startswith("entities/")} == {
        "entities/Droid",
        "entities/LocationPlace",
    }

    current = {row["title"]: row for row in ask(watched, "from current_pages")}
    assert current.keys() & set(DELETED) == set()
    assert all("of ice" in current[title]["wikitext"] for title in EDITED)
    assert [current[title]["redirect_target"] for title in MOVED] == TARGETS
    assert all("astromech" in current[title]["wikitext"] for title in TARGETS)
    assert "Lost planet" in current
