"""The endpoints for machines, over this Holocron's lake and Dagster."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

import dagster as dg
from starlette.applications import Starlette
from starlette.requests import HTTPConnection
from starlette.routing import Match
from starlette.types import ASGIApp, Receive, Scope, Send

from holocron_assets.crawl.sources.files import read_any_sources
from holocron_assets.derive.interrogations.loading import follow_files
from holocron_assets.derive.opening import open_lake
from holocron_assets.lake.place.mounts import refuse_unmounted
from holocron_assets.lake.place.paths import Lake
from holocron_assets.operations.state.dagster_state import RunTimes
from holocron_assets.operations.state.totals import read_totals
from holocron_assets.operations.state.watch import Watch
from holocron_assets.orchestration.internals.dagster_state import read_dagster_state
from holocron_assets.orchestration.internals.instance import closed_at_exit, open_to_read
from holocron_assets.orchestration.resources.status_snapshot import snapshot_now
from holocron_assets.orchestration.run_reports.listing import list_runs, read_query
from holocron_assets.orchestration.run_reports.numbers import RunNumbers
from holocron_assets.orchestration.run_reports.report import run_report
from holocron_assets.orchestration.runtime.settings_files import broken_settings
from holocron_assets.review.web.endpoints import Endpoints, endpoint_routes
from holocron_assets.settings import (
    dagster_home,
    data_folder,
    database_address,
    politeness_folder,
    sources_folder,
    state_folder,
)

_PAGES_OF_DAGSTER = ("/runs", "/health")
"""Paths at which Dagster's web UI also has pages: browsers that request a page get those."""


def make_endpoints(instance: Callable[[], dg.DagsterInstance], ui: str | None = None) -> Endpoints:
    """Endpoints over the lake and Dagster that the environment names.

    Args:
        instance: returns Dagster's instance, and raises if it cannot be opened.
        ui: the address of Dagster's web UI, with a slash; by default the address of the request.
    """
    run_times = RunTimes()
    watch = Watch(
        status=lambda: snapshot_now(
            _lake(), list(read_any_sources(sources_folder())[0].values()), politeness_folder(), instance
        ),
        totals=lambda: read_totals(_lake()),
        dagster=lambda: read_dagster_state(instance(), run_times),
        settings=broken_settings,
    )

    return Endpoints(watch, RunReports(instance), ui)


class RunReports:
    """What is known of an instance's runs; see `review.web.endpoints.Runs`."""

    def __init__(self, instance: Callable[[], dg.DagsterInstance]) -> None:
        """Read the instance that a call returns."""
        self._instance, self._numbers = instance, RunNumbers()

    def report(self, run_id: str) -> Mapping[str, Any] | None:
        """How a run went; None if there is no such run."""
        return run_report(self._instance(), run_id)

    def listed(self, parameters: Iterable[tuple[str, str]]) -> Mapping[str, Any]:
        """A page of the runs that parameters name."""
        query = read_query(parameters)
        return list_runs(self._instance(), query)

    def numbers(self) -> Mapping[str, Any]:
        """Numbers over all runs."""
        return self._numbers.read(self._instance())


@cache
def instance_to_read() -> dg.DagsterInstance:
    """Dagster's instance for a process that only reads, opened once."""
    return closed_at_exit(open_to_read())


def instance_if_any() -> dg.DagsterInstance | None:
    """As `instance_to_read`, but None if nothing was ever run, so that reading creates no Dagster files."""
    return instance_to_read() if database_address() or dagster_home().is_dir() else None


class WithEndpoints:
    """Dagster's web application, with the endpoints at their paths."""

    def __init__(self, app: ASGIApp, endpoints: Endpoints) -> None:
        """Put endpoints before an application."""
        self._app, self._routes = app, endpoint_routes(lambda: endpoints)
        self._endpoints = Starlette(routes=self._routes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request to an endpoint, and pass others on."""
        answering = self._endpoints if self._is_for_endpoints(scope) else self._app
        await answering(scope, receive, send)

    def _is_for_endpoints(self, scope: Scope) -> bool:
        if scope["type"] != "http":
            return False
        if all(route.matches(scope)[0] == Match.NONE for route in self._routes):
            return False
        wants_page = "text/html" in HTTPConnection(scope).headers.get("accept", "")
        return not (wants_page and scope["path"].startswith(_PAGES_OF_DAGSTER))


def _lake() -> Lake:
    refuse_unmounted(data_folder(), state_folder())
    follow_files()
    return open_lake(data_folder())
