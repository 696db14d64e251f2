"""A wiki that people edit: the pages that stand, those that are deleted, and the log of what happened."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from random import Random
from typing import Literal

from local_wiki.texts import text_of, title_of

Kind = Literal["edit", "new", "delete", "restore", "move"]
SHARES: Mapping[Kind, float] = {"edit": 0.90, "new": 0.05, "delete": 0.02, "restore": 0.01, "move": 0.02}
"""What share of all changes is of each kind."""

_FAVOURITES = 3  # the power by which some pages are edited more often than others


@dataclass(frozen=True)
class Revision:
    """One version of a page's text."""

    revision_id: int
    at: datetime
    text: str


@dataclass
class Page:
    """A page, whether it stands or is deleted.

    Attributes:
        page_id: stays when it is moved or restored.
        number: of its texts; None for a redirect.
        title: under which it stands now.
        newest: its newest revision.
    """

    page_id: int
    number: int | None
    title: str
    newest: Revision


@dataclass(frozen=True)
class Entry:
    """A line of the list of recent changes. `target` is where a page was moved to."""

    entry_id: int
    at: datetime
    kind: Kind
    title: str
    page_id: int
    revision_id: int
    target: str | None = None


@dataclass
class ChangingWiki:
    """The wiki. Nothing moves by itself: a caller of `change` says when.

    Attributes:
        chance: decides what changes.
        characters: about how long a page is.
        pages: those that stand, by title.
        deleted: those that do not, by title.
        log: every change, oldest first.
    """

    chance: Random
    characters: int
    pages: dict[str, Page] = field(default_factory=dict)
    deleted: dict[str, Page] = field(default_factory=dict)
    log: list[Entry] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=count)
    _page_ids: Iterator[int] = field(default_factory=lambda: count(1))
    _revision_ids: Iterator[int] = field(default_factory=lambda: count(1001))

    def fill(self, pages: int, at: datetime) -> None:
        """Write the first pages."""
        for _ in range(pages):
            page = self._write_page(at)
            self._list("new", page, at)

    def change(self, at: datetime) -> None:
        """Let one thing happen, each kind as often as its share says."""
        kind = self.chance.choices(list(SHARES), weights=list(SHARES.values()))[0]
        if kind == "move":
            self._move(self._favourite(), at)
            return
        if kind == "restore" and self.deleted:
            page = self.deleted.pop(self.chance.choice(list(self.deleted)))
            self.pages[page.title] = page
        elif kind == "delete":
            page = self.pages.pop(self._favourite().title)
            self.deleted[page.title] = page
        elif kind == "new":
            page = self._write_page(at)
        else:
            kind, page = "edit", self._favourite()
            page.newest = self._revision(at, page.number)
        self._list(kind, page, at)

    def _move(self, page: Page, at: datetime) -> None:
        """Give a page another title, by a revision with the same text; a redirect stays behind."""
        old, page.title = page.title, title_of(next(self._numbers))
        page.newest = Revision(next(self._revision_ids), at, page.newest.text)
        self.pages[page.title] = page
        redirect = Revision(next(self._revision_ids), at, f"#REDIRECT [[{page.title}]]")
        self.pages[old] = Page(next(self._page_ids), None, old, redirect)
        self.log.append(Entry(len(self.log) + 1, at, "move", old, page.page_id, 0, target=page.title))

    def _list(self, kind: Kind, page: Page, at: datetime) -> None:
        """Add a change that is no move to the log."""
        ids = (page.page_id, page.newest.revision_id) if kind in {"edit", "new"} else (0, 0)
        self.log.append(Entry(len(self.log) + 1, at, kind, page.title, *ids))

    def _write_page(self, at: datetime) -> Page:
        number = next(self._numbers)
        page = Page(next(self._page_ids), number, title_of(number), self._revision(at, number))
        self.pages[page.title] = page
        return page

    def _favourite(self) -> Page:
        """An article, some far more often than others."""
        articles = [page for page in self.pages.values() if page.number is not None]
        return articles[int(len(articles) * self.chance.random() ** _FAVOURITES)]

    def _revision(self, at: datetime, number: int | None) -> Revision:
        revision_id = next(self._revision_ids)
        linked = max(len(self.pages), 100)
        text = text_of(number or 0, revision_id, pages=linked, characters=self.characters)
        return Revision(revision_id, at, text)
