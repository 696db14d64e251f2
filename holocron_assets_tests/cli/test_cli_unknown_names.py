"""Names that nothing is called by: refused, with what there is, before anything is done."""

import json
import subprocess
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from click.testing import CliRunner, Result
from sample_holocron import Holocron, sample_holocron

from holocron_assets.cli.main import main
from holocron_assets.decisions.log import all_decisions
from holocron_assets.orchestration.runs import launching


@pytest.fixture
def holocron(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Holocron:
    """The sample, and a Dagster that knows two batches and keeps its history in memory."""

    def opened() -> dg.DagsterInstance:
        instance = dg.DagsterInstance.ephemeral()
        instance.add_dynamic_partitions("batches", ["sample-000001", "sample-000002"])
        return instance

    monkeypatch.setattr(launching, "open_instance", opened)
    return sample_holocron(tmp_path)


@pytest.fixture
def launches(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    """The tags of each run that is launched from now on; none is."""
    tags: list[dict[str, str]] = []

    def launched(command: list[str], **_: Any) -> "subprocess.CompletedProcess[str]":
        tags.append(json.loads(command[command.index("--tags") + 1]) if "--tags" in command else {})
        return subprocess.CompletedProcess([], 0, "", "")

    monkeypatch.setattr(subprocess, "run", launched)
    return tags


def refused(of: Holocron, *arguments: str) -> str:
    done: Result = CliRunner().invoke(main, arguments, env={**of.environment, "COLUMNS": "200"})
    assert done.exit_code == 2, done.output
    return " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["crawl_batch", "--partition", "nosuch"], "crawl_batch has no partition 'nosuch'; there is sample-"),
        (["crawl_batch", "--partition", "sample-00001"], "there is sample-000001, sample-000002"),
        (["list_seeds", "--partition", "sample"], "has no partition 'sample'; there is none yet"),
        (["refresh", "--source", "nosuch"], "there is no source 'nosuch'; there is sample"),
        (["refresh", "--source", ""], "a name is empty; leave the option out if all are meant"),
        (["add_pages", "--source", "smaple", "--title", "Button"], "there is sample"),
    ],
)
def test_nothing_is_launched_for_a_partition_or_source_that_is_not_there(
    holocron: Holocron, arguments: list[str], problem: str
) -> None:
    assert problem in refused(holocron, "launch", *arguments)


@pytest.mark.usefixtures("launches")
def test_a_launched_run_that_no_daemon_takes_is_said_to_stay_queued(holocron: Holocron) -> None:
    done = CliRunner().invoke(main, ["launch", "report_status"], env=holocron.environment)
    assert done.exit_code == 0, done.output
    assert "It stays queued until a daemon takes it, and none runs: `make ui` starts one." in done.output


def test_a_launched_run_of_one_source_has_its_tag_so_that_no_schedule_starts_another(
    holocron: Holocron, launches: list[dict[str, str]]
) -> None:
    for options in (["--source", "sample", "--tag", "experiment=first"], []):
        done = CliRunner().invoke(main, ["launch", "refresh", *options], env=holocron.environment)
        assert done.exit_code == 0, done.output
    assert launches == [{"experiment": "first", "holocron/source": "sample"}, {}]


@pytest.mark.parametrize(
    ("job", "partition", "tag"),
    [
        ("crawl_batch", "sample-000001", "dagster/partition"),
        ("resolve_entities", "Droid", "holocron/partitions"),
    ],
)
def test_a_launched_run_names_its_partition_by_a_tag_that_its_job_may_have(
    holocron: Holocron, launches: list[dict[str, str]], job: str, partition: str, tag: str
) -> None:
    """Dagster refuses its own tag of one partition beside the range that a job over entity types has."""
    done = CliRunner().invoke(main, ["launch", job, "--partition", partition], env=holocron.environment)
    assert done.exit_code == 0, done.output
    assert launches == [{tag: partition}]


@pytest.mark.parametrize("option", ["--partitions", "--source", "--from", "--to"])
@pytest.mark.parametrize("said", ["", " ", "sample-000001,"])
def test_an_empty_name_does_not_mean_every_partition(holocron: Holocron, option: str, said: str) -> None:
    assert "a name is empty" in refused(holocron, "backfill", "page_types", option, said, "--dry-run")


def test_requeueing_a_source_that_is_not_there_is_refused_and_keeps_no_decision(holocron: Holocron) -> None:
    asked = ("requeue", "--all", "--source", "nosuch", "--reason", "hm")
    assert "no source is called 'nosuch'; did you mean sample?" in refused(holocron, *asked)
    assert all_decisions(holocron.lake) == []
