"""Lists of pages of a wiki: titles, or addresses of pages, in a file of JSON lines or CSV."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from holocron_assets.crawl.sources.lists import ListError, read_records
from holocron_assets.crawl.sources.source import DEFAULT_PORTS, Source
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.titles import InvalidTitle, PageTitle, Site

_MOST_PROBLEMS = 20
_WEB = ("http://", "https://")


def read_title_list(path: Path, source: Source, site: Row) -> list[PageTitle]:
    """The pages that a list names, each once, in the list's order.

    Args:
        path: JSON lines, each a text or an object with `title` or `url`; or CSV with a column of that name.
        source: the wiki's source.
        site: the wiki's row of table `sites`.

    Raises:
        ListError: the file cannot be read, or lines name no page of the wiki. The message names the first 20
            of these lines.
    """
    rules, pages, problems = Site.from_row(site), dict[str, PageTitle](), list[str]()
    for place, record in read_records(path):
        try:
            page = rules.parse_title(_title(record, source, site))
        except (ListError, InvalidTitle) as error:
            problems.append(f"{place}: {error}")
        else:
            pages.setdefault(page.title, page)
    if problems:
        more = f"; and {len(problems) - _MOST_PROBLEMS} more" if len(problems) > _MOST_PROBLEMS else ""
        raise ListError(f"{path}, {'; '.join(problems[:_MOST_PROBLEMS])}{more}. Nothing was added")
    return list(pages.values())


def _title(record: Mapping[str, Any] | Exception, source: Source, site: Row) -> str:
    if isinstance(record, Exception):
        raise ListError(str(record)) from record
    given = {str(key).strip().lower(): value for key, value in record.items()}
    text = str(given.get("title") or given.get("url") or "").strip()
    if not text:
        raise ListError("it has neither `title` nor `url`")
    return title_of_address(text, source, site) if text.lower().startswith(_WEB) else text


def title_of_address(address: str, source: Source, site: Row) -> str:
    """The title in the address of a page, which has it as `title=`, or after the path of all pages.

    Args:
        address: such as `https://wiki.example.org/wiki/Some_page` or `.../index.php?title=Some_page`.
        source: the wiki's source.
        site: its row of table `sites`.

    Raises:
        ListError: the address is none or of another host, or has no title.
    """
    places = [urlsplit(known) for known in (source.address, site["base_url"] or "") if known]
    try:
        url = urlsplit(address)
        is_of_wiki = _host(url) in {_host(place) for place in places}
    except ValueError as error:  # brackets without an end, or a port that is no number
        raise ListError(f"{address!r} is no address: {error}") from error
    if not is_of_wiki:
        hosts = " or ".join(sorted({place.netloc for place in places}))
        raise ListError(f"{address!r} is no page of source {source.name!r}, whose pages are on {hosts}")
    scripts = urlsplit(source.address or "").path.rpartition("/")[0]
    if title := next(_titles(url, _folder(site), scripts), None):
        return title
    raise ListError(f"{address!r} has no title: it needs `title=`, or the path of the wiki's pages")


def _host(url: SplitResult) -> tuple[str | None, int | None]:
    """The host of an address, and its port if that is not the usual one."""
    return url.hostname, None if url.port == DEFAULT_PORTS.get(url.scheme) else url.port


def _folder(site: Row) -> str | None:
    """The path before the titles of pages; None if nothing says it.

    A wiki that was asked by an earlier version has stated only its main page, which may be anywhere.
    """
    if stated := site["article_path"]:
        path, has_title, rest = stated.partition("$1")
        return path if has_title and not rest and "?" not in path else None
    return f"{urlsplit(site['base_url']).path.rpartition('/')[0]}/" if site["base_url"] else None


def _titles(url: SplitResult, folder: str | None, scripts: str) -> Iterator[str]:
    """The titles in an address; `api.php` and others in the folder of the wiki's scripts are none."""
    yield from parse_qs(url.query).get("title", ())
    is_script = url.path.endswith(".php") and url.path.rpartition("/")[0] == scripts
    if folder and url.path.startswith(folder) and not is_script:
        yield unquote(url.path.removeprefix(folder))
