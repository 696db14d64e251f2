"""A collector of OpenTelemetry on loopback: it takes spans as OTLP over HTTP, and decodes them."""

import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True)
class Collected:
    """A span as it arrived."""

    name: str
    trace_id: str
    span_id: str
    parent_id: str
    kind: int
    attributes: dict[str, Any]
    is_error: bool
    service: str


class _Handler(BaseHTTPRequestHandler):
    server: "_Server"

    def do_POST(self) -> None:
        request = ExportTraceServiceRequest()
        request.ParseFromString(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.collector.take(request)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    collector: "Collector"


class Collector:
    """The collector; a context manager.

    Attributes:
        spans: all that arrived.
    """

    def __init__(self) -> None:
        self.spans: list[Collected] = []

    def __enter__(self) -> Self:
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.collector = self
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def take(self, request: ExportTraceServiceRequest) -> None:
        for resource in request.resource_spans:
            service = {one.key: one.value.string_value for one in resource.resource.attributes}
            for scope in resource.scope_spans:
                for span in scope.spans:
                    self.spans.append(
                        Collected(
                            span.name,
                            span.trace_id.hex(),
                            span.span_id.hex(),
                            span.parent_span_id.hex(),
                            span.kind,
                            {one.key: _value(one.value) for one in span.attributes},
                            span.status.code == 2,
                            service["service.name"],
                        )
                    )

    def named(self, name: str) -> list[Collected]:
        return [span for span in self.spans if span.name == name]

    def ancestors(self, span: Collected) -> list[str]:
        """Names of the spans that a span is in, the nearest first."""
        by_id = {one.span_id: one for one in self.spans}
        found = []
        while span.parent_id in by_id:
            span = by_id[span.parent_id]
            found.append(span.name)
        return found


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(one) for one in value.array_value.values]
    return getattr(value, kind)
