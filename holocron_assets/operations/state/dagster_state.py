"""The state of Dagster. This package does not import Dagster, so its callers fill the values in."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from holocron_assets.lake.place.clock import utc_now
from holocron_assets.operations.state.histograms import RUN_BOUNDS

_OVERLAP = timedelta(minutes=1)
"""A run's end may become visible after that of a run that ended later."""


@dataclass(frozen=True)
class DagsterState:
    """Dagster's state, as its storage has it.

    Attributes:
        at: when it was read.
        runs: how many runs wait or are under way, by status.
        heard_at: when each expected part of the daemon last showed that it lives; None if never.
        ticked_at: when any sensor last ticked; None if none ever did.
        run_times: durations of runs, by job; see `RunTimes.rows`.
        awake_since: since when the machine is awake; None if no alerts are checked, so that it is not known.
    """

    at: datetime
    runs: Mapping[str, int]
    heard_at: Mapping[str, datetime | None]
    ticked_at: datetime | None
    run_times: Sequence[Mapping[str, Any]] = ()
    awake_since: datetime | None = None


@dataclass(frozen=True)
class EndedRun:
    """A run that ended.

    Attributes:
        run_id: its id.
        job: its job.
        ended_at: when it ended.
        seconds: how long it took from its start; None if it never started.
    """

    run_id: str
    job: str
    ended_at: datetime
    seconds: float | None


class RunTimes:
    """Counts durations of runs by job, each run once: of those that end from now on.

    Dagster forgets old runs, so that its storage cannot give sums that never fall. Runs of before are left
    out: Prometheus would add them once more after each restart.

    Attributes:
        since: runs that ended until then are looked at.
    """

    def __init__(self) -> None:
        """Count nothing yet."""
        self.since = self._counted_until = utc_now()
        self._lately: dict[str, datetime] = {}
        self._by_job: dict[str, dict[str, Any]] = {}

    def add(self, runs: Iterable[EndedRun]) -> None:
        """Count those of some runs that started and are not counted yet."""
        now = utc_now()
        if self.since > now:  # the clock was ahead, and was set right
            self._counted_until, self.since = self.since, now
        for run in runs:
            if run.ended_at > self.since and run.run_id not in self._lately:
                self._lately[run.run_id] = run.ended_at
                is_counted = now < run.ended_at <= self._counted_until  # while the clock was ahead
                if run.seconds is not None and not is_counted:
                    self._count(run.job, run.seconds)
        if self._lately:
            # Another machine's clock may be ahead: its runs must not hide those of the others.
            self.since = max(self.since, min(now, max(self._lately.values())) - _OVERLAP)
        self._lately = {run_id: at for run_id, at in self._lately.items() if at > self.since}

    def rows(self) -> list[dict[str, Any]]:
        """A row for each job, as `histograms.histogram` takes it."""
        return [dict(row) for row in self._by_job.values()]

    def _count(self, job: str, seconds: float) -> None:
        nothing = {"job_name": job, "number": 0, "seconds": 0.0, "within": [0] * len(RUN_BOUNDS)}
        row = self._by_job.setdefault(job, nothing)
        row["number"] += 1
        row["seconds"] += seconds
        counts = zip(row["within"], RUN_BOUNDS, strict=True)
        row["within"] = [count + (seconds <= bound) for count, bound in counts]
