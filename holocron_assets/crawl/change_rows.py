"""Rows of table `page_changes`: made from what a wiki tells, merged, and dropped when settled. Pure."""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from holocron_assets.crawl.api_changes import Change
from holocron_assets.crawl.sources import Source
from holocron_assets.lake.keys import title_key
from holocron_assets.lake.schema import Row
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


@dataclass(frozen=True)
class Answer:
    """The newest answer for a title.

    Attributes:
        is_ok: whether there was a page.
        revision_id: its revision.
        answered_at: when it came, by our clock.
    """

    is_ok: bool
    revision_id: int | None
    answered_at: datetime


def change_rows(changes: Iterable[Change], told: Told, source: Source, site: Site) -> list[dict[str, Any]]:
    """Rows of the changes in a source's namespaces, in the order told. Titles that cannot be are left out."""
    rows = []
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
    return rows


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


def unsettled(
    changes: Iterable[Row],
    answers: Mapping[int, Answer],
    in_flight: AbstractSet[int],
    *,
    unknown_are_wanted: bool,
) -> list[Row]:
    """The changes that a page may still have to be fetched for.

    A page that was never asked for will be read as it is then, if it ever is: its change matters only while
    it is being read, or where every page of the wiki is wanted and this may be the first to be heard of it.

    Args:
        changes: rows of table `page_changes`.
        answers: what was answered, by title key.
        in_flight: keys of titles that are being read.
        unknown_are_wanted: whether the source starts from every page of its wiki.
    """
    return [
        row
        for row in changes
        if (
            not is_settled(row, answers[row["title_key"]])
            if row["title_key"] in answers
            else row["title_key"] in in_flight or (unknown_are_wanted and row["kind"] != "delete")
        )
    ]


def is_settled(change: Row, answer: Answer) -> bool:
    """Whether an answer is of after a change.

    A revision says so itself, unless the wiki does not give it any more: then an answer that came clearly
    later is the truth. For other changes an answer must not be older than when we were told, or than the
    change and any difference of clocks.
    """
    surely_after = change["changed_at"] + CLOCK_MARGIN
    if change["kind"] in _BY_REVISION and change["revision_id"] is not None:
        has_it = answer.is_ok and (answer.revision_id or 0) >= change["revision_id"]
        return has_it or bool(answer.answered_at >= surely_after)
    return bool(answer.answered_at >= min(change["seen_at"], surely_after))


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
