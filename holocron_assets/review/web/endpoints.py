"""What machines read: how things stand, whether anything is wrong, one run, metrics. Nothing is changed."""

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
"""For who asks while nothing was looked at yet."""


class Endpoints:
    """Answers from looks at the lake and Dagster. One that fails is 503, which nobody takes for no work."""

    def __init__(
        self, watch: Watch, run: Callable[[str], Mapping[str, Any] | None], ui: str | None = None
    ) -> None:
        """Nothing is looked at yet.

        Args:
            watch: looks.
            run: tells of a run by its id; None if there is none. What it raises is told.
            ui: the address of Dagster's web UI, with a slash; by default the one that is asked.
        """
        self._watch, self._run, self._ui = watch, run, ui

    def status(self, _request: Request) -> Response:
        """How things stand."""
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
        """Whether anything is wrong: 503 if nothing works until somebody sees to it."""
        report = health_report(self._watch.checks())
        failed = report["health"] == "failed"
        return _json(report, HTTPStatus.SERVICE_UNAVAILABLE if failed else HTTPStatus.OK)

    def metrics(self, request: Request) -> Response:
        """Metrics for Prometheus: 200, whatever cannot be looked at; see `Watch`."""
        text, media_type = self._watch.exposition(request.headers.get("accept", ""))
        return Response(text, headers={"content-type": media_type})

    def run(self, request: Request) -> Response:
        """What became of a run."""
        run_id = request.path_params["run_id"]
        try:
            report = self._run(run_id)
        except Exception as error:  # noqa: BLE001 - whatever the storage raises, who asks is told
            problem = f"Dagster's storage cannot be read: {type(error).__name__}: {error}"
            return _json({"error": problem}, HTTPStatus.SERVICE_UNAVAILABLE)
        if report is None:
            return _json({"error": f"there is no run {run_id!r}"}, HTTPStatus.NOT_FOUND)
        return _json({**report, "link": f"{self._ui or request.base_url}runs/{run_id}"})


def endpoint_routes(endpoints: Callable[[], Endpoints]) -> list[Route]:
    """The paths of the faces.

    Args:
        endpoints: gives them, when somebody asks. It and they work in threads: a look may take long.
    """
    return [
        Route("/status", lambda request: endpoints().status(request)),
        Route("/health", lambda request: endpoints().health(request)),
        Route("/metrics", lambda request: endpoints().metrics(request)),
        Route("/runs/{run_id}", lambda request: endpoints().run(request)),
    ]


class _ReadableJSON(JSONResponse):
    """JSON that a person can read too."""

    def render(self, content: Any) -> bytes:
        return (json.dumps(content, ensure_ascii=False, allow_nan=False, indent=2) + "\n").encode()


def _json(content: Mapping[str, Any], status: HTTPStatus = HTTPStatus.OK) -> Response:
    return _ReadableJSON(content, status, {"cache-control": "no-store"})
