"""Checking revisions: a pass over all fetched pages of a wiki finds changes that its list does not report.

A pass is a row of table `revision_checks`. Each run goes on where the last one stopped, so that other
requests to the wiki need not wait for the whole pass.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from time import monotonic
from typing import Any, Literal

from holocron_assets.crawl.changes.answered import KnownPage, answered_titles
from holocron_assets.crawl.changes.rows import Seen, after_request, change_rows
from holocron_assets.crawl.changes.store import add_changes
from holocron_assets.crawl.errors import WikiRefused, WikiUnavailable
from holocron_assets.crawl.mediawiki.changes import Change, difference
from holocron_assets.crawl.mediawiki.client import MOST_TITLES, PageRevisions, WikiClient
from holocron_assets.crawl.readers import PERHAPS_A_PAGES_FAULT
from holocron_assets.crawl.sources.seeds import load_site
from holocron_assets.crawl.sources.source import Source
from holocron_assets.errors import PermanentError
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.parquet import read_partition, write_partition
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.shared.server_locks import Lock
from holocron_assets.lake.tables import REVISION_CHECKS, SEED_TITLES, SITES
from holocron_assets.lake.titles import Site
from holocron_assets.telemetry.logs import logger

_LOG = logger(__name__)

Why = Literal["schedule", "person", "gap"]

_SLICE = 20_000  # titles held in memory at once: some 10 MB, and a run's work at a request a second
_STEP = 20 * MOST_TITLES  # pages between two records of the place: a killed run repeats at most these
_SMALLER_GROUP = 10  # titles asked for together after a failure of more; after a failure of these, one
_LOWEST_KEY = -(1 << 63)


def refuse_dump(source: Source) -> None:
    """Raise PermanentError if a source has no wiki to compare its pages with."""
    if source.kind != "mediawiki_api":
        raise PermanentError(
            f"source {source.name!r} is a dump, which has no wiki to compare with: replace its file, and "
            "`holocron run` reads it again"
        )


def passes(lake: Lake, source_name: str) -> list[Row]:
    """A source's passes, oldest first."""
    if not lake.has(REVISION_CHECKS, source_name):
        return []
    return list(read_partition(lake, REVISION_CHECKS, source_name))


def unfinished_pass(lake: Lake, source_name: str) -> Row | None:
    """The unfinished pass; None if there is none."""
    return next((row for row in passes(lake, source_name) if row["finished_at"] is None), None)


def start_pass(lake: Lake, source_name: str, why: Why, now: datetime) -> Row:
    """Start a pass, unless one is unfinished. After a gap, that one starts anew: it checked pages too early.

    Returns:
        The unfinished pass.
    """
    with _noting(lake, source_name):
        current = unfinished_pass(lake, source_name)
        if current and why != "gap":
            return current
        started: Row = {
            **dict.fromkeys(REVISION_CHECKS.arrow_schema.names),
            "source": source_name,
            "started_at": now,
            "why": why,
            "checked": 0,
            "changed": 0,
        }
        finished = [row for row in passes(lake, source_name) if row["finished_at"]]
        write_partition(lake, REVISION_CHECKS, source_name, [*finished, started])
    return started


def seeds_are_due(lake: Lake, source_name: str) -> bool:
    """Whether the newest pass began after the seeds were last listed.

    A pass compares known pages only; a listing of the seeds finds the others. A listing first asks the wiki
    about itself. So the two files show when it began, and whether the list was written after that.
    """
    begun = passes(lake, source_name)
    if not begun or not (lake.has(SITES, source_name) and lake.has(SEED_TITLES, source_name)):
        return False
    (site,) = read_partition(lake, SITES, source_name, ["fetched_at"])
    is_listed = lake.written_at(SEED_TITLES, source_name) >= lake.written_at(SITES, source_name)
    return not is_listed or bool(site["fetched_at"] < begun[-1]["started_at"])


def check_revisions(
    lake: Lake, source: Source, client: WikiClient, *, seconds: float
) -> tuple[Row, list[Row]]:
    """Go on with a source's pass, 50 titles a request, and write the changes that it finds.

    Args:
        lake: what was fetched, and where changes and the pass go.
        source: a wiki with an unfinished pass. One process at a time may work on it.
        client: asks it.
        seconds: after this time the rest is left to another run.

    Returns:
        The pass as it stands now, and rows of table `page_changes` for what was found.

    Raises:
        LookupError: no pass is unfinished.
        WikiUnavailable, WikiRefused: the wiki gave no answer; what was checked before is kept.
    """
    current = unfinished_pass(lake, source.name)
    if current is None:
        raise LookupError(f"no check of {source.name!r} is under way")
    found: list[Row] = []
    site, deadline = load_site(lake, source.name), monotonic() + seconds
    for pages in _steps(lake, source, current["place"]):
        checked: list[KnownPage] = []
        rows: list[Row] = []
        try:
            for asked, changed in _checked(pages, client, source, site):
                checked += asked
                rows += changed
        finally:
            # Also after a failure: a wiki that may be asked only once in a run would never be checked.
            if rows:
                add_changes(lake, source.name, rows)
            if checked:
                current = _note(lake, current, checked, changed=len(rows))
        found += rows
        if monotonic() >= deadline:
            return current, found
    return _note(lake, current, (), changed=0), found


def _steps(lake: Lake, source: Source, place: int | None) -> Iterator[Sequence[KnownPage]]:
    """Known pages after a place, in the order of their keys, in steps; the place is recorded after each."""
    after = _LOWEST_KEY if place is None else place
    while pages := answered_titles(lake, source, after=after, limit=_SLICE):
        for start in range(0, len(pages), _STEP):
            yield pages[start : start + _STEP]
        after = pages[-1].title_key


def _checked(
    pages: Sequence[KnownPage], client: WikiClient, source: Source, site: Site
) -> Iterator[tuple[Sequence[KnownPage], Sequence[Row]]]:
    """The pages, 50 at a time, with rows for those that have changed since they were fetched."""
    for start in range(0, len(pages), MOST_TITLES):
        group = pages[start : start + MOST_TITLES]
        rows: list[Row] = []
        for asked, answer in _answers(group, client, source):
            rows += _changed_rows(asked, answer, source, site)
        yield group, rows


def _answers(
    pages: Sequence[KnownPage], client: WikiClient, source: Source
) -> Iterator[tuple[Sequence[KnownPage], PageRevisions]]:
    """What the wiki says of some pages, with those that it was asked for.

    One title may be refused, as robots.txt may forbid it, or make the wiki fail. It must not keep the others
    from being checked. So after a failure smaller groups are asked for, and a title that fails alone is left
    out.

    Raises:
        WikiUnavailable: the wiki answers nothing, for now.
        WikiRefused: the wiki answers nothing, so none of the pages is at fault.
    """
    waiting, is_answered = [pages], False
    failure: WikiUnavailable | WikiRefused | None = None
    while waiting:
        group = waiting.pop()
        try:
            yield group, client.fetch_revision_ids([page.title for page in group])
            is_answered = True
        except (WikiUnavailable, WikiRefused) as error:
            failure = _pages_fault(error, client, source)
            if len(group) > 1:
                size = _SMALLER_GROUP if len(group) > _SMALLER_GROUP else 1
                waiting += [group[start : start + size] for start in range(0, len(group), size)]
            else:
                _LOG.warning(
                    "did not check a page", page=group[0].title, source=source.name, error=str(error)
                )
    if failure and not is_answered and not _answers_others(pages, client, source):
        raise failure


def _pages_fault(
    error: WikiUnavailable | WikiRefused, client: WikiClient, source: Source
) -> WikiUnavailable | WikiRefused:
    """The failure, if one of the pages may have caused it.

    The wiki is asked for something else first. Its good answer also ends the count of failures in a row;
    otherwise several bad titles would open the breaker.
    """
    if error.outcome not in PERHAPS_A_PAGES_FAULT:
        raise error
    if isinstance(error, WikiUnavailable):
        client.draw_others(source.namespaces, ())
    return error


def _answers_others(pages: Sequence[KnownPage], client: WikiClient, source: Source) -> bool:
    """Whether the wiki states the revision of a page chosen at random."""
    others = client.draw_others(source.namespaces, {page.title for page in pages})
    if others:
        client.fetch_revision_ids(others[:1])
    return bool(others)


def _changed_rows(asked: Sequence[KnownPage], answer: PageRevisions, source: Source, site: Site) -> list[Row]:
    now = utc_now()
    changes = []
    for page in asked:
        found = answer.pages[page.title]
        if found and (change := difference(page.revision_id, found)):
            changes.append(Change(page.title, *change, changed_at=answer.wiki_time))
    asked_at = {page.title_key: page.asked_at for page in asked}
    found_now = change_rows(changes, Seen("check", now, answer.wiki_time - now), source, site)
    # By the wiki's present rules a page may have another title than when it was fetched, and another key.
    latest = max(asked_at.values())
    return [after_request(row, asked_at.get(row["title_key"], latest)) for row in found_now]


def _note(lake: Lake, current: Row, pages: Sequence[KnownPage], *, changed: int) -> dict[str, Any]:
    """Record how far a pass has come; without pages, that it is finished."""
    now = utc_now()
    noted = {
        **current,
        "place": pages[-1].title_key if pages else current["place"],
        "checked": current["checked"] + len(pages),
        "changed": current["changed"] + changed,
        "continued_at": now,
        "finished_at": None if pages else now,
    }
    source_name = current["source"]
    with _noting(lake, source_name):
        rows = passes(lake, source_name)
        # A gap that was found meanwhile replaces this pass by another.
        kept = [noted if row["started_at"] == current["started_at"] else row for row in rows]
        write_partition(lake, REVISION_CHECKS, source_name, kept)
    return noted


def _noting(lake: Lake, source_name: str) -> Lock:
    return lake.lock(f"revision-checks-{source_name}")
