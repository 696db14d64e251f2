"""Read-only endpoints for machines: status, health, runs, metrics."""

import json
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from http import HTTPStatus
from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from holocron_assets.operations.state.health import health_report
from holocron_assets.operations.state.watch import Watch
from holocron_assets.telemetry.masking import without_secrets

_RETRY_AFTER_SECONDS = "15"
"""For clients that ask before the first snapshot was taken."""


class UnusableQueryError(Exception):
    """A parameter of an address cannot be used; the message says what is allowed."""


class Runs(Protocol):
    """What is known of Dagster's runs, as plain JSON values. Each call may raise what its storage raises."""

    def report(self, run_id: str) -> Mapping[str, Any] | None:
        """How a run went; None if there is no such run."""
        ...

    def listed(self, parameters: Iterable[tuple[str, str]]) -> Mapping[str, Any]:
        """A page of the runs that parameters name.

        Raises:
            UnusableQueryError: a parameter cannot be used.
        """
        ...

    def numbers(self) -> Mapping[str, Any]:
        """Numbers over all runs."""
        ...


_Answer = Callable[["Endpoints", Request], Response]


def _or_why_not(answer: _Answer) -> _Answer:
    """Answer from Dagster's storage, or say why there is no answer."""

    @wraps(answer)
    def answered(endpoints: "Endpoints", request: Request) -> Response:
        try:
            return answer(endpoints, request)
        except UnusableQueryError as error:
            return _json({"error": str(error)}, HTTPStatus.BAD_REQUEST)
        except Exception as error:  # noqa: BLE001 - whatever the storage raises, the client gets it
            problem = f"Dagster's storage cannot be read: {type(error).__name__}: {error}"
            return _json({"error": without_secrets(problem)}, HTTPStatus.SERVICE_UNAVAILABLE)

    return answered


class Endpoints:
    """Answers from snapshots of lake and Dagster. A failed snapshot is 503, never an answer without work."""

    def __init__(self, watch: Watch, runs: Runs, ui: str | None = None) -> None:
        """Make the endpoints; this takes no snapshot yet.

        Args:
            watch: takes the snapshots.
            runs: knows Dagster's runs. Its errors are shown in the answer.
            ui: the address of Dagster's web UI, with a final slash; by default the request's own server.
        """
        self._watch, self._runs, self._ui = watch, runs, ui

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

    @_or_why_not
    def run(self, request: Request) -> Response:
        """How a run went."""
        run_id = request.path_params["run_id"]
        report = self._runs.report(run_id)
        if report is None:
            return _json({"error": f"there is no run {run_id!r}"}, HTTPStatus.NOT_FOUND)
        attempts = [self._linked(request, one) for one in report["attempts"]]
        return _json(self._linked(request, {**report, "attempts": attempts}))

    @_or_why_not
    def runs(self, request: Request) -> Response:
        """A page of runs."""
        found = self._runs.listed(request.query_params.multi_items())
        return _json({**found, "runs": [self._linked(request, one) for one in found["runs"]]})

    @_or_why_not
    def run_numbers(self, _request: Request) -> Response:
        """Numbers over all runs."""
        return _json(self._runs.numbers())

    def _linked(self, request: Request, run: Mapping[str, Any]) -> Mapping[str, Any]:
        """A run, with the address of its page in Dagster's web UI."""
        return {**run, "link": f"{self._ui or request.base_url}runs/{run['run_id']}"}


def endpoint_routes(endpoints: Callable[[], Endpoints]) -> list[Route]:
    """The paths of the endpoints.

    Args:
        endpoints: returns the endpoints, on a request. All run in threads, since a snapshot may take long.
    """
    return [
        Route("/status", lambda request: endpoints().status(request)),
        Route("/health", lambda request: endpoints().health(request)),
        Route("/metrics", lambda request: endpoints().metrics(request)),
        Route("/metrics.json", lambda request: endpoints().run_numbers(request)),
        Route("/runs", lambda request: endpoints().runs(request)),
        Route("/runs/{run_id}", lambda request: endpoints().run(request)),
    ]


class _ReadableJSON(JSONResponse):
    """JSON with line breaks, for people."""

    def render(self, content: Any) -> bytes:
        return (json.dumps(content, ensure_ascii=False, allow_nan=False, indent=2) + "\n").encode()


def _json(content: Mapping[str, Any], status: HTTPStatus = HTTPStatus.OK) -> Response:
    return _ReadableJSON(content, status, {"cache-control": "no-store"})
