"""Pause, drain, resume and prioritize as commands; and what others say of what is held back."""

import json
import os
from pathlib import Path

import dagster as dg
import pytest
from click.testing import CliRunner, Result
from sample_dagster import definitions_of
from sample_holocron import SAMPLE_EXPORT, Holocron
from tiny_wiki import copy_of_export

from holocron_assets.cli.main import main
from holocron_assets.cli.work import local_run as local_commands
from holocron_assets.decisions.controls import ALL, Scope, standing_controls
from holocron_assets.lake.place import pressure
from holocron_assets.lake.tables import PAGES
from holocron_assets.lake.views.database import connect, query
from holocron_assets.orchestration.runs import launching

pytestmark = pytest.mark.system

BECAUSE = ("--reason", "I know", "--author", "ada")


@pytest.fixture
def holocron(tmp_path: Path) -> Holocron:
    """Two small sources, of which nothing is fetched yet."""
    new = Holocron(tmp_path)
    for name in ("one", "other"):
        new.add_source(name, copy_of_export(SAMPLE_EXPORT, tmp_path / f"{name}.xml", pages=3))
    return new


def do(of: Holocron, *arguments: str) -> Result:
    return CliRunner().invoke(main, arguments, env={**of.environment, "COLUMNS": "200"})


def said(of: Holocron, *arguments: str) -> str:
    result = do(of, *arguments)
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


def test_what_is_paused_is_listed_until_it_is_resumed(holocron: Holocron) -> None:
    assert said(holocron, "controls") == "Nothing is held back, and nobody gave priorities."
    paused = said(holocron, "pause", "--source", "one", *BECAUSE)
    assert paused.startswith("source one is paused since ")
    assert "by ada: I know (`holocron resume --source one" in paused
    said(holocron, "drain", "--interrogation", "entity_facts", *BECAUSE)
    rows = json.loads(said(holocron, "controls", "--json"))
    assert [(row["what"], row["control"], row["author"]) for row in rows] == [
        ("source one", "pause", "ada"),
        ("interrogation entity_facts", "drain", "ada"),
    ]
    assert said(holocron, "resume", "--source", "one", *BECAUSE) == "source one goes on"
    assert "source one" not in said(holocron, "controls")
    assert len(json.loads(said(holocron, "controls", "--history", "--json"))) == 3


def test_a_user_without_a_name_decides_by_number(holocron: Holocron, monkeypatch: pytest.MonkeyPatch) -> None:
    def nameless() -> str:
        raise KeyError("getpwuid(): uid not found: 54321")

    monkeypatch.setattr("getpass.getuser", nameless)
    assert f"by user {os.getuid()}: I know" in said(holocron, "pause", "--all", *BECAUSE[:2])


def test_what_people_said_of_a_source_whose_file_is_gone_can_be_taken_back(holocron: Holocron) -> None:
    said(holocron, "pause", "--source", "one", *BECAUSE)
    said(holocron, "prioritize", "700", "--source", "one", *BECAUSE)
    (holocron.sources_folder / "one.yaml").unlink()
    assert do(holocron, "pause", "--source", "one", *BECAUSE).exit_code == 2
    assert said(holocron, "resume", "--source", "one", *BECAUSE) == "source one goes on"
    said(holocron, "prioritize", "--declared", "--source", "one", *BECAUSE)
    assert said(holocron, "controls") == "Nothing is held back, and nobody gave priorities."
    assert do(holocron, "resume", "--source", "one", *BECAUSE).exit_code == 2


def test_while_the_disk_is_full_a_person_starts_nothing_and_the_status_says_why(
    holocron: Holocron, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pressure, "MEASURE_SECONDS", 0.0)
    monkeypatch.setenv("HOLOCRON_FREE_GB", "1000000000")
    for command in ("run", "crawl --source one", "launch crawl_batch --partition one-000001"):
        refused = do(holocron, *command.split())
        assert refused.exit_code == 1, refused.output
        assert "GB are free on the disk of" in " ".join(refused.output.split())
    held, *by_files = json.loads(said(holocron, "status", "--json"))["paused"]
    assert (held["scope"], held["action"], held["author"]) == ("all", "drain", "this machine")
    assert {one["author"] for one in by_files} == {"its file"}
    assert "GB are free on the disk of" in held["reason"]
    assert holocron.lake.partitions(PAGES) == []


def test_while_the_disk_is_full_a_person_may_launch_what_frees_space(
    holocron: Holocron, monkeypatch: pytest.MonkeyPatch
) -> None:
    launched: list[str] = []
    monkeypatch.setattr(launching, "launch_job", lambda job, **_: launched.append(job))
    monkeypatch.setattr(pressure, "MEASURE_SECONDS", 0.0)
    monkeypatch.setenv("HOLOCRON_FREE_GB", "1000000000")
    for job in ("upkeep", "compaction"):
        said(holocron, "launch", job)
    assert do(holocron, "launch", "resolve_entities").exit_code == 1
    assert launched == ["upkeep", "compaction"]

    said(holocron, "pause", "--all", *BECAUSE)
    refused = do(holocron, "launch", "upkeep")
    assert refused.exit_code == 1
    assert "everything is paused" in refused.output


def test_what_only_reads_may_be_launched_while_everything_is_held_back(
    holocron: Holocron, monkeypatch: pytest.MonkeyPatch
) -> None:
    launched: list[str] = []
    monkeypatch.setattr(launching, "launch_job", lambda job, **_: launched.append(job))
    said(holocron, "pause", "--all", *BECAUSE)
    for job in ("check_quality", "report_status"):
        said(holocron, "launch", job)
    assert do(holocron, "launch", "resolve_entities").exit_code == 1
    assert launched == ["check_quality", "report_status"]


def test_a_second_pause_changes_nothing_and_the_answer_says_so(holocron: Holocron) -> None:
    said(holocron, "pause", "--all", *BECAUSE)
    again = said(holocron, "pause", "--all", "--reason", "other", "--author", "ben")
    assert again.startswith("already: everything is paused since ")
    assert "by ada: I know" in again
    assert said(holocron, "resume", "--source", "one", *BECAUSE).startswith(
        "source one was not held back by itself still held back: everything is paused"
    )
    assert len(json.loads(said(holocron, "controls", "--history", "--json"))) == 1


def test_resuming_everything_names_what_is_still_held_back_by_itself(holocron: Holocron) -> None:
    said(holocron, "pause", "--source", "one", *BECAUSE)
    said(holocron, "drain", "--all", *BECAUSE)
    resumed = said(holocron, "resume", "--all", *BECAUSE)
    assert resumed.startswith("everything goes on still held back: source one is paused")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("pause", "--source", "oen"), "no source is called 'oen'; did you mean one?"),
        (("drain", "--interrogation", "entity_fact"), "did you mean entity_facts"),
        (("resume", "--source", "xyz"), "did you mean one or other?"),
        (("pause",), "name one thing"),
        (("pause", "--all", "--source", "one"), "name one thing"),
        (("prioritize", "5"), "name one thing"),
        (("prioritize", "--source", "one"), "give a priority, or --declared"),
        (("prioritize", "5000", "--source", "one"), "5000 is not in the range"),
        (("crawl", "--source", "one", "--tag", "x"), "a tag is KEY=VALUE"),
        (("launch", "refresh", "--tag", "holocron/work=x"), "a tag is KEY=VALUE"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    holocron: Holocron, arguments: tuple[str, ...], problem: str
) -> None:
    because = () if "--tag" in arguments else BECAUSE
    result = do(holocron, *arguments, *because)
    assert result.exit_code == 2
    assert problem in result.output
    assert standing_controls(holocron.lake).held == {}


def test_a_source_whose_file_is_broken_can_be_paused(holocron: Holocron) -> None:
    (holocron.sources_folder / "one.yaml").write_text("name: [", encoding="utf-8")
    said(holocron, "pause", "--source", "one", *BECAUSE)
    assert Scope("source", "one") in standing_controls(holocron.lake).held


def test_a_priority_counts_until_the_declared_one_is_wanted_again(holocron: Holocron) -> None:
    assert said(holocron, "prioritize", "7", "--source", "one", *BECAUSE) == "source one has priority 7"
    assert said(holocron, "prioritize", "7", "--source", "one", *BECAUSE).endswith("already")
    (row,) = json.loads(said(holocron, "controls", "--json"))
    assert (row["what"], row["control"], row["priority"]) == ("source one", "prioritize", 7)
    said(holocron, "prioritize", "--declared", "--source", "one", *BECAUSE)
    assert json.loads(said(holocron, "controls", "--json")) == []


@pytest.fixture
def in_memory(holocron: Holocron, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_commands, "open_instance", dg.DagsterInstance.ephemeral)
    monkeypatch.setattr(local_commands, "definitions", lambda: definitions_of(holocron))


@pytest.mark.usefixtures("in_memory")
def test_run_does_the_rest_and_names_what_is_held_back_and_its_rows_are_found_by_tag(
    holocron: Holocron,
) -> None:
    said(holocron, "pause", "--source", "one", *BECAUSE)
    printed = said(holocron, "run", "--tag", "experiment=first", "--tag", "by=ada")
    assert "held back source one is paused since " in printed
    assert "Nothing to do" not in printed
    assert holocron.lake.partitions(PAGES) == ["other-000001"]
    with connect(holocron.lake) as connection:
        made = "from lake.{} as made join run_tags using (run_id) where value = 'first'"
        for table in ("pages", "page_types", "entities"):
            (found,) = query(connection, f"select count(*) as rows {made.format(table)}")
            assert found["rows"] > 0, table


@pytest.mark.usefixtures("in_memory")
@pytest.mark.parametrize(
    "command",
    [
        ("run", "--source", "one"),
        ("crawl", "--source", "one"),
        ("crawl", "--source", "one", "--title", "Vessa"),
        ("import", "one.xml", "--source", "one"),
        ("launch", "crawl_batch", "--partition", "one-000001"),
        ("launch", "refresh", "--source", "one"),
    ],
)
@pytest.mark.parametrize("scope", [ALL, Scope("source", "one")], ids=str)
def test_a_command_for_something_held_back_names_the_command_that_resumes_it(
    holocron: Holocron, command: tuple[str, ...], scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(holocron.folder)
    said(holocron, "pause", *scope.option.split(), *BECAUSE)
    result = do(holocron, *command)
    assert result.exit_code == 1
    assert f"`holocron resume {scope.option} --reason WHY` lets it go on" in result.output
    assert holocron.lake.partitions(PAGES) == []


def test_what_must_be_possible_at_any_time_is_so_while_an_interrogation_cannot_be_used(
    finished_sample: Holocron, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = finished_sample.copy_to(tmp_path / "own")
    broken = tmp_path / "interrogations" / "torn.yaml"
    broken.parent.mkdir()
    broken.write_text("key: [", encoding="utf-8")
    monkeypatch.setenv("HOLOCRON_INTERROGATIONS", str(broken.parent))
    shown = do(own, "status")
    assert (shown.exit_code, str(broken) in shown.stderr) == (0, True)
    said(own, "pause", "--all", *BECAUSE)
    assert "everything" in said(own, "controls")
    said(own, "prioritize", "3", "--source", "sample", *BECAUSE)
    said(own, "resume", "--all", *BECAUSE)
    assert said(own, "alerts") == "No alert fires."
    said(own, "webhooks", "list")
    said(own, "group", "list")
    assert "files" in said(own, "backup", str(tmp_path / "backups"))
