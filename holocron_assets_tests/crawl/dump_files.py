"""Exports for tests: made of pages, and packed in each way that is read."""

import bz2
import gzip
import sys
from collections.abc import Callable, Iterable, Mapping
from io import BufferedWriter
from pathlib import Path
from random import Random
from xml.sax.saxutils import escape

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PACKERS: Mapping[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".zst": zstd.compress,
}
HEAD = (
    '<?xml version="1.0"?>\n<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11">\n'
    "<siteinfo><sitename>Das Wiki</sitename><case>case-sensitive</case><namespaces>"
    '<namespace key="0" /><namespace key="14">Kategorie</namespace></namespaces></siteinfo>\n'
)
END = "</mediawiki>\n"


def page_xml(title: str, text: str, revision: int) -> str:
    return (
        f"<page>\n<title>{escape(title)}</title>\n<ns>{14 if title.startswith('Kategorie:') else 0}</ns>\n"
        f"<id>{revision + 1}</id>\n<revision>\n<id>{revision}</id>\n"
        f'<timestamp>2026-01-01T00:00:00Z</timestamp>\n<text bytes="{len(text.encode())}"'
        f' xml:space="preserve">{escape(text)}</text>\n</revision>\n</page>\n'
    )


def write_export(path: Path, pages: Iterable[str], *, end: str = END) -> Path:
    """Write an export, packed as its name says."""
    path.write_bytes(
        PACKERS[path.suffix if path.suffix in PACKERS else ""](f"{HEAD}{''.join(pages)}{end}".encode())
    )
    return path


def opened_for_writing(path: Path) -> BufferedWriter | zstd.ZstdFile:
    """An export that is too large to be made in memory: plain, or `.zst`."""
    return zstd.open(path, "wb") if path.suffix == ".zst" else path.open("wb")


def many_pages(count: int, *, text_bytes: int = 2_000, seed: int = 7) -> list[str]:
    """Pages with texts that hardly pack."""
    random = Random(seed)  # noqa: S311 - texts, not secrets
    return [
        page_xml(f"page {number}", random.randbytes(random.randrange(text_bytes)).hex(), number)
        for number in range(count)
    ]
