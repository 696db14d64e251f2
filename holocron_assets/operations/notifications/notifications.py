"""Notices, and their deliveries: the lake keeps them before anything is sent.

A notice's id follows from what it is about, so it is recorded only once. A webhook's row is 'pending' until
an answer says that the notice arrived. If the process dies in between, it is sent again under the same id.
Changes go to a journal first, as those of fetching do, and into the table's partitions when the book is
closed.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock
from typing import TYPE_CHECKING, Any

from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.parquet import rows_there, write_partition
from holocron_assets.lake.journals.journal import Journal
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import NOTICES
from holocron_assets.lake.views.database import connect, query

if TYPE_CHECKING:  # a client of HTTP, which only sending needs
    from holocron_assets.operations.notifications.webhooks import Webhooks

_Key = tuple[Any, ...]


@dataclass(frozen=True)
class Notice:
    """Something to be sent to webhooks.

    Attributes:
        notice_id: follows from what it is about.
        event: what kind of thing happened.
        subject: what it is about, for people.
        happened_at: when.
        data: further data about it.
    """

    notice_id: str
    event: Any
    subject: str
    happened_at: datetime
    data: Mapping[str, Any]

    @property
    def body(self) -> str:
        """The body of the request."""
        body = {"type": self.event, "timestamp": self.happened_at.isoformat(), "data": self.data}
        return json.dumps(body, default=_as_json)


@dataclass
class NoticeBook:
    """The notices of a lake, held by one process at a time; see `open_book`. Safe for threads.

    Attributes:
        lake: where they are.
    """

    lake: Lake
    _changed: dict[str, Journal] = field(default_factory=dict)
    _writing: Lock = field(default_factory=Lock)

    def note(self, notices: Iterable[Notice], webhooks: "Webhooks", *, is_history: bool = False) -> int:
        """Record new notices, for each webhook that wants them: all of them, or none.

        After a kill between two of them, the next tick would take the rest of a history for new.

        Args:
            notices: the notices.
            webhooks: the receivers, with the events that each wants.
            is_history: whether they are not sent, since they happened before any webhook was set up.

        Returns:
            How many were new.
        """
        by_id = {notice.notice_id: notice for notice in notices}
        known = self.known(by_id)
        new = [notice for key, notice in by_id.items() if key not in known]
        now, rows = utc_now(), list[Row]()
        for notice in new:
            names = () if is_history else webhooks.wanting(notice.event)
            rows += [_row(notice, name, now) for name in names or [""]]
        if rows:
            self._append(rows)
        return len(new)

    def known(self, ids: Iterable[str]) -> set[str]:
        """Which of the given ids are recorded already."""
        asked = list(ids)
        if not asked:
            return set()
        rows = self._ask("select distinct notice_id from lake.notices where notice_id = any($ids)", ids=asked)
        return {row["notice_id"] for row in rows}

    def holds_only_alerts(self) -> bool:
        """Whether no notice was ever recorded, except of alerts, which another sensor records."""
        return not self._ask("from lake.notices where not starts_with(event, 'alert.') limit 1")

    def pending(self) -> list[Row]:
        """The rows that are not delivered yet, and not given up."""
        return self._ask("from lake.notices where state = 'pending'")

    def failures_since_success(self) -> dict[str, tuple[int, datetime]]:
        """By webhook, how many notices failed by its own fault since its last success, and when last."""
        rows = self._ask(_FAILURES)
        return {row["webhook"]: (row["failures"], row["tried_at"]) for row in rows}

    def change(self, row: Row, **what: Any) -> None:
        """Record the result of a row."""
        self.change_all([{**row, **what}])

    def change_all(self, rows: Iterable[Row]) -> None:
        """Record rows as they are now."""
        by_day: dict[str, list[Row]] = {}
        for row in rows:
            by_day.setdefault(row["day"], []).append(row)
        for several in by_day.values():
            self._append(several)

    def ask_again(self, row: Row) -> Row:
        """Send a notice again that was delivered or given up; it counts as requested now."""
        now = utc_now()
        fresh = dict.fromkeys(("tried_at", "due_at", "status", "error", "late_tries"))
        again = {**row, **fresh, "day": _day(now), "asked_at": now, "state": "pending", "attempts": 0}
        self._append([again])
        return again

    def store(self) -> None:
        """Move the rows of journals into the table's partitions; also those of killed processes."""
        with self._writing:
            for journal in self._changed.values():
                journal.close()
            self._changed.clear()
            for path in self.lake.journals(NOTICES):
                _store(self.lake, path.parent.name, Journal(path))

    def _append(self, rows: list[Row]) -> None:
        """Write some rows of one day, all or none."""
        day = rows[0]["day"]
        with self._writing:
            if day not in self._changed:
                self._changed[day] = Journal(self.lake.journal(NOTICES, day))
            self._changed[day].append({"rows": [dict(row) for row in rows]})

    def _ask(self, sql: str, **parameters: Any) -> list[Row]:
        self.store()  # rows that this process recorded count too
        with connect(self.lake, tables=[NOTICES]) as connection:
            return [*query(connection, sql, parameters)]


_FAILURES = """
    with successes as (
        select webhook, max(tried_at) as last_success
        from lake.notices
        where state = 'delivered'
        group by webhook
    )
    select webhook, count(*) as failures, max(tried_at) as tried_at
    from lake.notices
    left join successes using (webhook)
    where state = 'pending' and attempts > 0
        and (status is null or status >= 500 or status in (408, 425, 429))
        and coalesce(tried_at > last_success, true)
    group by webhook
"""


@contextmanager
def open_book(lake: Lake, *, patience_seconds: float) -> Iterator[NoticeBook]:
    """Open the book for this process alone, with the rows that a killed process left in it.

    Args:
        lake: the lake with the notices.
        patience_seconds: how long to wait for another process that has it.

    Raises:
        filelock.Timeout: another process holds it for longer.
    """
    with lake.lock("notices", timeout=patience_seconds):
        book = NoticeBook(lake)
        book.store()
        try:
            yield book
        finally:
            book.store()


def _store(lake: Lake, day: str, journal: Journal) -> None:
    rows: dict[_Key, Row] = {}
    stored = rows_there(lake, NOTICES, day)
    journaled = [NOTICES.revive(row) for record in journal.records() for row in record["rows"]]
    for row in [*stored, *journaled]:
        rows[tuple(row[name] for name in NOTICES.key)] = row
    write_partition(lake, NOTICES, day, list(rows.values()))
    journal.remove()


def _row(notice: Notice, webhook: str, now: datetime) -> Row:
    return {
        "day": _day(now),
        "notice_id": notice.notice_id,
        "event": notice.event,
        "webhook": webhook,
        "subject": notice.subject,
        "happened_at": notice.happened_at,
        "asked_at": now,
        "body": notice.body,
        "state": "pending" if webhook else "noted",
        "attempts": 0,
    }


def _day(now: datetime) -> str:
    return f"day-{now:%Y%m%d}"  # numbered, so that old ones can be packed


def _as_json(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"a notice holds text, numbers, truth values and times, not {value!r:.100}")
