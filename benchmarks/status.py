"""How long a snapshot of the status of a large wiki takes, and how much memory.

    python benchmarks/status.py [FOLDER]

FOLDER is a lake that benchmarks/large_wiki.py made with `--derived`; without one, one of 200,000 pages and 12
million links is made first, and its `known_links`, as they are where the upkeep runs. `holocron status`
takes one with what is stale; later ones are those of `--watch` and the web page.
"""

import argparse
import resource
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time

from large_wiki import arguments_of, write_wiki

from holocron_assets.crawl.frontier.known_links import make_known_links
from holocron_assets.crawl.sources.files import load_source
from holocron_assets.derive.opening import open_lake
from holocron_assets.lake.tables import KNOWN_LINKS, PAGES
from holocron_assets.operations.state.snapshot import take_snapshot
from holocron_assets.orchestration.resources.snapshot import snapshot_now

SOURCE = "large"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "folder", type=Path, nargs="?", help="as benchmarks/large_wiki.py made it, not packed"
    )
    given: Path | None = parser.parse_args().folder
    with tempfile.TemporaryDirectory() as made:
        if given is None:
            write_wiki(Path(made), arguments_of(["--derived"]))
        print_table(given or Path(made))


def print_table(folder: Path) -> None:
    """Print the table."""
    lake = open_lake((folder / "data").resolve())
    source = load_source(folder / "sources" / f"{SOURCE}.yaml")
    if not lake.has(KNOWN_LINKS, SOURCE):
        make_known_links(lake, source)
    print(f"{len(lake.partitions(PAGES)):,} batches")
    print("| snapshot | seconds | CPU seconds | peak memory, MB |\n| --- | ---: | ---: | ---: |")
    snapshots: dict[str, Callable[[], object]] = {
        "tables alone, first": lambda: take_snapshot(lake, [source], folder / "politeness"),
        "tables alone, second": lambda: take_snapshot(lake, [source], folder / "politeness"),
        "with what is stale, first": lambda: snapshot_now(
            lake, [source], folder / "politeness", lambda: None
        ),
        "with what is stale, second": lambda: snapshot_now(
            lake, [source], folder / "politeness", lambda: None
        ),
    }
    for which, made in snapshots.items():
        started, cpu_before = perf_counter(), process_time()
        made()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        times = f"{perf_counter() - started:.2f} | {process_time() - cpu_before:.2f}"
        print(f"| {which} | {times} | {peak:,.0f} |")


if __name__ == "__main__":
    main()
