"""How long a reading of the frontier of a large wiki takes, and how much memory.

    python benchmarks/pending.py [--covered-only] [--depth DEPTH] [FOLDER]

FOLDER is a lake that benchmarks/large_wiki.py made; without one, one of 200,000 pages and 12 million links is
made first. It is read without `known_links`, which reads every batch, unless `--covered-only` is given.
Then `known_links` is made of all batches, and of all but as many as may be new before it is made anew. Each
measure is taken by a process of its own; for a second reading, that process has read before, as that of the
sensors has.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, process_time

from large_wiki import arguments_of, write_wiki

from holocron_assets.crawl.frontier.known_links import make_known_links
from holocron_assets.crawl.frontier.pending import pending_pages
from holocron_assets.crawl.sources.files import load_source
from holocron_assets.crawl.sources.source import Source
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import KNOWN_LINKS, PAGE_LINKS, PAGES

SOURCE = "large"
LIMIT = 2_000
DEPTHS = {"unlimited": None, "2": 2, "0": 0}


def main() -> None:
    arguments = _arguments()
    if arguments.measure:
        print(json.dumps(_measured(Lake((arguments.folder / "data").resolve()), arguments)))
        return
    with tempfile.TemporaryDirectory() as made:
        if arguments.folder is None:
            arguments.folder = Path(made)
            write_wiki(arguments.folder, arguments_of([]))
        print_table(Lake((arguments.folder / "data").resolve()), arguments)


def print_table(lake: Lake, arguments: argparse.Namespace) -> None:
    """Print the table."""
    batches = [name for name in lake.partitions(PAGES) if name.startswith(f"{SOURCE}-")]
    most_new = max(20, len(batches) // 50) - 1
    print(f"{len(batches):,} batches, depth {arguments.depth}")
    print("| what | seconds | CPU seconds | peak memory, MB | pages |\n| --- | ---: | ---: | ---: | ---: |")
    if not arguments.covered_only:
        lake.file(KNOWN_LINKS, SOURCE).unlink(missing_ok=True)
        _print_row("reading, every batch read", arguments, "read")
    for new in (0, most_new):
        with _hidden(lake, batches[len(batches) - new :]):
            _print_row(f"`known_links` of {len(batches) - new:,} batches made", arguments, "make")
        _print_row(f"reading, {new:,} batches new", arguments, "read again")


def _measured(lake: Lake, arguments: argparse.Namespace) -> dict[str, float]:
    source = load_source(arguments.folder / "sources" / f"{SOURCE}.yaml")
    source = source.model_copy(update={"depth": DEPTHS[arguments.depth]})
    work: Callable[[Lake, Source], int] = _make if arguments.measure == "make" else _read
    if arguments.measure == "read again":
        _read(lake, source)
    started, cpu_before = perf_counter(), process_time()
    pages = work(lake, source)
    return {
        "seconds": perf_counter() - started,
        "cpu": process_time() - cpu_before,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "pages": pages,
    }


def _make(lake: Lake, source: Source) -> int:
    return make_known_links(lake, source).rows


def _read(lake: Lake, source: Source) -> int:
    return len(pending_pages(lake, source, limit=LIMIT))


def _print_row(what: str, arguments: argparse.Namespace, measure: str) -> None:
    """Measure in a process of its own, and print a line."""
    command = [
        sys.executable,
        __file__,
        str(arguments.folder),
        "--depth",
        arguments.depth,
        "--measure",
        measure,
    ]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 - this program
    found = json.loads(done.stdout)
    times = f"{found['seconds']:.2f} | {found['cpu']:.2f}"
    print(f"| {what} | {times} | {found['peak']:,.0f} | {found['pages']:,} |")


@contextmanager
def _hidden(lake: Lake, batches: list[str]) -> Iterator[None]:
    """Let batches be as if they were not fetched yet."""
    aside = lake.root / "aside"
    moves = [
        (lake.partition_folder(table, batch), aside / table.name / batch)
        for table in (PAGES, PAGE_LINKS)
        for batch in batches
    ]
    for place, other in moves:
        other.parent.mkdir(parents=True, exist_ok=True)
        place.rename(other)
    try:
        yield
    finally:
        for place, other in moves:
            other.rename(place)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "folder", type=Path, nargs="?", help="as benchmarks/large_wiki.py made it, not packed"
    )
    parser.add_argument("--depth", choices=DEPTHS, default="unlimited", help="links to follow from the seeds")
    parser.add_argument("--covered-only", action="store_true", help="no reading without known_links")
    parser.add_argument("--measure", choices=("make", "read", "read again"), help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
