"""All steps of a batch over pages of real length, beside mwparserfromhell reading the same texts."""

import tempfile
from collections.abc import Iterator, Mapping
from itertools import count, islice
from pathlib import Path
from time import process_time
from xml.sax.saxutils import escape

import mwparserfromhell
from dagster_overhead import BATCH, derive, fetch, prepare
from signals_speed import SHARED, json_lines

from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.tables import PAGES
from side_by_side.row import LeftOutError, Row, Scale, compared, in_turns

_FILE = "wikitext_pages.jsonl.gz"
_PAGES: Mapping[Scale, int] = {"quick": 300, "full": 500}
_TURNS: Mapping[Scale, int] = {"quick": 2, "full": 5}


def measure(scale: Scale) -> list[Row]:
    """The row of long pages.

    Raises:
        LeftOutError: there are no texts.
    """
    if not (SHARED / "wookieepedia" / _FILE).exists():
        raise LeftOutError(f"needs {_FILE} of ../shared/wookieepedia")
    pages = _PAGES[scale]
    with tempfile.TemporaryDirectory() as name:
        folder, texts = Path(name), list[str]()

        def ours(turn: int) -> float:
            # No text comes twice, as in a wiki: the steps of a batch read each text once.
            export = _write_export(folder / f"{turn}.xml", turn * pages, pages)
            prepare(folder / f"{turn}", export)
            lake = fetch(folder / f"{turn}")
            rows = read_partition(lake, PAGES, BATCH)
            texts[:] = [row["wikitext"] for row in rows if row["status"] == "ok"]
            if len(texts) != pages:
                raise RuntimeError(f"{len(texts)} of {pages} pages were fetched")
            started = process_time()
            derive(lake)
            return (process_time() - started) / pages * 1000

        def parsed(_turn: int) -> float:
            started = process_time()
            for text in texts:
                mwparserfromhell.parse(text)
            return (process_time() - started) / pages * 1000

        turns = in_turns(ours, parsed, _TURNS[scale])
    return [compared("long pages", "CPU ms a page", "mwparserfromhell, parsing alone", turns)]


def _write_export(path: Path, first: int, pages: int) -> Path:
    with path.open("w", encoding="utf-8") as file:
        file.write('<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11">\n')
        for number, (title, text) in enumerate(islice(_pages(), first, first + pages), start=1):
            file.write(
                f"<page><title>{escape(title)}</title><ns>0</ns><id>{number}</id><revision><id>{number}</id>"
                "<timestamp>2026-01-01T00:00:00Z</timestamp><model>wikitext</model>"
                f"<format>text/x-wiki</format><text>{escape(text)}</text></revision></page>\n"
            )
        file.write("</mediawiki>\n")
    return path


def _pages() -> Iterator[tuple[str, str]]:
    """Titles and texts, over and over, each time with another title and comment."""
    rows = list(json_lines(_FILE))
    for copy in count():
        for row in rows:
            yield f"Copy {copy} {row['title'].replace(':', ' ')}", f"<!-- copy {copy} -->{row['wikitext']}"
