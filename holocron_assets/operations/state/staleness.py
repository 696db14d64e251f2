"""The part of the status that no table holds: what is stale, when types were made, what is under way.

The views read it as rows (`staleness_sql`). The published database holds none of it: it would be out of date
when people open it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from holocron_assets.derive.dispatch.under_way import UnderWay, items_under_way
from holocron_assets.derive.interrogations.loading import load_interrogations
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGE_TYPES
from holocron_assets.lake.views.literals import quoted

_NANOSECONDS = 10**9
_STALE = [{"batch": "varchar"}]
_TYPED = [{"batch": "varchar", "typed_at": "timestamptz"}]
_UNDER_WAY = [{"interrogation": "varchar", "partition": "varchar", "item": "varchar"}]
_RUNS = [
    {
        "run_id": "varchar",
        "job": "varchar",
        "source": "varchar",
        "partition": "varchar",
        "error": "varchar",
        "ended_at": "timestamptz",
    }
]


@dataclass(frozen=True)
class FailedRun:
    """A run of Dagster that failed, or whose process is gone.

    Attributes:
        run_id: its id.
        job: its job.
        source: its source, if it was for one.
        partition: its partition, if it has one.
        error: why it failed: the step, unless it is the only one, and its error.
        ended_at: when.
    """

    run_id: str
    job: str
    source: str | None
    partition: str | None
    error: str
    ended_at: datetime


@dataclass(frozen=True)
class FailedRuns:
    """Runs that failed in the last day, as Dagster's storage has them.

    Attributes:
        runs: the runs.
        problem: why the storage could not be read; None if it could.
    """

    runs: Sequence[FailedRun] = ()
    problem: str | None = None


@dataclass(frozen=True)
class Staleness:
    """The present state that is not in tables.

    Attributes:
        stale_batches: batches that a sensor would have made again, or that lack something.
        typed_at: when the types of each batch were written.
        under_way: items that a living process has asked a model about, without an answer yet.
        failed_runs: runs of Dagster that failed in the last day.
    """

    stale_batches: Sequence[str] = ()
    typed_at: Mapping[str, datetime] | None = None
    under_way: Sequence[UnderWay] = ()
    failed_runs: Sequence[FailedRun] = ()


def read_staleness(
    lake: Lake, *, stale_batches: Sequence[str] = (), failed_runs: Sequence[FailedRun] = ()
) -> Staleness:
    """Read files, journals and locks.

    Args:
        lake: where they are.
        stale_batches: see `Staleness`.
        failed_runs: see `Staleness`.
    """
    types = lake.listing(PAGE_TYPES)
    marks = {batch: mark for batch in types.names if (mark := types.mark(batch))}
    typed = {
        batch: datetime.fromtimestamp(mark.mtime_ns / _NANOSECONDS, UTC) for batch, mark in marks.items()
    }
    return Staleness(stale_batches, typed, items_under_way(lake, load_interrogations()), failed_runs)


def staleness_sql(staleness: Staleness | None) -> str:
    """SQL for views of what was read outside the tables; they are empty where nothing was read."""
    found = staleness or Staleness()
    typed = found.typed_at or {}
    relations: dict[str, tuple[Sequence[Mapping[str, Any]], Sequence[Mapping[str, str]]]] = {
        "stale_batches": ([{"batch": batch} for batch in found.stale_batches], _STALE),
        "typed_batches": ([{"batch": batch, "typed_at": at} for batch, at in typed.items()], _TYPED),
        "items_under_way": ([asdict(item) for item in found.under_way], _UNDER_WAY),
        "dagster_failures": ([asdict(run) for run in found.failed_runs], _RUNS),
    }
    return "".join(
        f"create or replace view {name} as {_listed(*rows)};\n" for name, rows in relations.items()
    )


def _listed(rows: Sequence[Mapping[str, Any]], kind: Sequence[Mapping[str, str]]) -> str:
    """SQL that lists some rows."""
    return f"select unnest(from_json({_text(rows)}, {_text(kind)}), max_depth := 2)"


def _text(value: object) -> str:
    return quoted(json.dumps(value, default=str))
