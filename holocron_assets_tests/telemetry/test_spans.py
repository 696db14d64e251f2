"""Spans that nobody collects change nothing; what keeps them from being collected is reported."""

import socket
import subprocess
import sys

import pytest
from collector import Collector

from holocron_assets.telemetry.errors import ObserveError
from holocron_assets.telemetry.spans import (
    configure_traces,
    failed,
    flush_traces,
    open_span_fails,
    open_span_ids,
    span,
    trace_parent,
    traces_are_wanted,
)

ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}


@pytest.mark.parametrize(
    ("environment", "wanted"),
    [
        ({}, False),
        (ENDPOINT, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:4318/v1/traces"}, True),
        ({**ENDPOINT, "OTEL_SDK_DISABLED": "true"}, False),
        ({**ENDPOINT, "OTEL_TRACES_EXPORTER": "none"}, False),
    ],
)
def test_spans_are_made_only_if_opentelemetrys_own_variables_say_where_they_go(
    environment: dict[str, str], *, wanted: bool
) -> None:
    assert traces_are_wanted(environment) is wanted


def test_without_a_collector_everything_goes_on_and_nothing_is_sent() -> None:
    configure_traces({})
    with span("GET", "client", {"http.request.method": "GET"}) as made:
        failed(made, "500", None)
        assert trace_parent() is None
        assert open_span_ids() == {}
    with pytest.raises(ZeroDivisionError), span("write"), open_span_fails():
        _ = 1 // 0
    flush_traces()


def test_a_protocol_that_we_do_not_speak_is_refused_by_its_name() -> None:
    with pytest.raises(ObserveError, match=r"http/protobuf only; OTEL_EXPORTER_OTLP_PROTOCOL is 'grpc'"):
        configure_traces({**ENDPOINT, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"})


def test_without_the_extra_a_command_names_it() -> None:
    code = (
        "import sys; sys.modules['opentelemetry.sdk'] = None\n"  # as if it were not installed
        "from holocron_assets.cli.main import main; main(['alerts'])"
    )
    ended = subprocess.run(  # noqa: S603 - our own
        [sys.executable, "-c", code], env=ENDPOINT, check=False, capture_output=True, text=True
    )
    assert ended.returncode == 2
    assert "OTEL_EXPORTER_OTLP_ENDPOINT asks for traces" in ended.stderr
    assert "make EXTRAS=traces setup" in ended.stderr


MAKES_SPANS = """
import atexit, sys, time
from holocron_assets.telemetry.spans import configure_traces, flush_traces, span
atexit.register(lambda: print(time.monotonic() - began))  # called last
configure_traces()
for _ in range(600):
    with span("GET"):
        pass
began = time.monotonic()
if sys.argv[1] == "flush":
    flush_traces()
print(time.monotonic() - began)
"""


@pytest.mark.parametrize(("told", "seconds_to_end"), [("flush", 3), ("exit", 8)])
def test_a_collector_that_never_answers_is_waited_for_once_for_five_seconds(
    told: str, seconds_to_end: float
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        ended = subprocess.run(  # noqa: S603 - our own
            [sys.executable, "-c", MAKES_SPANS, told],
            env={"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{silent.getsockname()[1]}"},
            check=True,
            capture_output=True,
            text=True,
        )
    flushed, in_all = map(float, ended.stdout.split())
    assert flushed < 8, "two calls of ten seconds each would be waited for"
    assert in_all - flushed < seconds_to_end


@pytest.mark.parametrize("told", ["flush", "exit"])
def test_a_collector_gets_all_spans_also_of_a_process_that_just_ends(told: str) -> None:
    with Collector() as collector:
        subprocess.run(  # noqa: S603 - our own
            [sys.executable, "-c", MAKES_SPANS, told],
            env={"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url},
            check=True,
            capture_output=True,
        )
        assert len(collector.named("GET")) == 600


def test_a_span_that_failed_reveals_no_secret() -> None:
    code = (
        "from opentelemetry import trace\n"
        "from opentelemetry.sdk.trace import TracerProvider\n"
        "from opentelemetry.sdk.trace.export import SimpleSpanProcessor\n"
        "from opentelemetry.sdk.trace.export import ConsoleSpanExporter\n"
        "from holocron_assets.telemetry.spans import configure_traces, failed, open_span_fails, span\n"
        "configure_traces()\n"
        "trace.get_tracer_provider().add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter()))\n"
        "with span('told'): failed(trace.get_current_span(), '401', 'no such key: stone-and-salt')\n"
        "with span('run'), span('write'), open_span_fails():\n"
        "    raise RuntimeError('server refused key stone-and-salt')\n"
    )
    environment = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1",
        "OTEL_EXPORTER_OTLP_TIMEOUT": "1",
        "SERVER_KEY": "stone-and-salt",
    }
    ended = subprocess.run(  # noqa: S603 - our own
        [sys.executable, "-c", code], env=environment, check=False, capture_output=True, text=True
    )
    assert "stone-and-salt" not in ended.stdout
    assert ended.stdout.count('"description": "no such key: ***"') == 1
    assert ended.stdout.count('"description": "server refused key ***"') == 2
    assert ended.stdout.count('"exception.type": "RuntimeError"') == 3  # the inner span twice
