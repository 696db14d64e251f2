"""OpenTelemetry's spans of runs, requests, calls of models, and writes, if a collector is set.

They are off unless OpenTelemetry's own variables name a collector, and then they need the extra `traces`. If
they are off, a span costs one function call.
"""

import atexit
import os
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any, Literal

from opentelemetry import propagate, trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

from holocron_assets.telemetry.errors import ObserveError
from holocron_assets.telemetry.masking import without_secrets

Kind = Literal["internal", "client", "server", "producer", "consumer"]

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_PROTOCOL = "http/protobuf"
_FLUSH_SECONDS = 5  # a collector that is gone must not delay the end of a run for longer
_TRACER = trace.get_tracer("holocron")
_NOTHING = trace.INVALID_SPAN


class _Sender:
    """A thread that sends spans, so that who waits for it can give up: OpenTelemetry's own wait has no end.

    It is there from the beginning, as no thread can be started while Python ends.
    """

    def __init__(self, send: Callable[[], object]) -> None:
        self._send = send
        self._gave_up = False
        self._begin()
        os.register_at_fork(after_in_child=self._begin)

    def flush(self) -> None:
        sent = threading.Event()
        self._wanted.put(sent)
        self._gave_up = not sent.wait(_FLUSH_SECONDS)

    def flush_at_exit(self) -> None:
        if not self._gave_up:
            self.flush()

    def _begin(self) -> None:
        self._wanted: SimpleQueue[threading.Event] = SimpleQueue()
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        while True:
            sent = self._wanted.get()
            self._send()
            sent.set()


class _Switch:
    """Whether spans are made in this process, and what sends them."""

    is_on = False
    sender: _Sender


def traces_are_wanted(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether OpenTelemetry's variables name a collector of spans."""
    is_disabled = environment.get("OTEL_SDK_DISABLED", "").lower() == "true"
    exporter = environment.get("OTEL_TRACES_EXPORTER", "otlp")
    return exporter == "otlp" and not is_disabled and any(environment.get(name) for name in _ENDPOINTS)


def configure_traces(environment: Mapping[str, str] = os.environ) -> None:
    """Let this process send its spans to the collector that the environment names. It may be called again.

    Raises:
        ObserveError: the extra `traces` is not installed, or it lacks the protocol that is set.
    """
    if _Switch.is_on or not traces_are_wanted(environment):
        return
    protocol = next((environment[name] for name in _PROTOCOLS if environment.get(name)), _PROTOCOL)
    if protocol != _PROTOCOL:
        raise ObserveError(f"spans are sent as {_PROTOCOL} only; OTEL_EXPORTER_OTLP_PROTOCOL is {protocol!r}")
    try:
        # Imported only here: a process without spans needs neither these packages nor the time to load them.
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ImportError as error:
        wanted = next(name for name in _ENDPOINTS if environment.get(name))
        raise ObserveError(
            f"{wanted} asks for traces, which need the extra `traces`: `make EXTRAS=traces setup` in "
            "Holocron's folder, or unset it"
        ) from error
    # Values given here outrank variables in a resource, so OTEL_SERVICE_NAME is checked first.
    named = {} if environment.get("OTEL_SERVICE_NAME") else {"service.name": "holocron"}
    provider = TracerProvider(resource=Resource.create(named), shutdown_on_exit=False)  # see `_Sender`
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    _Switch.sender = _Sender(provider.force_flush)
    atexit.register(_Switch.sender.flush_at_exit)
    _Switch.is_on = True


def flush_traces() -> None:
    """Send the spans that ended, and wait for it a few seconds, since the process may end at any moment."""
    if _Switch.is_on:
        _Switch.sender.flush()


@contextmanager
def span(
    name: str,
    kind: Kind = "internal",
    attributes: Mapping[str, Any] | None = None,
    *,
    parent: str | None = None,
) -> Iterator[Span]:
    """A span around the block. An error that leaves the block is recorded in the span.

    Args:
        name: what is done. There should be few names, since spans are grouped by them.
        kind: internal, or the side of a request.
        attributes: facts about it; values that are None are left out.
        parent: the result of `trace_parent` in another process; by default the span that is open here.
    """
    if not _Switch.is_on:
        yield _NOTHING
        return
    context = propagate.extract({"traceparent": parent}) if parent else None
    known = {key: value for key, value in (attributes or {}).items() if value is not None}
    with _TRACER.start_as_current_span(
        name,
        context=context,
        kind=SpanKind[kind.upper()],
        attributes=known,
        record_exception=False,  # it would be recorded with its secrets
        set_status_on_exception=False,
    ) as made:
        try:
            yield made
        except Exception as error:
            _failed_by(made, error)
            raise


def failed(made: Span, kind: str, reason: str | None) -> None:
    """Record that the work of a span failed, although no error leaves its block.

    Args:
        made: the span.
        kind: the kind of failure; there should be few.
        reason: the failure in words.
    """
    made.set_attribute("error.type", kind)
    made.set_status(Status(StatusCode.ERROR, reason and without_secrets(reason)))


def _failed_by(made: Span, error: Exception) -> None:
    """Record the error by which a span failed, under OpenTelemetry's own names."""
    kind, message = type(error).__name__, without_secrets(str(error))
    trace_back = without_secrets("".join(traceback.format_exception(error)))
    made.add_event(
        "exception",
        {"exception.type": kind, "exception.message": message, "exception.stacktrace": trace_back},
    )
    failed(made, kind, message)


@contextmanager
def open_span_fails() -> Iterator[None]:
    """Record a failure in the span that is open here if an error leaves the block."""
    try:
        yield
    except Exception as error:
        _failed_by(trace.get_current_span(), error)
        raise


def trace_parent() -> str | None:
    """The open span, in the form that another process takes as a parent; None if there is none."""
    if not _Switch.is_on:
        return None
    carrier: dict[str, str] = {}
    propagate.inject(carrier)
    return carrier.get("traceparent")


def open_span_ids() -> dict[str, str]:
    """The ids of the open span, for log lines; empty if there is none."""
    if not _Switch.is_on:
        return {}
    context = trace.get_current_span().get_span_context()
    if not context.is_valid:
        return {}
    return {
        "trace_id": trace.format_trace_id(context.trace_id),
        "span_id": trace.format_span_id(context.span_id),
    }
