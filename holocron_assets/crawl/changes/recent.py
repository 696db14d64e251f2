"""Reading a wiki's list of recent changes, from where the last reading ended."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Any

from holocron_assets.crawl.changes.answered import times_asked
from holocron_assets.crawl.changes.revision_check import start_pass
from holocron_assets.crawl.changes.rows import CLOCK_MARGIN, CLOCK_STEP, Seen, after_request, change_rows
from holocron_assets.crawl.changes.store import add_changes, last_reading
from holocron_assets.crawl.errors import WikiRefused, WikiUnavailable
from holocron_assets.crawl.frontier.batches import batches_of
from holocron_assets.crawl.mediawiki.changes import Change, ReportedChanges
from holocron_assets.crawl.mediawiki.client import Continuation, WikiClient
from holocron_assets.crawl.sources.seeds import load_site
from holocron_assets.crawl.sources.source import Source
from holocron_assets.crawl.sources.wiki_seeds import asked_before_listing
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.parquet import Footer, write_partition
from holocron_assets.lake.place.clock import SMALLEST_STEP, utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import BATCH_PAGES, CHANGE_LOOKS, SITES
from holocron_assets.lake.views.database import connect, query

# Entries may be listed later than others of the same moment, as the clocks of a wiki's machines differ.
_OVERLAP = CLOCK_MARGIN
# MediaWiki keeps its list for 90 days, unless it is set otherwise. An empty list does not show for how long,
# nor does a list whose first entry has just come.
_SHORTEST_REACH = timedelta(days=1)
_EVER = datetime.min.replace(tzinfo=UTC)
_NOTHING_KNOWN: Row = {
    "place": None,
    "continuation": None,
    "told": [],
    "unproven_since": None,
    "clock_ahead": None,
    "requests_until": None,
    "answered_at": None,
}
_BEGINNING = "select min(cut_at) as began_at from lake.batch_pages where source = $source"
_ELSEWHERE = """
    select 1
    from lake.batch_pages
    where source = $source and origin <> $origin and cut_at > $since
    limit 1
"""
_Failure = WikiUnavailable | WikiRefused


@dataclass(frozen=True)
class ChangesReading:
    """The result of one reading of the list.

    Attributes:
        rows: the reported changes, as rows of table `page_changes`.
        footer: of the file that holds them; None if no change was reported.
        goes_on: whether the list has more, to be read at once.
        gap: whether the list did not reach back to the last reading, so that a check of all pages was begun.
        problem: why the reading stopped early; None if nothing was wrong.
        due_at: when the next reading is due.
    """

    rows: Sequence[Row]
    footer: Footer | None
    goes_on: bool
    gap: bool
    problem: str | None
    due_at: datetime


@dataclass
class _Reading:
    """What the answers of one reading have reported so far. Times are by the wiki's clock.

    Attributes:
        since: up to when the wiki had reported changes before.
        reported: times of the entries that were reported lately, by their numbers.
    """

    since: datetime
    reported: dict[int, datetime]
    place: datetime
    following: Continuation | None
    changes: list[Change] = field(default_factory=list)
    clock_ahead: timedelta | None = None
    reaches_since: bool = False
    failure: _Failure | None = None

    def take(self, answer: ReportedChanges) -> None:
        """Take in an answer; entries that were reported before are not counted again."""
        self.clock_ahead = answer.wiki_time - utc_now()
        for entry in answer.entries:
            self.reaches_since |= entry.at <= self.since
            if entry.entry_id not in self.reported:
                self.changes.extend(entry.changes)
            self.reported[entry.entry_id] = self.place = entry.at
        self.following = answer.following
        if answer.following is None:
            self.place = answer.wiki_time


def next_reading(lake: Lake, source: Source) -> datetime | None:
    """When to ask a source's wiki for its changes; None for a dump, and before the first batch was cut.

    The first reading is always due.
    """
    is_crawled = lake.has(SITES, source.name) and batches_of(lake, source.name)
    if source.kind != "mediawiki_api" or not is_crawled:
        return None
    state = last_reading(lake, source.name)
    if state is None or state["looked_at"] > utc_now():  # the clock was ahead then
        return _EVER
    due_at: datetime = state["due_at"]
    return due_at


def read_changes(lake: Lake, source: Source, client: WikiClient, *, seconds: float) -> ChangesReading:
    """Read the list of recent changes from where the last reading ended, and write what it reports.

    The changes are written before the place. So a reading that is killed is made again, and a change that is
    reported twice is one row. The changes of one request are kept if the next request has to wait. So a wiki
    that may be asked only once a tick is kept current too. One process at a time may read a source's list.

    Args:
        lake: where the manifests are, and where the changes go.
        source: a wiki whose pages are being fetched.
        client: asks it.
        seconds: after this time no further request is sent.

    Returns:
        The result. A wiki that does not answer is no error: it is asked again when it may be.
    """
    state = {**_NOTHING_KNOWN, **(last_reading(lake, source.name) or {})}
    reader = _Reader(lake, source, client, state)
    failure: _Failure | None = None
    try:
        reader.heed_exports()
        if state["unproven_since"] is None:
            if state["place"] is None:
                reader.begin()
            reader.read_on(monotonic() + seconds)
        if state["unproven_since"] is not None:
            reader.prove()
    except (WikiUnavailable, WikiRefused) as error:
        failure = error
    return reader.end(failure)


@dataclass
class _Reader:
    """A reading under way.

    Attributes:
        state: the row of table `change_looks`, as it will be written.
        is_first: whether the list's oldest entry was asked for before anything else.
    """

    lake: Lake
    source: Source
    client: WikiClient
    state: dict[str, Any]
    rows: Sequence[Row] = ()
    footer: Footer | None = None
    gap: bool = False
    is_first: bool = False

    def heed_exports(self) -> None:
        """Have all pages checked if an export of the wiki was read since the last reading.

        Its pages may be older than what readings reported before, and than the list's oldest entry.
        """
        since = _EVER if self.state["place"] is None else self.state["looked_at"]
        asked = {"source": self.source.name, "origin": self.source.origin, "since": since}
        with connect(self.lake, tables=[BATCH_PAGES]) as connection:
            if query(connection, _ELSEWHERE, asked):
                self._check_all()

    def begin(self) -> None:
        """Find from when on to read, by the wiki's clock, and whether its list reaches back so far."""
        oldest = self._oldest()
        self.is_first = True
        with connect(self.lake, tables=[BATCH_PAGES]) as connection:
            (beginning,) = query(connection, _BEGINNING, {"source": self.source.name})
        # A killed listing goes on, and the wiki is asked about itself again before that: too late for us.
        asked_at, wiki_time = asked_before_listing(self.lake, self.source.name)
        began_at, now = beginning["began_at"], utc_now()
        if wiki_time and asked_at <= began_at:  # no clock of ours has to be right
            since = wiki_time
            self.state["clock_ahead"] = (since - asked_at).total_seconds()
        else:
            since = began_at + (oldest.wiki_time - now)
        # Nobody knows how far our clock was set back since then: the whole list is read.
        was_set_back = began_at > now
        if was_set_back or _is_gap(oldest, since):
            self._check_all()
        self.state["place"] = oldest.entries[0].at if was_set_back and oldest.entries else since

    def read_on(self, deadline: float) -> None:
        """Read the list, and write the changes that it reports.

        Raises:
            WikiUnavailable, WikiRefused: no answer. What was reported before is kept.
        """
        since, goes_on_at_once = self.state["place"], self._goes_on_at_once()
        reading = _read(self.client, self.state, since, deadline)
        if reading.clock_ahead is not None:
            self._keep(reading, reading.clock_ahead)
            is_long_ago = utc_now() + reading.clock_ahead - since > _SHORTEST_REACH
            if is_long_ago and not (goes_on_at_once or self.is_first or reading.reaches_since):
                self.state["unproven_since"] = since
        if reading.failure:
            raise reading.failure

    def prove(self) -> None:
        """Find whether the list reached back to where the last reading ended; if not, check all pages."""
        if _is_gap(self._oldest(), self.state["unproven_since"]):
            self._check_all()
        self.state["unproven_since"] = None

    def end(self, failure: _Failure | None) -> ChangesReading:
        """Record up to where the list was read, and when to read it again."""
        if isinstance(failure, WikiRefused):
            self.state["continuation"] = None  # the wiki would refuse it again each time; the place is enough
        now, problem = utc_now(), str(failure) if failure else None
        goes_on = failure is None and self.state["continuation"] is not None
        due_at = now if goes_on else _due_at(self.source, failure, now)
        noted = {"changes": len(self.rows), "problem": problem, "looked_at": now, "due_at": due_at}
        row = {"reaches_back_to": None, **self.state, "source": self.source.name, **noted}
        write_partition(self.lake, CHANGE_LOOKS, self.source.name, [row])
        return ChangesReading(self.rows, self.footer, goes_on, self.gap, problem, due_at)

    def _goes_on_at_once(self) -> bool:
        """Whether the wiki was in the middle of its list a short while ago.

        After a longer while, what comes next may have left the list. A clock that was set by more than a day
        counts as a longer while.
        """
        if self.state["continuation"] is None:
            return False
        # A row of an earlier version does not say when the wiki answered.
        answered_at: datetime = self.state["answered_at"] or self.state["looked_at"]
        return abs(utc_now() - answered_at) <= _SHORTEST_REACH

    def _keep(self, reading: _Reading, clock_ahead: timedelta) -> None:
        seen = Seen("recent_changes", seen_at=utc_now(), clock_ahead=clock_ahead)
        site = load_site(self.lake, self.source.name)
        rows = change_rows(reading.changes, seen, self.source, site)
        self.rows = self._after_requests(rows, seen)
        if self.rows:
            self.footer = add_changes(self.lake, self.source.name, self.rows)
        self.state["place"], self.state["answered_at"] = reading.place, seen.seen_at
        self.state["continuation"] = json.dumps(reading.following) if reading.following else None
        self.state["told"] = [
            {"entry_id": number, "at": at}
            for number, at in reading.reported.items()
            if at >= reading.place - _OVERLAP
        ]
        if reading.following is None:
            self.state["clock_ahead"] = clock_ahead.total_seconds()

    def _after_requests(self, rows: Sequence[Row], seen: Seen) -> Sequence[Row]:
        """The changes, later than our requests where times of our clock do not compare.

        That is so if a request is of the future, or one for their titles was when the list was read before.
        It is so, too, if the difference from the wiki's clock is another than at the last reading: one clock
        was set, and nobody knows which one a request went by.
        """
        before = self.state["clock_ahead"]
        was_set = before is not None and abs(seen.clock_ahead - timedelta(seconds=before)) > CLOCK_STEP
        if not rows and not was_set:
            return rows
        # A page that was moved is asked for under another title, and counts as read later than under the old.
        asked = times_asked(self.lake, self.source, [row["title_key"] for row in rows])
        if asked.last_of_all and asked.last_of_all > seen.seen_at:
            # What is fetched now is recorded as later than that, too: see `after_request`. So is what is
            # fetched of titles without a request: the last reading of a page that was moved may be lost.
            self.state["requests_until"] = asked.last_of_all + SMALLEST_STEP
            return [after_request(row, asked.last_of_all) for row in rows]
        until = self.state["requests_until"]
        if asked.first is None or asked.last is None:
            return rows
        if was_set or (until and asked.first <= until):
            return [after_request(row, asked.last) for row in rows]
        return rows

    def _oldest(self) -> ReportedChanges:
        oldest = self.client.oldest_change()
        if oldest.entries:
            self.state["reaches_back_to"] = oldest.entries[0].at
        return oldest

    def _check_all(self) -> None:
        start_pass(self.lake, self.source.name, "gap", utc_now())
        self.gap = True


def _read(client: WikiClient, state: Row, since: datetime, deadline: float) -> _Reading:
    """Ask until the list ends, time is up, or the wiki does not answer."""
    reported = {entry["entry_id"]: entry["at"] for entry in state["told"]}
    following = json.loads(state["continuation"]) if state["continuation"] else None
    reading = _Reading(since, reported, place=since, following=following)
    try:
        for answer in client.list_changes(since - _OVERLAP, following):
            reading.take(answer)
            if monotonic() >= deadline:
                break
    except (WikiUnavailable, WikiRefused) as failure:
        reading.failure = failure
    return reading


def _is_gap(oldest: ReportedChanges, since: datetime) -> bool:
    """Whether changes may have left the list since then: it has no entry that old, and it was long ago."""
    reaches_back = bool(oldest.entries) and oldest.entries[0].at <= since
    return not reaches_back and oldest.wiki_time - since > _SHORTEST_REACH


def _due_at(source: Source, failure: _Failure | None, now: datetime) -> datetime:
    if isinstance(failure, WikiUnavailable):
        return failure.due_at
    return now + timedelta(minutes=source.changes.every_minutes)
