"""The sensor `changed_pages` over fake wikis: when it asks them, what it says, which runs it requests."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import time_machine
from changing_wiki import ChangingWiki, changing_wiki
from crawl_rows import dump_source, wiki_source
from fake_mediawiki import page
from sample_dagster import run_job, sources_resource
from sample_holocron import Holocron, fetch
from watched import Watched

from holocron_assets.crawl.changes import revision_check
from holocron_assets.crawl.changes.revision_check import passes, unfinished_pass
from holocron_assets.crawl.frontier.batches import cut_batches
from holocron_assets.crawl.http.log import Tally
from holocron_assets.crawl.sources.seeds import store_seeds, store_site
from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.files.quarantine import all_set_aside
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.tables import HTTP_ATTEMPTS, PAGE_CHANGES, REVISION_CHECKS
from holocron_assets.orchestration.assets import revision_checks as change_assets
from holocron_assets.orchestration.assets.crawl import client_for
from holocron_assets.orchestration.sensors import changes as change_sensor
from holocron_assets.orchestration.sensors import crawl_and_entities as sensors
from holocron_assets.orchestration.sensors.changes import changed_pages
from holocron_assets.planning.job_names import RECHECK_JOB
from holocron_assets.planning.work import checks_to_run

pytestmark = pytest.mark.system

MINUTE = timedelta(minutes=1)


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as ephemeral:
        yield ephemeral


def add_source(
    holocron: Holocron, wiki: ChangingWiki, name: str = "wiki", *, enabled: bool = True, more: str = ""
) -> None:
    """Write the source file of a wiki that is wanted whole."""
    holocron.sources_folder.mkdir(parents=True, exist_ok=True)
    (holocron.sources_folder / f"{name}.yaml").write_text(
        f"name: {name}\nenabled: {str(enabled).lower()}\nkind: mediawiki_api\naddress: {wiki.fake.api_url}\n"
        "private_hosts: [127.0.0.1]\nseeds: {all_pages: true}\nbatch_size: 3\n"
        f"politeness: {{contact: test@example.org, requests_per_second: 100.0}}\n{more}"
    )


def crawl(watched: Watched) -> None:
    """Let `new_pages` fetch all there is."""
    while asked := watched.tick(sensors.new_pages).asked:
        for request in asked:
            watched.run(request)


def fetch_pages(watched: Watched, name: str) -> None:
    """Fetch all pages of a source without Dagster's runs, which take longer."""
    holocron = watched.holocron
    lake, source = holocron.lake, holocron.source(name)
    with client_for("seeds", lake, source, sources_resource(holocron), Tally()) as client:
        store_site(lake, source, client)
        store_seeds(lake, source, client)
    fetch(holocron, cut_batches(lake, source, now=utc_now()), name)
    watched.instance.add_dynamic_partitions("sources", [name])


def crawled(
    folder: Path, instance: dg.DagsterInstance, wiki: ChangingWiki, name: str = "wiki", **settings: Any
) -> Watched:
    """A Holocron that has fetched all pages of a wiki."""
    watched = Watched(Holocron(folder), instance)
    add_source(watched.holocron, wiki, name, **settings)
    fetch_pages(watched, name)
    return watched


def test_a_wiki_is_asked_for_its_changes_when_a_reading_is_due(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    with changing_wiki(["A", "B"]) as wiki:
        watched = crawled(tmp_path, instance, wiki)
        first = watched.tick(changed_pages)
        assert (first.work, first.skipped, first.events) == ([], "wiki: 0 changes", [])
        wiki.edit("A")
        assert watched.tick(changed_pages).skipped == "no reading is due"
        with time_machine.travel(utc_now() + 6 * MINUTE):
            second = watched.tick(changed_pages)
    assert second.skipped == "wiki: 1 changes"
    (event,) = second.events
    assert isinstance(event, dg.AssetMaterialization)
    assert (event.asset_key.path, event.partition) == (["page_changes"], "wiki")
    assert event.metadata["kind: edit"].value == 1


def test_a_wiki_of_which_nothing_was_cut_or_that_is_disabled_is_not_asked(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    with changing_wiki(["A"]) as wiki:
        watched = Watched(Holocron(tmp_path), instance)
        add_source(watched.holocron, wiki)
        assert watched.tick(changed_pages).skipped == "no reading is due"
        crawl(watched)
        add_source(watched.holocron, wiki, enabled=False)
        assert watched.tick(changed_pages).skipped == "no reading is due"
        assert wiki.asked(list="recentchanges") == []


def test_a_wiki_that_is_down_does_not_keep_the_others_from_being_asked(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    with changing_wiki(["A"]) as up, changing_wiki(["A"]) as down:
        watched = crawled(tmp_path, instance, up, name="up")
        add_source(watched.holocron, down, name="down")
        fetch_pages(watched, "down")
        watched.tick(changed_pages)
        up.edit("A")
        with time_machine.travel(utc_now() + 6 * MINUTE):
            down.fake.will(page(503, "down", Retry_After="600"))
            tick = watched.tick(changed_pages)
            asked = len(down.fake.requests)
            assert watched.tick(changed_pages).skipped == "no reading is due"
    assert "up: 1 changes" in (tick.skipped or "")
    assert "may be asked again at" in (tick.skipped or "")
    assert len(down.fake.requests) == asked
    assert len(tick.events) == 1


def test_sources_that_wait_longest_are_asked_first_when_time_is_short(
    tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    with changing_wiki(["A"]) as one, changing_wiki(["A"]) as other:
        watched = crawled(tmp_path, instance, one, name="one")
        add_source(watched.holocron, other, name="other")
        fetch_pages(watched, "other")
        monkeypatch.setattr(change_sensor, "_ASKING_SECONDS", 0.001)
        skipped = {watched.tick(changed_pages).skipped for _ in range(2)}
    assert skipped == {"one: 0 changes", "other: 0 changes"}


def test_after_a_gap_all_pages_are_checked_and_seeds_are_listed_anew(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    with changing_wiki(["A", "B", "C", "D"]) as wiki:
        watched = crawled(tmp_path, instance, wiki)
        watched.tick(changed_pages)
        edited = wiki.edit("A", listed=False)
        wiki.edit("Unheard of", listed=False)
        with time_machine.travel(utc_now() + 2 * 1440 * MINUTE):
            wiki.edit("B")
            tick = watched.tick(changed_pages)
            assert tick.work == [("recheck", "wiki")]
            assert watched.tick(changed_pages).asked[0].run_key == tick.asked[0].run_key
            watched.run(tick.asked[0])
            assert watched.tick(changed_pages).work == []
            listing = watched.tick(sensors.new_pages)
            assert ("list_seeds", "wiki") in listing.work
    lake = watched.holocron.lake
    (done,) = passes(lake, "wiki")
    assert (done["why"], done["checked"], done["finished_at"] is not None) == ("gap", 4, True)
    found = {row["title"]: row["revision_id"] for row in read_partition(lake, PAGE_CHANGES, "wiki")}
    assert found["A"] == edited


def test_a_check_that_takes_longer_than_a_run_goes_on_in_the_next(
    tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_assets, "_RUN_SECONDS", 0.0)
    monkeypatch.setattr(revision_check, "_STEP", 2)
    with changing_wiki(["A", "B", "C"]) as wiki:
        watched = crawled(tmp_path, instance, wiki)
        revision_check.start_pass(watched.holocron.lake, "wiki", "schedule", utc_now())
        runs = 0
        while asked := watched.tick(changed_pages).asked:
            watched.run(asked[0])
            runs += 1
    assert runs == 3, "two pages, one, and none: then it is at its end"
    assert [row["checked"] for row in passes(watched.holocron.lake, "wiki")] == [3]


def test_a_run_that_a_person_starts_begins_a_check_and_a_late_one_of_the_sensor_does_not(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    with changing_wiki(["A"]) as wiki:
        watched = crawled(tmp_path, instance, wiki)
        assert run_job(watched.holocron, instance, "recheck", "wiki").success
        late = {"holocron/work": "recheck of wiki/0"}
        assert run_job(watched.holocron, instance, "recheck", "wiki", tags=late).success
    assert [row["why"] for row in passes(watched.holocron.lake, "wiki")] == ["person"]
    assert unfinished_pass(watched.holocron.lake, "wiki") is None


def test_requests_for_changes_are_recorded_by_day(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    with changing_wiki(["A"]) as wiki:
        watched = crawled(tmp_path, instance, wiki)
        watched.tick(changed_pages)
        today = f"{utc_now():%Y%m%d}"
        with time_machine.travel(utc_now() + 1440 * MINUTE):
            watched.tick(changed_pages)
            tomorrow = f"{utc_now():%Y%m%d}"
    lake = watched.holocron.lake
    days = [name for name in lake.partitions(HTTP_ATTEMPTS) if "-changes-" in name]
    assert days == [f"wiki-changes-{today}", f"wiki-changes-{tomorrow}"]


def test_a_check_of_a_wiki_that_is_left_alone_waits_and_the_tick_says_so(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    with changing_wiki(["A"]) as wiki:
        watched = crawled(tmp_path, instance, wiki)
        watched.tick(changed_pages)
        revision_check.start_pass(watched.holocron.lake, "wiki", "schedule", utc_now())
        wiki.fake.will(page(503, "down", Retry_After="600"))
        with time_machine.travel(utc_now() + 6 * MINUTE):
            tick = watched.tick(changed_pages)
        assert tick.work == []
        assert f"recheck of wiki waits: {wiki.fake.host}: " in (tick.skipped or "")
        with time_machine.travel(utc_now() + 60 * MINUTE):
            assert watched.tick(changed_pages).work == [("recheck", "wiki")]


def test_a_check_of_a_source_that_has_become_a_dump_is_not_run(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    with changing_wiki(["A"]) as wiki:
        watched = crawled(tmp_path, instance, wiki)
    lake = watched.holocron.lake
    revision_check.start_pass(lake, "wiki", "schedule", utc_now())
    assert len(checks_to_run(lake, [wiki_source()])) == 1
    assert checks_to_run(lake, [dump_source(tmp_path / "x.xml", name="wiki")]) == []
    revision_check.start_pass(lake, "other", "schedule", utc_now())
    assert checks_to_run(lake, [wiki_source(name="other")]) == []


def test_a_damaged_source_does_not_keep_the_others_from_being_asked_and_is_named(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    with changing_wiki(["A"]) as sound, changing_wiki(["A"]) as damaged:
        watched = crawled(tmp_path, instance, damaged, name="damaged")
        add_source(watched.holocron, sound, name="sound")
        fetch_pages(watched, "sound")
        watched.tick(changed_pages)
        damaged.edit("A")
        sound.edit("A")
        file = watched.holocron.lake.file(PAGE_CHANGES, "damaged")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"no Parquet")
        with time_machine.travel(utc_now() + 6 * MINUTE):
            tick = watched.tick(changed_pages)
            again = watched.tick(changed_pages)
    assert [aside.table for aside in all_set_aside(watched.holocron.lake)] == ["page_changes"]
    assert (RECHECK_JOB, "damaged") in tick.work  # the wiki's answer is lost: all pages are compared with it
    assert (len(tick.events), len(again.events)) == (1, 1)


def test_readings_and_checks_record_how_polite_they_were(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    with changing_wiki(["A"]) as wiki:
        watched = crawled(tmp_path, instance, wiki)
        wiki.edit("A")
        (event,) = watched.tick(changed_pages).events
        assert isinstance(event, dg.AssetMaterialization)
        assert event.metadata["requests"].value == 2
        checked = run_job(watched.holocron, instance, "recheck", "wiki")
        made = checked.asset_materializations_for_node(REVISION_CHECKS.name)
        assert {one.asset_key.path[-1]: one.metadata["requests"].value for one in made}[
            "revision_checks"
        ] == 1
        wiki.fake.will(page(503, "down", Retry_After="600"))
        failed = run_job(watched.holocron, instance, "recheck", "wiki")
    data = next(event for event in failed.all_events if event.is_step_failure).step_failure_data
    assert data.user_failure_data is not None
    assert data.user_failure_data.metadata["requests"].value == 1
