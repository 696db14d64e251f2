"""A snapshot of the status, with what only this package knows: stale batches and failed runs.

The sensor's own rule says which batches are stale (`stale_batches`).
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
from dagster import DagsterRunStatus, RunsFilter

from holocron_assets.crawl.sources.files import AnySource
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.operations.state.snapshot import take_snapshot
from holocron_assets.operations.state.staleness import FailedRun, FailedRuns
from holocron_assets.operations.state.status import Status
from holocron_assets.orchestration.runs.failures import failure_of
from holocron_assets.planning.batch_derivations import stale_batches
from holocron_assets.planning.job_names import PARTITION_TAG, SOURCE_TAG
from holocron_assets.telemetry.masking import without_secrets

_A_DAY = timedelta(days=1)
_MOST_RUNS = 500
"""Most failed runs that are listed, the newest: each costs a process two queries of Dagster's storage."""
_MOST_REASONS = 4 * _MOST_RUNS
_REASONS: dict[str, str] = {}
"""Why runs failed, by their ids."""


def snapshot_now(
    lake: Lake,
    sources: Sequence[AnySource],
    politeness_folder: Path,
    instance: Callable[[], dg.DagsterInstance | None],
) -> Status:
    """Take a snapshot of the status.

    Args:
        lake: the lake.
        sources: every source, of pages and of files.
        politeness_folder: as for `take_snapshot`.
        instance: returns Dagster's instance, or None if there never was one. Its error is reported.

    Raises:
        DamagedPartitionError, duckdb.Error: the lake cannot be read.
    """
    return take_snapshot(
        lake,
        sources,
        politeness_folder,
        stale_batches=stale_batches(lake, sources),
        failed_runs=failed_runs(instance, utc_now() - _A_DAY),
    )


def failed_runs(instance: Callable[[], dg.DagsterInstance | None], since: datetime) -> FailedRuns:
    """The runs that failed since a moment, the newest first; or why they are not known.

    Args:
        instance: as for `snapshot_now`.
        since: the moment.
    """
    wanted = RunsFilter(statuses=[DagsterRunStatus.FAILURE], updated_after=since.astimezone(UTC))
    try:
        opened = instance()
        if opened is None:
            return FailedRuns()
        records = opened.get_run_records(wanted, limit=_MOST_RUNS)
        return FailedRuns([_failed(opened, record) for record in records])
    except Exception as error:  # noqa: BLE001 - any storage, any error; the rest of the status does not need it
        return FailedRuns(problem=without_secrets(f"{type(error).__name__}: {error}"))


def _failed(instance: dg.DagsterInstance, record: dg.RunRecord) -> FailedRun:
    run = record.dagster_run
    ended = record.end_time or record.update_timestamp.timestamp()
    return FailedRun(
        run_id=run.run_id,
        job=run.job_name,
        source=run.tags.get(SOURCE_TAG),
        partition=run.tags.get(PARTITION_TAG),
        error=_reason(instance, run.run_id),
        ended_at=datetime.fromtimestamp(ended, UTC),
    )


def _reason(instance: dg.DagsterInstance, run_id: str) -> str:
    """Why a run failed, remembered for the process, since each snapshot has another instance."""
    known = _REASONS.get(run_id)
    if known is None:
        known = without_secrets(failure_of(instance, run_id).reason)
        if len(_REASONS) >= _MOST_REASONS:
            _REASONS.clear()
        _REASONS[run_id] = known
    return known
