"""Which page of the API's answers belongs to which title that was asked for."""

from dataclasses import dataclass, field
from typing import Annotated
from urllib.parse import unquote

from pydantic import AfterValidator, BaseModel, Field

from holocron_assets.crawl.mediawiki.answers import JsonObject

# A title is changed at most twice, by Unicode composition and by the wiki's rules: longer chains are loops.
_LONGEST_CHAIN = 4
_SEPARATORS = ("|", "\x1f")
_EMPTY: JsonObject = {"title": "", "invalid": True, "invalidreason": "an empty title"}


def _with_title(page: JsonObject) -> JsonObject:
    if not isinstance(page.get("title"), str):
        raise ValueError("a page object without a title")  # noqa: TRY004 - what pydantic turns into its own error
    return page


_Page = Annotated[JsonObject, AfterValidator(_with_title)]


class _Change(BaseModel):
    before: str = Field(alias="from")
    to: str
    fromencoded: bool = False


class _Query(BaseModel):
    normalized: list[_Change] = []
    pages: list[_Page] = []
    interwiki: list[_Page] = []


@dataclass
class AnsweredPages:
    """The pages of one query, gathered from all of its answers."""

    pages: dict[str, JsonObject] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)

    def add(self, query: JsonObject) -> None:
        """Take in the `query` object of one answer.

        Raises:
            ValueError: it is not built as MediaWiki builds it.
        """
        answer = _Query.model_validate(query)
        for change in answer.normalized:
            asked = unquote(change.before) if change.fromencoded else change.before
            self.renamed[asked] = change.to
        for page in (*answer.pages, *answer.interwiki):
            self.pages[page["title"]] = _merged(self.pages.get(page["title"], {}), page)

    def complete_links(self) -> None:
        """Let pages without links say so: the API leaves an empty list out."""
        for page in self.pages.values():
            if "revisions" in page:
                page.setdefault("links", [])

    def find(self, title: str) -> JsonObject | None:
        """The page object that answers for a title; None if the answers left it out."""
        for _ in range(_LONGEST_CHAIN):
            if title in self.pages:
                return self.pages[title]
            if title not in self.renamed:
                return None
            title = self.renamed[title]
            if not title:
                return _EMPTY  # of a title such as '#top' nothing is left, and the wiki says no more of it
        return None


def unsendable(title: str) -> str | None:
    """Why a title cannot even be asked for; None if it can.

    Such characters are in no title of any wiki, but would change what else a request asks for.
    """
    if not title:
        return "an empty title"
    for separator in _SEPARATORS:
        if separator in title:
            return f"{separator!r} separates titles in a request, and can be in none"
    try:
        title.encode("utf-8")
    except UnicodeEncodeError:
        return "it holds half a character, which UTF-8 cannot express"
    return None


def _merged(page: JsonObject, more: JsonObject) -> JsonObject:
    """A page object with what a further answer adds to it: lists grow, all else keeps its newest value."""
    merged = page | more
    for name in page.keys() & more.keys():
        if isinstance(page[name], list) and isinstance(more[name], list):
            merged[name] = page[name] + more[name]
    if isinstance(merged.get("revisions"), list):
        # A page that was edited between two answers comes with both revisions.
        merged["revisions"] = sorted(merged["revisions"], key=_revision_id)[-1:]
    return merged


def _revision_id(revision: object) -> int:
    found = revision.get("revid") if isinstance(revision, dict) else None
    return found if isinstance(found, int) else 0
