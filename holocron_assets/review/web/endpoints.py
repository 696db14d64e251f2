"""Read-only endpoints for machines: status, health, one run, metrics."""

import json
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from holocron_assets.operations.state.health import health_report
from holocron_assets.operations.state.watch import Watch

_RETRY_AFTER_SECONDS = "15"
"""For clients that ask before the first snapshot was taken."""


class Endpoints:
    """Answers from snapshots of lake and Dagster. A failed snapshot is 503, never an answer without work."""

    def __init__(
        self, watch: Watch, run: Callable[[str], Mapping[str, Any] | None], ui: str | None = None
    ) -> None:
        """Make the endpoints; this takes no snapshot yet.

        Args:
            watch: takes the snapshots.
            run: returns a report of the run with an id, or None. Its errors are shown in the answer.
            ui: the address of Dagster's web UI, with a final slash; by default the request's own server.
        """
        self._watch, self._run, self._ui = watch, run, ui

    def status(self, _request: Request) -> Response:
        """The status."""
        latest = self._watch.status()
        age = {
            "snapshot_age_seconds": latest.age_seconds,
            "snapshot_under_way_seconds": latest.under_way_seconds,
        }
        if latest.found is not None:
            return _json({**latest.found.as_json(), **age})
        answer = _json({"error": latest.problem, **age}, HTTPStatus.SERVICE_UNAVAILABLE)
        if latest.is_first_under_way:
            answer.headers["retry-after"] = _RETRY_AFTER_SECONDS
        return answer

    def health(self, _request: Request) -> Response:
        """The health: 503 if nothing works until a person acts."""
        report = health_report(self._watch.checks())
        failed = report["health"] == "failed"
        return _json(report, HTTPStatus.SERVICE_UNAVAILABLE if failed else HTTPStatus.OK)

    def metrics(self, request: Request) -> Response:
        """Metrics for Prometheus: always 200, even if something cannot be read; see `Watch`."""
        text, media_type = self._watch.exposition(request.headers.get("accept", ""))
        return Response(text, headers={"content-type": media_type})

    def run(self, request: Request) -> Response:
        """How a run went."""
        run_id = request.path_params["run_id"]
        try:
            report = self._run(run_id)
        except Exception as error:  # noqa: BLE001 - whatever the storage raises, the client gets it
            problem = f"Dagster's storage cannot be read: {type(error).__name__}: {error}"
            return _json({"error": problem}, HTTPStatus.SERVICE_UNAVAILABLE)
        if report is None:
            return _json({"error": f"there is no run {run_id!r}"}, HTTPStatus.NOT_FOUND)
        return _json({**report, "link": f"{self._ui or request.base_url}runs/{run_id}"})


def endpoint_routes(endpoints: Callable[[], Endpoints]) -> list[Route]:
    """The paths of the endpoints.

    Args:
        endpoints: returns the endpoints, on a request. All run in threads, since a snapshot may take long.
    """
    return [
        Route("/status", lambda request: endpoints().status(request)),
        Route("/health", lambda request: endpoints().health(request)),
        Route("/metrics", lambda request: endpoints().metrics(request)),
        Route("/runs/{run_id}", lambda request: endpoints().run(request)),
    ]


class _ReadableJSON(JSONResponse):
    """JSON with line breaks, for people."""

    def render(self, content: Any) -> bytes:
        return (json.dumps(content, ensure_ascii=False, allow_nan=False, indent=2) + "\n").encode()


def _json(content: Mapping[str, Any], status: HTTPStatus = HTTPStatus.OK) -> Response:
    return _ReadableJSON(content, status, {"cache-control": "no-store"})
