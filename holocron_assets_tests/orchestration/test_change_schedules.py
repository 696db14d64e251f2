"""Schedules that check all pages of a source: one for each source that sets one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import time_machine
from crawl_rows import put_site
from sample_dagster import definitions_of, lake_resource, sources_resource
from sample_holocron import SAMPLE_EXPORT, Holocron

from holocron_assets.crawl.changes.revision_check import passes, unfinished_pass
from holocron_assets.orchestration.schedules.revision_checks import recheck_schedules

RECHECK = "changes: {recheck: {cron: '0 3 * * 0', timezone: Europe/Berlin}}\n"


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    """One that lasts: a schedule opens it anew."""
    with dg.DagsterInstance.local_temp(str(tmp_path)) as lasting:
        yield lasting


def add_wiki(holocron: Holocron, name: str, *, enabled: bool = True, more: str = "") -> None:
    holocron.sources_folder.mkdir(parents=True, exist_ok=True)
    (holocron.sources_folder / f"{name}.yaml").write_text(
        f"name: {name}\nenabled: {str(enabled).lower()}\nkind: mediawiki_api\n"
        "address: http://127.0.0.1:9/api.php\nprivate_hosts: [127.0.0.1]\nseeds: {titles: [A]}\n"
        f"politeness: {{contact: test@example.org}}\n{more}"
    )


def tick(holocron: Holocron, instance: dg.DagsterInstance, schedule: dg.ScheduleDefinition) -> Any:
    """What a schedule gives when its time has come."""
    resources = {"lake": lake_resource(holocron), "sources": sources_resource(holocron)}
    with dg.build_schedule_context(instance=instance, resources=resources) as context:
        return schedule(context)


def only_schedule(holocron: Holocron) -> dg.ScheduleDefinition:
    (schedule,) = recheck_schedules(sources_resource(holocron))
    return schedule


def test_each_source_that_sets_one_has_a_schedule_in_its_time_zone(tmp_path: Path) -> None:
    holocron = Holocron(tmp_path)
    add_wiki(holocron, "weekly", more=RECHECK)
    add_wiki(holocron, "never")
    holocron.add_source("dump", SAMPLE_EXPORT)
    (holocron.sources_folder / "broken.yaml").write_text("name: broken\n")
    schedule = definitions_of(holocron).resolve_schedule_def("recheck_weekly")
    assert (schedule.cron_schedule, schedule.execution_timezone) == ("0 3 * * 0", "Europe/Berlin")
    assert schedule.default_status == dg.DefaultScheduleStatus.RUNNING
    assert schedule.job_name == "recheck"
    assert len(recheck_schedules(sources_resource(holocron))) == 1


def test_without_a_folder_of_sources_there_is_none(tmp_path: Path) -> None:
    assert recheck_schedules(sources_resource(Holocron(tmp_path))) == []


def test_when_its_time_has_come_a_check_is_decided_on_and_a_run_asked_for(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    holocron = Holocron(tmp_path)
    add_wiki(holocron, "wiki", more=RECHECK)
    put_site(holocron.lake)
    (request,) = tick(holocron, instance, only_schedule(holocron))
    assert request.partition_key == "wiki"
    assert request.tags["holocron/host"] == "127.0.0.1:9"
    current = unfinished_pass(holocron.lake, "wiki")
    assert current is not None
    assert current["why"] == "schedule"
    (again,) = tick(holocron, instance, only_schedule(holocron))
    assert again.run_key == request.run_key
    assert len(passes(holocron.lake, "wiki")) == 1


def test_a_source_that_is_disabled_or_gone_is_left_alone_with_a_reason(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    holocron = Holocron(tmp_path)
    add_wiki(holocron, "wiki", more=RECHECK)
    schedule = only_schedule(holocron)
    add_wiki(holocron, "wiki", enabled=False, more=RECHECK)
    skipped = tick(holocron, instance, schedule)
    assert skipped.skip_message == "source 'wiki' is disabled"
    (holocron.sources_folder / "wiki.yaml").unlink()
    skipped = tick(holocron, instance, schedule)
    assert skipped.skip_message == "source 'wiki' has no file that can be read any more"
    assert passes(holocron.lake, "wiki") == []


def test_a_check_of_a_wiki_that_is_left_alone_is_decided_on_and_waits(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    holocron = Holocron(tmp_path)
    add_wiki(holocron, "wiki", more=RECHECK)
    put_site(holocron.lake)
    file = holocron.sources_folder / "wiki.yaml"
    file.write_text(
        file.read_text().replace("{contact:", "{quiet_hours: {start: '00:00', end: '23:59'}, contact:")
    )
    with time_machine.travel("2026-11-21 12:00Z"):
        skipped = tick(holocron, instance, only_schedule(holocron))
    assert "the check waits: 127.0.0.1:9: these are its quiet hours" in skipped.skip_message
    assert unfinished_pass(holocron.lake, "wiki") is not None


def test_of_a_wiki_that_was_never_crawled_nothing_is_checked(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    holocron = Holocron(tmp_path)
    add_wiki(holocron, "wiki", more=RECHECK)
    skipped = tick(holocron, instance, only_schedule(holocron))
    assert skipped.skip_message == "nothing of 'wiki' was fetched yet"
    assert passes(holocron.lake, "wiki") == []
