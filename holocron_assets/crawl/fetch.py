"""Fetching one batch: every page of its manifest ends as a row, whatever is killed on the way."""

from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from holocron_assets.crawl.attempts import MAX_ATTEMPTS, failed_page, settle_failure
from holocron_assets.crawl.batches import manifest
from holocron_assets.crawl.errors import WikiUnavailable
from holocron_assets.lake.clock import utc_now
from holocron_assets.lake.journal import Journal
from holocron_assets.lake.parquet import read_partition, write_partition
from holocron_assets.lake.paths import Lake
from holocron_assets.lake.schema import Row
from holocron_assets.lake.tables import PAGES

PERHAPS_A_PAGES_FAULT = frozenset({"server_error", "network_error", "api_error"})
"""Outcomes of a request that a page among those asked for may have caused."""

Group = Sequence[Row]


class GroupError(RuntimeError):
    """Some page of a group cannot be read, although the place it is read from works."""


class PageReader(Protocol):
    """Where a batch's pages are read from: a wiki, or a dump."""

    group_sizes: Sequence[int]
    """Pages read together by the number of failures before: fewer each time, at last one."""

    groups_at_once: int
    """Groups read at the same time."""

    def read(self, group: Group, run_id: str) -> list[dict[str, Any]]:
        """Rows of table `pages` for manifest rows; those of pages that failed have status 'failed'.

        Raises:
            GroupError: a page of the group is at fault.
            Exception: anything else is a fault of the place, and ends the run.
        """
        ...


@dataclass
class _Progress:
    """What is known of a batch: the rows so far, and the attempts that a kill cut short."""

    rows: dict[int, Row]
    crashes: Counter[int]
    failures: Counter[int]

    def attempts_before(self, wanted: Row) -> int:
        """Attempts at a page that count: those of earlier batches, and crashes."""
        return int(wanted["failures"]) + self.crashes[wanted["title_key"]]

    def group_level(self, wanted: Row) -> int:
        """How often the page was in a group that went wrong, in this batch."""
        key = wanted["title_key"]
        return self.crashes[key] + self.failures[key]


def fetch_batch(lake: Lake, batch: str, reader: PageReader, run_id: str) -> list[Row]:
    """Read what a batch lacks, and write its partition of table `pages`.

    Pages that have a row, in the partition or in its journal, are not read again. Each attempt is noted
    before it starts: a page that was being read when the process was killed four times is dead, and pages
    that were with it are read in ever smaller groups, so that they are not taken for it.

    Args:
        lake: where the manifest is and the pages go.
        batch: the batch's name.
        reader: where the pages are read from.
        run_id: written into the rows.

    Returns:
        All rows of the batch, in the manifest's order.

    Raises:
        NoManifestError: no such batch was cut.
        Exception: what the reader raises when the place does not work; what was read is kept.
    """
    wanted = manifest(lake, batch)
    journal_path = lake.journal(PAGES, batch)
    with Journal(journal_path) as journal:
        progress = _progress(lake, batch, journal)
        _bury_killers(wanted, progress, run_id)
        _read_groups(wanted, progress, reader, journal, run_id)
    rows = [progress.rows[page["title_key"]] for page in wanted]
    write_partition(lake, PAGES, batch, rows)
    journal_path.unlink(missing_ok=True)
    return rows


def _progress(lake: Lake, batch: str, journal: Journal) -> _Progress:
    stored = read_partition(lake, PAGES, batch) if lake.has(PAGES, batch) else []
    rows: dict[int, Row] = {row["requested_key"]: row for row in stored}
    started: Counter[int] = Counter()
    failures: Counter[int] = Counter()
    for record in journal.records():
        started.update(record.get("started", ()))
        started.subtract(record.get("ended", ()))
        failures.update(record.get("suspects", ()))
        for row in record.get("rows", ()):
            rows[row["requested_key"]] = PAGES.revive(row)
    return _Progress(rows=rows, crashes=+started, failures=failures)


def _bury_killers(wanted: Sequence[Row], progress: _Progress, run_id: str) -> None:
    """Give up on pages whose attempts are used up because the process was killed during each."""
    for page in wanted:
        attempts = progress.attempts_before(page)
        if page["title_key"] not in progress.rows and attempts >= MAX_ATTEMPTS:
            error = f"the process was killed while reading it, {progress.crashes[page['title_key']]} times"
            progress.rows[page["title_key"]] = failed_page(
                page, error, attempts=attempts, now=utc_now(), run_id=run_id
            )


def _read_groups(
    wanted: Sequence[Row], progress: _Progress, reader: PageReader, journal: Journal, run_id: str
) -> None:
    """Read group after group, several at once, until every wanted page has a row."""
    running: dict[Future[list[dict[str, Any]]], Group] = {}
    with ThreadPoolExecutor(reader.groups_at_once, thread_name_prefix="read-pages") as pool:
        try:
            while True:
                busy = {page["title_key"] for group in running.values() for page in group}
                open_pages = [
                    page
                    for page in wanted
                    if page["title_key"] not in progress.rows and page["title_key"] not in busy
                ]
                for group in _groups(open_pages, progress, reader.group_sizes):
                    if len(running) == reader.groups_at_once:
                        break
                    journal.append({"started": [page["title_key"] for page in group]})
                    running[pool.submit(reader.read, group, run_id)] = group
                if not running:
                    return
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    _settle(future, running.pop(future), progress, journal, run_id)
        finally:
            # An orderly end is no crash: what is still being read did not kill the process.
            for future, group in running.items():
                future.cancel()
                journal.append({"ended": [page["title_key"] for page in group]})


def _groups(pages: Sequence[Row], progress: _Progress, sizes: Sequence[int]) -> Iterator[Group]:
    by_size: dict[int, list[Row]] = {}
    for page in pages:
        level = min(progress.group_level(page), len(sizes) - 1)
        by_size.setdefault(sizes[level], []).append(page)
    for size in sorted(by_size, reverse=True):
        for start in range(0, len(by_size[size]), size):
            yield by_size[size][start : start + size]


def _settle(
    future: Future[list[dict[str, Any]]], group: Group, progress: _Progress, journal: Journal, run_id: str
) -> None:
    """Take in what one group's reading gave."""
    keys = [page["title_key"] for page in group]
    now = utc_now()
    try:
        rows = [_counted(row, group, progress, now) for row in future.result()]
    except GroupError as error:
        progress.failures.update(keys)
        if len(group) > 1:
            journal.append({"ended": keys, "suspects": keys})
            return
        attempts = progress.attempts_before(group[0]) + 1
        rows = [failed_page(group[0], str(error), attempts=attempts, now=now, run_id=run_id)]
    except BaseException as error:
        suspected = isinstance(error, WikiUnavailable) and error.outcome in PERHAPS_A_PAGES_FAULT
        journal.append({"ended": keys, "suspects": keys if suspected else []})
        raise
    progress.rows.update({row["requested_key"]: row for row in rows})
    journal.append({"ended": keys, "rows": rows})


def _counted(row: dict[str, Any], group: Group, progress: _Progress, now: datetime) -> dict[str, Any]:
    """Add the attempts made before to a row that was just read."""
    wanted = next(page for page in group if page["title_key"] == row["requested_key"])
    row = {**row, "attempts": progress.attempts_before(wanted) + 1}
    return settle_failure(row, now) if row["status"] == "failed" else row
