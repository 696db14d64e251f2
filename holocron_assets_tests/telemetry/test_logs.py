"""Log lines as other programs read them: one JSON object each, with what it is about, and no secret."""

import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from holocron_assets.telemetry.context import about, carried, request_id
from holocron_assets.telemetry.errors import ObserveError
from holocron_assets.telemetry.logs import configure_logs, logger, shown

LOG = logger("holocron_assets.somewhere")


class Written:
    """What was written to standard error so far."""

    def __init__(self, captured: pytest.CaptureFixture[str]) -> None:
        self._captured = captured
        self._so_far = ""

    @property
    def text(self) -> str:
        self._so_far += self._captured.readouterr().err
        return self._so_far

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.text.splitlines()]


@pytest.fixture
def written(capsys: pytest.CaptureFixture[str]) -> Iterator[Written]:
    """What is written to standard error; logs are as they were afterwards."""
    yield Written(capsys)
    configure_logs({})


def test_a_line_is_json_with_all_that_is_being_worked_on(written: Written) -> None:
    configure_logs({"HOLOCRON_LOG": "json"})
    with (
        about(run_id="r1", job="crawl_batch", partition="sample-000001"),
        about(page="Sith", request_id="q1"),
    ):
        LOG.info("asked a wiki", status=200)
    LOG.info("rested")
    first, second = written.lines
    assert first.pop("timestamp").endswith("Z")
    assert first == {
        "event": "asked a wiki",
        "logger": "holocron_assets.somewhere",
        "level": "info",
        "run_id": "r1",
        "job": "crawl_batch",
        "partition": "sample-000001",
        "page": "Sith",
        "request_id": "q1",
        "status": 200,
    }
    assert "page" not in second


def test_what_is_worked_on_goes_along_into_threads_and_stays_apart(written: Written) -> None:
    configure_logs({"HOLOCRON_LOG": "json"})

    def work(name: str) -> str | None:
        LOG.info("worked", name=name)
        return request_id()

    with ThreadPoolExecutor(2) as threads:
        with about(request_id="a"):
            first = threads.submit(carried(work), "a")
        with about(request_id="b"):
            second = threads.submit(carried(work), "b")
        third = threads.submit(work, "c")
        assert (first.result(), second.result(), third.result()) == ("a", "b", None)
    assert {line["name"]: line.get("request_id") for line in written.lines} == {
        "a": "a",
        "b": "b",
        "c": None,
    }


def test_lines_of_other_libraries_are_json_too_and_errors_have_their_traceback(written: Written) -> None:
    configure_logs({"HOLOCRON_LOG": "json"})
    with about(run_id="r1"):
        logging.getLogger("someone.elses").warning("port %s is taken", 3000)
        try:
            int("two\nlines")
        except ValueError:
            LOG.exception("broke")
    foreign, own = written.lines
    assert (foreign["event"], foreign["logger"], foreign["run_id"]) == (
        "port 3000 is taken",
        "someone.elses",
        "r1",
    )
    assert "ValueError: invalid literal" in own["exception"]


def test_no_line_holds_a_secret_whatever_module_writes_it(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "hunter2-hunter2")
    for said in ("json", "text"):
        configure_logs({"HOLOCRON_LOG": said})
        LOG.warning("refused", error="401 for hunter2-hunter2", url="https://me:pass@host/x")
        logging.getLogger("holocron_assets.other").warning("hunter2-hunter2 again")
    assert "hunter2-hunter2" not in written.text
    assert "me:pass" not in written.text
    assert written.text.count("401 for ***") == written.text.count("*** again") == 2


def test_a_payload_is_cut_and_a_secret_at_the_cut_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "hunter2-hunter2")
    long = "a" * 1_990 + "hunter2-hunter2" + "b" * 10_000
    assert shown(long) == "a" * 1_990 + "***" + "b" * 7 + " ... (12,005 characters)"
    assert shown(long.encode()).endswith(" ... (12,005 bytes)")
    assert shown(b"caf\xc3\xa9 \xff") == "caf\u00e9 \ufffd"


def test_as_text_only_warnings_are_printed_unless_more_is_asked_for(written: Written) -> None:
    configure_logs({})
    LOG.info("quiet")
    LOG.warning("loud", page="Sith")
    assert "quiet" not in written.text
    assert "loud" in written.text
    assert "page=Sith" in written.text
    configure_logs({"HOLOCRON_LOG_LEVEL": "info"})
    LOG.info("quiet")
    assert written.text.count("quiet") == 1


def test_configured_twice_it_writes_once(written: Written) -> None:
    for _ in range(3):
        configure_logs({"HOLOCRON_LOG": "json"})
    LOG.info("once")
    assert len(written.lines) == 1


@pytest.mark.parametrize(
    ("environment", "why"),
    [
        ({"HOLOCRON_LOG": "xml"}, "HOLOCRON_LOG must be 'json' or 'text', not 'xml'"),
        ({"HOLOCRON_LOG_LEVEL": "loud"}, "HOLOCRON_LOG_LEVEL must be one of debug, info, warning, error"),
    ],
)
def test_what_cannot_be_had_is_named(environment: dict[str, str], why: str) -> None:
    with pytest.raises(ObserveError, match=why):
        configure_logs(environment)


def test_a_command_says_what_is_wrong_with_its_environment() -> None:
    command = [sys.executable, "-c", "from holocron_assets.cli.main import main; main()", "status"]
    ended = subprocess.run(  # noqa: S603 - our own
        command, env={"HOLOCRON_LOG": "xml", "PATH": ""}, check=False, capture_output=True, text=True
    )
    assert ended.returncode == 2
    assert "HOLOCRON_LOG must be 'json' or 'text', not 'xml'" in ended.stderr
