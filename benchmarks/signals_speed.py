"""How many pages a second one core reads: links, signals, and a plain full parse for comparison.

Run: python benchmarks/signals_speed.py [--rounds 3] [--rebuilt 1000]

Needs ../shared/wookieepedia. The ways of reading take turns on each page in one run, so that a busy machine
slows them alike; processor time is counted, and of several rounds the fastest. "Full parse" is what a page
costs with mwparserfromhell alone: parse everything, then list links and templates.
"""

import argparse
import gzip
import importlib.util
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mwparserfromhell
from rich.console import Console
from rich.table import Table

from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.titles import DEFAULT_SITE
from holocron_assets.signals.extract import signal_row
from holocron_assets.signals.links import extract_links, link_rows

SHARED = Path(__file__).parents[2] / "shared"
METHODS: dict[str, Callable[[Row], object]] = {
    "links": lambda page: extract_links(page["wikitext"], DEFAULT_SITE),
    "link rows": lambda page: link_rows(page, DEFAULT_SITE),
    "signals": lambda page: signal_row(page, DEFAULT_SITE),
    "full parse": lambda page: _full_parse(page["wikitext"]),
}
BASELINE = "full parse"


def _full_parse(wikitext: str) -> tuple[list[Any], list[Any]]:
    parsed = mwparserfromhell.parse(wikitext)
    return parsed.filter_wikilinks(), parsed.filter_templates()


def json_lines(name: str) -> Iterator[dict[str, Any]]:
    """Rows of a file of ../shared/wookieepedia."""
    with gzip.open(SHARED / "wookieepedia" / name, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def rebuilt_texts(count: int) -> Iterator[tuple[str, str]]:
    """Titles and texts of pages rebuilt from their real values and links."""
    spec = importlib.util.spec_from_file_location("make_xml", SHARED / "realwiki" / "make_xml.py")
    if spec is None or spec.loader is None:
        sys.exit(f"{SHARED / 'realwiki' / 'make_xml.py'} cannot be loaded")
    make_xml = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make_xml)
    rows = list(json_lines("sample_pages.jsonl.gz"))
    for row in rows[:: max(len(rows) // count, 1)]:
        yield row["title"], make_xml.rebuilt(row)


def page(title: str, wikitext: str) -> Row:
    """A row of table `pages`, as far as it is read here."""
    return {
        "source": "wookieepedia",
        "batch": "wookieepedia-000001",
        "title": title,
        "title_key": title_key("wookieepedia", title),
        "namespace": 0,
        "content_model": "wikitext",
        "wikitext": wikitext,
    }


def fastest_ms(pages: list[Row], rounds: int) -> dict[str, list[float]]:
    """Milliseconds of processor time for each page, by method: the fastest of several rounds."""
    times = {name: [float("inf")] * len(pages) for name in METHODS}
    for _ in range(rounds):
        for place, row in enumerate(pages):
            for name, method in METHODS.items():
                started = time.process_time()
                method(row)
                spent = (time.process_time() - started) * 1_000
                times[name][place] = min(times[name][place], spent)
    return times


def add_rows(table: Table, label: str, pages: list[Row], rounds: int) -> None:
    """Measure a set of pages and add a row for each method."""
    times = fastest_ms(pages, rounds)
    characters = sum(len(row["wikitext"]) for row in pages)
    baseline = sum(times[BASELINE])
    for name, spent in times.items():
        total = sum(spent)
        table.add_row(
            label,
            name,
            f"{len(pages) / total * 1_000:,.0f}",
            f"{total / len(pages):.3f}",
            f"{statistics.median(spent):.3f}",
            f"{characters / total / 1_000:.1f}",
            f"{baseline / total:.1f}",
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3, help="rounds to take the fastest of")
    parser.add_argument("--rebuilt", type=int, default=1_000, help="how many rebuilt pages to read")
    options = parser.parse_args()
    if not (SHARED / "wookieepedia").exists():
        sys.exit(f"needs {SHARED / 'wookieepedia'}, which is not next to this checkout")
    table = Table("pages", "method", "pages/s", "mean ms", "median ms", "MB/s", "full parse = 1")
    real = [page(row["title"], row["wikitext"]) for row in json_lines("wikitext_pages.jsonl.gz")]
    add_rows(table, f"{len(real)} real", real, options.rounds)
    rebuilt = [page(title, text) for title, text in rebuilt_texts(options.rebuilt)]
    add_rows(table, f"{len(rebuilt)} rebuilt", rebuilt, options.rounds)
    Console().print(table)


if __name__ == "__main__":
    main()
