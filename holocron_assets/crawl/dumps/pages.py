"""Turning a page of an XML export into a row of table `pages`, as the API would give it. Pure."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha1
from typing import Any, Literal

from holocron_assets.crawl.page_rows import Asked, Extract, text_columns
from holocron_assets.lake.titles import InterwikiTitle, InvalidTitle, Site

Elements = Mapping[str, Any]
Status = Literal["ok", "invalid", "dead"]

OVERLONG = "@overlong"
"""Key among a page's elements whose value says why the others were left out."""

_LARGEST_NUMBER = 2**63 - 1


@dataclass(frozen=True)
class DumpPage:
    """One page of an export, with its newest revision.

    Attributes:
        ordinal: place in the export, from 0.
        title: canonical title with its namespace prefix; invented if the export has none.
        namespace: MediaWiki namespace number.
        redirect_title: where the export says that the page redirects to.
        timestamp: when the revision was saved.
        sha1: SHA-1 of the text as MediaWiki writes it, in base 36.
        text: the wikitext; None if the export does not hold it.
        status: 'ok'; 'invalid' (no page can have this title) or 'dead' (there is no text to read).
        error: why it is not 'ok'; None if it is.
        elements: the page's elements as JSON values, with the text left out.
    """

    ordinal: int
    title: str
    namespace: int
    page_id: int | None
    redirect_title: str | None
    revision_id: int | None
    timestamp: datetime | None
    sha1: str | None
    model: str | None
    text: str | None
    status: Status
    error: str | None
    elements: Elements


def mapping_of(value: Any) -> Elements:
    """A JSON value if it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}


def text_of(elements: Elements, name: str) -> str | None:
    """The text of a child element (the first, if it repeats); None if there is none or it is empty."""
    value = elements.get(name)
    if isinstance(value, list):
        value = value[0]
    if isinstance(value, dict):
        value = value.get("#text")
    return value.strip() or None if isinstance(value, str) else None


def number_of(elements: Elements, name: str) -> int | None:
    """The number in a child element; None if there is none, or none that 64 bits hold."""
    return number(text_of(elements, name))


def number(text: str | None) -> int | None:
    """A text as a number; None if it is none, or none that 64 bits hold."""
    try:
        value = int(text or "")
    except ValueError:
        return None
    return value if abs(value) <= _LARGEST_NUMBER else None


def time_of(elements: Elements, name: str) -> datetime | None:
    """The time in a child element, in UTC; None if there is none."""
    try:
        moment = datetime.fromisoformat(text_of(elements, name) or "")
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):  # in the east, the year 1 begins before the first date in UTC
        return None


def parse_page(ordinal: int, elements: Elements, text: str | None, site: Site) -> DumpPage:
    """Read a page's facts from its elements.

    A broken page is returned with an error, so that no page is lost.

    Args:
        ordinal: the page's place in the export.
        elements: its elements, with its newest revision only.
        text: the revision's text.
        site: the title rules of the export's wiki.
    """
    revision = _mapping(elements, "revision")
    text_element = _mapping(revision, "text")
    title, namespace, title_error = title_of(ordinal, elements, site)
    text_error = _text_error(elements, text_element, text)
    return DumpPage(
        ordinal=ordinal,
        title=title,
        namespace=namespace,
        page_id=number_of(elements, "id"),
        redirect_title=_mapping(elements, "redirect").get("@title"),
        revision_id=number_of(revision, "id"),
        timestamp=time_of(revision, "timestamp"),
        sha1=text_of(revision, "sha1") or text_element.get("@sha1"),
        model=text_of(revision, "model"),
        text=text,
        status="invalid" if title_error else "dead" if text_error else "ok",
        error=title_error or text_error,
        elements=elements,
    )


def _mapping(elements: Elements, name: str) -> Elements:
    value = elements.get(name)
    return mapping_of(value[0] if isinstance(value, list) else value)


def title_of(ordinal: int, elements: Elements, site: Site) -> tuple[str, int, str | None]:
    """A page's canonical title, invented if there is none; its namespace; and what is wrong with them."""
    stated = text_of(elements, "ns")
    namespace = number(stated)
    title = text_of(elements, "title")
    if title is None:
        # the brackets make it a title that no wiki has
        return f"<untitled page {ordinal}>", namespace or 0, "it has no <title>"
    try:
        parsed = site.parse_title(title)
    except InterwikiTitle:
        return title, namespace or 0, None
    except InvalidTitle as error:
        return title, namespace or 0, str(error)
    if stated is None:
        return parsed.title, parsed.namespace, None
    if namespace is None:
        return title, 0, f"its <ns> is no number: {stated[:40]!r}"
    # the export has no list of namespaces: the number is right, and only the prefix is not known
    return parsed.title if parsed.namespace == namespace else title, namespace, None


def _text_error(elements: Elements, text_element: Elements, text: str | None) -> str | None:
    if OVERLONG in elements:
        return str(elements[OVERLONG])
    if "revision" not in elements:
        return "it has no <revision>"
    if "@deleted" in text_element:
        return "the text of its revision was deleted from the wiki's history"
    if text is None:
        return "the export holds no texts (a stub dump): export the pages with their text"
    return None


_SHA1_END = 1 << 160


def page_row(page: DumpPage | None, asked: Asked, extract: Extract) -> dict[str, Any]:
    """Make the row of one page.

    Args:
        page: the page at the place where it was listed (`export.wanted_pages`); None if there is no page.
        asked: the other values of the row.
        extract: finds links, categories and the redirect target; an export's own redirect target wins.

    Returns:
        A row of table `pages`. Its status is 'ok'; 'invalid' (no page can have this title; text is kept);
        'dead' (the export holds no text for it); or 'failed' (the export has changed since it was listed, and
        must be listed again; the caller sets `due_at`).
    """
    if page is None or page.title != asked.requested_title:
        found = f"{page.title!r} has its place" if page else "the export ends before it"
        return asked.row("failed", f"the export has changed since it was listed: {found} now")
    return asked.row(page.status, page.error) | {
        "namespace": page.namespace,
        "page_id": page.page_id,
        "revision_id": page.revision_id,
        "revision_at": page.timestamp,
        "sha1": _sha1(page),
        "content_model": page.model,
        "payload": _payload(page),
        **_text_columns(page, extract),
    }


def _text_columns(page: DumpPage, extract: Extract) -> dict[str, Any]:
    if page.text is None:
        return {}
    is_wikitext = page.model in {None, "wikitext"}
    is_redirect = page.redirect_title is not None
    links, categories, target = extract(page.text, is_redirect=is_redirect) if is_wikitext else ([], [], None)
    return text_columns(page.text, links, categories, page.redirect_title or target)


def _sha1(page: DumpPage) -> str | None:
    """The SHA-1 that the export states, in hexadecimal as in the API; if it states none, that of the text."""
    try:
        stated = int(page.sha1 or "", 36)
    except ValueError:
        stated = -1
    if 0 <= stated < _SHA1_END:
        return f"{stated:040x}"
    return None if page.text is None else sha1(page.text.encode("utf-8"), usedforsecurity=False).hexdigest()


def _payload(page: DumpPage) -> str:
    document = {"ordinal": page.ordinal, "page": page.elements}
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))
