"""How long a look at the frontier of a large wiki takes, and how much memory.

    python benchmarks/large_wiki.py FOLDER --pages 200000 --links 12000000
    python benchmarks/pending.py FOLDER

`known_links` is made of all batches, then of all but as many as may be new before it is made anew. Each look
is made by a process of its own, as the first thing that it does, and of two the second is told: its files are
in the machine's memory. `--whole` also looks without `known_links`, which reads every batch.
"""

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, process_time

from holocron_assets.crawl.frontier import pending_pages
from holocron_assets.crawl.known_links import make_known_links
from holocron_assets.crawl.source_files import load_source
from holocron_assets.crawl.sources import Source
from holocron_assets.lake.paths import Lake
from holocron_assets.lake.tables import KNOWN_LINKS, PAGE_LINKS, PAGES

SOURCE = "large"
LIMIT = 2_000
DEPTHS = {"unlimited": None, "2": 2, "0": 0}


def main() -> None:
    arguments = _arguments()
    lake = Lake((arguments.folder / "data").resolve())
    if arguments.measure:
        print(json.dumps(_measured(lake, arguments)))
        return
    batches = [name for name in lake.partitions(PAGES) if name.startswith(f"{SOURCE}-")]
    most_new = max(20, len(batches) // 20) - 1
    print(f"{len(batches):,} batches, depth {arguments.depth}")
    print("| what | seconds | CPU seconds | peak memory, MB | pages |\n| --- | ---: | ---: | ---: | ---: |")
    if arguments.whole:
        lake.file(KNOWN_LINKS, SOURCE).unlink(missing_ok=True)
        _tell("look, every batch read", arguments, "look")
    for new in (0, most_new):
        with _hidden(lake, batches[len(batches) - new :]):
            _tell(f"`known_links` of {len(batches) - new:,} batches made", arguments, "make")
        _tell(f"look, {new:,} batches new", arguments, "look", "look")


def _measured(lake: Lake, arguments: argparse.Namespace) -> dict[str, float]:
    source = load_source(arguments.folder / "sources" / f"{SOURCE}.yaml")
    source = source.model_copy(update={"depth": DEPTHS[arguments.depth]})
    work: Callable[[Lake, Source], int] = _make if arguments.measure == "make" else _look
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


def _look(lake: Lake, source: Source) -> int:
    return len(pending_pages(lake, source, limit=LIMIT))


def _tell(what: str, arguments: argparse.Namespace, *measures: str) -> None:
    """Measure in processes of their own, and print the last."""
    for measure in measures:
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
    parser.add_argument("folder", type=Path, help="as benchmarks/large_wiki.py made it, not packed")
    parser.add_argument("--depth", choices=DEPTHS, default="unlimited", help="links to follow from the seeds")
    parser.add_argument(
        "--whole", action="store_true", help="also look without known_links, which takes long"
    )
    parser.add_argument("--measure", choices=("make", "look"), help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
