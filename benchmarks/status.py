"""How long a snapshot of the status of a large wiki takes, and how much memory.

    python benchmarks/status.py [FOLDER]

FOLDER is a lake that benchmarks/large_wiki.py made with `--derived`; without one, one of 200,000 pages and 12
million links is made first, and its `known_links`, as they are where the upkeep runs. `holocron status`
takes one with what is stale; later ones are those of `--watch` and the web page. Two snapshots after each
other are of one process, which did nothing else; its peak memory is the highest up to then.
"""

import argparse
import resource
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import NamedTuple

from large_wiki import arguments_of, write_wiki
from side_by_side.processes import in_a_process

from holocron_assets.crawl.frontier.known_links import make_known_links
from holocron_assets.crawl.sources.files import load_source
from holocron_assets.derive.opening import open_lake
from holocron_assets.lake.tables import KNOWN_LINKS, PAGES
from holocron_assets.operations.state.snapshot import take_snapshot
from holocron_assets.orchestration.resources.status_snapshot import snapshot_now

SOURCE = "large"
SNAPSHOTS: dict[str, Callable[..., object]] = {
    "tables alone": take_snapshot,
    "with what is stale": partial(snapshot_now, instance=lambda: None),
}


class Taken(NamedTuple):
    """What a snapshot took: seconds, seconds of the processor, and the process's peak memory in MB."""

    seconds: float
    cpu: float
    peak: float


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "folder", type=Path, nargs="?", help="as benchmarks/large_wiki.py made it, not packed"
    )
    given: Path | None = parser.parse_args().folder
    with tempfile.TemporaryDirectory() as made:
        folder = given or Path(made)
        print(f"{in_a_process(batches_of, folder, given is None):,} batches")
        print("| snapshot | seconds | CPU seconds | peak memory, MB |\n| --- | ---: | ---: | ---: |")
        for which in SNAPSHOTS:
            for turn, taken in zip(("first", "second"), in_a_process(twice, folder, which), strict=True):
                print(f"| {which}, {turn} | {taken.seconds:.2f} | {taken.cpu:.2f} | {taken.peak:,.0f} |")


def batches_of(folder: Path, is_to_be_made: bool) -> int:  # noqa: FBT001 - goes to another process
    """How many batches a lake has; with its `known_links`, and made before if need be."""
    if is_to_be_made:
        write_wiki(folder, arguments_of(["--derived"]))
    lake = open_lake((folder / "data").resolve())
    if not lake.has(KNOWN_LINKS, SOURCE):
        make_known_links(lake, load_source(folder / "sources" / f"{SOURCE}.yaml"))
    return len(lake.partitions(PAGES))


def twice(folder: Path, which: str) -> list[Taken]:
    """Take a snapshot, and another one."""
    lake = open_lake((folder / "data").resolve())
    source = load_source(folder / "sources" / f"{SOURCE}.yaml")
    return [_taken(lambda: SNAPSHOTS[which](lake, [source], folder / "politeness")) for _ in range(2)]


def _taken(snapshot: Callable[[], object]) -> Taken:
    started, cpu_before = perf_counter(), process_time()
    snapshot()
    times = perf_counter() - started, process_time() - cpu_before
    return Taken(*times, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


if __name__ == "__main__":
    main()
