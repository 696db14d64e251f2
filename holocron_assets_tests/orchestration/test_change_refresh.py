"""Job `refresh` on a live wiki: it fetches what changed, without waiting for more."""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from changing_wiki import changing_wiki
from crawl_rows import outcome, put_outcomes
from fake_mediawiki import page
from sample_dagster import definitions_of, failure_message, run_job
from sample_holocron import Holocron

from holocron_assets.lake.place.clock import utc_now
from holocron_assets.orchestration.jobs import refresh as refresh_module
from holocron_assets.orchestration.runs.waiting import LocalRuns

pytestmark = pytest.mark.system


@pytest.fixture
def holocron(tmp_path: Path) -> Holocron:
    holocron = Holocron(tmp_path)
    holocron.sources_folder.mkdir()
    return holocron


@pytest.fixture
def instance(monkeypatch: pytest.MonkeyPatch, holocron: Holocron) -> Iterator[dg.DagsterInstance]:
    # Dagster knows the other jobs of a repository only in runs that it can load anew, which tests are not.
    job_of = definitions_of(holocron).resolve_job_def
    monkeypatch.setattr(
        refresh_module, "_runs", lambda context, lake: LocalRuns(context.instance, lake, job_of)
    )
    with dg.DagsterInstance.ephemeral() as ephemeral:
        yield ephemeral


def add_source(holocron: Holocron, address: str, seeds: str = "all_pages: true") -> None:
    (holocron.sources_folder / "live.yaml").write_text(
        f"name: live\nenabled: true\nkind: mediawiki_api\naddress: {address}\nseeds: {{{seeds}}}\n"
        "private_hosts: [127.0.0.1]\npoliteness: {contact: test@example.org, requests_per_second: 100.0}\n"
    )


def test_refresh_fetches_what_changed_and_reports_it_to_dagster(
    holocron: Holocron, instance: dg.DagsterInstance
) -> None:
    with changing_wiki(["A", "B"]) as wiki:
        add_source(holocron, wiki.fake.api_url)
        assert run_job(holocron, instance, "refresh").success
        wiki.edit("A", "another text")
        assert run_job(holocron, instance, "refresh").success
        assert wiki.fetched() == ["A", "B", "A"]
    event = instance.get_latest_materialization_event(dg.AssetKey("page_changes"))
    assert event is not None
    assert event.asset_materialization is not None
    assert event.asset_materialization.partition == "live"


def test_a_change_revives_a_dead_page_of_a_wiki_that_is_not_wanted_whole(
    holocron: Holocron, instance: dg.DagsterInstance
) -> None:
    with changing_wiki(["A", "B"]) as wiki:
        add_source(holocron, wiki.fake.api_url, seeds="titles: [A, B]")
        assert run_job(holocron, instance, "refresh").success
        dead = outcome("B", "dead", source="live", attempts=4, fetched_at=utc_now())
        put_outcomes(holocron.lake, "live-000001", outcome("A", source="live"), dead, manifest=False)
        assert run_job(holocron, instance, "refresh").success
        assert wiki.fetched() == ["A", "B"]
        wiki.edit("B", "another text")
        assert run_job(holocron, instance, "refresh").success
        assert wiki.fetched() == ["A", "B", "B"]


def test_refresh_fails_when_a_wiki_does_not_list_its_changes(
    holocron: Holocron, instance: dg.DagsterInstance
) -> None:
    with changing_wiki(["A"]) as wiki:
        add_source(holocron, wiki.fake.api_url)
        assert run_job(holocron, instance, "refresh").success
        wiki.fake.will(page(503, "down", Retry_After="600"))
        silent = run_job(holocron, instance, "refresh")
    assert not silent.success
    assert "live: its changes were not read: " in failure_message(silent)
