"""MediaWiki XML exports, streamed: memory depends on the largest page, not on the size of the file."""

from collections.abc import Container, Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from holocron_assets.crawl.dumps.pages import (
    DumpPage,
    Elements,
    mapping_of,
    number,
    number_of,
    parse_page,
    text_of,
    title_of,
)
from holocron_assets.crawl.dumps.parser import (
    LANGUAGE,
    NO_PAGES,
    DumpError,
    PageParser,
    RawPage,
    parse_pages,
    read_chunks,
)
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.titles import CASE_SENSITIVE, DEFAULT_SITE, Site, case_sensitive_namespaces
from holocron_assets.languages.language import language_code, load_language

__all__ = ["DumpError", "DumpPage", "ListedPage", "read_site"]

_Names = Mapping[int, tuple[str, ...]]

_NO_TIME = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class ListedPage:
    """The facts that a manifest needs of an export's page.

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
    """An export's data about its wiki, as a row of table `sites`.

    If it has none, the row has MediaWiki's namespaces in the export's language, and the source's name.

    Args:
        path: the export.
        source: name of the source, for the row.

    Raises:
        DumpError: the file is missing, no export, or broken before its first page.
    """
    parser = PageParser(NO_PAGES)
    with closing(parse_pages(path, read_chunks(path), parser)) as parsed:
        for _ in parsed:
            if parser.site is not None:
                break
    made_at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    return _site_row(source, parser.site or {}, made_at)


def wanted_pages(
    path: Path, chunks: Iterable[bytes], parser: PageParser, wanted: Container[int], last: int
) -> Iterator[DumpPage]:
    """Some pages of an export in its order, each with its newest revision.

    A broken page is returned with an error; only a broken file ends the reading. The file is not read beyond
    the last page that is wanted.

    Args:
        path: the export, for errors.
        chunks: its bytes; only those from the first wanted page on if the parser already knows its head.
        parser: reads those pages whole.
        wanted: their ordinals.
        last: the last of them.

    Raises:
        DumpError: the file is missing or no export, or it is cut off or broken. Pages before the break are
            returned first.
    """
    with closing(_parsed(path, chunks, parser)) as parsed:
        for page, site in parsed:
            if page.ordinal in wanted:
                yield parse_page(page.ordinal, page.elements, page.text, site)
            if page.ordinal >= last:
                return


def listed_page(page: RawPage, site: Site) -> ListedPage:
    """The listed facts of a page, by the title rules of its wiki."""
    title, namespace, _ = title_of(page.ordinal, page.elements, site)
    revision = mapping_of(page.elements.get("revision"))
    return ListedPage(
        page.ordinal, title, namespace, number_of(page.elements, "id"), number_of(revision, "id")
    )


def site_rules(siteinfo: Elements | None) -> Site:
    """The title rules of a wiki, from the `siteinfo` of its export."""
    return Site.from_row(_site_row("", siteinfo, _NO_TIME)) if siteinfo else DEFAULT_SITE


def _parsed(path: Path, chunks: Iterable[bytes], parser: PageParser) -> Generator[tuple[RawPage, Site]]:
    site: Site | None = None
    with closing(parse_pages(path, chunks, parser)) as parsed:
        for _ in parsed:
            if parser.pages and site is None:
                site = site_rules(parser.site)
            for page in parser.pages:
                yield page, site or DEFAULT_SITE
            parser.pages.clear()
            parser.starts.clear()


def _site_row(source: str, siteinfo: Any, made_at: datetime) -> Row:
    siteinfo = mapping_of(siteinfo)
    language = text_of(siteinfo, LANGUAGE)
    names = load_language(language_code(language)).namespaces
    title_case = CASE_SENSITIVE if text_of(siteinfo, "case") == CASE_SENSITIVE else "first-letter"
    namespaces = _namespaces(siteinfo, names) or _namespaces_by_default(names)
    cases = dict.fromkeys(space["id"] for space in namespaces) | _cases(siteinfo)
    return {
        "source": source,
        "site_name": text_of(siteinfo, "sitename") or source,
        "generator": text_of(siteinfo, "generator"),
        "base_url": text_of(siteinfo, "base"),
        "title_case": title_case,
        "namespaces": namespaces,
        # an export does not list them
        "interwiki_prefixes": sorted(DEFAULT_SITE.interwiki_prefixes),
        "article_count": None,
        "page_count": None,
        "fetched_at": made_at,
        "language": language,
        "case_sensitive_namespaces": case_sensitive_namespaces(title_case, cases),
    }


def _stated(siteinfo: Elements) -> dict[int, Elements]:
    """The namespaces that an export states, by their numbers."""
    stated = mapping_of(siteinfo.get("namespaces")).get("namespace", [])
    spaces: dict[int, Elements] = {}
    for space in map(mapping_of, stated if isinstance(stated, list) else [stated]):
        key = number(space.get("@key"))
        if key is not None:
            spaces.setdefault(key, space)
    return spaces


def _cases(siteinfo: Elements) -> dict[int, str | None]:
    return {key: space.get("@case") for key, space in _stated(siteinfo).items()}


def _namespaces(siteinfo: Elements, known: _Names) -> list[dict[str, Any]]:
    return [_namespace(key, space.get("#text", ""), known) for key, space in _stated(siteinfo).items()]


def _namespaces_by_default(known: _Names) -> list[dict[str, Any]]:
    english = DEFAULT_SITE.local_names
    return [_namespace(key, known.get(key, (name,))[0], known) for key, name in english.items()]


def _namespace(key: int, name: str, known: _Names) -> dict[str, Any]:
    canonical = DEFAULT_SITE.local_names.get(key, name)
    return {
        "id": key,
        "name": name,
        "canonical": canonical,
        "aliases": [own for own in known.get(key, ()) if own != name],
    }
