"""How things stand, as one value that everybody tells: commands, the web page, metrics, alerts and the UI."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from holocron_assets.operations.state.status_rows import AgedWork, FailureCause, Hour, Queue, Reason, Stage


@dataclass(frozen=True)
class Interrogation:
    """How far an interrogation is; see `derive.dispatch.tallies.interrogation_rows`.

    Attributes:
        interrogation: its name.
        model: the model that it asks.
        done: partitions that are as they would be made now.
        to_do: the others.
        wanted: items that it wants.
        answered: of these, with an answer.
        due: of these, that may be asked about now.
        waiting: of these, that failed and may be asked about later.
        dead: of these, given up.
        next_due: when the first of those that wait may be.
    """

    interrogation: str
    model: str
    done: int
    to_do: int
    wanted: int
    answered: int
    due: int
    waiting: int
    dead: int
    next_due: datetime | None


@dataclass(frozen=True)
class Models:
    """What models do.

    Attributes:
        loaded: models that the server holds in memory; None if it was not asked, or gave no answer.
        problem: why some of what is to be asked cannot be asked now; None if all can.
        at_work: the processes that ask models now, in words; None if none does.
        switches: how often another model than before was asked on this machine's GPU, in the last day.
        loads: how often a model was loaded in the last day.
        load_seconds: how long that took.
        busy_share: share of the last hour in which a call was under way, in stretches that go on as well; of
            several at once, the busiest counts.
        busy_share_of_runs: the same of the time in which models were asked, in the last day; None if no time.
        items: items that got an outcome in the last day.
        calls: calls made in the last day.
        calls_saved: items that a kept answer served in the last day.
        tokens_in: tokens read in the last day.
        tokens_out: tokens written in the last day.
    """

    loaded: tuple[str, ...] | None
    problem: str | None
    at_work: str | None
    switches: int
    loads: int
    load_seconds: float
    busy_share: float
    busy_share_of_runs: float | None
    items: int
    calls: int
    calls_saved: int
    tokens_in: int
    tokens_out: int


@dataclass(frozen=True)
class GpuRun:
    """One of the last stretches of calls; see table `gpu_runs`."""

    model: str
    started_at: datetime
    ended_at: datetime
    items: int
    calls: int
    calls_saved: int
    loads: int
    busy_share: float
    outcome: str
    reason: str


@dataclass(frozen=True)
class Changes:
    """What a wiki told of its changes, and how far they are checked.

    Attributes:
        source: the wiki's source.
        looked_at: when we last asked what changed.
        due_at: when the next look is due.
        problem: why the last look told of no more.
        waiting_changes: changes that were told of, and perhaps not fetched yet.
        waiting_since: since when the first of them waits.
        check_of: why all pages are, or were, compared.
        check_started_at: since when.
        check_finished_at: when that ended; None while it goes on.
        pages_checked: pages compared so far.
        found_changed: of these, otherwise than they were fetched.
    """

    source: str
    looked_at: datetime
    due_at: datetime
    problem: str | None
    waiting_changes: int
    waiting_since: datetime | None
    check_of: str | None
    check_started_at: datetime | None
    check_finished_at: datetime | None
    pages_checked: int | None
    found_changed: int | None


@dataclass(frozen=True)
class Host:
    """A wiki that is not asked as usual; see `crawl.standing.hosts_not_as_usual`."""

    source: str
    host: str
    treatment: str
    until: datetime | None
    why: str | None
    pace: float
    requests_today: int


@dataclass(frozen=True)
class SourceSetting:
    """A source, as its file says."""

    source: str
    enabled: bool
    kind: str
    origin: str


@dataclass(frozen=True)
class DeadLetter:
    """What was given up, and nobody has brought back; see view `dead_letters`."""

    stage: str
    source: str | None
    title: str
    batch: str
    attempts: int
    error: str | None
    died_at: datetime


@dataclass(frozen=True)
class HeldBack:
    """What a person holds back.

    Attributes:
        scope: 'all', 'source' or 'interrogation'.
        name: of the source or interrogation.
        action: 'pause' or 'drain'.
        author: who.
        reason: why.
        since: since when.
        resume: the command that lets it go on.
    """

    scope: str
    name: str | None
    action: str
    author: str
    reason: str
    since: datetime
    resume: str


@dataclass(frozen=True)
class Alert:
    """A rule that finds something amiss; see `operations.told.alerts.firing`."""

    rule: str
    subject: str
    message: str
    fired_at: datetime


@dataclass(frozen=True)
class SetAside:
    """A damaged file that was set aside."""

    at: datetime
    what: str


@dataclass(frozen=True)
class Status:
    """How things stand.

    Attributes:
        at: when this was looked at.
        sources: every source.
        stages: what is at which stage, by source and interrogation.
        queues: how fast it comes and goes.
        aged: what waits for too long.
        failures: what failed in the last day, the most frequent cause first.
        runs_problem: why failed runs of Dagster may lack there; None if its storage could be read.
        throughput: what came of work, by hour, in the last day; the last hour is not over.
        reasons: what is where, and why.
        interrogations: how far each is.
        models: what models do.
        gpu_runs: the last stretches of calls.
        changes: what wikis told of their changes.
        hosts: wikis that are not asked as usual, until when and why.
        paused: what people hold back.
        alerts: what rules find amiss, the oldest first.
        dead_letters: what was given up, the newest; `stages` count all.
        set_aside: damaged files.
    """

    at: datetime
    sources: tuple[SourceSetting, ...]
    stages: tuple[Stage, ...]
    queues: tuple[Queue, ...]
    aged: tuple[AgedWork, ...]
    failures: tuple[FailureCause, ...]
    runs_problem: str | None
    throughput: tuple[Hour, ...]
    reasons: tuple[Reason, ...]
    interrogations: tuple[Interrogation, ...]
    models: Models
    gpu_runs: tuple[GpuRun, ...]
    changes: tuple[Changes, ...]
    hosts: tuple[Host, ...]
    paused: tuple[HeldBack, ...]
    alerts: tuple[Alert, ...]
    dead_letters: tuple[DeadLetter, ...]
    set_aside: tuple[SetAside, ...]

    def as_json(self) -> dict[str, Any]:
        """Plain values of JSON, by the names above; times in ISO 8601."""
        return {name: _plain(value) for name, value in asdict(self).items()}


def _plain(value: Any) -> Any:
    match value:
        case Mapping():
            return {name: _plain(item) for name, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case datetime():
            return value.isoformat()
        case _:
            return value
