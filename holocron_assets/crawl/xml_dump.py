"""MediaWiki XML exports, streamed: memory is bounded by the largest page, whatever the size of the file."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lxml import etree

from holocron_assets.crawl.dump_elements import (
    DumpPage,
    Elements,
    all_text,
    elements_of,
    local_name,
    number,
    number_of,
    parse_page,
    text_of,
    time_of,
)
from holocron_assets.crawl.dump_stream import DumpError, open_elements
from holocron_assets.lake.schema import Row
from holocron_assets.lake.titles import DEFAULT_SITE, Site

__all__ = ["DumpError", "DumpPage", "ListedPage", "list_pages", "read_pages", "read_site"]

_NO_TIME = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class ListedPage:
    """What a manifest needs of an export's page.

    Attributes:
        ordinal: place in the export, from 0.
        title: canonical title with its namespace prefix.
        namespace: MediaWiki namespace number.
        page_id: MediaWiki page id.
        revision_id: id of the newest revision that the export holds.
    """

    ordinal: int
    title: str
    namespace: int
    page_id: int | None
    revision_id: int | None


def read_site(path: Path, source: str) -> Row:
    """What an export says of its wiki, as a row of table `sites`.

    Where it says nothing, the row has MediaWiki's English namespaces and the source's name.

    Args:
        path: the export.
        source: name of the source, for the row.

    Raises:
        DumpError: the file is missing, no export, or broken before its first page.
    """
    with closing(open_elements(path)) as elements:
        first = next(elements, None)
        said = elements_of(first) if first is not None and local_name(first.tag) == "siteinfo" else None
    made_at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    return _site_row(source, said if isinstance(said, dict) else {}, made_at)


def read_pages(path: Path, start: int = 0, stop: int | None = None) -> Iterator[DumpPage]:
    """The pages of an export in its order, each with its newest revision.

    A page that is broken in itself comes with an error; only a broken file ends the reading.

    Args:
        path: the export; `.gz` and `.bz2` are unpacked on the way.
        start: ordinal of the first page wanted.
        stop: ordinal of the first page not wanted any more; the file is not read beyond it.

    Raises:
        DumpError: the file is missing or no export; or it is cut off or broken, after all pages before that.
    """
    return _pages(path, start, stop, with_text=True)


def list_pages(path: Path) -> Iterator[ListedPage]:
    """The pages of an export in its order, without their texts.

    Raises:
        DumpError: as `read_pages` does.
    """
    for page in _pages(path, 0, None, with_text=False):
        yield ListedPage(page.ordinal, page.title, page.namespace, page.page_id, page.revision_id)


@dataclass(frozen=True)
class _Revision:
    elements: Elements
    text: str | None

    @property
    def age(self) -> tuple[datetime, int]:
        return time_of(self.elements, "timestamp") or _NO_TIME, number_of(self.elements, "id") or 0


def _pages(path: Path, start: int, stop: int | None, *, with_text: bool) -> Iterator[DumpPage]:
    site = DEFAULT_SITE
    newest: _Revision | None = None
    ordinal, last_title = 0, None
    with closing(open_elements(path)) as elements:
        while stop is None or ordinal < stop:
            try:
                element = next(elements, None)
            except DumpError as error:
                raise DumpError(path, error.problem, ordinal, last_title) from error.__cause__
            if element is None:
                return
            match local_name(element.tag):
                case "siteinfo":
                    site = Site.from_row(_site_row("", elements_of(element), _NO_TIME))
                case "revision" if ordinal >= start:
                    revision = _revision(element, with_text=with_text)
                    newest = revision if newest is None or revision.age >= newest.age else newest
                case "page":
                    last_title = _child_text(element, "title")
                    if ordinal >= start:
                        yield _page(ordinal, element, newest, site)
                    ordinal, newest = ordinal + 1, None
            _forget(element)


def _page(ordinal: int, element: etree._Element, newest: _Revision | None, site: Site) -> DumpPage:
    for revision in [child for child in element if local_name(child.tag) == "revision"]:
        element.remove(revision)
    elements = elements_of(element)
    facts = elements if isinstance(elements, dict) else {}
    if newest is None:
        return parse_page(ordinal, facts, None, site)
    return parse_page(ordinal, {**facts, "revision": newest.elements}, newest.text, site)


def _revision(element: etree._Element, *, with_text: bool) -> _Revision:
    body = next((child for child in element if local_name(child.tag) == "text"), None)
    if body is None:
        return _Revision(_as_mapping(elements_of(element)), None)
    held = len(body) or body.text or not (body.get("deleted") or number(body.get("bytes")))
    text = all_text(body) if held and with_text else None
    attributes = {f"@{local_name(str(name))}": value for name, value in body.attrib.items()}
    element.remove(body)
    elements = _as_mapping(elements_of(element))
    return _Revision({**elements, "text": {**attributes, "#text": None}}, text)


def _forget(element: etree._Element) -> None:
    """Free what was read. The element itself stays, since the parser still stands on it."""
    element.clear()
    parent = element.getparent()
    previous = element.getprevious()
    # a page's title and id come before its revisions, and are still needed
    while parent is not None and previous is not None and previous.tag == element.tag:
        parent.remove(previous)
        previous = element.getprevious()


def _child_text(element: etree._Element, name: str) -> str | None:
    return next((child.text for child in element if local_name(child.tag) == name), None)


def _as_mapping(elements: Any) -> dict[str, Any]:
    return elements if isinstance(elements, dict) else {}


def _site_row(source: str, said: Any, made_at: datetime) -> Row:
    said = _as_mapping(said)
    return {
        "source": source,
        "site_name": text_of(said, "sitename") or source,
        "generator": text_of(said, "generator"),
        "base_url": text_of(said, "base"),
        "title_case": "case-sensitive" if text_of(said, "case") == "case-sensitive" else "first-letter",
        "namespaces": _namespaces(said) or _namespaces_by_default(),
        # an export does not list them
        "interwiki_prefixes": sorted(DEFAULT_SITE.interwiki_prefixes),
        "article_count": None,
        "page_count": None,
        "fetched_at": made_at,
    }


def _namespaces(said: Elements) -> list[dict[str, Any]]:
    stated = _as_mapping(said.get("namespaces")).get("namespace", [])
    names: dict[int, str] = {}
    for space in stated if isinstance(stated, list) else [stated]:
        key = number(_as_mapping(space).get("@key"))
        if key is not None:
            names.setdefault(key, _as_mapping(space).get("#text", ""))
    return [_namespace(key, name) for key, name in names.items()]


def _namespaces_by_default() -> list[dict[str, Any]]:
    return [_namespace(key, name) for key, name in DEFAULT_SITE.local_names.items()]


def _namespace(key: int, name: str) -> dict[str, Any]:
    canonical = DEFAULT_SITE.local_names.get(key, name)
    return {"id": key, "name": name, "canonical": canonical, "aliases": []}
