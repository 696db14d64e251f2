"""Changes that the API reports: entries of its list of recent changes, and the revisions of pages."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel

from holocron_assets.crawl.mediawiki.answers import ApiAnswer, JsonObject
from holocron_assets.crawl.mediawiki.values import Number, TimeInUtc, is_number

ChangeKind = Literal["edit", "new", "delete", "restore", "move"]

# From MediaWiki's manual, pages Log actions and API:RecentChanges. Merging histories and importing add
# revisions to a page, like a restoration. Other log entries count only if they made a revision, as uploads
# do.
_LOG_KINDS: Mapping[tuple[str, str], ChangeKind] = {
    ("delete", "delete"): "delete",
    ("delete", "delete_redir"): "delete",
    ("delete", "delete_redir2"): "delete",
    ("delete", "restore"): "restore",
    ("import", "upload"): "restore",
    ("import", "interwiki"): "restore",
    ("merge", "merge"): "restore",
    ("merge", "merge-into"): "restore",
    ("move", "move"): "move",
    ("move", "move_redir"): "move",
}
_OTHER_PAGE = ("target_title", "dest_title")
"""Parameters of a log entry that name a second page: the one that a page was moved to, or merged into."""


@dataclass(frozen=True)
class Change:
    """Something that happened to one page.

    Attributes:
        title: its title, as the wiki writes it.
        kind: what happened.
        revision_id: the revision that it has since then; None if the wiki does not say.
        changed_at: when, by the wiki's clock.
    """

    title: str
    kind: ChangeKind
    revision_id: int | None
    changed_at: datetime


@dataclass(frozen=True)
class Entry:
    """An entry of the list of recent changes.

    Attributes:
        entry_id: the wiki's number for it.
        at: its time, by the wiki's clock.
        changes: the changes that it reports: none, one, or two for a page that was moved.
    """

    entry_id: int
    at: datetime
    changes: tuple[Change, ...]


@dataclass(frozen=True)
class ReportedChanges:
    """The recent changes that one answer reported.

    Attributes:
        entries: oldest first.
        wiki_time: when the wiki answered, by its own clock.
        following: where the list continues; None at its end.
    """

    entries: tuple[Entry, ...]
    wiki_time: datetime
    following: Mapping[str, str] | None


class _Entry(BaseModel):
    rcid: Number
    timestamp: TimeInUtc
    type: str
    title: str | None = None  # a hidden entry has none
    revid: Number = 0
    logtype: str = ""
    logaction: str = ""
    logparams: Any = None


class _Query(BaseModel):
    recentchanges: list[_Entry] = []


class _WikiTime(BaseModel):
    curtimestamp: TimeInUtc


def read_wiki_time(answer: ApiAnswer) -> datetime:
    """When the wiki gave an answer to a query with `curtimestamp`, by its own clock.

    Raises:
        ValueError: the answer does not say.
    """
    return _WikiTime.model_validate(answer.content or {}).curtimestamp


def read_changes(answer: ApiAnswer) -> ReportedChanges:
    """Read an answer to `list=recentchanges` with `curtimestamp`.

    Raises:
        ValueError: the answer is not built as MediaWiki builds it.
    """
    entries = _Query.model_validate(answer.query).recentchanges
    reported = tuple(Entry(entry.rcid, entry.timestamp, tuple(_changes(entry))) for entry in entries)
    return ReportedChanges(reported, read_wiki_time(answer), answer.next_continue)


def difference(known_revision: int | None, page: JsonObject) -> tuple[ChangeKind, int | None] | None:
    """The change that a page must have had, if the wiki's revision differs from ours.

    Args:
        known_revision: the newest revision that was fetched; None if the page was missing.
        page: the page object of `prop=info`.

    Returns:
        The kind of change, and the revision that the page has now; None if nothing happened, or if the wiki
        does not say. A page whose newest revision is older than ours was restored without the newer ones.
    """
    if page.get("missing"):
        return None if known_revision is None else ("delete", None)
    revision = page.get("lastrevid")
    if not is_number(revision) or revision == known_revision:
        return None
    if known_revision is None:
        return "new", revision
    return ("edit" if revision > known_revision else "restore"), revision


def _changes(entry: _Entry) -> Iterator[Change]:
    if entry.title is None:
        return
    match entry.type:
        case "edit" | "new" as kind:
            yield Change(entry.title, kind, entry.revid or None, entry.timestamp)
        case "log":
            yield from _logged_changes(entry, entry.title)


def _logged_changes(entry: _Entry, title: str) -> Iterator[Change]:
    kind = _LOG_KINDS.get((entry.logtype, entry.logaction))
    parameters: Mapping[str, Any] = entry.logparams if isinstance(entry.logparams, dict) else {}
    if kind is None:
        if entry.revid:
            yield Change(title, "edit", entry.revid, entry.timestamp)
        return
    is_gone = kind == "move" and bool(parameters.get("suppressredirect"))
    yield Change(title, "delete" if is_gone else kind, None, entry.timestamp)
    for name in _OTHER_PAGE:
        if isinstance(other := parameters.get(name), str):
            yield Change(other, kind, None, entry.timestamp)
