"""The status as one value, for commands, the web page, metrics, alerts and the UI."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from holocron_assets.operations.state.status_rows import AgedWork, FailureCause, Hour, Queue, Reason, Stage


@dataclass(frozen=True)
class InterrogationProgress:
    """The progress of an interrogation; see `derive.dispatch.tallies.interrogation_rows`.

    Attributes:
        interrogation: its name.
        domain: the word by which people find it, if it has one.
        model: the model that it asks.
        done: partitions that would be made the same now.
        to_do: the others.
        wanted: items that it wants.
        answered: those with an answer.
        due: those that may be asked about now.
        waiting: those that failed and may be asked about later.
        dead: those that were given up.
        next_due: when the first of the waiting ones is due.
    """

    interrogation: str
    domain: str | None
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
    """The work of models.

    Attributes:
        loaded: models that the server holds in memory; None if it was not asked, or gave no answer.
        problem: why some items cannot be asked about now; None if all can.
        at_work: the processes that ask models now, in words; None if none does.
        switches: how often the model on this machine's GPU changed in the last day.
        loads: how often a model was loaded in the last day.
        load_seconds: how long that took.
        busy_share: share of the last hour in which a call was under way, also in sessions that go on; of
            several at once, the busiest counts.
        busy_share_of_runs: the same share of the time of sessions in the last day; None if there was none.
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
    """One of the last sessions of calls; see table `gpu_runs`."""

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
    """The changes that a wiki reported, and the progress of the check of all pages.

    Attributes:
        source: the wiki's source.
        looked_at: when the wiki was last asked for its changes.
        due_at: when the next question is due.
        problem: why the last question brought no more changes.
        waiting_changes: reported changes that may not be fetched yet.
        waiting_since: since when the first of them waits.
        check_of: why all pages are compared with the wiki, or were.
        check_started_at: when that began.
        check_finished_at: when that ended; None while it goes on.
        pages_checked: pages compared so far.
        found_changed: those that differ from what was fetched.
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
    """Something that was given up, and not requeued; see view `dead_letters`."""

    stage: str
    source: str | None
    title: str
    batch: str
    attempts: int
    error: str | None
    died_at: datetime


@dataclass(frozen=True)
class HeldBack:
    """A hold of a person, of an interrogation's file, or of a machine that is full or slow.

    Attributes:
        scope: 'all', 'source' or 'interrogation'.
        name: of the source or interrogation.
        action: 'pause' or 'drain'.
        author: who or what.
        reason: why.
        since: since when; None if that is not known.
        resume: the command that lets it go on, or how it ends.
    """

    scope: str
    name: str | None
    action: str
    author: str
    reason: str
    since: datetime | None
    resume: str


@dataclass(frozen=True)
class Alert:
    """A rule that finds something wrong; see `operations.notifications.alerts.firing`."""

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
    """The status.

    Attributes:
        at: when the snapshot was taken.
        sources: every source.
        stages: how much is at which stage, by source and interrogation.
        queues: how fast work comes and goes.
        aged: work that waits for too long.
        failures: what failed in the last day, the most frequent cause first.
        runs_problem: why failed runs of Dagster may be missing there; None if its storage could be read.
        throughput: results of work, by hour, in the last day; the last hour is not over.
        reasons: how much is in which state, and why.
        interrogations: the progress of each.
        models: the work of models.
        gpu_runs: the last sessions of calls.
        changes: the changes that wikis reported.
        hosts: wikis that are not asked as usual, until when and why.
        paused: what is held back.
        alerts: the standing alerts, the oldest first.
        dead_letters: the newest dead letters; `stages` count all.
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
    interrogations: tuple[InterrogationProgress, ...]
    models: Models
    gpu_runs: tuple[GpuRun, ...]
    changes: tuple[Changes, ...]
    hosts: tuple[Host, ...]
    paused: tuple[HeldBack, ...]
    alerts: tuple[Alert, ...]
    dead_letters: tuple[DeadLetter, ...]
    set_aside: tuple[SetAside, ...]

    def is_held_back(self, source: str | None, interrogation: str | None) -> bool:
        """Whether a person holds back work of a source or interrogation, or switched the source off."""
        held = {("all", None), ("source", source), ("interrogation", interrogation)}
        is_off = any(one.source == source and not one.enabled for one in self.sources)
        return is_off or any((one.scope, one.name) in held for one in self.paused)

    def of_domain(self, domain: str) -> "Status":
        """The same, with only the interrogations of a domain, and only their work."""
        own = tuple(one for one in self.interrogations if one.domain == domain)
        names = {one.interrogation for one in own}
        return replace(
            self,
            interrogations=own,
            stages=tuple(one for one in self.stages if one.interrogation in names),
            queues=tuple(one for one in self.queues if one.interrogation in names),
            aged=tuple(one for one in self.aged if one.interrogation in names),
            failures=tuple(one for one in self.failures if one.interrogation in names),
            throughput=tuple(one for one in self.throughput if one.interrogation in names),
            reasons=tuple(one for one in self.reasons if one.interrogation in names),
        )

    def as_json(self) -> dict[str, Any]:
        """Plain JSON values, by the names above; times in ISO 8601."""
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
