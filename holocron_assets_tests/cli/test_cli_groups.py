"""`holocron group`: real commands in sequence, the exit code that says how it went, and refusals."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep

import pytest
from click.testing import CliRunner, Result
from filelock import FileLock
from sample_holocron import Holocron, sample_holocron

from holocron_assets.cli.main import main
from holocron_assets.operations.groups import last_run

COMMAND = [sys.executable, "-c", "from holocron_assets.cli.main import main; main()", "group", "run", "some"]


def wait_for(happened: Callable[[], bool]) -> None:
    deadline = monotonic() + 120
    while not happened():
        assert monotonic() < deadline
        sleep(0.2)


@pytest.fixture
def holocron(tmp_path: Path) -> Holocron:
    return sample_holocron(tmp_path)


def environment(of: Holocron) -> dict[str, str]:
    return {**os.environ, **of.environment, "HOLOCRON_GROUPS": str(of.folder / "groups"), "COLUMNS": "200"}


def write(of: Holocron, *steps: str) -> None:
    (of.folder / "groups").mkdir(exist_ok=True)
    text = "title: Some work\nsteps:\n" + "".join(f"  - {step}\n" for step in steps)
    (of.folder / "groups" / "some.yaml").write_text(text, encoding="utf-8")


def do(of: Holocron, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["group", *arguments], env=environment(of))


@pytest.mark.full
def test_steps_are_commands_and_the_exit_code_says_how_they_went(holocron: Holocron) -> None:
    write(
        holocron,
        "{name: fine, run: sources list}",
        "{name: wrong, run: 'page Nobody', on_failure: continue}",
        "{name: dependent, run: sources list, needs: [wrong]}",
        "{name: last, run: controls --json}",
    )
    result = do(holocron, "run", "some")
    assert result.exit_code == 1, result.output
    outcomes = {row["step"]: (row["status"], row["exit_code"]) for row in last_run(holocron.lake, "some")}
    assert outcomes == {
        "fine": ("done", 0),
        "wrong": ("failed", 1),
        "dependent": ("skipped", None),
        "last": ("done", 0),
    }
    assert "dependent: skipped, since wrong was not done" in result.output
    rows = json.loads(do(holocron, "list", "--json").output)
    assert [(row["run"], row["step"]) for row in rows][:2] == [
        ("some-000001", "fine"),
        ("some-000001", "wrong"),
    ]


@pytest.mark.system
def test_steps_may_name_sources_of_files_and_one_that_a_step_makes(holocron: Holocron) -> None:
    papers = "kind: http_files\nname: papers\nenabled: false\nlists: [{file: list.csv}]\n"
    text = f"{papers}politeness: {{contact: tests@example.org}}\n"
    (holocron.sources_folder / "papers.yaml").write_text(text, encoding="utf-8")
    (holocron.sources_folder / "list.csv").write_text("address\n", encoding="utf-8")
    write(
        holocron,
        "{name: hold, run: pause --source papers --author Ann --reason wait}",
        "{name: add, run: files add https://a.example/a --contact tests@example.org}",
        "{name: hold_added, run: pause --source added --author Ann --reason wait}",
    )
    result = do(holocron, "run", "some")
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        ("{name: a, run: crowl}", "there is no command `holocron crowl`"),
        ("{name: a, run: sources}", "`holocron sources` is no command by itself"),
        ("{name: a, run: crawl --sauce sample}", "No such option"),
        ("{name: a, run: backup -h}", "`holocron backup` would only print its help"),
        ("{name: a, run: crawl}", "Missing option '--source'"),
        ("{name: a, run: repeat page_classification}", "Missing option '--tag'"),
        ("{name: a, run: crawl --source nowhere}", "no source is called 'nowhere'; there are sample"),
        ("{name: a, run: group run some}", "a group is no step of a group"),
        ('{name: a, run: "crawl \'"}', "No closing quotation"),
    ],
)
def test_a_step_that_cannot_be_run_is_refused_before_the_first_one(
    holocron: Holocron, step: str, problem: str
) -> None:
    write(holocron, "{name: first, run: sources list}", step)
    result = do(holocron, "run", "some")
    assert result.exit_code == 1
    assert problem in result.output
    assert "some.yaml" in result.output
    assert "steps[1].run" in result.output
    assert last_run(holocron.lake, "some") == []


@pytest.mark.system
@pytest.mark.parametrize(("named", "ran"), [("--name fresh ", "fresh"), ("", "as_the_wiki_says")])
def test_a_step_may_name_a_source_that_an_earlier_step_adds(holocron: Holocron, named: str, ran: str) -> None:
    adds = f"sources add http://127.0.0.1:9/ {named}--contact me@example.org --private"
    write(holocron, f"{{name: adds, run: {adds}}}", f"{{name: crawls, run: crawl --source {ran}}}")
    result = do(holocron, "run", "some")
    assert result.exit_code == 1, result.output
    steps = [(row["step"], row["status"]) for row in last_run(holocron.lake, "some")]
    assert steps == [("adds", "failed"), ("crawls", "canceled")]


def test_steps_after_one_that_adds_a_source_are_checked_before_it_is_run(holocron: Holocron) -> None:
    write(
        holocron,
        "{name: adds, run: sources add http://127.0.0.1:9/ --contact a@b.example}",
        "{name: b, run: cralw}",
    )
    result = do(holocron, "run", "some")
    assert "steps[1].run" in result.output
    assert last_run(holocron.lake, "some") == []


@pytest.mark.full
def test_a_step_may_name_a_file_and_a_source_that_earlier_steps_make(holocron: Holocron) -> None:
    made, export = holocron.folder / "made", holocron.folder / "export.xml"
    write(
        holocron,
        f"{{name: makes, run: backup {made}}}",
        f"{{name: restores, run: restore {made}, on_failure: continue}}",
        f"{{name: imports, run: import {export} --source new, on_failure: continue}}",
        "{name: crawls, run: crawl --source new}",
    )
    result = do(holocron, "run", "some")
    assert result.exit_code == 1, result.output
    outcomes = {row["step"]: (row["status"], row["exit_code"]) for row in last_run(holocron.lake, "some")}
    assert outcomes == {
        "makes": ("done", 0),
        "restores": ("failed", 1),  # it read the folder, and the data folder is not empty
        "imports": ("failed", 2),  # nobody made that file, which the step itself says
        "crawls": ("failed", 1),
    }


def test_a_broken_file_does_not_hide_the_other_groups(holocron: Holocron) -> None:
    write(holocron, "{name: first, run: sources list}")
    (holocron.folder / "groups" / "broken.yaml").write_text("titel: x\n", encoding="utf-8")
    result = do(holocron, "list", "--json")
    assert (result.exit_code, [row["group"] for row in json.loads(result.stdout)]) == (1, ["some"])
    assert "broken.yaml" in result.stderr


def test_a_group_that_another_process_runs_is_not_run_at_the_same_time(holocron: Holocron) -> None:
    write(holocron, "{name: a, run: sources list}")
    with FileLock(holocron.lake.locks / "group-some.lock"):
        result = do(holocron, "run", "some")
    assert result.exit_code == 1
    assert "another process runs group some; --wait waits for it" in result.output


@pytest.mark.system
def test_the_step_of_a_group_that_is_killed_ends_too(holocron: Holocron) -> None:
    write(holocron, "{name: slow, run: run}")
    with subprocess.Popen(COMMAND, env=environment(holocron)) as group:  # noqa: S603 - our own
        children = Path(f"/proc/{group.pid}/task/{group.pid}/children")
        wait_for(lambda: [row["status"] for row in last_run(holocron.lake, "some")] == ["started"])
        wait_for(lambda: bool(children.read_text().split()))
        (step,) = children.read_text().split()
        group.kill()
    wait_for(lambda: not Path(f"/proc/{step}").exists())
    assert not holocron.lake.database.exists(), "it had not come to its end"


@pytest.mark.full
def test_a_group_that_is_killed_goes_on_where_it_was(holocron: Holocron) -> None:
    write(holocron, "{name: first, run: sources list}", "{name: slow, run: run}", "{name: last, run: hash}")
    killed = subprocess.Popen(COMMAND, env=environment(holocron), start_new_session=True)  # noqa: S603 - our own
    wait_for(lambda: [row["status"] for row in last_run(holocron.lake, "some")][:2] == ["done", "started"])
    first = last_run(holocron.lake, "some")[0]["ended_at"]
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    done = subprocess.run(COMMAND, env=environment(holocron), check=False, timeout=600)  # noqa: S603 - the same
    assert done.returncode == 0
    rows = last_run(holocron.lake, "some")
    assert [row["status"] for row in rows] == ["done"] * 3
    assert (rows[0]["group_run_id"], rows[0]["ended_at"]) == ("some-000001", first)
