"""Runs as their log lines and spans show them: one process that lists, crawls, asks, fails, and is killed."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from asked_holocron import write_interrogation
from collector import Collected, Collector
from fake_ollama import SMALL, Chat, FakeOllama
from sample_holocron import Holocron
from tiny_wiki import add_tiny_source, tiny_wiki

from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import HTTP_ATTEMPTS, LLM_ATTEMPTS
from holocron_assets.lake.views.database import connect, query

pytestmark = pytest.mark.system

WORK = Path(__file__).with_name("work_observed.py")
ASKED_FOR_BY = "0123456789abcdef0123456789abcdef", "0123456789abcdef"
SERVER, CLIENT, CONSUMER = 2, 3, 5


@dataclass
class Observed:
    """What the runs logged and sent."""

    lines: list[dict[str, Any]] = field(default_factory=list)
    collector: Collector = field(default_factory=Collector)
    chats: list[Chat] = field(default_factory=list)
    requests: list[Row] = field(default_factory=list)
    calls: list[Row] = field(default_factory=list)

    def logged(self, event: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["event"] == event]


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Observed]:
    folder = tmp_path_factory.mktemp("observed")
    holocron = Holocron(folder)
    write_interrogation(folder, "kinds", SMALL, 500)
    with tiny_wiki() as wiki, FakeOllama(slots=2) as ollama, Collector() as collector:
        ollama.answer = lambda _: {"kind": "person"}
        add_tiny_source(holocron, wiki, enabled=True)
        environment = {
            **os.environ,
            **holocron.environment,
            "HOLOCRON_LLM": "auto",
            "OLLAMA_HOST": ollama.url,
            "HOLOCRON_INTERROGATIONS": str(folder / "interrogations"),
            "HOLOCRON_LOG": "json",
            "HOLOCRON_LOG_LEVEL": "debug",
            "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        }
        ended = subprocess.run(  # noqa: S603 - our own file
            [sys.executable, WORK, f"00-{ASKED_FOR_BY[0]}-{ASKED_FOR_BY[1]}-01"],
            env=environment,
            check=False,
            capture_output=True,
            text=True,
            timeout=1200,
        )
        assert ended.returncode == -9, ended.stderr
        lines = [json.loads(line) for line in ended.stderr.splitlines()]
        yield Observed(lines, collector, ollama.chats, *_rows(holocron.lake))


def _rows(lake: Lake) -> tuple[list[Row], list[Row]]:
    with connect(lake, tables=[HTTP_ATTEMPTS, LLM_ATTEMPTS]) as connection:
        return [*query(connection, "from lake.http_attempts")], [*query(connection, "from lake.llm_attempts")]


def only(spans: list[Collected]) -> Collected:
    (one,) = spans
    return one


def test_every_line_is_json_and_of_its_run(observed: Observed) -> None:
    jobs = {line["job"] for line in observed.lines if "job" in line}
    assert jobs == {"list_seeds", "crawl_batch", "derive"}
    steps = observed.logged('Started execution of step "pages".')
    assert len({line["run_id"] for line in steps}) == 2
    assert {line["partition"] for line in steps} == {"tiny-000001", "tiny-000099"}
    (failure,) = [line for line in observed.lines if line.get("dagster_event") == "STEP_FAILURE"]
    assert failure["step"] == "pages"
    assert "tiny-000099" in failure["error"]
    assert any("cut a batch" in line["event"] for line in observed.lines), "a tick's"


def test_a_request_to_a_wiki_has_one_id_in_lines_and_tables_with_run_and_partition(
    observed: Observed,
) -> None:
    asked_of_wikis = {line["request_id"]: line for line in observed.logged("asked a wiki")}
    assert asked_of_wikis.keys() == {row["attempt_id"] for row in observed.requests}
    fetched = [line for line in asked_of_wikis.values() if line["job"] == "crawl_batch" and "page" in line]
    assert fetched, "from the thread that reads"
    assert all(line["page"] == "Lamp" and line["partition"] == "tiny-000001" for line in fetched)
    assert all(line["run_id"] and line["status"] == 200 for line in fetched)


def test_a_call_of_a_model_has_one_id_in_lines_table_and_header(observed: Observed) -> None:
    ids = {row["call_id"] for row in observed.calls}
    assert ids
    assert {line["request_id"] for line in observed.logged("asked a model")} == ids
    assert {chat.headers["X-Request-ID"] for chat in observed.chats if chat.messages} == ids
    (line,) = observed.logged("asked a model")
    assert (line["page"], line["interrogation"], line["partition"]) == ("Lamp", "kinds", "tiny-000001")
    assert (line["job"], line["outcome"]) == ("derive", "ok")


def test_debug_lines_show_what_was_sent_what_came_back_and_what_was_decided(observed: Observed) -> None:
    asked = [line for line in observed.logged("payload of a request") if "titles" in line["parameters"]]
    assert [line["parameters"]["titles"] for line in asked] == ["Lamp"]
    assert "was a female human pilot" in asked[0]["body"]
    (called,) = observed.logged("payload of a call")
    assert "female human pilot" in called["prompt"]
    assert json.loads(called["reply"]) == {"kind": "person"}
    assert called["options"]["num_ctx"] > 0
    (cut,) = observed.logged("decided what to fetch next")
    assert (cut["source"], cut["pending"], cut["cut"]) == ("tiny", 1, [["Lamp"]])
    decided = observed.logged("decided what is asked next")
    assert decided[0]["model"] == SMALL
    assert decided[0]["scores"][0]["interrogation"] == "kinds"


def test_a_write_is_logged_with_its_run(observed: Observed) -> None:
    written = {line["table"]: line for line in observed.logged("wrote a partition")}
    assert written["pages"]["job"] == "crawl_batch"
    assert written["pages"]["rows"] == 1
    assert written["derived_kinds"]["job"] == "derive"


def test_requests_calls_and_writes_are_in_the_run_whatever_thread_they_are_in(observed: Observed) -> None:
    collector = observed.collector
    requests = {span.attributes["holocron.request_id"]: span for span in collector.named("POST")}
    requests |= {span.attributes["holocron.request_id"]: span for span in collector.named("GET")}
    assert requests.keys() == {row["attempt_id"] for row in observed.requests}
    crawling = [span for span in requests.values() if collector.ancestors(span) == ["run crawl_batch"]]
    assert crawling
    call = only(collector.named(f"chat {SMALL}"))
    assert collector.ancestors(call) == ["run derive"]
    writes = {span.attributes["holocron.table"]: span for span in collector.named("write")}
    assert collector.ancestors(writes["pages"]) == ["run crawl_batch"]
    assert collector.ancestors(writes["derived_kinds"]) == ["run derive"]


def test_spans_have_the_names_and_attributes_of_the_conventions(observed: Observed) -> None:
    request = observed.collector.named("GET")[-1]
    assert request.kind == CLIENT
    assert request.attributes["http.request.method"] == "GET"
    assert request.attributes["http.response.status_code"] == 200
    assert request.attributes["server.address"] == "127.0.0.1"
    assert request.attributes["url.full"].startswith("http://127.0.0.1")
    call = only(observed.collector.named(f"chat {SMALL}"))
    assert call.kind == CLIENT
    assert call.attributes["gen_ai.operation.name"] == "chat"
    assert call.attributes["gen_ai.request.model"] == SMALL
    assert call.attributes["gen_ai.usage.input_tokens"] > 0
    assert call.attributes["gen_ai.usage.output_tokens"] > 0
    assert {span.service for span in observed.collector.spans} == {"holocron"}


def test_a_run_is_in_the_trace_of_its_request(observed: Observed) -> None:
    runs = [span for span in observed.collector.spans if span.name.startswith("run ")]
    assert len(runs) == 4
    assert {(span.trace_id, span.parent_id) for span in runs} == {ASKED_FOR_BY}
    assert {span.kind for span in runs} == {CONSUMER}


def test_the_spans_of_a_run_that_fails_are_sent_before_the_process_can_die(observed: Observed) -> None:
    failures = [span for span in observed.collector.named("run crawl_batch") if span.is_error]
    (failure,) = failures
    assert failure.attributes["holocron.partition"] == "tiny-000099"
    assert failure.attributes["error.type"] == "NoManifestError"


def test_lines_name_the_span_that_they_are_in(observed: Observed) -> None:
    (line,) = observed.logged("asked a model")
    call = only(observed.collector.named(f"chat {SMALL}"))
    assert (line["trace_id"], line["span_id"]) == (call.trace_id, call.span_id)
    (chat,) = [chat for chat in observed.chats if chat.messages]
    assert chat.headers["traceparent"].split("-")[1:3] == [call.trace_id, call.span_id]
