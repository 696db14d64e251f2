"""A snapshot of the status: the views, models at work, the model server, hosts, and people's controls."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import duckdb

from holocron_assets.crawl.frontier.views import frontier_tables_of
from holocron_assets.crawl.sources.files import AnySource
from holocron_assets.crawl.sources.source import Source
from holocron_assets.crawl.sources.standing import hosts_not_as_usual
from holocron_assets.decisions.controls import standing_controls
from holocron_assets.derive.dispatch.served import read_served_models
from holocron_assets.derive.dispatch.standing_controls import StandingControls
from holocron_assets.derive.dispatch.tallies import counted_places, interrogation_rows
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.interrogations.loading import load_interrogations
from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.files.quarantine import all_set_aside
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import (
    BATCH_PAGES,
    CHANGE_LOOKS,
    DECISIONS,
    ENTITIES,
    ENTITY_CANDIDATES,
    ENTITY_PAIRS,
    FILE_BATCHES,
    FILE_LIST,
    FILES,
    GPU_RUNS,
    HTTP_ATTEMPTS,
    LLM_ATTEMPTS,
    LLM_RUNS,
    NOTICES,
    PAGE_CHANGES,
    PAGE_SIGNALS,
    PAGE_TYPES,
    PAGES,
    REVIEW_ITEMS,
    REVISION_CHECKS,
    RULE_CLASSIFICATIONS,
    SEED_TITLES,
    TYPE_PREDICTIONS,
    UNREAD_PAGES,
)
from holocron_assets.lake.views.database import connect, query
from holocron_assets.operations.notifications.alerts import firing
from holocron_assets.operations.state.models_at_work import models_at_work
from holocron_assets.operations.state.staleness import FailedRuns, read_staleness
from holocron_assets.operations.state.status import (
    Alert,
    Changes,
    DeadLetter,
    GpuRun,
    HeldBack,
    Host,
    InterrogationProgress,
    SetAside,
    SourceSetting,
    Status,
)
from holocron_assets.operations.state.status_rows import AgedWork, FailureCause, Hour, Queue, Reason, Stage
from holocron_assets.operations.views import status_views

MOST_DEAD_LETTERS = 20
"""How many dead letters are listed, the newest."""

_STATUS_TABLES = (
    *(SEED_TITLES, BATCH_PAGES, PAGES, PAGE_CHANGES, CHANGE_LOOKS, REVISION_CHECKS, HTTP_ATTEMPTS),
    *(PAGE_SIGNALS, UNREAD_PAGES, RULE_CLASSIFICATIONS, PAGE_TYPES, ENTITY_CANDIDATES, ENTITIES),
    *(FILE_LIST, FILE_BATCHES, FILES),
    *(ENTITY_PAIRS, REVIEW_ITEMS, DECISIONS, LLM_RUNS, LLM_ATTEMPTS, GPU_RUNS, NOTICES, TYPE_PREDICTIONS),
)
"""The tables that these views read: a connection to them alone opens in half the time."""


def status_tables() -> list[Table]:
    """The tables that the views of the status read, with those that interrogations choose their items by."""
    chosen_by = (table for one in load_interrogations() if one.wants.sql for table in one.tables_read)
    return list(dict.fromkeys((*_STATUS_TABLES, *chosen_by)))


_Row = TypeVar("_Row")

_CHANGES = """
    with waiting as (
        select source, count(*) as changes, min(seen_at) as since from lake.page_changes group by source
    ),
    last_checks as (
        select source, unnest(arg_max(checks, started_at)) from lake.revision_checks as checks group by source
    )
    select
        looks.source, looks.looked_at, looks.due_at, looks.problem,
        coalesce(waiting.changes, 0) as waiting_changes, waiting.since as waiting_since,
        checks.why as check_of, checks.started_at as check_started_at,
        checks.finished_at as check_finished_at, checks.checked as pages_checked,
        checks.changed as found_changed
    from lake.change_looks as looks
    left join waiting using (source)
    left join last_checks as checks using (source)
    order by looks.source
"""
_NEWEST_DEAD_LETTERS = f"from dead_letters order by died_at desc limit {MOST_DEAD_LETTERS}"
_LAST_GPU_RUNS = "from gpu_runs order by started_at desc limit 5"


def take_snapshot(
    lake: Lake,
    sources: Sequence[AnySource],
    politeness_folder: Path,
    *,
    stale_batches: Sequence[str] = (),
    failed_runs: FailedRuns = FailedRuns(),  # noqa: B008 - it does not change
) -> Status:
    """Take a snapshot of the status.

    Args:
        lake: the lake.
        sources: every source, of pages and of files: their settings say which pages are wanted.
        politeness_folder: shared state of processes about hosts.
        stale_batches: batches that are to be made again.
        failed_runs: failed runs that Dagster knows.

    Raises:
        DamagedPartitionError, duckdb.Error: the lake cannot be read.
    """
    now = utc_now()
    interrogations = load_interrogations()
    seen = read_served_models([one for one in interrogations if one.enabled])
    digests = seen[0].digests
    staleness = read_staleness(lake, stale_batches=stale_batches, failed_runs=failed_runs.runs)
    frontier = frontier_tables_of(lake, [one for one in sources if isinstance(one, Source)])
    with connect(
        lake, tables=status_tables(), made_once=["page_outcomes"], more_views=frontier, kind="own"
    ) as connection:
        connection.execute("set parquet_metadata_cache = true")  # every file is opened several times
        query(connection, status_views("table", staleness))
        wanted = counted_places(connection, "wanted_items")
        return Status(
            at=now,
            sources=tuple(SourceSetting(one.name, one.enabled, one.kind, one.origin) for one in sources),
            stages=_rows(connection, Stage, "from processing_status"),
            queues=_rows(connection, Queue, "from queue_health"),
            aged=_rows(connection, AgedWork, "from aged_work"),
            failures=_rows(connection, FailureCause, "from failures"),
            runs_problem=failed_runs.problem,
            throughput=_rows(connection, Hour, "from recent_throughput"),
            reasons=_rows(connection, Reason, "from processing_reasons order by all"),
            interrogations=_far(interrogation_rows(lake, interrogations, digests, now, wanted)),
            models=models_at_work(lake, connection, interrogations, seen, now),
            gpu_runs=_rows(connection, GpuRun, _LAST_GPU_RUNS),
            changes=_rows(connection, Changes, _CHANGES),
            hosts=tuple(Host(**row) for row in hosts_not_as_usual(sources, politeness_folder, now)),
            paused=_held_back(lake, interrogations),
            alerts=tuple(
                Alert(row["rule"], row["subject"], row["message"], row["fired_at"]) for row in firing(lake)
            ),
            dead_letters=_rows(connection, DeadLetter, _NEWEST_DEAD_LETTERS),
            set_aside=tuple(SetAside(aside.at, str(aside)) for aside in all_set_aside(lake)),
        )


def how_far(lake: Lake) -> tuple[tuple[InterrogationProgress, ...], str | None]:
    """The progress of each interrogation, and why some cannot be asked now; None if all can."""
    interrogations = load_interrogations()
    served, problem = read_served_models([one for one in interrogations if one.enabled])
    rows = interrogation_rows(lake, interrogations, served.digests, utc_now())
    return _far(rows), problem


def _far(rows: Iterable[Mapping[str, Any]]) -> tuple[InterrogationProgress, ...]:
    return tuple(InterrogationProgress(**row) for row in rows)


def _rows(connection: duckdb.DuckDBPyConnection, kind: type[_Row], sql: str) -> tuple[_Row, ...]:
    """The rows of a query as values of a class, by the names of its fields."""
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    found = query(connection, sql)
    return tuple(kind(**{name: row[name] for name in names}) for row in found)


def _held_back(lake: Lake, interrogations: Sequence[Interrogation]) -> tuple[HeldBack, ...]:
    held = [
        *standing_controls(lake).held.values(),
        *StandingControls(lake).holds_of_files(interrogations),
    ]
    return tuple(
        HeldBack(
            scope=hold.scope.kind,
            name=hold.scope.name,
            action=hold.action,
            author=hold.author,
            reason=hold.reason,
            since=hold.since,
            resume=hold.resume,
        )
        for hold in held
    )
