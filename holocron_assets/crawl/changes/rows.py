"""Rows of table `page_changes`: made from what a wiki tells, and merged. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from holocron_assets.crawl.mediawiki.changes import Change
from holocron_assets.crawl.sources.source import Source
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.titles import InvalidTitle, Site

SeenIn = Literal["recent_changes", "check"]

CLOCK_MARGIN = timedelta(minutes=5)
"""By how much a wiki's clocks and copies of its database may differ: longer than any that answers at all."""

_BY_REVISION = frozenset({"edit", "new"})


@dataclass(frozen=True)
class Told:
    """How a change came to us.

    Attributes:
        seen_in: where we saw it.
        seen_at: when, by our clock.
        clock_ahead: by how much the wiki's clock was ahead of ours.
    """

    seen_in: SeenIn
    seen_at: datetime
    clock_ahead: timedelta


def change_rows(changes: Iterable[Change], told: Told, source: Source, site: Site) -> list[dict[str, Any]]:
    """Rows of the changes that a source's namespaces and patterns let in, in the order told.

    Titles that cannot be are left out.
    """
    rows: list[dict[str, Any]] = []
    for change in changes:
        try:
            page = site.parse_title(change.title)
        except InvalidTitle:
            continue  # a page whose title the wiki's rules forbid by now: it cannot be asked for either
        if page.namespace in source.namespaces:
            row = {
                "source": source.name,
                "title": page.title,
                "title_key": title_key(source.name, page.title),
                "namespace": page.namespace,
                "kind": change.kind,
                "seen_in": told.seen_in,
                "revision_id": change.revision_id,
                "changed_at": change.changed_at - _whole_minutes(told.clock_ahead),
                "seen_at": told.seen_at,
            }
            rows.append(row)
    fitting = _fitting([row["title"] for row in rows], source)
    return [row for row, fits in zip(rows, fitting, strict=True) if fits]


def merged(known: Iterable[Row], told: Iterable[Row]) -> list[Row]:
    """The newest change of each title, when rows that are told now come to those that are known.

    A change that is told again stays as it was. An edit of a page that was edited before waits since that
    one: else a page that is edited again and again would never have waited long enough to be fetched.
    """
    newest: dict[int, Row] = {row["title_key"]: row for row in known}
    for row in told:
        before = newest.get(row["title_key"])
        newest[row["title_key"]] = row if before is None else _newer(before, row)
    return list(newest.values())


def _fitting(titles: Sequence[str], source: Source) -> list[bool]:
    """Which titles a source's patterns let in. Arrow reads them with RE2, as DuckDB does for the frontier."""
    column = pa.array(titles, pa.string())

    def fit(patterns: Iterable[str]) -> list[bool]:
        found = [pc.match_substring_regex(column, pattern).to_pylist() for pattern in patterns]
        return [any(each) for each in zip(*found, strict=True)]

    included = fit(source.include) if source.include else [True] * len(titles)
    excluded = fit(source.exclude) if source.exclude else [False] * len(titles)
    return [is_in and not is_out for is_in, is_out in zip(included, excluded, strict=True)]


def _newer(before: Row, row: Row) -> Row:
    is_edit = {row["kind"], before["kind"]} <= _BY_REVISION
    told_before = all(row[name] == before[name] for name in ("kind", "revision_id"))
    told_before &= row["changed_at"] == before["changed_at"] or (is_edit and row["revision_id"] is not None)
    if told_before or row["changed_at"] < before["changed_at"]:
        return before
    return {**row, "seen_at": before["seen_at"]} if is_edit else row


def _whole_minutes(span: timedelta) -> timedelta:
    """A clock that is right to the minute is right: what is left is the time that an answer takes."""
    return timedelta(minutes=round(span / timedelta(minutes=1)))
