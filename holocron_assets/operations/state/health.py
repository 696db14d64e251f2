"""Whether anything is wrong with the whole: checks, each with its outcome and why."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from holocron_assets.derive.dispatch.served import is_switched_off
from holocron_assets.operations.state.dagster_state import DagsterState
from holocron_assets.operations.state.kept_snapshot import Taken
from holocron_assets.operations.state.status import Status
from holocron_assets.operations.state.status_rows import Queue, Stage

Outcome = Literal["ok", "degraded", "failed"]

OUTCOMES: tuple[Outcome, ...] = ("ok", "degraded", "failed")
"""The better first. `degraded`: some of the work goes on. `failed`: none does, until somebody sees to it."""

STUCK = timedelta(hours=1)
"""Work that has waited for longer while nothing of its kind was done does not go on."""

SILENT = timedelta(minutes=3)
"""Every part of Dagster's daemon shows each half minute that it lives."""

IDLE = timedelta(minutes=5)
"""Some sensor ticks every few seconds, and no tick takes longer than a minute."""

ENDLESS = timedelta(minutes=30)
"""A look at the lake that takes longer may never come to an end."""

_BY_PEOPLE = "review"
"""The stage that waits for people, for as long as they like."""


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    Attributes:
        name: what.
        outcome: how it is.
        reason: why, for people.
    """

    name: str
    outcome: Outcome
    reason: str


def worst(checks: Iterable[Check]) -> Outcome:
    """How the whole is."""
    return max((check.outcome for check in checks), key=OUTCOMES.index, default="ok")


def health_report(checks: Sequence[Check]) -> dict[str, Any]:
    """The checks as plain values of JSON, with how the whole is."""
    return {
        "health": worst(checks),
        "checks": {check.name: {"outcome": check.outcome, "reason": check.reason} for check in checks},
    }


def lake_checks(looked: Taken[Status]) -> list[Check]:
    """What is to be said of a look at the lake."""
    status = looked.found
    if looked.is_first_under_way:
        return [Check("lake", "degraded", f"nothing is known of it yet: {looked.problem}")]
    if status is None:
        return [Check("lake", "failed", f"it cannot be read: {looked.problem}")]
    return [_lake(looked), _models(status), _progress(status)]


def settings_check(broken: Mapping[str, str]) -> Check:
    """What is to be said of what people write.

    Args:
        broken: what of it cannot be used, and why.
    """
    told = "; ".join(f"the settings of {name} cannot be used: {why}" for name, why in broken.items())
    return Check("settings", "degraded" if broken else "ok", told or "all can be used")


def dagster_checks(looked: Taken[DagsterState]) -> list[Check]:
    """What is to be said of a look at Dagster."""
    dagster = looked.found
    if looked.is_first_under_way:
        return [Check("dagster_storage", "degraded", f"nothing is known of it yet: {looked.problem}")]
    if dagster is None:
        return [Check("dagster_storage", "failed", f"it cannot be read: {looked.problem}")]
    return [Check("dagster_storage", "ok", "it can be read"), _daemon(dagster)]


def _lake(looked: Taken[Status]) -> Check:
    """Whether a look at it comes to an end; this one did."""
    lasts = timedelta(seconds=looked.under_way_seconds or 0)
    if lasts < ENDLESS:
        return Check("lake", "ok", "it can be read")
    minutes = lasts / timedelta(minutes=1)
    told = f"a look at it has been under way for {minutes:,.0f} minutes; what is told here is older"
    return Check("lake", "degraded", told)


def _daemon(dagster: DagsterState) -> Check:
    """Whether every part of the daemon shows that it lives."""
    silent = {
        name: heard for name, heard in dagster.heard_at.items() if not heard or dagster.at - heard > SILENT
    }
    if not silent:
        return _ticks(dagster)
    who = "it" if len(silent) == len(dagster.heard_at) else ", ".join(sorted(silent))
    last = max((heard for heard in silent.values() if heard), default=None)
    when = f"since {last:%Y-%m-%d %H:%M:%S} UTC" if last else "so far"
    return Check("daemon", "failed", f"{who} was not heard of {when}; `holocron ui` starts it")


def _ticks(dagster: DagsterState) -> Check:
    """Whether sensors tick: a daemon whose code cannot be loaded lives, and does nothing."""
    name, ticked = "daemon", dagster.ticked_at
    if not dagster.heard_at or (ticked and dagster.at - ticked <= IDLE):
        return Check(name, "ok", "every part of it was heard of within three minutes, and sensors tick")
    when = f"since {ticked:%Y-%m-%d %H:%M:%S} UTC" if ticked else "so far"
    why = "its code cannot be loaded, which its log tells of, or somebody stopped all sensors"
    return Check(name, "failed", f"it lives, but no sensor has ticked {when}: {why}")


def _models(status: Status) -> Check:
    """Whether models answer, if they are to be asked."""
    name, problem = "models", status.models.problem
    if is_switched_off():
        return Check(name, "ok", "no model is asked: HOLOCRON_LLM is off")
    if problem is None:
        return Check(name, "ok", "what is to be asked can be asked")
    asked = [stage for stage in status.stages if stage.interrogation and _is_due(stage)]
    wanted = [stage for stage in asked if not _is_held_back(status, stage)]
    if asked and not wanted:
        return Check(name, "ok", f"what is to be asked is held back; else: {problem}")
    is_gone = status.models.loaded is None
    return Check(name, "failed" if is_gone and wanted and not _goes_on(status) else "degraded", problem)


def _progress(status: Status) -> Check:
    """Whether what may be done now is done."""
    name, waiting = "progress", _waiting(status)
    if not waiting:
        return Check(name, "ok", "nothing waits that may be done now")
    stuck = {stage: rows for stage, rows in waiting.items() if _are_stuck(rows, status.at)}
    if not stuck:
        return Check(name, "ok", f"work goes on: {', '.join(sorted(waiting))}")
    told = "; ".join(_told(stage, rows, status.at) for stage, rows in sorted(stuck.items()))
    return Check(name, "failed" if len(stuck) == len(waiting) else "degraded", told)


def _goes_on(status: Status) -> bool:
    """Whether there is work that needs no model, and is not stuck."""
    return any(not _are_stuck(rows, status.at) for rows in _waiting(status).values())


def _waiting(status: Status) -> dict[str, list[tuple[Stage, Queue | None]]]:
    """What may be done now, by stage, with how it goes; what lacks a model is another check's."""
    queues = {(queue.stage, queue.source, queue.interrogation): queue for queue in status.queues}
    waiting: dict[str, list[tuple[Stage, Queue | None]]] = {}
    for stage in status.stages:
        if _is_due(stage) and not _is_excused(status, stage):
            queue = queues.get((stage.stage, stage.source, stage.interrogation))
            waiting.setdefault(stage.stage, []).append((stage, queue))
    return waiting


def _is_due(stage: Stage) -> bool:
    return stage.stage != _BY_PEOPLE and stage.pending + stage.in_flight > 0


def _is_held_back(status: Status, stage: Stage) -> bool:
    """Whether a person will have it that nothing is done."""
    names = {("all", None), ("source", stage.source), ("interrogation", stage.interrogation)}
    if any((held.scope, held.name) in names for held in status.paused):
        return True
    return any(one.source == stage.source and not one.enabled for one in status.sources)


def _is_excused(status: Status, stage: Stage) -> bool:
    """Whether it is right that nothing is done: a person or a wiki will have it so, or a model lacks."""
    if _is_held_back(status, stage):
        return True
    if stage.interrogation:
        return is_switched_off() or status.models.problem is not None  # that is a check of its own
    left_alone = {host.source for host in status.hosts if host.until is not None}
    return stage.stage == "pages" and stage.source in left_alone


def _are_stuck(rows: Sequence[tuple[Stage, Queue | None]], now: datetime) -> bool:
    """Whether something of a stage has waited for long, and nothing of that stage was done meanwhile.

    One source or model often waits for another, which is no fault.
    """
    done = [queue.last_done_at for _, queue in rows if queue and queue.last_done_at]
    if any(now - moment < STUCK for moment in done):
        return False
    return any(stage.oldest_at and now - stage.oldest_at >= STUCK for stage, _ in rows)


def _told(name: str, rows: Sequence[tuple[Stage, Queue | None]], now: datetime) -> str:
    items = sum(stage.pending + stage.in_flight for stage, _ in rows)
    oldest = min(stage.oldest_at for stage, _ in rows if stage.oldest_at)
    hours = (now - oldest) / timedelta(hours=1)
    return f"{name}: {items} wait, the oldest for {hours:.1f} h, and none was done in the last hour"
