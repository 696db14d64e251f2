"""Batches: what is cut from the frontier to be fetched together. The manifest is the batch."""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from holocron_assets.crawl.frontier.lost_manifests import restore_manifests
from holocron_assets.crawl.frontier.pending import PendingPage, pending_pages
from holocron_assets.crawl.sources.source import Source
from holocron_assets.errors import PermanentError
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.files.parquet import MissingPartitionError, read_partition, write_partition
from holocron_assets.lake.place.clock import SMALLEST_STEP
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.shared.server_locks import Lock
from holocron_assets.lake.tables import BATCH_PAGES, PAGES
from holocron_assets.lake.titles import InvalidTitle, PageTitle, Site

CHANGED = "changed"
MOST_UNFINISHED = 4
MOST_UNFINISHED_WITHOUT_LINKS = 40
LONGEST_GATHERING = timedelta(hours=1)

_NUMBERED = re.compile(r"(?P<source>.+)-(?P<number>[0-9]+)")


class NoManifestError(PermanentError, LookupError):
    """A partition key that no batch was cut for."""


def cut_batches(
    lake: Lake, source: Source, *, now: datetime, most: int | None = None, gather: bool = True
) -> list[str]:
    """Cut what is pending of one source into new batches and write their manifests.

    One process cuts at a time. Full batches are cut while few of the source are unfinished: four where links
    are followed, since each may bring pages that are wanted more; forty where nothing new is learnt. So that
    trickles do not make thousands, a short one is cut only when the source follows no links, or nothing of it
    is being fetched that may bring more pages, or nothing was cut for an hour. Pages that changed wait for
    each other for an hour, unless they fill a batch, or one that is cut anyway has room.

    Args:
        lake: where pages are and manifests go.
        source: whose frontier to cut.
        now: the moment written into the manifests.
        most: cut no more than so many.
        gather: let pages that changed wait for others.

    Returns:
        Names of the new batches, in order.
    """
    with _cutting(lake, source.name):
        restore_manifests(lake, source)
        unfinished = unfinished_batches(lake, source.name)
        room = _room(source, len(unfinished), most)
        if room <= 0:
            return []
        # One batch more than there is room for: of the pages that changed, that many may wait for others.
        pages = pending_pages(lake, source, limit=(room + 1) * source.batch_size)
        changed = [page for page in pages if page.reason == CHANGED]
        due = changed[: _due(changed, source.batch_size, now, gather=gather)]
        chunks = _chunks([*due, *(page for page in pages if page.reason != CHANGED)], source.batch_size)[
            :room
        ]
        if chunks and len(chunks[-1]) < source.batch_size:
            is_due = (len(chunks) - 1) * source.batch_size < len(due)
            if is_due or source.depth == 0 or not _more_may_come(lake, unfinished, chunks, now):
                chunks[-1] = [*chunks[-1], *changed[len(due) :]][: source.batch_size]
            else:
                chunks.pop()
        return _write_manifests(lake, source, chunks, now)


def cut_given_titles(
    lake: Lake, source: Source, site: Site, titles: Iterable[str], *, now: datetime
) -> list[str]:
    """Cut batches of pages that a person asks for, whatever was fetched before.

    Args:
        lake: where manifests go.
        source: the wiki to ask.
        site: its title rules.
        titles: page titles in any spelling; repeats count once.
        now: the moment written into the manifests.

    Returns:
        Names of the new batches.

    Raises:
        PermanentError: the source is no wiki, no titles were given, or some are no titles: the message names
            them all. Nothing is cut.
    """
    if source.kind != "mediawiki_api":
        raise PermanentError(f"source {source.name!r} is a dump: it holds what it holds, and is read whole")
    parsed = _parse_all(site, titles)
    if not parsed:
        raise PermanentError(f"no titles were given to fetch from {source.name!r}")
    pages = [
        PendingPage(
            title=page.title,
            title_key=title_key(source.name, page.title),
            namespace=page.namespace,
            depth=0,
            failures=0,
            reason="added",
        )
        for page in parsed
    ]
    with _cutting(lake, source.name):
        return _write_manifests(lake, source, _chunks(pages, source.batch_size), now)


def manifest(lake: Lake, batch: str) -> list[dict[str, Any]]:
    """The rows of table `batch_pages` of one batch, by position.

    Raises:
        NoManifestError: no such batch was cut; says which command cuts one.
    """
    try:
        return read_partition(lake, BATCH_PAGES, batch)
    except MissingPartitionError as error:
        raise NoManifestError(
            f"batch {batch!r} has no manifest in {lake.folder(BATCH_PAGES)}: batches are cut, not typed in. "
            "Use `holocron crawl --source NAME [--title TITLE ...]`, or launch job `add_pages`."
        ) from error


def unfinished_batches(lake: Lake, source_name: str) -> list[str]:
    """Batches of a source whose pages are not all in the lake yet, oldest first."""
    finished = set(lake.partitions(PAGES))
    return [batch for batch in batches_of(lake, source_name) if batch not in finished]


def batches_of(lake: Lake, source_name: str) -> list[str]:
    """Every batch of a source, oldest first."""
    return [batch for batch in lake.partitions(BATCH_PAGES) if source_of(batch) == source_name]


def source_of(batch: str) -> str:
    """The source that a batch's name begins with."""
    return batch.rpartition("-")[0]


def _parse_all(site: Site, titles: Iterable[str]) -> list[PageTitle]:
    """The pages that texts name, each once."""
    parsed: dict[str, PageTitle] = {}
    problems = []
    for text in titles:
        try:
            page = site.parse_title(text)
        except InvalidTitle as error:
            problems.append(str(error))
        else:
            parsed[page.title] = page
    if problems:
        raise PermanentError("; ".join(problems))
    return list(parsed.values())


def _room(source: Source, unfinished: int, most: int | None) -> int:
    """How many batches may be cut."""
    limit = MOST_UNFINISHED if source.depth != 0 else MOST_UNFINISHED_WITHOUT_LINKS
    if source.depth == 0 and unfinished > limit // 2:
        return 0  # a look is worth its time when there is room for many
    room = limit - unfinished
    return room if most is None else min(room, most)


def _due(changed: Sequence[PendingPage], batch_size: int, now: datetime, *, gather: bool) -> int:
    """How many of the pages that changed, the first that was told of first, wait no longer."""
    if not changed or not gather or now - _told_at(changed[0]) >= LONGEST_GATHERING:
        return len(changed)
    return len(changed) - len(changed) % batch_size


def _told_at(page: PendingPage) -> datetime:
    if page.told_at is None:
        raise ValueError(
            f"page {page.title!r} is pending because it changed, and nothing says when that was told"
        )
    return page.told_at


def _more_may_come(
    lake: Lake, unfinished: Sequence[str], chunks: Sequence[Sequence[PendingPage]], now: datetime
) -> bool:
    """Whether batches are being fetched, or cut just now, whose links may fill up a short one."""
    if len(chunks) > 1:
        return True
    if not unfinished:
        return False
    cut_at: datetime = min(row["cut_at"] for row in manifest(lake, unfinished[-1]))
    return timedelta(0) <= now - cut_at < LONGEST_GATHERING


def _chunks(pages: Sequence[PendingPage], size: int) -> list[Sequence[PendingPage]]:
    return [pages[start : start + size] for start in range(0, len(pages), size)]


def _cutting(lake: Lake, source_name: str) -> Lock:
    return lake.lock(f"cut-{source_name}")


def _write_manifests(
    lake: Lake, source: Source, chunks: Iterable[Sequence[PendingPage]], now: datetime
) -> list[str]:
    first = _next_number(lake, source.name)
    names = []
    for number, chunk in enumerate(chunks, start=first):
        names.append(f"{source.name}-{number:06d}")
        _write_manifest(lake, source, names[-1], chunk, now)
    return names


def _write_manifest(
    lake: Lake, source: Source, batch: str, pages: Sequence[PendingPage], now: datetime
) -> None:
    rows = [
        {
            "source": source.name,
            "batch": batch,
            "position": position,
            "title": page.title,
            "title_key": page.title_key,
            "namespace": page.namespace,
            "depth": page.depth,
            "discovered_from": page.discovered_from,
            "failures": page.failures,
            "reason": page.reason,
            "ordinal": page.ordinal,
            "origin": source.origin,
            # Also where the clock was set back since: of a page, what was fetched later is what counts.
            "cut_at": max(now, page.asked_at + SMALLEST_STEP) if page.asked_at else now,
        }
        for position, page in enumerate(pages)
    ]
    write_partition(lake, BATCH_PAGES, batch, rows)


def _next_number(lake: Lake, source_name: str) -> int:
    """One more than the highest number ever used, by manifests that a crash left unwritten too."""
    used = lake.names_used(BATCH_PAGES) | lake.names_used(PAGES)
    names = [_NUMBERED.fullmatch(name) for name in used]
    numbers = [int(name["number"]) for name in names if name and name["source"] == source_name]
    return max(numbers, default=0) + 1
