"""Turning a page object of the MediaWiki API into a row of table `pages`. Pure."""

import copy
import json
from typing import Any

from pydantic import BaseModel, ValidationError

from holocron_assets.crawl.mediawiki.answers import JsonObject
from holocron_assets.crawl.mediawiki.values import Number, Time
from holocron_assets.crawl.page_rows import Asked, Extract, text_columns
from holocron_assets.errors import first_problem
from holocron_assets.lake.declaration.keys import title_key


class _Slot(BaseModel):
    content: str | None = None
    contentmodel: str | None = None
    texthidden: bool = False


class _Revision(BaseModel):
    revid: Number
    timestamp: Time
    sha1: str | None = None
    slots: dict[str, _Slot] = {}


class _Titled(BaseModel):
    title: str


class _Page(BaseModel):
    title: str
    ns: Number = 0
    pageid: Number | None = None
    missing: bool = False
    special: bool = False
    invalid: bool = False
    invalidreason: str = "no reason given"
    iw: str | None = None
    redirect: bool = False
    revisions: list[_Revision] = []
    categories: list[_Titled] = []
    links: list[_Titled] | None = None


def page_row(page: JsonObject | None, asked: Asked, extract: Extract) -> dict[str, Any]:
    """Make the row of one page.

    Args:
        page: the page object, whole, as `WikiClient.fetch_pages` gives it; None if the wiki left it out.
        asked: the other values of the row.
        extract: finds links and redirect target if the page object has none.

    Returns:
        A row of table `pages`. Its status is 'ok', 'missing', 'invalid' (bad characters, another wiki's, a
        special page), 'failed' (it may work later; the caller sets `due_at`) or 'dead' (its text is
        hidden from readers).
    """
    try:
        read = _Page.model_validate(page) if page is not None else None
    except ValidationError as error:
        key, problem = first_problem(error)
        return asked.row("failed", f"the wiki's page object is not understood: {key}: {problem}")
    if page is None or read is None:
        return asked.row("failed", "the wiki's answer left it out")
    status, error_text = _status(read)
    row = asked.row(status, error_text) | {"payload": _payload(page)}
    if status == "invalid":
        return row
    row |= {"title": read.title, "title_key": title_key(asked.source, read.title), "namespace": read.ns}
    if status == "missing":
        return row
    return row | _revision_columns(read) | (_text_columns(read, extract) if status == "ok" else {})


def _status(page: _Page) -> tuple[str, str | None]:
    """The status of a page, and its error."""
    if reason := _invalid_reason(page):
        return "invalid", reason
    slot = _main_slot(page)
    if slot and slot.content is not None:
        return "ok", None
    if page.missing:
        return "missing", "the wiki has no such page"
    if slot and slot.texthidden:
        return "dead", f"the text of revision {page.revisions[0].revid} is hidden from readers"
    return "failed", "the wiki's answer had no text for it"


def _invalid_reason(page: _Page) -> str | None:
    if page.invalid:
        return page.invalidreason
    if page.iw is not None:
        return f"a link to another wiki (prefix {page.iw!r})"
    return "a special page, which has no text" if page.special else None


def _main_slot(page: _Page) -> _Slot | None:
    return page.revisions[0].slots.get("main") if page.revisions else None


def _revision_columns(page: _Page) -> dict[str, Any]:
    slot = _main_slot(page)
    revision = page.revisions[0] if page.revisions else None
    return {
        "page_id": page.pageid,
        "revision_id": revision.revid if revision else None,
        "revision_at": revision.timestamp if revision else None,
        "sha1": revision.sha1 if revision else None,
        "content_model": slot.contentmodel if slot else None,
    }


def _text_columns(page: _Page, extract: Extract) -> dict[str, Any]:
    slot = _main_slot(page)
    text = (slot.content if slot else None) or ""
    is_wikitext = slot is not None and slot.contentmodel == "wikitext"
    links, _, target = extract(text, is_redirect=page.redirect) if is_wikitext else ([], [], None)
    if page.links is not None:
        links = [link.title for link in page.links]
    categories = (item.title.partition(":")[2] for item in page.categories)
    return text_columns(text, links, categories, target if page.redirect else None)


def _payload(page: JsonObject) -> str:
    """The page object as JSON, with null for the text, which has a column of its own."""
    if _has_text(page):
        page = copy.deepcopy(page)
        page["revisions"][0]["slots"]["main"]["content"] = None
    return json.dumps(page, ensure_ascii=False, separators=(",", ":"))


def _has_text(page: JsonObject) -> bool:
    try:
        return page["revisions"][0]["slots"]["main"]["content"] is not None
    except (KeyError, IndexError, TypeError):
        return False
