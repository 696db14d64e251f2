"""Commands that bring a live wiki up to date at once: run and recheck; and what status shows of it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg
import pytest
from changing_wiki import ChangingWiki, changing_wiki
from click.testing import CliRunner, Result
from fake_mediawiki import page
from sample_dagster import definitions_of
from sample_holocron import Holocron

from holocron_assets.cli.main import main
from holocron_assets.cli.work import local_run as local_commands
from holocron_assets.crawl.changes.revision_check import passes
from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.tables import BATCH_PAGES, SITES

pytestmark = pytest.mark.system


@contextmanager
def live_wiki(folder: Path, *titles: str) -> Iterator[tuple[Holocron, ChangingWiki]]:
    """A wiki, and a Holocron that wants all of it."""
    holocron = Holocron(folder)
    holocron.sources_folder.mkdir()
    with changing_wiki(titles) as wiki:
        (holocron.sources_folder / "live.yaml").write_text(
            f"name: live\nenabled: true\nkind: mediawiki_api\naddress: {wiki.fake.api_url}\n"
            "private_hosts: [127.0.0.1]\nseeds: {all_pages: true}\nexpected: {max_unknown_rate: 1.0}\n"
            "politeness: {contact: test@example.org, requests_per_second: 100.0}\n"
        )
        yield holocron, wiki


def do(monkeypatch: pytest.MonkeyPatch, of: Holocron, *arguments: str) -> Result:
    """Run one command, with a history of runs that is kept in memory."""
    monkeypatch.setattr(local_commands, "open_instance", dg.DagsterInstance.ephemeral)
    monkeypatch.setattr(local_commands, "definitions", lambda: definitions_of(of))
    return CliRunner().invoke(main, arguments, env={**of.environment, "COLUMNS": "200"})


def fetched_since(wiki: ChangingWiki, moment: int) -> list[str]:
    return sorted(wiki.fetched()[moment:])


def test_a_second_run_fetches_exactly_what_changed_and_does_not_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with live_wiki(tmp_path, "A", "B", "C", "D") as (holocron, wiki):
        assert do(monkeypatch, holocron, "run").exit_code == 0
        assert fetched_since(wiki, 0) == ["A", "B", "C", "D"]
        wiki.edit("A", "another text")
        wiki.delete("B")
        wiki.edit("New", "new text")
        second = do(monkeypatch, holocron, "run")
        assert second.exit_code == 0, second.output
        assert fetched_since(wiki, 4) == ["A", "B", "New"]
        third = do(monkeypatch, holocron, "run")
    assert "Nothing to do" in third.stdout
    assert len(wiki.fetched()) == 7


@pytest.mark.parametrize(("table", "partition"), [(SITES, "live"), (BATCH_PAGES, "live-000001")])
def test_a_run_that_finds_site_information_or_a_manifest_damaged_fetches_what_changed_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: Table, partition: str
) -> None:
    with live_wiki(tmp_path, "A", "B") as (holocron, wiki):
        assert do(monkeypatch, holocron, "run").exit_code == 0
        holocron.lake.file(table, partition).write_bytes(b"")
        wiki.edit("A", "another text")
        mended = do(monkeypatch, holocron, "run")
        assert mended.exit_code == 0, mended.output
        assert fetched_since(wiki, 2) == ["A"]


def test_a_run_on_a_wiki_that_lists_no_changes_fails_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with live_wiki(tmp_path, "A") as (holocron, wiki):
        assert do(monkeypatch, holocron, "run").exit_code == 0
        wiki.fake.will(page(503, "down", Retry_After="600"))
        silent = do(monkeypatch, holocron, "run")
        assert silent.exit_code == 1
        assert "changes of live: " in silent.stdout
        assert "up to date" not in silent.stdout
        assert "may be asked again at" in silent.stdout


def test_recheck_finds_and_fetches_what_the_wiki_did_not_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with live_wiki(tmp_path, "A", "B") as (holocron, wiki):
        assert do(monkeypatch, holocron, "run").exit_code == 0
        wiki.edit("A", "another text", listed=False)
        wiki.edit("Unheard of", "text", listed=False)
        assert fetched_since(wiki, 2) == []
        checked = do(monkeypatch, holocron, "recheck", "--source", "live")
        assert checked.exit_code == 0, checked.output
        assert fetched_since(wiki, 2) == ["A", "Unheard of"]
    (done,) = passes(holocron.lake, "live")
    assert (done["why"], done["changed"], done["finished_at"] is not None) == ("person", 1, True)


def test_recheck_of_a_dump_says_that_it_has_no_wiki_to_compare_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    holocron = Holocron(tmp_path)
    holocron.add_source("dump", tmp_path / "dump.xml")
    refused = do(monkeypatch, holocron, "recheck", "--source", "dump")
    assert refused.exit_code == 1
    assert "'dump' is a dump, which has no wiki to compare with" in refused.stderr


def test_status_shows_readings_and_checks_of_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with live_wiki(tmp_path, "A", "B") as (holocron, _):
        do(monkeypatch, holocron, "run")
        do(monkeypatch, holocron, "recheck", "--source", "live")
    (shown,) = json.loads(do(monkeypatch, holocron, "status", "--json").stdout)["changes"]
    assert shown["source"] == "live"
    assert (shown["waiting_changes"], shown["check_of"], shown["pages_checked"]) == (0, "person", 2)
    assert "Changes" in do(monkeypatch, holocron, "status").stdout
