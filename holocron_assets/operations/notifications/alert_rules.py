"""The rules that raise alerts, as data: each reads the status, and names what is wrong."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, StrictFloat, StrictInt

from holocron_assets.crawl.sources.file_source import FileSource
from holocron_assets.crawl.sources.source import Source
from holocron_assets.crawl.sources.standing import AS_ITS_FILE_SAYS, may_have_rested
from holocron_assets.decisions.controls import MACHINE
from holocron_assets.lake.files.people_settings import Settings, read_settings
from holocron_assets.operations.state.status import Status
from holocron_assets.operations.state.status_rows import BY_PEOPLE, OF_HOSTS, Queue

_OF_MODELS = "interrogations"

_MOST = 5_000_000
"""The most minutes or hours of a rule. With many more, it would look back to before the year 1,
of which Python has no dates. A rule that is null is off."""
Number = Annotated[StrictInt | StrictFloat, Field(gt=0, le=_MOST)]
Count = Annotated[StrictInt, Field(ge=1)]


def _is_whole(folder: Path) -> Path:
    if not folder.is_absolute():
        raise ValueError("must be a whole path, such as /var/backups/holocron")
    return folder


class FailureRule(Settings):
    """More than a share of the tries in the last hour failed.

    Attributes:
        percent: the highest share that is still well.
        at_least: the fewest tries for which a share counts.
    """

    percent: Annotated[StrictInt | StrictFloat, Field(gt=0, lt=100)] = 10
    at_least: Count = 20


class ExhaustedRule(Settings):
    """So many items of any kind were given up in the last hour.

    Attributes:
        items: the number at which the alert begins.
    """

    items: Count = 5


class PendingRule(Settings):
    """More items than these are to be done.

    Attributes:
        items: the most that is still well, at one stage.
    """

    items: Count = 1_000_000


class OldestRule(Settings):
    """Something has waited for longer than this, though no person holds it back.

    Attributes:
        minutes: the longest wait that is still well.
    """

    minutes: Number = 10_080


class ProgressRule(Settings):
    """Work waits that no person holds back, and none was done for so long.

    Attributes:
        minutes: the longest pause that is still well.
    """

    minutes: Number = 60


class RoomRule(Settings):
    """The disk or the store is so full or slow that nothing new is started."""


class NoSnapshotRule(Settings):
    """The status cannot be read, so that the other rules find nothing.

    Attributes:
        minutes: how long one snapshot may take.
    """

    minutes: Number = 60


class SettingsRule(Settings):
    """A file that people write, such as a source or the schedules, cannot be used."""


class BackupsRule(Settings):
    """The newest finished backup of this lake is older than so long, or there is none.

    Attributes:
        folder: the folder given to `holocron backup`, as a whole path.
        hours: the greatest age that is still well.
    """

    folder: Annotated[Path, AfterValidator(_is_whole)]
    hours: Number = 36


class AlertRules(Settings):
    """The file. A rule that is null is switched off.

    Attributes:
        resolved_after_minutes: an alert is over when its rule has found nothing for so long; so an alert that
            comes and goes is sent once.
    """

    failures: FailureRule | None = FailureRule()
    exhausted: ExhaustedRule | None = ExhaustedRule()
    pending: PendingRule | None = PendingRule()
    oldest: OldestRule | None = OldestRule()
    no_progress: ProgressRule | None = ProgressRule()
    room: RoomRule | None = RoomRule()
    no_look: NoSnapshotRule | None = NoSnapshotRule()
    settings: SettingsRule | None = SettingsRule()
    backups: BackupsRule | None = None
    resolved_after_minutes: Annotated[StrictInt | StrictFloat, Field(ge=0, le=_MOST)] = 10


@dataclass(frozen=True)
class Finding:
    """Something that is wrong.

    Attributes:
        rule: the rule that found it.
        subject: what it is about; rule and subject together identify the alert.
        value: the measured value.
        limit: the last value that is still well.
        message: what is wrong, in a sentence.
    """

    rule: str
    subject: str
    value: float
    limit: float
    message: str


def read_alert_rules(file: Path) -> AlertRules:
    """The rules of a file; the defaults where there is no file.

    Raises:
        SettingsError: the file cannot be used; names file, key and reason.
    """
    return read_settings(file, AlertRules)


def findings(
    status: Status,
    rules: AlertRules,
    *,
    models_are_asked: bool,
    sources: Sequence[Source | FileSource] = (),
    awake_since: datetime | None = None,
) -> list[Finding]:
    """All that is wrong with the work.

    Args:
        status: the status.
        rules: the rules to check.
        models_are_asked: whether models are asked at all; if not, their work waits by choice.
        sources: the sources; their files say when they rest.
        awake_since: since when the machine is awake; None if it always was.
    """
    at_work = [queue for queue in status.queues if _is_to_go_on(queue, status, models_are_asked)]
    return [
        *_failures(status.queues, rules.failures),
        *_exhausted(status.queues, rules.exhausted),
        *_pending(at_work, rules.pending),
        *_oldest(at_work, rules.oldest),
        *_no_progress(at_work, rules.no_progress, status, sources, awake_since),
        *_room(status, rules.room),
    ]


def _is_to_go_on(queue: Queue, status: Status, models_are_asked: bool) -> bool:  # noqa: FBT001 - passed on
    """Whether a queue's work should go on by itself: no person holds it back, or has to do it."""
    return (
        queue.stage != BY_PEOPLE
        and (models_are_asked or queue.stage != _OF_MODELS)
        and not status.is_held_back(queue.source, queue.interrogation)
    )


def _failures(queues: Sequence[Queue], rule: FailureRule | None) -> Iterator[Finding]:
    for queue in queues if rule else ():
        bad = queue.in_vain_last_hour
        tries = bad + (queue.out_last_hour or 0)
        share = 100 * bad / tries if tries else 0.0
        if rule and tries >= rule.at_least and share > rule.percent:
            message = f"{bad} of {tries} tries at {_name(queue)} failed in the last hour"
            yield Finding("failures", _name(queue), round(share, 1), rule.percent, message)


def _room(status: Status, rule: RoomRule | None) -> Iterator[Finding]:
    for held in status.paused if rule else ():
        if held.author == MACHINE:
            yield Finding("room", "everything", 1, 0, f"nothing new is started: {held.reason}")


def _exhausted(queues: Sequence[Queue], rule: ExhaustedRule | None) -> Iterator[Finding]:
    dead = sum(queue.dead_last_hour for queue in queues)
    if rule and dead >= rule.items:
        yield Finding("exhausted", "everything", dead, rule.items, f"{dead} were given up in the last hour")


def _pending(queues: Sequence[Queue], rule: PendingRule | None) -> Iterator[Finding]:
    for queue in queues if rule else ():
        if rule and queue.depth > rule.items:
            message = f"{queue.depth:,} of {_name(queue)} are to be done"
            yield Finding("pending", _name(queue), queue.depth, rule.items, message)


def _oldest(queues: Sequence[Queue], rule: OldestRule | None) -> Iterator[Finding]:
    for queue in queues if rule else ():
        minutes = queue.oldest_minutes or 0.0
        if rule and minutes > rule.minutes:
            message = f"the oldest of {_name(queue)} waits for {minutes:,.0f} minutes"
            yield Finding("oldest", _name(queue), round(minutes), rule.minutes, message)


def _no_progress(
    queues: Sequence[Queue],
    rule: ProgressRule | None,
    status: Status,
    sources: Sequence[Source | FileSource],
    awake_since: datetime | None,
) -> Iterator[Finding]:
    """One finding for each stage of a source, since interrogations wait for each other's turns."""
    if rule is None:
        return
    moment = status.at - timedelta(minutes=rule.minutes)
    # What fired before the machine slept goes on; nothing begins until there was time to do some work.
    has_slept = awake_since is not None and awake_since > moment
    firing = {alert.subject for alert in status.alerts if alert.rule == "no_progress"}
    due = {(one.stage, one.source, one.interrogation) for one in status.stages if one.pending + one.in_flight}
    at_rest = {host.source for host in status.hosts if host.treatment in AS_ITS_FILE_SAYS}
    at_rest |= may_have_rested(sources, moment, status.at)
    # for other queues, it is not known when items were done
    timed = [queue for queue in queues if queue.out_last_hour is not None]
    for (stage, source), several in groupby(sorted(timed, key=_place), key=_place):
        group = list(several)
        # Items that failed and are due later are not late, nor are new ones.
        late = [
            queue
            for queue in group
            if (queue.stage, queue.source, queue.interrogation) in due
            and queue.oldest_at is not None
            and queue.oldest_at <= moment
            and not (queue.stage in OF_HOSTS and queue.source in at_rest)
        ]
        if late and all(queue.last_done_at is None or queue.last_done_at <= moment for queue in group):
            name, depth = _named(stage, source or None), sum(queue.depth for queue in late)
            if has_slept and name not in firing:
                continue
            description = f"{depth:,} of {name} wait, and none was done in the last {rule.minutes:g} minutes"
            yield Finding("no_progress", name, depth, rule.minutes, description)


def _place(queue: Queue) -> tuple[str, str]:
    return queue.stage, queue.source or ""


def _name(queue: Queue) -> str:
    return _named(queue.interrogation or queue.stage, queue.source)


def _named(what: str, source: str | None) -> str:
    return f"{what} of {source}" if source else what
