"""Rows of table `page_changes`: made from what a wiki reports, and merged. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from holocron_assets.crawl.mediawiki.changes import Change
from holocron_assets.crawl.sources.patterns import fitting
from holocron_assets.crawl.sources.source import Source
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.place.clock import SMALLEST_STEP
from holocron_assets.lake.titles import InvalidTitle, Site

SeenIn = Literal["recent_changes", "check"]

CLOCK_MARGIN = timedelta(minutes=5)
"""How far a wiki's clocks and copies of its database may differ. A wiki that lags more does not answer."""
CLOCK_STEP = timedelta(minutes=1)
"""If a wiki's clock is by more than this further from ours than before, or nearer, one of them was set."""

_BY_REVISION = frozenset({"edit", "new"})


@dataclass(frozen=True)
class Seen:
    """How and when we saw a change.

    Attributes:
        seen_in: where we saw it.
        seen_at: when, by our clock.
        clock_ahead: by how much the wiki's clock was ahead of ours.
    """

    seen_in: SeenIn
    seen_at: datetime
    clock_ahead: timedelta


def change_rows(changes: Iterable[Change], seen: Seen, source: Source, site: Site) -> list[dict[str, Any]]:
    """Rows of the changes that a source's namespaces and patterns let in, in the order of the report.

    Titles that the wiki's rules forbid are left out.
    """
    rows: list[dict[str, Any]] = []
    for change in changes:
        try:
            page = site.parse_title(change.title)
        except InvalidTitle:
            continue  # the wiki's rules forbid the title by now, so the page cannot be asked for
        if page.namespace in source.namespaces:
            row = {
                "source": source.name,
                "title": page.title,
                "title_key": title_key(source.name, page.title),
                "namespace": page.namespace,
                "kind": change.kind,
                "seen_in": seen.seen_in,
                "revision_id": change.revision_id,
                "changed_at": change.changed_at - _whole_minutes(seen.clock_ahead),
                "seen_at": seen.seen_at,
            }
            rows.append(row)
    fit = fitting([row["title"] for row in rows], include=source.include, exclude=source.exclude)
    return [row for row, fits in zip(rows, fit, strict=True) if fits]


def after_request(row: Row, asked_at: datetime) -> Row:
    """A change that counts as later than a request, though the clock may have been set back since.

    Otherwise it would count as fetched already. It also counts as later than its report: see `merged`.

    Args:
        row: the change.
        asked_at: when its title was asked for, by our clock then.
    """
    seen_at = asked_at + SMALLEST_STEP
    times = {"seen_at": seen_at, "changed_at": seen_at + SMALLEST_STEP}
    return {**row, **{name: max(row[name], at) for name, at in times.items()}}


def merged(known: Iterable[Row], reported: Iterable[Row]) -> list[Row]:
    """The newest change of each title, from the known rows and the rows that are reported now.

    A change that is reported again stays as it was. A second edit of a page keeps the waiting time of the
    first: otherwise a page that is edited often would never have waited long enough to be fetched. But one
    that counts as later than a request does not: the first was fetched by that.
    """
    newest: dict[int, Row] = {row["title_key"]: row for row in known}
    for row in reported:
        before = newest.get(row["title_key"])
        newest[row["title_key"]] = row if before is None else _newer(before, row)
    return list(newest.values())


def _newer(before: Row, row: Row) -> Row:
    is_edit = {row["kind"], before["kind"]} <= _BY_REVISION
    is_known = all(row[name] == before[name] for name in ("kind", "revision_id"))
    is_known &= row["changed_at"] == before["changed_at"] or (is_edit and row["revision_id"] is not None)
    if is_known:
        return before
    if row["seen_at"] < before["seen_at"]:  # the clock was set back: only the order of the reports is right
        return row
    if not _is_later(before, row, are_edits=is_edit):
        return before
    counts_as_later = row["changed_at"] > row["seen_at"]  # than a request: see `after_request`
    seen_at = before["seen_at"] if is_edit and not counts_as_later else row["seen_at"]
    return {**row, "seen_at": seen_at, "changed_at": max(before["changed_at"], row["changed_at"])}


def _is_later(before: Row, row: Row, *, are_edits: bool) -> bool:
    """Whether a change that was reported later also happened later, and was not only listed late.

    Revisions say so. Times of two readings do only in part: a clock may have been corrected between them.
    """
    if are_edits and None not in {row["revision_id"], before["revision_id"]}:
        return bool(row["revision_id"] > before["revision_id"])
    return bool(row["changed_at"] > before["changed_at"] - CLOCK_MARGIN)


def _whole_minutes(span: timedelta) -> timedelta:
    """The difference in whole minutes: less than a minute is the time of the answer, not a wrong clock."""
    return timedelta(minutes=round(span / timedelta(minutes=1)))
