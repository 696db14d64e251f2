"""The status as an asset: once an hour its numbers, tables and a picture, for the web UI."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

import dagster as dg

from holocron_assets.operations.schedules import STATUS_TIMES
from holocron_assets.operations.state.plots import plotted
from holocron_assets.operations.state.status import Status
from holocron_assets.operations.state.status_rows import STAGES, FailureCause, Queue
from holocron_assets.orchestration.assets.metadata import OWNER, escaped, picture
from holocron_assets.orchestration.resources.resources import LakeResource, SourcesResource
from holocron_assets.orchestration.resources.status_snapshot import snapshot_now
from holocron_assets.orchestration.runs.failures import clear_failures
from holocron_assets.orchestration.runs.retries import LAKE
from holocron_assets.planning.job_names import STATUS_JOB

_MOST_CAUSES = 20
_OLD, _TOO_OLD = timedelta(minutes=90), timedelta(hours=2)
"""If the newest hourly report is older than the first, the next is late; than the second, it was left out."""


@dg.asset(
    description="The status: what waits where and for how long, how fast it goes, what fails and why, "
    "what models do.\n\nIts numbers are plotted over time. `holocron status` shows the same at any moment.",
    group_name="operation",
    owners=[OWNER],
    kinds={"python", "duckdb"},
    retry_policy=LAKE,
    freshness_policy=dg.FreshnessPolicy.time_window(fail_window=_TOO_OLD, warn_window=_OLD),
)
def operation_status(
    context: dg.AssetExecutionContext, lake: LakeResource, sources: SourcesResource
) -> dg.MaterializeResult[None]:
    """Take a snapshot of the status, and record it in Dagster; nothing is written to the lake."""
    with clear_failures():
        status = snapshot_now(
            lake.open(), sources.of_any_kind(), sources.shared_folder, lambda: context.instance
        )
    return dg.MaterializeResult(metadata=status_metadata(status))


def status_metadata(status: Status) -> dict[str, Any]:
    """The numbers, tables and picture of a status. The numbers have the same names each time."""
    causes = [_cause_row(cause) for cause in status.failures[:_MOST_CAUSES]]
    return {
        "picture": picture(plotted(status), "What was done, failed and waits"),
        "work": dg.MetadataValue.md(_table([_queue_row(queue) for queue in status.queues])),
        "failures": dg.MetadataValue.md(_table(causes)),
        "alerts_and_holds": dg.MetadataValue.md(_list(_held(status))),
        **_numbers(status),
    }


def _numbers(status: Status) -> dict[str, float]:
    """The numbers plotted over time: by stage, all sources and interrogations together."""
    queues: dict[str, list[Queue]] = defaultdict(list)
    for queue in status.queues:
        queues[queue.stage].append(queue)
    numbers: dict[str, float] = {}
    for stage in STAGES:
        own = queues[stage]
        waits = [queue.oldest_minutes for queue in own if queue.oldest_minutes is not None]
        numbers[f"{stage}_waiting"] = sum(queue.depth for queue in own)
        numbers[f"{stage}_oldest_minutes"] = round(max(waits, default=0.0), 1)
        numbers[f"{stage}_done_in_hour"] = sum(queue.out_last_hour or 0 for queue in own)
    numbers["failures_of_day"] = sum(cause.failures for cause in status.failures)
    numbers["dead"] = sum(stage.dead for stage in status.stages)
    numbers["models_busy_share_of_hour"] = round(status.models.busy_share, 3)
    numbers["models_loads_of_day"] = status.models.loads
    numbers["models_switches_of_day"] = status.models.switches
    return numbers


def _queue_row(queue: Queue) -> dict[str, Any]:
    return {
        "stage": queue.interrogation or queue.stage,
        "source": queue.source,
        "waits": queue.depth,
        "oldest, minutes": None if queue.oldest_minutes is None else round(queue.oldest_minutes),
        "came in an hour": queue.in_last_hour,
        "done in an hour": queue.out_last_hour,
        "failed in an hour": queue.in_vain_last_hour,
        "all done in, minutes": round(queue.eta_minutes) if queue.eta_minutes else None,
    }


def _cause_row(cause: FailureCause) -> dict[str, Any]:
    return {
        "what": cause.interrogation or cause.job or cause.stage,
        "source": cause.source,
        "cause": cause.cause,
        "times": cause.failures,
        "given up": cause.dead,
        "such as": cause.example,
        "first": f"{cause.first_at:%Y-%m-%d %H:%M}",
        "last": f"{cause.last_at:%Y-%m-%d %H:%M}",
    }


def _held(status: Status) -> Iterable[str]:
    yield from (alert.message for alert in status.alerts)
    for hold in status.paused:
        yield f"{hold.scope} {hold.name or ''}: {hold.action} by {hold.author}: {hold.reason} ({hold.resume})"
    for host in status.hosts:
        yield f"{host.host}: {host.treatment}, {host.why}"
    if status.models.problem:
        yield status.models.problem
    if status.runs_problem:
        yield f"Dagster's storage cannot be read, so failed runs may be missing: {status.runs_problem}"


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    if not rows:
        return "none"
    head = f"| {' | '.join(rows[0])} |\n|{' --- |' * len(rows[0])}\n"
    return head + "".join(f"| {' | '.join(_cell(value) for value in row.values())} |\n" for row in rows)


def _cell(value: object) -> str:
    return "" if value is None else escaped(str(value))


def _list(texts: Iterable[str]) -> str:
    return "\n".join(f"- {escaped(text)}" for text in texts) or "nothing"


report_status = dg.define_asset_job(
    STATUS_JOB,
    selection=dg.AssetSelection.assets(operation_status) - dg.AssetSelection.all_asset_checks(),
    description="Record the status, with plots.",
)
hourly_status = dg.ScheduleDefinition(
    name="report_status_hourly",
    job=report_status,
    cron_schedule=STATUS_TIMES.cron,
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Records the status once an hour, with plots.",
)
