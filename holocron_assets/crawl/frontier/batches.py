"""Batches: pages that are cut from the frontier to be fetched together. A batch is its manifest."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from holocron_assets.crawl.frontier.pending import PendingPage, pending_pages
from holocron_assets.crawl.sources.source import Source
from holocron_assets.errors import PermanentError
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.files.parquet import (
    MissingPartitionError,
    read_partition,
    read_table,
    write_partition,
)
from holocron_assets.lake.place.clock import SMALLEST_STEP
from holocron_assets.lake.place.paths import Lake, source_of
from holocron_assets.lake.shared.server_locks import Lock
from holocron_assets.lake.tables import BATCH_PAGES, PAGES, SEED_TITLES
from holocron_assets.lake.titles import InvalidTitle, PageTitle, Site
from holocron_assets.lake.views.database import connect, query
from holocron_assets.telemetry.logs import logger

CHANGED = "changed"
MOST_UNFINISHED = 4
MOST_UNFINISHED_WITHOUT_LINKS = 40
LONGEST_GATHERING = timedelta(hours=1)

_CUT_BEFORE = """
    select title_key, max(batch) as batch
    from lake.batch_pages
    where source = $source and list_contains($keys, title_key)
    group by title_key
"""
_NUMBERED = re.compile(r"(?P<source>.+)-(?P<number>[0-9]+)")


_MOST_TITLES_SHOWN = 20  # of each batch, in a debug line
_LOG = logger(__name__)

_Pending = TypeVar("_Pending")


@dataclass(frozen=True)
class ListedPages:
    """What became of a list of pages.

    Attributes:
        new: pages that were cut into batches now.
        known: pages that were in a batch before.
        batches: the batches that are to be fetched: the new ones, and older ones with pages of the list.
    """

    new: int
    known: int
    batches: Sequence[str]


class NoManifestError(PermanentError, LookupError):
    """No batch was cut for a partition key."""


def cut_batches(
    lake: Lake, source: Source, *, now: datetime, most: int | None = None, gather: bool = True
) -> list[str]:
    """Cut a source's pending pages into new batches and write their manifests.

    One process cuts at a time. Full batches are cut while few of the source's batches are unfinished. Where
    links are followed, few are four, since each batch may find pages that are wanted more; elsewhere they are
    forty. To avoid many small batches, a short one is cut only in three cases: the source follows no links,
    no batch being fetched may bring more pages, or nothing was cut for an hour. Changed pages wait up to an
    hour for others, unless they fill a batch or a batch that is cut anyway has room.

    Args:
        lake: where pages are and manifests go.
        source: the source of the frontier to cut.
        now: the time written into the manifests.
        most: the largest number of batches to cut.
        gather: let changed pages wait for others.

    Returns:
        Names of the new batches, in order.
    """
    with _cutting(lake, source.name):
        _restore_manifests(lake, source)
        unfinished = unfinished_batches(lake, source.name)
        room = _room(source, len(unfinished), most)
        if room <= 0:
            return []
        # One batch more than there is room for, since that many changed pages may wait for others.
        pages = pending_pages(lake, source, limit=(room + 1) * source.batch_size)
        changed = [page for page in pages if page.reason == CHANGED]
        due = changed[: _due(changed, source.batch_size, now, gather=gather)]
        pieces = chunks([*due, *(page for page in pages if page.reason != CHANGED)], source.batch_size)[:room]
        if pieces and len(pieces[-1]) < source.batch_size:
            is_due = (len(pieces) - 1) * source.batch_size < len(due)
            if is_due or source.depth == 0 or not _more_may_come(lake, unfinished, pieces, now):
                pieces[-1] = [*pieces[-1], *changed[len(due) :]][: source.batch_size]
            else:
                pieces.pop()
        _LOG.debug(
            "decided what to fetch next",
            source=source.name,
            unfinished=len(unfinished),
            room=room,
            pending=len(pages),
            changed=len(changed),
            due=len(due),
            cut=[[page.title for page in piece[:_MOST_TITLES_SHOWN]] for piece in pieces],
        )
        return _write_manifests(lake, source, pieces, now)


def cut_given_titles(
    lake: Lake, source: Source, site: Site, titles: Iterable[str], *, now: datetime
) -> list[str]:
    """Cut batches of pages that a person asks for, even if they were fetched before.

    A batch of the same pages that is not read yet is taken as it is: who asked may have been interrupted.

    Args:
        lake: where manifests go.
        source: the wiki to ask.
        site: its title rules.
        titles: page titles in any spelling; repeated ones count once.
        now: the time written into the manifests.

    Returns:
        Names of their batches.

    Raises:
        PermanentError: the source is no wiki, no titles were given, or some texts are no titles; the
            message names them all. Nothing is cut.
    """
    _refuse_dump(source)
    parsed = _parse_all(site, titles)
    if not parsed:
        raise PermanentError(f"no titles were given to fetch from {source.name!r}")
    with _cutting(lake, source.name):
        pieces = list(chunks(_added(source, parsed), source.batch_size))
        begun = _begun(lake, source, pieces)
        new = [piece for piece, batch in zip(pieces, begun, strict=True) if batch is None]
        return [*filter(None, begun), *_write_manifests(lake, source, new, now)]


def _begun(lake: Lake, source: Source, pieces: Sequence[Sequence[PendingPage]]) -> list[str | None]:
    """The batch of just the pages of each piece that is not read yet, if there is one."""
    unfinished = set(unfinished_batches(lake, source.name))
    batch_of = _batches_by_key(lake, source, [page.title_key for piece in pieces for page in piece])
    found: list[str | None] = []
    for piece in pieces:
        keys = {page.title_key for page in piece}
        batch = batch_of.get(piece[0].title_key)
        is_it = batch in unfinished and keys == {
            row["title_key"] for row in read_partition(lake, BATCH_PAGES, batch, ["title_key"])
        }
        found.append(batch if is_it else None)
    return found


def cut_new_titles(lake: Lake, source: Source, pages: Sequence[PageTitle], *, now: datetime) -> ListedPages:
    """Cut batches of those pages of a list that were never cut before. The same list again cuts nothing.

    Args:
        lake: where manifests are and go.
        source: the wiki to ask.
        pages: the pages that the list names.
        now: the time written into the manifests.

    Raises:
        PermanentError: the source is no wiki.
    """
    _refuse_dump(source)
    added = _added(source, pages)
    with _cutting(lake, source.name):
        batch_of = _batches_by_key(lake, source, [page.title_key for page in added])
        new = [page for page in added if page.title_key not in batch_of]
        cut = _write_manifests(lake, source, chunks(new, source.batch_size), now)
        begun = set(batch_of.values()) & set(unfinished_batches(lake, source.name))
    return ListedPages(new=len(new), known=len(added) - len(new), batches=[*cut, *sorted(begun - set(cut))])


def manifest(lake: Lake, batch: str) -> list[dict[str, Any]]:
    """The rows of table `batch_pages` of one batch, by position.

    Raises:
        NoManifestError: no such batch was cut. The message names the command that cuts one.
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


def _refuse_dump(source: Source) -> None:
    if source.kind != "mediawiki_api":
        raise PermanentError(
            f"source {source.name!r} is a dump, which is read whole: no titles can be added to it"
        )


def _added(source: Source, pages: Iterable[PageTitle]) -> list[PendingPage]:
    return [
        PendingPage(
            title=page.title,
            title_key=title_key(source.name, page.title),
            namespace=page.namespace,
            depth=0,
            failures=0,
            reason="added",
        )
        for page in pages
    ]


def _batches_by_key(lake: Lake, source: Source, keys: Sequence[int]) -> dict[int, str]:
    """The newest batch of each of some pages, by title key, of those that are in any."""
    with connect(lake, relations=[f"lake.{BATCH_PAGES.name}"]) as connection:
        found = query(connection, _CUT_BEFORE, {"source": source.name, "keys": list(keys)})
    return {row["title_key"]: row["batch"] for row in found}


def _parse_all(site: Site, titles: Iterable[str]) -> list[PageTitle]:
    """The pages that the texts name, each once."""
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
    """How many more batches may be cut."""
    limit = MOST_UNFINISHED if source.depth != 0 else MOST_UNFINISHED_WITHOUT_LINKS
    if source.depth == 0 and unfinished > limit // 2:
        return 0  # reading the frontier is worth its time only if there is room for many
    room = limit - unfinished
    return room if most is None else min(room, most)


def _due(changed: Sequence[PendingPage], batch_size: int, now: datetime, *, gather: bool) -> int:
    """How many of the changed pages wait no longer; they are in the order in which changes were reported."""
    if not changed or not gather:
        return len(changed)
    reported_at = _reported_at(changed[0])
    # A report of the future counts as later than a request by a clock that was ahead: nothing waits for it.
    if reported_at > now or now - reported_at >= LONGEST_GATHERING:
        return len(changed)
    return len(changed) - len(changed) % batch_size


def _reported_at(page: PendingPage) -> datetime:
    if page.reported_at is None:
        raise ValueError(
            f"page {page.title!r} is pending because it changed, and nothing says when that was reported"
        )
    return page.reported_at


def _more_may_come(
    lake: Lake, unfinished: Sequence[str], pieces: Sequence[Sequence[PendingPage]], now: datetime
) -> bool:
    """Whether a batch that is being fetched, or was cut just now, may bring links that fill a short one."""
    if len(pieces) > 1:
        return True
    if not unfinished:
        return False
    cut_at: datetime = min(row["cut_at"] for row in manifest(lake, unfinished[-1]))
    return timedelta(0) <= now - cut_at < LONGEST_GATHERING


def chunks(pending: Sequence[_Pending], size: int) -> list[Sequence[_Pending]]:
    """What is pending, in pieces of at most `size`."""
    return [pending[start : start + size] for start in range(0, len(pending), size)]


def _cutting(lake: Lake, source_name: str) -> Lock:
    return lake.lock(f"cut-{source_name}")


def _write_manifests(
    lake: Lake, source: Source, pieces: Iterable[Sequence[PendingPage]], now: datetime
) -> list[str]:
    first = next_number(lake, source.name, (BATCH_PAGES, PAGES))
    names = []
    for number, chunk in enumerate(pieces, start=first):
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
            "cut_at": _cut_at(page, now),
        }
        for position, page in enumerate(pages)
    ]
    write_partition(lake, BATCH_PAGES, batch, rows)


def _cut_at(page: PendingPage, now: datetime) -> datetime:
    """Later than the last request and the change, even if the clock was set back: the later fetch counts.

    A page of a dump is read after its file was listed: otherwise the outcome would count for the file before.
    """
    listed_at = page.listed_at if page.ordinal is not None else None
    moments = (now, page.reported_at, listed_at, page.asked_at + SMALLEST_STEP if page.asked_at else None)
    return max(moment for moment in moments if moment)


def next_number(lake: Lake, source_name: str, tables: Iterable[Table]) -> int:
    """The number of a source's next batch: one more than the highest that was ever used.

    Args:
        lake: the lake.
        source_name: name of the source.
        tables: the tables whose partitions are the batches, also those whose manifest a crash left unwritten.
    """
    names = (_NUMBERED.fullmatch(name) for table in tables for name in lake.names_used(table))
    return (
        max((int(name["number"]) for name in names if name and name["source"] == source_name), default=0) + 1
    )


_REPORTED = (
    "position",
    "requested_title",
    "requested_key",
    "namespace",
    "depth",
    "discovered_from",
    "fetched_at",
)


def restore_manifests(lake: Lake, source: Source) -> list[str]:
    """Write a manifest for each batch of a source that has pages but no manifest, as after a damaged file.

    Without a manifest no table is made of the batch any more. Pages of the batch that were not read yet are
    not lost: they are pending again, and are cut into another batch.

    Returns:
        The batches.
    """
    with _cutting(lake, source.name):
        return _restore_manifests(lake, source)


def _restore_manifests(lake: Lake, source: Source) -> list[str]:
    cut = set(lake.partitions(BATCH_PAGES))
    lost = [batch for batch in lake.partitions(PAGES) if batch not in cut and source_of(batch) == source.name]
    return [batch for batch in lost if _restore(lake, source, batch)]


def _restore(lake: Lake, source: Source, batch: str) -> bool:
    pages = read_partition(lake, PAGES, batch, _REPORTED)
    if not pages:
        return False  # the batch has no pages, so there is nothing to restore
    ordinals = _ordinals(lake, source, [page["requested_key"] for page in pages])
    rows = [
        {
            "source": source.name,
            "batch": batch,
            "position": page["position"],
            "title": page["requested_title"],
            "title_key": page["requested_key"],
            "namespace": page["namespace"],
            "depth": page["depth"],
            "discovered_from": page["discovered_from"],
            "failures": 0,
            "reason": "new",
            "ordinal": ordinals.get(page["requested_key"]),
            "origin": source.origin,
            "cut_at": min(page["fetched_at"] for page in pages),
        }
        for page in pages
    ]
    write_partition(lake, BATCH_PAGES, batch, rows)
    return True


def _ordinals(lake: Lake, source: Source, keys: list[int]) -> Mapping[int, int]:
    """The positions of pages in their dump."""
    if source.kind != "mediawiki_dump" or not lake.has(SEED_TITLES, source.name):
        return {}
    seeds = read_table(lake, SEED_TITLES, source.name, ["title_key", "ordinal"])
    found = seeds.filter(pc.is_in(seeds.column("title_key"), pa.array(keys, pa.int64())))
    return dict(zip(*(found.column(name).to_pylist() for name in ("title_key", "ordinal")), strict=True))
