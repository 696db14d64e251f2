"""The whole path against a real MediaWiki: crawled, killed in the middle, and taken to promoted entities."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from real_mediawiki import RealWiki

pytestmark = pytest.mark.realwiki

SOURCE = """
name: real
enabled: true
kind: mediawiki_api
address: {api_url}
private_hosts: [127.0.0.1]
namespaces: [0]
seeds: {{all_pages: true}}
batch_size: 20
politeness: {{contact: tests@example.org, requests_per_second: 20.0, requests_in_flight: 2}}
"""


class Machine:
    """A person's machine: a data folder, a source file and the command line."""

    def __init__(self, folder: Path, api_url: str) -> None:
        self.data = folder / "data"
        sources = folder / "sources"
        sources.mkdir()
        (sources / "real.yaml").write_text(SOURCE.format(api_url=api_url))
        self.environment = {name: value for name, value in os.environ.items() if name != "DAGSTER_HOME"} | {
            "HOLOCRON_DATA": str(self.data),
            "HOLOCRON_SOURCES": str(sources),
            "HOLOCRON_STATE": str(folder / "state"),
        }

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        command = [str(Path(sys.executable).with_name("holocron")), *arguments]
        return subprocess.Popen(  # noqa: S603 - our own command
            command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def run(self, *arguments: str) -> str:
        process = self.start(*arguments)
        output, _ = process.communicate(timeout=1200)
        assert process.returncode == 0, output
        return output

    def sql(self, query: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = json.loads(self.run("sql", "--json", query))
        return rows

    def files(self, table: str) -> list[Path]:
        return sorted(self.data.glob(f"lake/*/{table}/*/data.parquet"))


def wiki_statistics(api_url: str) -> dict[str, int]:
    address = f"{api_url}?action=query&meta=siteinfo&siprop=statistics&format=json"
    with urlopen(address) as answer:  # noqa: S310 - a wiki of our own on loopback
        statistics: dict[str, int] = json.load(answer)["query"]["statistics"]
    return statistics


def test_a_crawl_that_is_killed_goes_on_where_it_was_and_ends_with_the_wikis_own_counts(
    realwiki: RealWiki, tmp_path: Path
) -> None:
    machine = Machine(tmp_path, realwiki.api_url)
    running = machine.start("run")
    deadline = time.monotonic() + 480
    while not machine.files("pages") and time.monotonic() < deadline:
        time.sleep(0.02)
    running.send_signal(signal.SIGKILL)
    running.communicate()
    fetched_before = {path: path.stat().st_mtime_ns for path in machine.files("pages")}
    assert fetched_before, "the kill came before the first batch was fetched"

    machine.run("run")

    counted = machine.sql("select count(*) as pages, count(distinct title_key) as titles from current_pages")[
        0
    ]
    pages = wiki_statistics(realwiki.api_url)["pages"]
    assert counted == {"pages": pages, "titles": pages}
    assert {path: path.stat().st_mtime_ns for path in fetched_before} == fetched_before
    assert machine.sql("select title from dead_letters") == []
    promoted = machine.sql("select count(*) as entities from entities where state = 'promoted'")[0][
        "entities"
    ]
    assert promoted > pages // 3
    third = machine.run("run")
    assert "Nothing to do" in third, third


def test_a_page_that_is_asked_for_again_is_a_new_revision_in_a_new_batch(
    realwiki: RealWiki, tmp_path: Path
) -> None:
    title = "Page that changes"
    realwiki.admin("edit", title, text="'''Page that changes''' was a planet. [[Category:Planets]]")
    machine = Machine(tmp_path, realwiki.api_url)
    machine.run("crawl", "--source", "real", "--title", title)
    realwiki.admin(
        "edit", title, text="'''Page that changes''' was a moon of [[Star Wars]]. [[Category:Moons]]"
    )
    machine.run("crawl", "--source", "real", "--title", title)

    revisions = machine.sql(f"select batch, wikitext from pages where title = '{title}' order by fetched_at")  # noqa: S608
    assert len({row["batch"] for row in revisions}) == len(revisions) >= 2
    current = machine.sql(f"select wikitext from current_pages where title = '{title}'")  # noqa: S608
    assert len(current) == 1
    assert "was a moon" in current[0]["wikitext"]
