"""What a thousand new pages cost, compared with all entities anew.

    python benchmarks/entity_increment.py [--pages 204000] [--new 1000]

makes up a wiki of one entity type, resolves it, adds pages and resolves again; then resolves all of it from
nothing. Each is measured in a process of its own, through the stages that the job runs: pairs, judgements and
entities. The two results must say the same. 204,000 pages are 200,000 entities: a page in fifty is missing.
"""

import argparse
import multiprocessing
import resource
import shutil
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter, process_time
from typing import NamedTuple

from large_wiki import make_wiki, write_batch, write_source

from holocron_assets.classify.taxonomy import load_taxonomy
from holocron_assets.entities.identity.judgement_store import store_judgements
from holocron_assets.entities.identity.pair_store import store_pairs
from holocron_assets.entities.snapshot import Snapshot, open_snapshot
from holocron_assets.entities.store import store_entities
from holocron_assets.lake.declaration.keys import table_hash
from holocron_assets.lake.files.parquet import read_table
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import COMPARED_NAMES, ENTITIES, ENTITY_JUDGEMENTS, ENTITY_PAIRS

TYPE = "LocationPlace"
TYPES = frozenset(load_taxonomy().entity_worthy_types)
START = datetime(2026, 3, 1, tzinfo=UTC)
SAID = ("entity_id", "title", "name", "continuity", "revision_id", "confidence", "state", "merged_into")


class Cost(NamedTuple):
    """What one run took: seconds of the clock and of the processor, and memory at its peak.

    Times are without those of starting Python and importing, a third of an increment: a run of stages finds
    the libraries loaded.
    """

    wall: float
    cpu: float
    mebibytes: float
    stages: dict[str, float]


class Measured(NamedTuple):
    """What the increment took, and all anew; and how many entities there are."""

    increment: Cost
    anew: Cost
    entities: int


def main() -> None:
    arguments = arguments_of()
    with tempfile.TemporaryDirectory() as temporary:
        growing = Growing(Path(temporary), arguments.pages, arguments.new)
        printed("first", growing.begin())
        increment, anew, entities = growing.grow(growing.folder, printed)
    times = anew.cpu / increment.cpu
    print(f"{entities:,} entities; the increment takes {times:.1f} times less CPU than all anew")


def noted(_name: str, cost: Cost) -> Cost:
    return cost


class Growing:
    """A made-up wiki that gets some more pages.

    Attributes:
        folder: holds the lake as it was before.
    """

    def __init__(self, folder: Path, pages: int, new: int) -> None:
        """Make the wiki up; nothing is resolved yet."""
        self.folder = folder
        self._wiki = make_wiki(pages + new, 0, 500, 1)
        self._before = pages // 500
        self._site = write_source(folder, Lake(folder / "data"), self._wiki, 1).content_id

    def begin(self) -> Cost:
        """Resolve the wiki before the new pages."""
        lake = Lake(self.folder / "data")
        self._write(lake, range(self._before))
        return in_a_process(lake)

    def grow(self, folder: Path, note: Callable[[str, Cost], Cost] = noted) -> Measured:
        """Add the new pages to the lake in a folder, which is one of before, or a copy of it; resolve twice.

        Raises:
            SystemExit: the increment and all anew do not say the same.
        """
        lake = Lake(folder / "data")
        self._write(lake, range(self._before, self._wiki.batches))
        increment = note("increment", in_a_process(lake))
        grown = said(lake)
        for table in (ENTITIES, ENTITY_PAIRS, ENTITY_JUDGEMENTS, COMPARED_NAMES):
            shutil.rmtree(lake.folder(table))
        anew = note("anew", in_a_process(lake))
        if grown != said(lake):
            raise SystemExit("the increment says something else than all of it anew")
        return Measured(increment, anew, read_table(lake, ENTITIES, TYPE, ["entity_id"]).num_rows)

    def _write(self, lake: Lake, batches: range) -> None:
        for number in batches:
            write_batch(lake, self._wiki, self._site, number, with_derived=True)


def arguments_of() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pages", type=int, default=204_000)
    parser.add_argument("--new", type=int, default=1_000)
    return parser.parse_args()


def printed(name: str, cost: Cost) -> Cost:
    stages = ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in cost.stages.items())
    print(
        f"{name:10} {cost.wall:6.1f} s, {cost.cpu:6.1f} s CPU ({stages}), {cost.mebibytes:6.0f} MiB",
        flush=True,
    )
    return cost


def in_a_process(lake: Lake) -> Cost:
    """Resolve what there is, in a new process."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(resolve, (lake.root,))


def resolve(root: Path) -> Cost:
    started, cpu_before, stages = perf_counter(), process_time(), dict[str, float]()
    with open_snapshot(Lake(root)) as snapshot:
        for name, store in STAGES.items():
            before = process_time()
            store(snapshot)
            stages[name] = process_time() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Cost(perf_counter() - started, process_time() - cpu_before, peak, stages)


STAGES: dict[str, Callable[[Snapshot], object]] = {
    "snapshot": lambda snapshot: snapshot.candidate_marks,
    "pairs": lambda snapshot: store_pairs(snapshot, TYPE, entity_types=TYPES),
    "judgements": lambda snapshot: store_judgements(snapshot, TYPE, entity_types=TYPES, now=START),
    "entities": lambda snapshot: store_entities(
        snapshot, TYPE, entity_types=TYPES, now=START, run_id="bench"
    ),
}


def said(lake: Lake) -> str:
    """A hash of what the entities are."""
    return table_hash(read_table(lake, ENTITIES, TYPE, SAID).sort_by("entity_id"))


if __name__ == "__main__":
    main()
