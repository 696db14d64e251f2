"""Matches the pages of the API's answers with the requested titles."""

from dataclasses import dataclass, field
from typing import Annotated
from urllib.parse import unquote

from pydantic import AfterValidator, BaseModel, Field

from holocron_assets.crawl.mediawiki.answers import JsonObject

# A title changes at most three times, by Unicode composition, by the wiki's rules, and into another variant
# of its language: longer chains are loops.
_LONGEST_CHAIN = 4
_SEPARATORS = ("|", "\x1f")
_EMPTY: JsonObject = {"title": "", "invalid": True, "invalidreason": "an empty title"}


def _with_title(page: JsonObject) -> JsonObject:
    if not isinstance(page.get("title"), str):
        raise ValueError("a page object without a title")  # noqa: TRY004 - pydantic wraps it
    return page


_Page = Annotated[JsonObject, AfterValidator(_with_title)]


class _Change(BaseModel):
    before: str = Field(alias="from")
    to: str
    fromencoded: bool = False


class _Query(BaseModel):
    normalized: list[_Change] = []
    converted: list[_Change] = []
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
            ValueError: the answer is not built as MediaWiki builds it.
        """
        answer = _Query.model_validate(query)
        for change in (*answer.normalized, *answer.converted):
            asked = unquote(change.before) if change.fromencoded else change.before
            self.renamed[asked] = change.to
        for page in (*answer.pages, *answer.interwiki):
            self.pages[page["title"]] = _merged(self.pages.get(page["title"], {}), page)

    def complete_links(self) -> None:
        """Give pages without links an empty list of links, which the API leaves out."""
        for page in self.pages.values():
            if "revisions" in page:
                page.setdefault("links", [])

    def find(self, title: str) -> JsonObject | None:
        """The page object that answers a title; None if the answers left it out."""
        for _ in range(_LONGEST_CHAIN):
            if title in self.pages:
                return self.pages[title]
            if title not in self.renamed:
                return None
            title = self.renamed[title]
            if not title:
                return _EMPTY  # '#top', for example, has no title, and the wiki does not answer for it
        return None


def unsendable(title: str) -> str | None:
    """Why a title cannot be asked for at all; None if it can.

    Its characters are in no title of any wiki, but would change the meaning of the whole request.
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
    """A page object with the values of a further answer: lists grow, other values are replaced."""
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
