"""How real commands end: what they leave on the error stream is what a person can use."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sql
from click import ClickException
from click.testing import CliRunner
from sample_holocron import SAMPLE_EXPORT, Holocron, sample_holocron
from tiny_wiki import copy_of_export

from holocron_assets.cli.main import main
from holocron_assets.cli.shared import clear_errors
from holocron_assets.interrupts import ending_by_signal
from holocron_assets.lake.tables import PAGES

HOLOCRON = str(Path(sys.executable).with_name("holocron"))
BROKEN = """\
name: broken
kind: mediawiki_dump
address: wiki.xml
include: ["a(?<b"]
"""


def ended(holocron: Holocron, *words: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, **holocron.environment, "HOLOCRON_LLM": "off"}
    return subprocess.run(  # noqa: S603 - our own command
        [HOLOCRON, *words], env=environment, capture_output=True, text=True, check=False
    )


PROGRAM = """
import atexit, sys
from holocron_assets.cli import main as cli

class Module:
    def __del__(self):
        print("what Python frees at the end")

module = Module()

def main():
    atexit.register(print, "what was to be done at exit")
    print("what a command prints")
    {end}

cli.main = main
cli.program()
"""


def ended_program(end: str, *, before: str = "") -> "subprocess.CompletedProcess[str]":
    """A process that ends with some code. Its output is a pipe, which Python does not write at once."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = [sys.executable, "-c", before + PROGRAM.format(end=end)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603


PRINTED = ["what a command prints", "what was to be done at exit"]


@pytest.mark.parametrize(("end", "code"), [("sys.exit(3)", 3), ("sys.exit(0)", 0)])
def test_a_process_ends_with_its_code_when_all_is_printed_and_done_and_frees_no_module(
    end: str, code: int
) -> None:
    done = ended_program(end)
    assert done.returncode == code
    assert done.stdout.splitlines() == PRINTED


def test_a_process_that_ends_by_an_error_ends_as_python_ends_it() -> None:
    done = ended_program("1 / 0")
    assert done.returncode == 1
    assert done.stdout.splitlines() == [*PRINTED, "what Python frees at the end"]
    assert "ZeroDivisionError" in done.stderr


def test_a_process_without_an_output_ends_with_its_code() -> None:
    done = ended_program("sys.exit(3)", before="import sys; sys.stdout = None\n")
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "")


def test_nothing_is_registered_to_be_done_at_exit_before_a_command_begins() -> None:
    """`program` would leave it out."""
    counting = "import atexit; from holocron_assets.cli import main; print(atexit._ncallbacks())"
    done = subprocess.run([sys.executable, "-c", counting], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout == "0\n"


@pytest.mark.system
def test_a_run_that_ended_leaves_no_log_of_a_database(tmp_path: Path) -> None:
    holocron = Holocron(tmp_path)
    holocron.add_source("small", copy_of_export(SAMPLE_EXPORT, tmp_path / "small.xml", pages=2))
    assert ended(holocron, "run").returncode == 0
    assert list((tmp_path / "dagster").rglob("*.db"))
    assert list((tmp_path / "dagster").rglob("*.db-*")) == []


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("sources", "list"), 1),
        pytest.param(("status",), 0, marks=pytest.mark.full),
        pytest.param(("crawl", "--source", "broken"), 1, marks=pytest.mark.full),
        pytest.param(("sql", "from read_parquet('nowhere')"), 1, marks=pytest.mark.full),
    ],
)
def test_a_command_that_meets_a_broken_source_says_what_is_wrong_and_no_more(
    tmp_path: Path, words: tuple[str, ...], code: int
) -> None:
    holocron = sample_holocron(tmp_path)
    (holocron.sources_folder / "broken.yaml").write_text(BROKEN, encoding="utf-8")
    done = ended(holocron, *words)
    assert done.returncode == code
    assert "broken.yaml, line 4, key 'include[0]'" in done.stderr
    assert "nanobind" not in done.stderr


@pytest.mark.parametrize("command", ["run", "home"])
@pytest.mark.parametrize(
    "name", ["HOLOCRON_CRAWLERS", "HOLOCRON_PROCESSES", "HOLOCRON_RUN_DAYS", "HOLOCRON_FAILED_RUN_DAYS"]
)
def test_a_variable_that_is_no_number_is_named_before_work_begins(
    tmp_path: Path, name: str, command: str
) -> None:
    holocron = sample_holocron(tmp_path)
    said = CliRunner().invoke(main, [command], env={**holocron.environment, name: "abc"})
    assert said.exit_code == 1
    assert f"Error: {name} must be a number " in said.stderr
    assert "not 'abc'" in said.stderr
    assert holocron.lake.partitions(PAGES) == []


@pytest.mark.parametrize("command", ["ui", "webserver", "web", "models serve"])
@pytest.mark.parametrize("port", ["70000", "-1"])
def test_a_port_that_cannot_be_is_refused_as_a_wrong_option(tmp_path: Path, command: str, port: str) -> None:
    said = CliRunner().invoke(
        main, [*command.split(), "--port", port], env=sample_holocron(tmp_path).environment
    )
    assert said.exit_code == 2
    assert "Invalid value for '--port'" in said.stderr


NOBODY_LISTENS = "postgresql://holocron:secret-word@127.0.0.1:1/holocron"


def test_a_database_of_dagster_that_is_gone_is_an_error_with_its_place_and_no_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOLOCRON_POSTGRES_URL", NOBODY_LISTENS)

    @clear_errors
    def connect() -> None:
        with sql.create_engine(NOBODY_LISTENS.replace("postgresql", "postgresql+psycopg2", 1)).connect():
            pass

    with pytest.raises(ClickException, match=r"Dagster's database at 127\.0\.0\.1:1 failed: .*") as raised:
        connect()
    assert "Connection refused; check that it can be used" in raised.value.message
    assert "secret-word" not in raised.value.message


@pytest.mark.full
@pytest.mark.parametrize("words", ["home", "daemon", "webserver --port 3999", "backfill pages --dry-run"])
def test_a_command_below_which_postgresql_is_gone_says_so_without_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    monkeypatch.setenv("HOLOCRON_POSTGRES_URL", NOBODY_LISTENS)
    done = ended(sample_holocron(tmp_path), *words.split())
    assert done.returncode == 1
    assert "\nError: Dagster's database at 127.0.0.1:1 failed: " in done.stderr, "after Dagster's own tries"
    assert "Traceback" not in done.stderr
    assert "secret-word" not in done.stdout + done.stderr


def interrupted_query() -> None:
    """Be interrupted, and make of it what DuckDB does."""
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        raise RuntimeError("Query interrupted") from None


def test_ctrl_c_that_the_database_makes_another_error_of_ends_a_command_by_its_code() -> None:
    with pytest.raises(SystemExit) as ended_by, ending_by_signal():
        interrupted_query()
    assert ended_by.value.code == 128 + signal.SIGINT
    with pytest.raises(RuntimeError, match="another"), ending_by_signal():
        raise RuntimeError("another")
