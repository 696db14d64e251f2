"""Looking for changes: reading a wiki's list of recent changes from where the last look ended."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Any

from holocron_assets.crawl.api_changes import Change, ToldChanges
from holocron_assets.crawl.batches import batches_of
from holocron_assets.crawl.change_rows import CLOCK_MARGIN, Told, change_rows
from holocron_assets.crawl.change_store import add_changes, last_look
from holocron_assets.crawl.errors import WikiRefused, WikiUnavailable
from holocron_assets.crawl.revision_check import start_pass
from holocron_assets.crawl.seeds import load_site
from holocron_assets.crawl.sources import Source
from holocron_assets.crawl.wiki_client import Continuation, WikiClient
from holocron_assets.lake.clock import utc_now
from holocron_assets.lake.parquet import Footer, write_partition
from holocron_assets.lake.paths import Lake
from holocron_assets.lake.schema import Row
from holocron_assets.lake.tables import CHANGE_LOOKS, SITES
from holocron_assets.lake.views import connect, query

# Entries may be listed later than others of the same moment, and by machines whose clocks differ.
_OVERLAP = CLOCK_MARGIN
# MediaWiki keeps its list for 90 days, unless set otherwise. An empty one does not show for how long.
_SHORTEST_REACH = timedelta(days=1)
_EVER = datetime.min.replace(tzinfo=UTC)
_BEGINNING = """
    select min(cut_at) as began_at, bool_or(origin <> $origin) as was_elsewhere
    from lake.batch_pages
    where source = $source
"""
_Failure = WikiUnavailable | WikiRefused


@dataclass(frozen=True)
class Look:
    """What one look came to.

    Attributes:
        rows: rows of table `page_changes` that were told of.
        footer: of the file that holds them; None if nothing was told.
        goes_on: whether the list has more, to be read at once.
        gap: whether the list did not reach back to the last look, so that a check of all pages was begun.
        problem: why no more was told; None if nothing was wrong.
        due_at: when the next look is due.
    """

    rows: Sequence[Row]
    footer: Footer | None
    goes_on: bool
    gap: bool
    problem: str | None
    due_at: datetime


@dataclass
class _Reading:
    """What the answers of one look told so far. Times are the wiki's, unless they say otherwise.

    Attributes:
        since: up to when it had told before.
        told: times of the entries told of lately, by number.
    """

    since: datetime
    told: dict[int, datetime]
    place: datetime
    following: Continuation | None
    changes: list[Change] = field(default_factory=list)
    clock_ahead: timedelta | None = None
    reaches_since: bool = False
    failure: _Failure | None = None

    def take(self, told: ToldChanges) -> None:
        """Take in an answer; entries that were told of before are not counted again."""
        self.clock_ahead = told.wiki_time - utc_now()
        for entry in told.entries:
            self.reaches_since |= entry.at <= self.since
            if entry.entry_id not in self.told:
                self.changes.extend(entry.changes)
            self.told[entry.entry_id] = self.place = entry.at
        self.following = told.following
        if told.following is None:
            self.place = told.wiki_time


def next_look(lake: Lake, source: Source) -> datetime | None:
    """When a source's wiki is to be asked for its changes; None while nothing of it is being fetched.

    The first look is due since ever.
    """
    is_crawled = lake.has(SITES, source.name) and batches_of(lake, source.name)
    if source.kind != "mediawiki_api" or not is_crawled:
        return None
    state = last_look(lake, source.name)
    due_at: datetime = state["due_at"] if state else _EVER
    return due_at


def look_for_changes(lake: Lake, source: Source, client: WikiClient, *, seconds: float) -> Look:
    """Read the list of recent changes from where the last look ended, and write what it tells.

    What was told is written before the place is: a look that is killed is made again, and a change that is
    told twice is one row. One process at a time may look at a source.

    Args:
        lake: where the manifests are, and where the changes go.
        source: a wiki whose pages are being fetched.
        client: asks it.
        seconds: after so long no further answer is asked for.

    Returns:
        The look. A wiki that does not answer is no error: it is asked again when it may be.
    """
    state = last_look(lake, source.name) or {"place": None, "continuation": None, "told": []}
    try:
        oldest, since, was_elsewhere = _start(lake, source, client, state)
        reading = _read(client, state, since, monotonic() + seconds)
        if reading.failure and reading.clock_ahead is None:
            raise reading.failure
        if state["continuation"] is None and not reading.reaches_since:
            oldest = oldest or client.oldest_change()
    except (WikiUnavailable, WikiRefused) as failure:
        return _note_failure(lake, source, state, failure)
    gap = was_elsewhere or (oldest is not None and _is_gap(oldest, since))
    return _store(lake, source, reading, oldest, gap=gap)


def _start(
    lake: Lake, source: Source, client: WikiClient, state: Row
) -> tuple[ToldChanges | None, datetime, bool]:
    """The list's oldest entry if this is the first look, since when to look, and whether pages are older.

    Pages that were read elsewhere, from an export, may be older than any list reaches.
    """
    if state["place"] is not None:
        return None, state["place"], False
    oldest = client.oldest_change()
    clock_ahead = oldest.wiki_time - utc_now()
    with connect(lake) as connection:
        (beginning,) = query(connection, _BEGINNING, {"source": source.name, "origin": source.origin})
    return oldest, beginning["began_at"] + clock_ahead, beginning["was_elsewhere"]


def _read(client: WikiClient, state: Row, since: datetime, deadline: float) -> _Reading:
    """Ask until the list ends, time is up, or the wiki does not answer."""
    told = {entry["entry_id"]: entry["at"] for entry in state["told"]}
    following = json.loads(state["continuation"]) if state["continuation"] else None
    reading = _Reading(since, told, place=since, following=following)
    try:
        for answer in client.list_changes(since - _OVERLAP, following):
            reading.take(answer)
            if monotonic() >= deadline:
                break
    except (WikiUnavailable, WikiRefused) as failure:
        reading.failure = failure
    return reading


def _is_gap(oldest: ToldChanges, since: datetime) -> bool:
    """Whether changes may have left the list since: it holds none that is as old."""
    if not oldest.entries:
        return oldest.wiki_time - since > _SHORTEST_REACH
    return oldest.entries[0].at > since


def _store(lake: Lake, source: Source, reading: _Reading, oldest: ToldChanges | None, *, gap: bool) -> Look:
    """Write what was told, then that a check is due, then up to where the list was read."""
    now = utc_now()
    told = Told("recent_changes", seen_at=now, clock_ahead=reading.clock_ahead or timedelta())
    rows = change_rows(reading.changes, told, source, load_site(lake, source.name))
    footer = add_changes(lake, source.name, rows) if rows else None
    if gap:
        start_pass(lake, source.name, "gap", now)
    goes_on = reading.following is not None and reading.failure is None
    due_at = now if goes_on else _due_at(source, reading.failure, now)
    state: dict[str, Any] = {
        "place": reading.place,
        "continuation": json.dumps(reading.following) if reading.following else None,
        "told": [
            {"entry_id": number, "at": at}
            for number, at in reading.told.items()
            if at >= reading.place - _OVERLAP
        ],
    }
    if oldest and oldest.entries:
        state["reaches_back_to"] = oldest.entries[0].at
    problem = str(reading.failure) if reading.failure else None
    _write_look(lake, source, {**state, "changes": len(rows), "problem": problem}, now, due_at)
    return Look(rows, footer, goes_on, gap, problem, due_at)


def _note_failure(lake: Lake, source: Source, state: dict[str, Any], failure: _Failure) -> Look:
    """Note when to look again, from the same place."""
    now = utc_now()
    if isinstance(failure, WikiRefused):
        state["continuation"] = None  # it would be refused for ever; the place is as good
    due_at = _due_at(source, failure, now)
    _write_look(lake, source, {**state, "changes": 0, "problem": str(failure)}, now, due_at)
    return Look([], None, goes_on=False, gap=False, problem=str(failure), due_at=due_at)


def _due_at(source: Source, failure: _Failure | None, now: datetime) -> datetime:
    if isinstance(failure, WikiUnavailable):
        return failure.due_at
    return now + timedelta(minutes=source.changes.every_minutes)


def _write_look(lake: Lake, source: Source, row: Row, now: datetime, due_at: datetime) -> None:
    before = last_look(lake, source.name) or {}
    known = {"source": source.name, "reaches_back_to": before.get("reaches_back_to")}
    write_partition(lake, CHANGE_LOOKS, source.name, [{**known, **row, "looked_at": now, "due_at": due_at}])
