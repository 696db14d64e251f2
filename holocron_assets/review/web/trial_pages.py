"""The pages of trials: a list of those that were kept, and one with both answers side by side."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from holocron_assets.review.web.desk import Desk
from holocron_assets.trials.store import kept_report, kept_trials


@dataclass(frozen=True)
class TrialPages:
    """The pages of trials. They show what `holocron try` kept, and judge nothing anew."""

    desk: Desk

    def trials(self, request: Request) -> Response:
        """The trials that were kept, the newest first."""
        return self.desk.show(request, "trials.html", {"trials": kept_trials(self.desk.lake)})

    def trial(self, request: Request) -> Response:
        """One trial."""
        tag = request.path_params["tag"]
        report = kept_report(self.desk.lake, tag)
        if report is None:
            raise HTTPException(
                HTTPStatus.NOT_FOUND, f"No trial called {tag!r} was kept. `holocron try` makes one."
            )
        values = {
            "trial": report,
            "tried_at": datetime.fromisoformat(report["tried_at"]),
            "sides": _sides(report),
        }
        return self.desk.show(request, "trial.html", values)


def _sides(report: Mapping[str, Any]) -> list[tuple[str, int, Mapping[str, Any]]]:
    """The name, the answered items and the figures of each side that there is."""
    totals = report["totals"]
    new = ("New", totals["answered"], totals["new"])
    live = ("Today's", totals["answered_live"], totals["live"])
    return [new, live] if report["compared_with"] else [new]
