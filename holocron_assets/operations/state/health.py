"""Holocron's health: checks, each with its outcome and the reason."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from holocron_assets.decisions.controls import MACHINE
from holocron_assets.derive.dispatch.served import is_switched_off
from holocron_assets.operations.state.dagster_state import DagsterState
from holocron_assets.operations.state.kept_snapshot import Taken
from holocron_assets.operations.state.status import Status
from holocron_assets.operations.state.status_rows import BY_PEOPLE, OF_HOSTS, Queue, Stage

Outcome = Literal["ok", "degraded", "failed"]

OUTCOMES: tuple[Outcome, ...] = ("ok", "degraded", "failed")
"""From best to worst. `degraded`: some work goes on. `failed`: no work goes on until a person acts."""

STUCK = timedelta(hours=1)
"""Work that waited longer than this, while nothing of its kind was done, is stuck."""

SILENT = timedelta(minutes=3)
"""A part of Dagster's daemon that was silent for longer is dead: each shows twice a minute that it lives."""

IDLE = timedelta(minutes=5)
"""If no sensor ticked for longer, none works: some sensor ticks every few seconds, for a minute at most."""

ENDLESS = timedelta(minutes=30)
"""A snapshot of the lake that takes longer may never end."""


@dataclass(frozen=True)
class Check:
    """One check.

    Attributes:
        name: what was checked.
        outcome: its result.
        reason: why, for people.
    """

    name: str
    outcome: Outcome
    reason: str


def worst(checks: Iterable[Check]) -> Outcome:
    """The worst outcome of all checks."""
    return max((check.outcome for check in checks), key=OUTCOMES.index, default="ok")


def health_report(checks: Sequence[Check]) -> dict[str, Any]:
    """The checks as plain JSON values, with the overall outcome."""
    return {
        "health": worst(checks),
        "checks": {check.name: {"outcome": check.outcome, "reason": check.reason} for check in checks},
    }


def lake_checks(taken: Taken[Status], awake_since: datetime | None = None) -> list[Check]:
    """The checks that follow from a snapshot of the lake.

    Args:
        taken: the snapshot.
        awake_since: since when the machine is awake; None if that is not known.
    """
    status = taken.found
    if taken.is_first_under_way:
        return [Check("lake", "degraded", f"nothing is known of it yet: {taken.problem}")]
    if status is None:
        return [Check("lake", "failed", f"it cannot be read: {taken.problem}")]
    return [_lake(taken), _room(status), _models(status, awake_since), _progress(status, awake_since)]


def settings_check(broken: Mapping[str, str]) -> Check:
    """The check of files that people write.

    Args:
        broken: the files that cannot be used, and why.
    """
    message = "; ".join(f"the settings of {name} cannot be used: {why}" for name, why in broken.items())
    return Check("settings", "degraded" if broken else "ok", message or "all can be used")


def dagster_checks(taken: Taken[DagsterState]) -> list[Check]:
    """The checks that follow from a snapshot of Dagster."""
    dagster = taken.found
    if taken.is_first_under_way:
        return [Check("dagster_storage", "degraded", f"nothing is known of it yet: {taken.problem}")]
    if dagster is None:
        return [Check("dagster_storage", "failed", f"it cannot be read: {taken.problem}")]
    return [Check("dagster_storage", "ok", "it can be read"), _daemon(dagster)]


def _lake(taken: Taken[Status]) -> Check:
    """Whether a new snapshot of the lake comes to an end; the last one did."""
    lasts = timedelta(seconds=taken.under_way_seconds or 0)
    if lasts < ENDLESS:
        return Check("lake", "ok", "it can be read")
    minutes = lasts / timedelta(minutes=1)
    message = f"a snapshot of it has been under way for {minutes:,.0f} minutes; the values here are older"
    return Check("lake", "degraded", message)


def _room(status: Status) -> Check:
    """Whether disk and store have room, and are fast enough for new work."""
    reasons = [held.reason for held in status.paused if held.author == MACHINE]
    if reasons:
        return Check("room", "degraded", f"nothing new is started: {'; '.join(reasons)}")
    return Check("room", "ok", "disk and store have room and are fast enough")


def _daemon(dagster: DagsterState) -> Check:
    """Whether every part of the daemon lives."""
    silent = {
        name: heard
        for name, heard in dagster.heard_at.items()
        if not heard or abs(dagster.at - heard) > SILENT  # the clock may have been ahead
    }
    if not silent:
        return _ticks(dagster)
    who = "it" if len(silent) == len(dagster.heard_at) else ", ".join(sorted(silent))
    last = max((heard for heard in silent.values() if heard), default=None)
    when = f"since {last:%Y-%m-%d %H:%M:%S} UTC" if last else "so far"
    return Check("daemon", "failed", f"{who} was not heard of {when}; `holocron ui` starts it")


def _ticks(dagster: DagsterState) -> Check:
    """Whether sensors tick: if its code cannot be loaded, a daemon lives and does nothing."""
    name, ticked = "daemon", dagster.ticked_at
    if not dagster.heard_at or (ticked and dagster.at - ticked <= IDLE):
        return Check(name, "ok", "every part of it was heard of within three minutes, and sensors tick")
    when = f"since {ticked:%Y-%m-%d %H:%M:%S} UTC" if ticked else "so far"
    why = "its code cannot be loaded (see its log), or somebody stopped all sensors"
    return Check(name, "failed", f"it lives, but no sensor has ticked {when}: {why}")


def _models(status: Status, awake_since: datetime | None) -> Check:
    """Whether models answer, if there is something to ask."""
    name, problem = "models", status.models.problem
    if is_switched_off():
        return Check(name, "ok", "no model is asked: HOLOCRON_LLM is off")
    if problem is None:
        return Check(name, "ok", "what is to be asked can be asked")
    asked = [stage for stage in status.stages if stage.interrogation and _is_due(stage)]
    wanted = [stage for stage in asked if not status.is_held_back(stage.source, stage.interrogation)]
    if asked and not wanted:
        return Check(name, "ok", f"what is to be asked is held back. Otherwise: {problem}")
    is_gone = status.models.loaded is None
    is_all = is_gone and wanted and not _goes_on(status, awake_since)
    return Check(name, "failed" if is_all else "degraded", problem)


def _progress(status: Status, awake_since: datetime | None) -> Check:
    """Whether due work is being done."""
    name, waiting = "progress", _waiting(status)
    if not waiting:
        return Check(name, "ok", "nothing waits that may be done now")
    stuck = {stage: rows for stage, rows in waiting.items() if _are_stuck(rows, status.at, awake_since)}
    if not stuck:
        return Check(name, "ok", f"work goes on: {', '.join(sorted(waiting))}")
    message = "; ".join(_in_words(stage, rows, status.at) for stage, rows in sorted(stuck.items()))
    return Check(name, "failed" if len(stuck) == len(waiting) else "degraded", message)


def _goes_on(status: Status, awake_since: datetime | None) -> bool:
    """Whether there is work that needs no model, and is not stuck."""
    return any(not _are_stuck(rows, status.at, awake_since) for rows in _waiting(status).values())


def _waiting(status: Status) -> dict[str, list[tuple[Stage, Queue | None]]]:
    """The due work of each stage and its progress; another check is about missing models."""
    queues = {(queue.stage, queue.source, queue.interrogation): queue for queue in status.queues}
    waiting: dict[str, list[tuple[Stage, Queue | None]]] = {}
    for stage in status.stages:
        if _is_due(stage) and not _is_excused(status, stage):
            queue = queues.get((stage.stage, stage.source, stage.interrogation))
            waiting.setdefault(stage.stage, []).append((stage, queue))
    return waiting


def _is_due(stage: Stage) -> bool:
    return stage.stage != BY_PEOPLE and stage.pending + stage.in_flight > 0


def _is_excused(status: Status, stage: Stage) -> bool:
    """Whether doing nothing is right: a person or a wiki holds it back, or a model is missing."""
    if status.is_held_back(stage.source, stage.interrogation):
        return True
    if stage.interrogation:
        return is_switched_off() or status.models.problem is not None  # another check is about that
    left_alone = {host.source for host in status.hosts if host.until is not None}
    return stage.stage in OF_HOSTS and stage.source in left_alone


def _are_stuck(
    rows: Sequence[tuple[Stage, Queue | None]], now: datetime, awake_since: datetime | None
) -> bool:
    """Whether some work of a stage has waited for long while nothing of that stage was done.

    One source or model often waits for another, which is no fault. Nor is it one that all waited while the
    machine slept.
    """
    if awake_since and now - awake_since < STUCK:
        return False
    done = [queue.last_done_at for _, queue in rows if queue and queue.last_done_at]
    if any(now - moment < STUCK for moment in done):
        return False
    return any(stage.oldest_at and now - stage.oldest_at >= STUCK for stage, _ in rows)


def _in_words(name: str, rows: Sequence[tuple[Stage, Queue | None]], now: datetime) -> str:
    items = sum(stage.pending + stage.in_flight for stage, _ in rows)
    oldest = min(stage.oldest_at for stage, _ in rows if stage.oldest_at)
    hours = (now - oldest) / timedelta(hours=1)
    return f"{name}: {items} wait, the oldest for {hours:.1f} h, and none was done in the last hour"
