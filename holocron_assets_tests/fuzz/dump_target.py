"""An XML export: plain, in pieces of any size, packed and cut, and read from its middle."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from xml.parsers import expat

from dump_files import PACKERS
from dump_pages import exported_page, list_pages, read_pages

from holocron_assets.crawl.dumps.export import DumpError, read_site
from holocron_assets.crawl.dumps.pages import DumpPage, page_row
from holocron_assets.crawl.dumps.parser import ALL_PAGES, PageParser, RawPage
from holocron_assets.crawl.page_rows import Asked
from holocron_assets.lake.tables import PAGES, SITES
from holocron_assets.lake.titles import DEFAULT_SITE, Site
from holocron_assets.signals.links import link_extractor

_AT = datetime(2026, 3, 1, tzinfo=UTC)
_PACKINGS = (".gz", ".bz2", ".zst")
_ROOT = b"<mediawiki>"


def check_export(data: bytes) -> None:
    """Read an export that starts as one does and goes on with these bytes, all of them or until it breaks."""
    content = data if data.lstrip().startswith(b"<") else _ROOT + data
    with _file("wiki.xml", content) as path:
        pages = _pages(path)
        _check_rows(pages, _site(path))
        listed: list[tuple[int, str, int | None]] = []
        with suppress(DumpError):
            listed.extend((page.ordinal, page.title, page.revision_id) for page in list_pages(path))
        assert listed == [(page.ordinal, page.title, page.revision_id) for page in pages]
    _check_pieces(content)


def check_packed(data: bytes) -> None:
    """Read a file of these bytes as packed, and a packed export of which they say where it is cut."""
    if not data:
        return
    name = f"wiki.xml{_PACKINGS[data[0] % 3]}"
    with _file(name, data[1:]) as path:
        _pages(path)
    whole = PACKERS[_PACKINGS[data[0] % 3]](
        _ROOT
        + b"<page><title>A</title><revision><text>"
        + data[1:].hex().encode()
        + b"</text></revision></page>"
    )
    cut = int.from_bytes(data[-2:], "big") % (len(whole) + 1)
    flipped = bytearray(whole)
    flipped[cut % len(whole)] ^= data[0] or 1
    with _file(name, whole[:cut]) as path:
        assert [page.title for page in _pages(path)] in ([], ["A"])
    with _file(name, bytes(flipped)) as path:  # what is unpacked before its checksum comes may be anything
        _pages(path)


@contextmanager
def _file(name: str, content: bytes) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        yield path


def _pages(path: Path) -> list[DumpPage]:
    """The pages of an export up to where it breaks; that they come in order and are counted is checked."""
    pages: list[DumpPage] = []
    pages_counted = 0
    try:
        pages.extend(read_pages(path))
    except DumpError as error:
        pages_counted = error.pages_read
    assert pages_counted in {0, len(pages)}
    assert [page.ordinal for page in pages] == list(range(len(pages)))
    return pages


def _site(path: Path) -> Site:
    try:
        row = read_site(path, "sample")
    except DumpError:
        return DEFAULT_SITE
    SITES.to_arrow([row], "sample")
    return Site.from_row(row)


def _check_rows(pages: list[DumpPage], site: Site) -> None:
    extract = link_extractor(site)
    rows = []
    for page in pages:
        asked = Asked("sample", "sample-000001", page.ordinal, page.title, 0, None, _AT, "run")
        rows.append(page_row(page, asked, extract))
        assert page_row(exported_page(rows[-1]), asked, extract) == rows[-1]
    unique = list({row["requested_key"]: row for row in rows}.values())
    PAGES.to_arrow(unique, "sample-000001").to_pylist()


def _check_pieces(content: bytes) -> None:
    """In whatever pieces an export comes, its pages are the same."""
    assert _parsed(content, len(content) or 1) == _parsed(content, 3)


def _parsed(content: bytes, size: int) -> list[RawPage]:
    parser = PageParser(ALL_PAGES)
    with suppress(expat.ExpatError):
        for start in range(0, len(content), size):
            parser.feed(content[start : start + size])
        parser.feed(b"")
    return parser.pages
