"""Fetching one batch: every page of its manifest becomes a row, even if processes are killed meanwhile."""

from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Protocol

from holocron_assets.crawl.frontier.attempts import failed_page, settle_failure
from holocron_assets.crawl.frontier.batches import manifest
from holocron_assets.lake.attempts import MAX_ATTEMPTS
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.parquet import rows_there, write_partition
from holocron_assets.lake.journals.journal import Journal
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGES
from holocron_assets.telemetry.context import carried
from holocron_assets.telemetry.logs import logger

Group = Sequence[Row]

_LOG = logger(__name__)

_SECONDS_TO_FINISH = 5  # a run that must end waits no longer for a wiki that does not answer


class GroupError(RuntimeError):
    """Some page of a group cannot be read, although its wiki or dump works."""


class PageReader(Protocol):
    """Where a batch's pages are read from: a wiki, or a dump."""

    group_sizes: Sequence[int]
    """How many pages are read together, by the number of earlier failures: fewer each time, finally one."""

    groups_at_once: int
    """Groups read at the same time."""

    def read(self, group: Group, run_id: str) -> list[dict[str, Any]]:
        """Rows of table `pages`, one for each manifest row and in their order.

        Rows of pages that failed have status 'failed'. The reader does not count the attempts.

        Raises:
            GroupError: a page of the group is at fault.
            Exception: any other error is a fault of the wiki or dump, and ends the run.
        """
        ...

    def give_up(self) -> None:
        """Stop what other threads are reading: a thread that waits for an answer soon gets an error."""
        ...


@dataclass
class _Progress:
    """What is known of a batch: the rows so far, and what went wrong, by title key."""

    rows: dict[int, Row]
    crashes: Counter[int]
    """Attempts that ended because the process was killed."""
    suspicions: Counter[int]
    """How often a page was in a group of which some page could not be read."""

    def attempts_before(self, wanted: Row) -> int:
        """Attempts at a page that count: those of earlier batches, and crashes."""
        return int(wanted["failures"]) + self.crashes[wanted["title_key"]]

    def is_last_chance(self, wanted: Row) -> bool:
        """Whether the page is given up after one more crash."""
        return self.attempts_before(wanted) + 1 >= MAX_ATTEMPTS

    def group_size(self, wanted: Row, sizes: Sequence[int]) -> int:
        """How many pages may be read together with a page, itself included."""
        key = wanted["title_key"]
        return sizes[min(self.crashes[key] + self.suspicions[key], len(sizes) - 1)]


def fetch_batch(lake: Lake, batch: str, reader: PageReader, run_id: str) -> list[Row]:
    """Read the pages that a batch lacks, and write its partition of table `pages`.

    Pages that have a row, in the partition or in its journal, are not read again. Each attempt is recorded
    before it starts: a page is dead if four times the process was killed while reading it. Pages of its group
    are read in ever smaller groups. On its last attempt a page is read alone, so that no page is blamed for
    another.

    Args:
        lake: where the manifest is and the pages go.
        batch: the batch's name.
        reader: where the pages are read from.
        run_id: written into the rows.

    Returns:
        All rows of the batch, in the manifest's order.

    Raises:
        NoManifestError: no such batch was cut.
        Exception: the reader raises it when the wiki or dump does not work; what was read is kept.
    """
    wanted = manifest(lake, batch)
    with Journal(lake.journal(PAGES, batch)) as journal:
        reading = _Reading(wanted, _progress(lake, batch, journal), reader, journal, run_id)
        reading.bury_killers()
        reading.read_all()
    rows = [reading.progress.rows[page["title_key"]] for page in wanted]
    if journal.exists():
        write_partition(lake, PAGES, batch, rows)
        journal.remove()
    return rows


def _progress(lake: Lake, batch: str, journal: Journal) -> _Progress:
    rows: dict[int, Row] = {row["requested_key"]: row for row in rows_there(lake, PAGES, batch)}
    crashes: Counter[int] = Counter()
    suspicions: Counter[int] = Counter()
    for record in journal.records():
        crashes.update(record.get("started", ()))
        crashes.subtract(record.get("ended", ()))
        suspicions.update(record.get("suspects", ()))
        for row in record.get("rows", ()):
            rows[row["requested_key"]] = PAGES.revive(row)
    return _Progress(rows, crashes, suspicions)


class _Reading:
    """The reading of one batch's pages, group after group, several at once."""

    def __init__(
        self, wanted: Sequence[Row], progress: _Progress, reader: PageReader, journal: Journal, run_id: str
    ) -> None:
        self.progress = progress
        self._wanted, self._reader, self._journal, self._run_id = wanted, reader, journal, run_id
        self._running: dict[Future[list[dict[str, Any]]], Group] = {}

    def bury_killers(self) -> None:
        """Give up on pages whose last attempt ended with the process being killed."""
        for page in self._wanted:
            crashes, attempts = self.progress.crashes[page["title_key"]], self.progress.attempts_before(page)
            if page["title_key"] not in self.progress.rows and crashes and attempts >= MAX_ATTEMPTS:
                error = f"the process was killed while reading it, in {crashes} of {attempts} attempts"
                row = failed_page(page, error, attempts=attempts, now=utc_now(), run_id=self._run_id)
                self._keep([page], [row])

    def read_all(self) -> None:
        """Read until every wanted page has a row.

        Raises:
            BaseException: a reader raised it, or it interrupted this thread. The groups being read are
                finished and kept; after an interrupt, only those that end within seconds.
        """
        with ThreadPoolExecutor(self._reader.groups_at_once, thread_name_prefix="read-pages") as pool:
            try:
                while self._start_groups(pool):
                    for future in wait(self._running, return_when=FIRST_COMPLETED).done:
                        self._settle(future)
            except BaseException as error:
                self._end_orderly(in_a_hurry=not isinstance(error, Exception))
                raise

    def _start_groups(self, pool: ThreadPoolExecutor) -> bool:
        """Start as many groups as may be read now; return whether any is being read."""
        busy = {page["title_key"] for group in self._running.values() for page in group}
        known = self.progress.rows.keys() | busy
        waiting = [page for page in self._wanted if page["title_key"] not in known]
        last_chances = [page for page in waiting if self.progress.is_last_chance(page)]
        others = [page for page in waiting if not self.progress.is_last_chance(page)]
        for group in _groups(others, self.progress, self._reader.group_sizes):
            if len(self._running) == self._reader.groups_at_once:
                break
            self._start(pool, group)
        if last_chances and not self._running:
            self._start(pool, last_chances[:1])
        return bool(self._running)

    def _start(self, pool: ThreadPoolExecutor, group: Group) -> None:
        self._journal.append({"started": _keys(group)})
        self._running[pool.submit(carried(self._reader.read), group, self._run_id)] = group

    def _settle(self, future: Future[list[dict[str, Any]]]) -> None:
        """Take in the result of reading one group."""
        group = self._running[future]
        try:
            rows = [self._counted(row, page) for row, page in zip(future.result(), group, strict=True)]
        except GroupError as error:
            if len(group) > 1:
                self._journal.append({"ended": _keys(group), "suspects": _keys(group)})
                self.progress.suspicions.update(_keys(group))
            else:
                self._keep(group, [self._failed(group[0], str(error))])
        else:
            self._keep(group, rows)
        del self._running[future]

    def _end_orderly(self, *, in_a_hurry: bool) -> None:
        """Record that no crash ended the groups being read, wait for them, and keep their rows."""
        for group in self._running.values():
            self._journal.append({"ended": _keys(group)})
        if in_a_hurry:
            wait(self._running, timeout=_SECONDS_TO_FINISH)
            self._reader.give_up()
        for future, group in self._running.items():
            if future.cancel() or future.exception():
                continue
            rows = [self._counted(row, page) for row, page in zip(future.result(), group, strict=True)]
            self._journal.append({"rows": rows})

    def _keep(self, group: Group, rows: Sequence[Row]) -> None:
        for row in rows:
            if row["status"] in {"failed", "dead"}:
                what = {name: row[name] for name in ("source", "status", "attempts", "error")}
                _LOG.warning("read no page", page=row["requested_title"], **what)
        self._journal.append({"ended": _keys(group), "rows": rows})
        self.progress.rows.update(zip(_keys(group), rows, strict=True))

    def _failed(self, page: Row, error: str) -> Row:
        attempts = self.progress.attempts_before(page) + 1
        row = failed_page(page, error, attempts=attempts, now=utc_now(), run_id=self._run_id)
        return {**row, "fetched_at": max(row["fetched_at"], page["cut_at"])}

    def _counted(self, row: Row, page: Row) -> Row:
        """A row that was just read, with the earlier attempts counted."""
        # The clock may have been set back since the batch was cut.
        fetched_at = max(row["fetched_at"], page["cut_at"])
        row = {**row, "attempts": self.progress.attempts_before(page) + 1, "fetched_at": fetched_at}
        return settle_failure(row, utc_now()) if row["status"] == "failed" else row


def _keys(group: Group) -> list[int]:
    return [page["title_key"] for page in group]


def _groups(pages: Sequence[Row], progress: _Progress, sizes: Sequence[int]) -> Iterator[Group]:
    """Pages in groups. Pages that never failed come first, since they do no harm to each other."""
    by_size: dict[int, list[Row]] = {}
    for page in pages:
        by_size.setdefault(progress.group_size(page, sizes), []).append(page)
    for size in sorted(by_size, reverse=True):
        for start in range(0, len(by_size[size]), size):
            yield by_size[size][start : start + size]
