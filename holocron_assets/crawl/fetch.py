"""Fetching one batch: each item of its manifest becomes a row, even if processes are killed meanwhile.

An item is a page, or the artifact of a file.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Protocol

from holocron_assets.crawl.errors import WikiUnavailable
from holocron_assets.crawl.frontier.attempts import failed_page, settle_failure
from holocron_assets.crawl.frontier.batches import manifest
from holocron_assets.crawl.waiting import Group, Waiting
from holocron_assets.lake.attempts import MAX_ATTEMPTS
from holocron_assets.lake.declaration.schema import Row, Table
from holocron_assets.lake.files.parquet import rows_there, write_partition
from holocron_assets.lake.journals.journal import Journal
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGES
from holocron_assets.lake.tracebacks import keep_tracebacks, traceback_of
from holocron_assets.telemetry.context import carried
from holocron_assets.telemetry.logs import logger

_LOG = logger(__name__)

_REFUSALS_BEFORE_BLAME = 2
_PERHAPS_AN_ITEMS_FAULT = frozenset(
    {"captcha", "throttled", "server_error", "network_error", "not_api", "api_error", "client_error"}
)
"""Outcomes that an item may cause each time it is asked for; never the lag of a wiki's database."""

_SECONDS_TO_FINISH = 5  # a run that must end waits no longer for a wiki that does not answer


class GroupError(RuntimeError):
    """Some item of a group cannot be read, although its wiki or dump works."""


@dataclass(frozen=True)
class BatchKind:
    """What a batch consists of.

    Attributes:
        table: holds the outcomes.
        manifest: gives the wanted items of a batch.
        wanted_key: column of the manifest that identifies an item.
        key: column of the outcomes with the same value.
        name: column of the outcomes that names an item to people.
        failed: the settled row of an item that could not be read (see `frontier.attempts.failed_page`).
        host: what an item is read from. Hosts take turns.
    """

    table: Table
    manifest: Callable[[Lake, str], Sequence[Row]]
    wanted_key: str
    key: str
    name: str
    failed: Callable[..., dict[str, Any]]
    host: Callable[[Row], str]


PAGES_OF_A_BATCH = BatchKind(
    *(PAGES, manifest, "title_key", "requested_key", "requested_title", failed_page),
    host=lambda _: "",  # all pages of a batch are of one wiki
)


class BatchReader(Protocol):
    """Where a batch's items are read from: a wiki, a dump, or servers of files."""

    group_sizes: Sequence[int]
    """How many items are read together, by the number of earlier failures: fewer each time, finally one."""

    groups_at_once: int
    """Groups read at the same time."""

    def read(self, group: Group, run_id: str) -> list[dict[str, Any]]:
        """Rows of the outcomes, one for each manifest row and in their order.

        Rows of items that failed have status 'failed'. The reader does not count earlier attempts: column
        `attempts` is 1, or 0 for a failure that was no attempt at the item, and that has a due time. The row
        of an item that failed may have a `traceback`, which is no column: it is kept beside the row.

        Raises:
            GroupError: an item of the group is at fault.
            Exception: any other error is a fault of the wiki or dump, and ends the run.
        """
        ...

    def reads_others_than(self, group: Group) -> bool:
        """Read an item that is in no group, if there is a way; return whether it could be read.

        Raises:
            WikiUnavailable: no usable answer comes for it either.
        """
        ...

    def give_up(self) -> None:
        """Stop what other threads are reading: a thread that waits for an answer soon gets an error."""
        ...


@dataclass
class _Progress:
    """What is known of a batch: the rows so far, and what went wrong, by the key of each item."""

    kind: BatchKind
    rows: dict[int, Row]
    crashes: Counter[int]
    """Attempts that ended because the process was killed."""
    suspicions: Counter[int]
    """How often an item was in a group of which some item could not be read."""
    refusals: Counter[int]
    """How often an item was in a group for which no usable answer came, so that the run ended."""

    def key(self, wanted: Row) -> int:
        """The key of an item of the manifest."""
        return int(wanted[self.kind.wanted_key])

    def keys(self, group: Group) -> list[int]:
        """The keys of a group's items."""
        return [self.key(wanted) for wanted in group]

    def attempts_before(self, wanted: Row) -> int:
        """Attempts at an item that count: those of earlier batches, and crashes."""
        return int(wanted["failures"]) + self.crashes[self.key(wanted)]

    def is_last_chance(self, wanted: Row) -> bool:
        """Whether the item is given up after one more crash."""
        return self.attempts_before(wanted) + 1 >= MAX_ATTEMPTS

    def is_refused_again_and_again(self, group: Group) -> bool:
        """Whether a group, or a larger one with an item of it, ended so many runs that it may be at fault."""
        return max(self.refusals[key] for key in self.keys(group)) >= _REFUSALS_BEFORE_BLAME

    def group_size(self, wanted: Row, sizes: Sequence[int]) -> int:
        """How many items may be read together with an item, itself included."""
        key = self.key(wanted)
        return sizes[min(self.crashes[key] + self.suspicions[key], len(sizes) - 1)]


def fetch_batch(
    lake: Lake, batch: str, reader: BatchReader, run_id: str, kind: BatchKind = PAGES_OF_A_BATCH
) -> list[Row]:
    """Read the items that a batch lacks, and write its partition.

    Items that have a row, in the partition or in its journal, are not read again. Each attempt is recorded
    before it starts: an item is dead if four times the process was killed while reading it. Items of its
    group are read in ever smaller groups. So are those of a group that ended two runs because no usable
    answer came for it, if none comes once more although others can be read. On its last attempt an item is
    read alone, so that none is blamed for another.

    Args:
        lake: where the manifest is and the rows go.
        batch: the batch's name.
        reader: where the items are read from.
        run_id: written into the rows.
        kind: what the batch consists of.

    Returns:
        All rows of the batch, in the manifest's order.

    Raises:
        NoManifestError: no such batch was cut.
        Exception: the reader raises it when the wiki or dump does not work; what was read is kept.
    """
    wanted = kind.manifest(lake, batch)
    with Journal(lake.journal(kind.table, batch)) as journal:
        progress = _progress(lake, batch, journal, kind)
        reading = _Reading(wanted, progress, reader, journal, run_id=run_id)
        reading.bury_killers()
        reading.read_all()
    read = [reading.progress.rows[key] for key in reading.progress.keys(wanted)]
    rows: list[Row] = [{name: value for name, value in row.items() if name != "traceback"} for row in read]
    if journal.exists():
        tracebacks = {str(row[kind.key]): row["traceback"] for row in read if "traceback" in row}
        keep_tracebacks(lake, batch, kind.table.name, tracebacks)
        write_partition(lake, kind.table, batch, rows)
        journal.remove()
    return rows


def _progress(lake: Lake, batch: str, journal: Journal, kind: BatchKind) -> _Progress:
    rows: dict[int, Row] = {row[kind.key]: row for row in rows_there(lake, kind.table, batch)}
    crashes: Counter[int] = Counter()
    suspicions: Counter[int] = Counter()
    refusals: Counter[int] = Counter()
    for record in journal.records():
        crashes.update(record.get("started", ()))
        crashes.subtract(record.get("ended", ()))
        suspicions.update(record.get("suspects", ()))
        refusals.update(record.get("refused", ()))
        for row in record.get("rows", ()):
            rows[row[kind.key]] = kind.table.revive(row)
    return _Progress(kind, rows, crashes, suspicions, refusals)


class _Reading:
    """The reading of one batch's items, group after group, several at once."""

    def __init__(
        self,
        wanted: Sequence[Row],
        progress: _Progress,
        reader: BatchReader,
        journal: Journal,
        *,
        run_id: str,
    ) -> None:
        self.progress = progress
        self._wanted, self._reader = wanted, reader
        self._journal, self._run_id = journal, run_id
        self._running: dict[Future[list[dict[str, Any]]], Group] = {}
        self._waiting = Waiting(progress.kind.host)
        self._last_chances: deque[Row] = deque()

    def bury_killers(self) -> None:
        """Give up on items whose last attempt ended with the process being killed."""
        for wanted in self._wanted:
            key, attempts = self.progress.key(wanted), self.progress.attempts_before(wanted)
            crashes = self.progress.crashes[key]
            if key not in self.progress.rows and crashes and attempts >= MAX_ATTEMPTS:
                error = f"the process was killed while reading it, in {crashes} of {attempts} attempts"
                self._take_in({key: self._failed_after(wanted, error, attempts)})
                self._journal.append({"ended": [key], "rows": [self.progress.rows[key]]})

    def read_all(self) -> None:
        """Read until every wanted item has a row.

        Raises:
            BaseException: a reader raised it, or it interrupted this thread. The groups being read are
                finished and kept; after an interrupt, only those that end within seconds.
        """
        self._let_wait(
            wanted for wanted in self._wanted if self.progress.key(wanted) not in self.progress.rows
        )
        with ThreadPoolExecutor(self._reader.groups_at_once, thread_name_prefix="read-batch") as pool:
            try:
                done: set[Future[list[dict[str, Any]]]] = set()
                while self._go_on(pool, done):
                    done = wait(self._running, return_when=FIRST_COMPLETED).done
            except BaseException as error:
                self._end_orderly(in_a_hurry=not isinstance(error, Exception))
                raise

    def _let_wait(self, items: Iterable[Row]) -> None:
        for wanted in items:
            if self.progress.is_last_chance(wanted):
                self._last_chances.append(wanted)
            else:
                self._waiting.add(wanted, self.progress.group_size(wanted, self._reader.group_sizes))

    def _go_on(self, pool: ThreadPoolExecutor, done: set[Future[list[dict[str, Any]]]]) -> bool:
        """Take in what was read, and start the next groups; return whether any is being read.

        One record says all of it, since each record waits for the disk.
        """
        ended = {future: self._running[future] for future in done}
        read, suspects = self._results(ended)
        self._take_in(read, suspects)
        for group in ended.values():
            self._waiting.note_read(group)
        started = self._next_groups(len(self._running) - len(ended))
        record = {
            "ended": self._keys_of(ended.values()),
            "suspects": self._keys_of(suspects),
            "rows": list(read.values()),
            "started": self._keys_of(started),
        }
        if any(record.values()):
            self._journal.append({name: values for name, values in record.items() if values})
        for future in ended:
            del self._running[future]
        for group in started:
            self._running[pool.submit(carried(self._read), group)] = group
        return bool(self._running)

    def _read(self, group: Group) -> list[dict[str, Any]]:
        """The rows of a group.

        A group that ended two runs is not asked for again before something else was read: if no usable answer
        comes even then, the group is at fault, not the wiki.
        """
        is_suspect = self.progress.is_refused_again_and_again(group) and self._reader.reads_others_than(group)
        try:
            return self._reader.read(group, self._run_id)
        except WikiUnavailable as error:
            if is_suspect and error.outcome in _PERHAPS_AN_ITEMS_FAULT:
                raise GroupError(str(error)) from error
            raise

    def _next_groups(self, running: int) -> list[Group]:
        """The groups to start while so many are being read. On its last chance an item is read alone."""
        groups: list[Group] = []
        while running + len(groups) < self._reader.groups_at_once and (group := self._waiting.take()):
            groups.append(group)
        if self._last_chances and not groups and not running:
            groups = [[self._last_chances.popleft()]]
        return groups

    def _results(
        self, ended: Mapping[Future[list[dict[str, Any]]], Group]
    ) -> tuple[dict[int, Row], list[Group]]:
        """The rows of groups that were read, by item; and the groups of which some item could not be read."""
        read: dict[int, Row] = {}
        suspects: list[Group] = []
        for future, group in ended.items():
            try:
                rows = self._counted_rows(future.result(), group)
            except GroupError as error:
                if len(group) > 1:
                    suspects.append(group)
                    continue
                rows = [{**self._failed(group[0], str(error)), "traceback": traceback_of(error)}]
            read.update(zip(self.progress.keys(group), rows, strict=True))
        return read, suspects

    def _keys_of(self, groups: Iterable[Group]) -> list[int]:
        return [key for group in groups for key in self.progress.keys(group)]

    def _end_orderly(self, *, in_a_hurry: bool) -> None:
        """Record that no crash ended the groups being read, wait for them, and keep their rows."""
        for group in self._running.values():
            self._journal.append({"ended": self.progress.keys(group)})
        if in_a_hurry:
            wait(self._running, timeout=_SECONDS_TO_FINISH)
            self._reader.give_up()
        for future, group in self._running.items():
            if future.cancel():
                continue
            error = future.exception()
            if error is None or isinstance(error, GroupError):
                read, suspects = self._results({future: group})
                self._journal.append({"rows": list(read.values()), "suspects": self._keys_of(suspects)})
            elif isinstance(error, WikiUnavailable) and error.outcome in _PERHAPS_AN_ITEMS_FAULT:
                self._journal.append({"refused": self.progress.keys(group)})

    def _take_in(self, read: Mapping[int, Row], suspects: Sequence[Group] = ()) -> None:
        for row in read.values():
            if row["status"] in {"failed", "dead"}:
                what = {name: row[name] for name in ("source", "status", "attempts", "error")}
                _LOG.warning("read no page", page=row[self.progress.kind.name], **what)
        self.progress.rows.update(read)
        self.progress.suspicions.update(self._keys_of(suspects))
        self._let_wait(wanted for group in suspects for wanted in group)

    def _failed(self, wanted: Row, error: str) -> Row:
        row = self._failed_after(wanted, error, self.progress.attempts_before(wanted) + 1)
        return {**row, "fetched_at": max(row["fetched_at"], wanted["cut_at"])}

    def _failed_after(self, wanted: Row, error: str, attempts: int) -> Row:
        failed = self.progress.kind.failed
        return failed(wanted, error, attempts=attempts, now=utc_now(), run_id=self._run_id)

    def _counted_rows(self, rows: Sequence[Row], group: Group) -> list[Row]:
        return [self._counted(row, wanted) for row, wanted in zip(rows, group, strict=True)]

    def _counted(self, row: Row, wanted: Row) -> Row:
        """A row that was just read, with the earlier attempts counted."""
        attempts = self.progress.attempts_before(wanted) + row["attempts"]
        # The clock may have been set back since the batch was cut.
        counted = {**row, "attempts": attempts, "fetched_at": max(row["fetched_at"], wanted["cut_at"])}
        if row["status"] != "failed" or not row["attempts"]:
            return counted
        settled = settle_failure(counted, utc_now())
        if settled["due_at"] and row.get("due_at"):  # a server may ask for a longer wait
            settled["due_at"] = max(settled["due_at"], row["due_at"])
        return settled
