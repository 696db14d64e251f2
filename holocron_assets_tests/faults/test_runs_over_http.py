"""docs/runs-over-http.md does what it says: its blocks run as they stand against a real `holocron ui`."""

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from dagster_graphql import DagsterGraphQLClientError
from held import Gate, hold_pages
from unattended import serve_ui
from whole_holocron import until, whole_holocron

from holocron_assets.lake.tables import PAGES
from holocron_assets.settings import PROJECT_FOLDER

pytestmark = [pytest.mark.system, pytest.mark.long]

PAGE = PROJECT_FOLDER / "docs" / "runs-over-http.md"
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
HERE = "http://127.0.0.1:3000"
BATCH = "small-000001"


class Script:
    """A reader's script, at the address where the test serves Dagster's UI, for a source that it has."""

    def __init__(self, address: str) -> None:
        self.address, self.names = address, dict[str, Any]()

    def run(self, block: str) -> None:
        port = self.address.rpartition(":")[2]
        text = block.replace("3000", port).replace("sample-000001", BATCH).replace("wookieepedia", "tiny")
        exec(compile(text, str(PAGE), "exec"), self.names)  # noqa: S102 - the page's own code

    def report(self, run_id: str) -> dict[str, Any]:
        answer: dict[str, Any] = httpx.get(
            f"{self.address}/runs/{run_id}", trust_env=False, timeout=60
        ).json()
        return answer

    def newest(self, **parameters: str) -> str | None:
        """The newest run of those that parameters of `/runs` name."""
        runs = self._get("/runs", **parameters)["runs"]
        return str(runs[0]["run_id"]) if runs else None

    def _get(self, path: str, **parameters: str) -> dict[str, Any]:
        answer = httpx.get(f"{self.address}{path}", params=parameters, trust_env=False, timeout=60)
        found: dict[str, Any] = answer.raise_for_status().json()
        return found


def answers(address: str) -> bool:
    with suppress(httpx.TransportError):
        return httpx.get(f"{address}/server_info", trust_env=False).status_code == 200
    return False


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Script, Gate]]:
    """A Holocron with its daemon, which has read one export, and whose wiki keeps every reader waiting."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with whole_holocron(tmp_path, pages=2) as whole:
        gate = hold_pages(whole.wiki)
        _, address = serve_ui(whole)
        until(lambda: answers(address), "the web UI answers", seconds=300, every=0.5)
        until(lambda: BATCH in whole.lake.partitions(PAGES), "the export is read", seconds=300, every=1)
        yield Script(address), gate


def test_a_program_launches_watches_retries_and_cancels_runs_as_the_page_shows(
    served: tuple[Script, Gate], capsys: pytest.CaptureFixture[str]
) -> None:
    script, gate = served
    launch, more, watch, report, events, retry, retry_it, cancel = _BLOCK.findall(PAGE.read_text())
    for block in (launch, more, watch, report, events):
        script.run(block)
    first = script.names["run_id"]
    assert script.report(first)["status"] == "SUCCESS"
    assert script.report(first)["tags"]["experiment"] == "large_chunks"
    assert script.newest(tag="experiment=large_chunks") == first
    assert 'Started execution of run for "check_quality".' in capsys.readouterr().out

    script.run(retry)
    script.run(retry_it)
    retried = script.names["retried"]
    chain = script.report(retried)
    assert (chain["status"], chain["retry_of"], chain["retry_count"]) == ("SUCCESS", first, 1)
    assert [one["run_id"] for one in script.report(first)["attempts"]] == [first, retried]

    gate.somebody_waits()
    until(lambda: script.newest(job="crawl_batch", status="STARTED"), "a batch is read", seconds=120, every=1)
    script.names["run_id"] = script.newest(job="crawl_batch", status="STARTED")
    script.run(cancel)
    gate.opened.set()
    assert script.names["wait"](script.names["run_id"]) == "CANCELED"
    with pytest.raises(DagsterGraphQLClientError, match="TerminateRunFailure"):
        script.run(cancel)

    config = {"ops": {"add_given_pages": {"config": {"source": "nowhere", "titles": ["Lamp"]}}}}
    failed = script.names["client"].submit_job_execution("add_pages", run_config=config)
    assert script.names["wait"](failed) == "FAILURE"
    report = script.report(failed)
    assert "nowhere" in report["error_message"]
    assert "Stack Trace" in report["error_traceback"]
    again = script.names["retry"](failed)
    assert script.names["wait"](again) == "FAILURE"
    assert [one["run_id"] for one in script.report(again)["attempts"]] == [failed, again]
    with pytest.raises(DagsterGraphQLClientError, match="no_such_job"):
        script.names["client"].submit_job_execution("no_such_job")
