"""Every command that a page shows in a block is run as it stands, or named here with the reason why not.

Each page is followed in one shell, in a clone of its own of a repository whose sample wiki was taken to
promoted entities, with the daemon where the page says that it makes the runs, and with real models where it
asks them. The tutorial and its expected outputs are followed by `test_tutorial.py`.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from documented import Command, commands, pages
from shell_walk import walk

from holocron_assets.settings import PROJECT_FOLDER, models_folder

_TOO_LONG = "takes from minutes to hours; a tier, benchmark or fuzzer of its own"
_OUTSIDE = "asks a wiki on the internet"
_ROOT = "changes the machine, as root; test_systemd_units.py runs what the units start"
_TERMINAL = "asks a person in a terminal; cli/test_cli_review.py answers it"
_GRAFANA = "needs Grafana; test_dashboard.py asks a real Prometheus every query of the dashboard"

NOT_RUN: Mapping[tuple[str, str], str] = {
    ("README.md", "make test"): _TOO_LONG,
    ("README.md", "make run"): "test_tutorial.py runs it",
    ("README.md", "make ui"): "test_tutorial.py runs it, where no source of the internet is enabled",
    ("docs/sources.md", "holocron sources enable"): _OUTSIDE,
    ("docs/sources.md", "make ui"): "test_tutorial.py runs it, where no source of the internet is enabled",
    ("docs/sources.md", "holocron import"): "needs an export of a wiki; cli/test_cli_runs.py imports one",
    ("docs/guarantees.md", "make "): _TOO_LONG,
    ("docs/speed.md", "make bench"): _TOO_LONG,
    ("docs/speed.md", "python benchmarks/ratios.py"): "writes the picture that test_speed.py compares",
    ("docs/deploy.md", "git clone"): _ROOT,
    ("docs/deploy.md", "make -C"): _ROOT,
    ("docs/deploy.md", "cd "): _ROOT,
    ("docs/deploy.md", ".venv/bin/python -m compileall"): _ROOT,
    ("docs/deploy.md", "install "): _ROOT,
    ("docs/deploy.md", "cp "): _ROOT,
    ("docs/deploy.md", "chown "): _ROOT,
    ("docs/deploy.md", "systemd"): _ROOT,
    ("docs/deploy.md", "systemctl"): _ROOT,
    ("docs/deploy.md", "journalctl"): _ROOT,
    ("docs/deploy.md", "mv "): _ROOT,
    ("docs/deploy.md", "holocron restore"): "test_backup_of_all.py restores",
    ("docs/deploy.md", "holocron backup"): "to a folder of root's; test_tutorial.py backs up",
    ("docs/deploy.md", "holocron models fetch"): "docs/models.md shows it too",
    ("docs/upgrade.md", "holocron backup"): "to a folder of root's; test_tutorial.py backs up",
    ("docs/upgrade.md", "git pull"): "there is no remote that is newer",
    ("docs/upgrade.md", "make setup"): "installs; CI does on each clean checkout",
    ("docs/upgrade.md", "systemctl"): _ROOT,
    ("docs/upgrade.md", "git -C"): _ROOT,
    ("docs/upgrade.md", "make -C"): _ROOT,
    ("docs/upgrade.md", "cd "): _ROOT,
    ("docs/upgrade.md", ".venv/bin/python -m compileall"): _ROOT,
    ("docs/upgrade.md", "runuser"): _ROOT,
    ("docs/monitoring.md", "export HOLOCRON_GRAFANA"): _GRAFANA,
    ("docs/monitoring.md", "export GF_"): _GRAFANA,
    ("docs/monitoring.md", "grafana"): _GRAFANA,
    ("docs/alerts.md", "holocron webhooks test"): "needs a server that listens; test_webhooks.py has one",
    ("docs/review.md", "holocron review --walk"): _TERMINAL,
    ("docs/languages.md", "holocron review --walk"): _TERMINAL,
    ("docs/control.md", "holocron crawl"): "everything is held back by the commands before; test_controls.py",
}
"""Commands that are not run, by page and beginning, and why."""

FOR_EXAMPLE: Mapping[str, str] = {
    "FACT_ID": "$(holocron sql --json \"select fact_id from entity_facts where title = 'Issa Dorrane' "
    'order by fact_id limit 1" | python -c \'import json, sys; print(json.load(sys.stdin)[0]["fact_id"])\')',
    "RUN_ID": "$(curl --silent http://127.0.0.1:3000/runs | "
    'python -c \'import json, sys; print(json.load(sys.stdin)["runs"][0]["run_id"])\')',
    "DECISION_ID": "$(holocron decisions list --json | "
    "python -c 'import json, sys; print(json.load(sys.stdin)[-1][\"decision_id\"])')",
    "192.0.2.5": "0.0.0.0",  # noqa: S104 - every machine has it, and a token guards it
}
"""What a reader puts in for a word in capitals, or for the address of an example."""


SERVERS_NEEDED: Mapping[str, str] = {"docs/control.md": "holocron ui", "docs/monitoring.md": "holocron ui"}
"""What a page's reader has in another terminal, if the page itself does not start it."""

ASKS_MODELS = frozenset(("docs/models.md", "docs/dispatch.md", "docs/interrogations.md"))
"""Pages whose commands ask, fetch and remove models. They are given copies of this user's, or fetch them."""

FOUND_WANTING: Mapping[tuple[str, str], int] = {
    ("docs/interrogations.md", "holocron repeat compare monday --with small"): 1,
}
"""Commands that end with this code or 0, by what they find."""

PROGRAMS_OF_OTHERS = ("duckdb", "jq", "prometheus")


def reason_not_to_run(command: Command) -> str | None:
    for (page, beginning), reason in NOT_RUN.items():
        if command.page == page and command.text.startswith(beginning):
            return reason
    return None


def filled_in(command: Command) -> Command:
    text = command.text
    for word, example in FOR_EXAMPLE.items():
        text = text.replace(word, example)
    return command._replace(text=text)


FOLLOWED = [
    page
    for page in pages()
    if page.name != "tutorial.md" and any(not reason_not_to_run(command) for command in commands(page))
]


def test_no_command_is_left_out_that_no_page_shows() -> None:
    shown = [command for page in pages() for command in commands(page)]
    stale = [
        (page, beginning)
        for page, beginning in NOT_RUN
        if not any(command.page == page and command.text.startswith(beginning) for command in shown)
    ]
    assert stale == []
    assert {*SERVERS_NEEDED, *ASKS_MODELS} <= {command.page for command in shown}
    assert {word for word in FOR_EXAMPLE if not any(word in command.text for command in shown)} == set()


def test_most_pages_with_commands_are_followed() -> None:
    assert len(FOLLOWED) > 12


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    unwanted = ("HOLOCRON_", "OLLAMA_", "DAGSTER_", "PYTHONPATH")
    own = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
    programs = f"{Path(sys.executable).parent}{os.pathsep}{own['PATH']}"
    state = str(tmp_path_factory.mktemp("state"))
    return own | {"PATH": programs, "HOLOCRON_LLM": "off", "HOLOCRON_STATE": state}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory, environment: Mapping[str, str]) -> Path:
    """A clone in which `holocron run` was given."""
    folder = tmp_path_factory.mktemp("prepared") / "holocron"
    git = shutil.which("git")
    if git is None or not (PROJECT_FOLDER / ".git").exists():
        pytest.skip("needs git and a repository")
    subprocess.run([git, "clone", "--quiet", str(PROJECT_FOLDER), str(folder)], check=True)  # noqa: S603
    (folder / ".venv").symlink_to(Path(sys.executable).parents[1])
    with walk(folder, {**environment, "PYTHONPATH": str(folder)}) as reader:
        reader.follow(Command("docs/operation.md", 0, "holocron run", shortened=False))
    return folder


@pytest.mark.full
@pytest.mark.parametrize("page", FOLLOWED, ids=lambda page: str(page.relative_to(PROJECT_FOLDER)))
def test_the_commands_of_a_page_work(
    page: Path, prepared: Path, environment: Mapping[str, str], tmp_path: Path
) -> None:
    folder, name = tmp_path / "holocron", str(page.relative_to(PROJECT_FOLDER))
    shutil.copytree(prepared, folder, symlinks=True)
    own = {**environment, "PYTHONPATH": str(folder)}
    if name in ASKS_MODELS:
        own |= {"HOLOCRON_LLM": "embedded", "HOLOCRON_MODELS": str(model_files_for(tmp_path / "models"))}
    with walk(folder, own) as reader:
        if server := SERVERS_NEEDED.get(name):
            reader.follow(Command(name, 0, server, shortened=False))
        for command in commands(page):
            if reason_not_to_run(command):
                continue
            programs = [words[0] for words in command.simple()]
            if lacking := [one for one in PROGRAMS_OF_OTHERS if one in programs and not shutil.which(one)]:
                print(f"{name}:{command.line} is not tried: there is no {lacking[0]} here")  # noqa: T201
                continue
            reader.follow(filled_in(command), may_end_with(command))


def model_files_for(folder: Path) -> Path:
    """A folder of model files of its own, with links to what this user has: they are never written to."""
    if (own := models_folder()).exists():
        shutil.copytree(own, folder, copy_function=os.link)
    return folder


def may_end_with(command: Command) -> int:
    return next(
        (
            code
            for (page, beginning), code in FOUND_WANTING.items()
            if command.page == page and command.text.startswith(beginning)
        ),
        0,
    )
