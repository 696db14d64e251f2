"""The sensor of webhooks: it records what happened, then sends the notices to the webhooks that want them.

The lake holds recorded and sent notices. The cursor only says up to which of Dagster's events it has read,
and moves when all of these are recorded.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal

import dagster as dg
from dagster import DagsterEventType, EventLogRecord, RunsFilter, RunStatusChangeRecordsFilter
from filelock import Timeout
from pydantic import BaseModel

from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.operations.notifications.dead_letters import TABLES as DEAD_LETTER_TABLES
from holocron_assets.operations.notifications.dead_letters import dead_letter_notices
from holocron_assets.operations.notifications.delivering import deliver
from holocron_assets.operations.notifications.group_steps import TABLES as GROUP_TABLES
from holocron_assets.operations.notifications.group_steps import group_notices
from holocron_assets.operations.notifications.notifications import Notice, NoticeBook, open_book
from holocron_assets.operations.notifications.webhooks import Event, Webhooks, read_webhooks
from holocron_assets.orchestration.resources.resources import LakeResource
from holocron_assets.orchestration.runs.failures import failure_of
from holocron_assets.orchestration.runs.held import is_held
from holocron_assets.planning.job_names import PARTITION_TAG, SOURCE_TAG
from holocron_assets.planning.repair import repaired_tick
from holocron_assets.settings import webhooks_file
from holocron_assets.telemetry.masking import without_secrets

_Ended = Literal[DagsterEventType.RUN_SUCCESS, DagsterEventType.RUN_FAILURE, DagsterEventType.RUN_CANCELED]
_ENDS: dict[_Ended, Event] = {
    DagsterEventType.RUN_SUCCESS: "run.success",
    DagsterEventType.RUN_FAILURE: "run.failure",
    DagsterEventType.RUN_CANCELED: "run.canceled",
}
_SKIPPED: Event = "run.skipped"
"""A run that a hold refused or stopped. To Dagster, it is canceled."""

_MOST_RUNS = 200
_OVERLAP = 100
"""Events to read again: in PostgreSQL, an event may appear after a later one. None is recorded twice."""


_READ_AGAIN_AFTER = timedelta(minutes=1)
"""The time between two readings of dead letters while pages are fetched: each reads all batches."""
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


class _Cursor(BaseModel):
    """Up to which event runs were read, and from which tables dead letters were read.

    Attributes:
        first: the newest event when the sensor began. Earlier events are not sent.
        seen: the newest event that was read.
        dead: mark of the tables when dead letters were read.
        dead_at: when that was.
        groups: mark of the table of groups when steps that were left out were read; None if they never were.
    """

    first: dict[Event, int] = {}
    seen: dict[Event, int] = {}
    dead: str = ""
    dead_at: datetime = _LONG_AGO
    groups: str | None = None


@dg.sensor(
    minimum_interval_seconds=15,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Sends webhooks how runs ended, what was given up, and which alerts were raised.",
)
@repaired_tick
def tell_webhooks(context: dg.SensorEvaluationContext, lake: LakeResource) -> dg.SkipReason:
    """Record what happened since the last tick, and send the due notices."""
    opened, webhooks = lake.open(), read_webhooks(webhooks_file())
    cursor = _Cursor.model_validate_json(context.cursor) if context.cursor else None
    try:
        with open_book(opened, patience_seconds=0) as book:
            following = _note(context.instance, opened, book, webhooks, cursor)
            book.store()
            context.update_cursor(following.model_dump_json())
            counts = deliver(book, webhooks)
    except Timeout:
        return dg.SkipReason("another process sends notices")
    return dg.SkipReason(
        "; ".join(f"{name}: {done} delivered, {failed} failed" for name, (done, failed) in counts.items())
        or "no notice is due"
    )


def _note(
    instance: dg.DagsterInstance, lake: Lake, book: NoticeBook, webhooks: Webhooks, cursor: _Cursor | None
) -> _Cursor:
    """Record how runs ended and what was given up; return where the next reading begins."""
    now, mark = utc_now(), lake.mark(DEAD_LETTER_TABLES)
    if cursor is None:
        # Dead letters from before the first tick are history, unless only Dagster's storage is new. They come
        # before the steps of groups, whose notices would show an earlier tick.
        book.note(dead_letter_notices(lake), webhooks, is_history=book.holds_only_alerts())
        groups = _note_groups(lake, book, webhooks, None)
        newest = {event: _newest(instance, kind) for kind, event in _ENDS.items()}
        return _Cursor(first=newest, seen=newest, dead=mark, dead_at=now, groups=groups)
    groups = _note_groups(lake, book, webhooks, cursor.groups)
    first, seen = dict(cursor.first), dict[Event, int]()
    for kind, event in _ENDS.items():
        if event not in cursor.seen:  # an earlier version did not read it
            first[event] = seen[event] = _newest(instance, kind)
            continue
        after = max(first.get(event, 0), cursor.seen[event] - _OVERLAP)
        wanted = RunStatusChangeRecordsFilter(event_type=kind, after_storage_id=after)
        records = instance.fetch_run_status_changes(wanted, limit=_MOST_RUNS, ascending=True).records
        book.note(_run_notices(instance, book, event, records), webhooks)
        seen[event] = max([after, *(record.storage_id for record in records)])
    following = cursor.model_copy(update={"first": first, "seen": seen, "groups": groups})
    is_too_soon = timedelta(0) <= now - cursor.dead_at < _READ_AGAIN_AFTER  # the clock may be set back
    if cursor.dead == mark or is_too_soon:
        return following
    book.note(dead_letter_notices(lake), webhooks)
    return following.model_copy(update={"dead": mark, "dead_at": now})


def _note_groups(lake: Lake, book: NoticeBook, webhooks: Webhooks, before: str | None) -> str:
    """Record which steps of groups were left out; return the mark of their table.

    Args:
        lake: where they are.
        book: for the notices.
        webhooks: the receivers.
        before: the mark at the last reading; what there was before the first one is history.
    """
    mark = lake.mark(GROUP_TABLES)
    if mark != before:
        book.note(group_notices(lake), webhooks, is_history=before is None)
    return mark


def _newest(instance: dg.DagsterInstance, kind: DagsterEventType) -> int:
    records = instance.fetch_run_status_changes(kind, limit=1).records
    return records[0].storage_id if records else 0


def _run_notices(
    instance: dg.DagsterInstance, book: NoticeBook, event: Event, records: Sequence[EventLogRecord]
) -> Iterator[Notice]:
    """A notice for each run without one, unless the run is forgotten by now."""
    ended_at = {record.run_id: datetime.fromtimestamp(record.timestamp, UTC) for record in records}
    new = sorted(ended_at.keys() - book.known(ended_at))
    for record in instance.get_run_records(RunsFilter(run_ids=new)) if new else ():  # none would mean all
        run = record.dagster_run
        partition = run.tags.get(PARTITION_TAG)
        data = {
            "run_id": run.run_id,
            "job": run.job_name,
            "partition": partition,
            "source": run.tags.get(SOURCE_TAG),
            "started_at": record.start_time and datetime.fromtimestamp(record.start_time, UTC),
            "ended_at": ended_at[run.run_id],
        }
        if event != "run.success":
            data["reason"] = without_secrets(failure_of(instance, run.run_id).reason)
        was_held = event == "run.canceled" and is_held(run)
        subject = f"{run.job_name} {partition or ''}".strip()
        yield Notice(run.run_id, _SKIPPED if was_held else event, subject, ended_at[run.run_id], data)
