"""Spans that nobody collects change nothing; what keeps them from being collected is told."""

import subprocess
import sys

import pytest

from holocron_assets.observe.errors import ObserveError
from holocron_assets.observe.spans import (
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


def test_where_nobody_collects_them_all_goes_on_and_nothing_is_told() -> None:
    configure_traces({})
    with span("GET", "client", {"http.request.method": "GET"}) as made:
        failed(made, "500", None)
        assert trace_parent() is None
        assert open_span_ids() == {}
    with pytest.raises(ZeroDivisionError), span("write"), open_span_fails():
        _ = 1 // 0
    flush_traces()


def test_a_protocol_that_we_do_not_speak_is_refused_by_its_name() -> None:
    with pytest.raises(ObserveError, match=r"http/protobuf only; OTEL_EXPORTER_OTLP_PROTOCOL says 'grpc'"):
        configure_traces({**ENDPOINT, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"})


def test_without_the_extra_a_command_names_it() -> None:
    code = (
        "import sys; sys.modules['opentelemetry.sdk'] = None\n"  # as if it were not installed
        "from holocron_assets.cli import main; main(['alerts'])"
    )
    ended = subprocess.run(  # noqa: S603 - our own
        [sys.executable, "-c", code], env=ENDPOINT, check=False, capture_output=True, text=True
    )
    assert ended.returncode == 2
    assert "OTEL_EXPORTER_OTLP_ENDPOINT asks for traces" in ended.stderr
    assert "pip install '.[traces]'" in ended.stderr
