"""Dagster's storage in SQLite and in PostgreSQL: the same work on both, and how many times longer it takes.

    python benchmarks/postgres_storage.py [--partitions 14000] [FOLDER]

starts a PostgreSQL of its own with its usual settings (`initdb` and `pg_ctl` must be on PATH), makes a lake
of so many batches (or takes one that benchmarks/large_wiki.py made in FOLDER), and does to both what
Holocron does: partitions and events, runs over many partitions, several writers, runs launched through a
daemon, ticks of the sensors, and the queries of the UI's page of an asset. Both write to the disk of the
temporary folder.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from large_wiki import arguments_of, write_wiki
from partitions import Measure, ask_all, tick_all

from holocron_assets.lake.paths import Lake
from holocron_assets.lake.tables import PAGES

_TESTS = Path(__file__).resolve().parents[1] / "holocron_assets_tests"
_PAGES_IN_BATCH = 2


def main() -> int:
    """Time both, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", help="as benchmarks/large_wiki.py made it")
    parser.add_argument("--partitions", type=int, default=1000, help="batches; 14,000 are 7 million pages")
    options = parser.parse_args()
    if not (shutil.which("initdb") and shutil.which("pg_ctl")):
        print("PostgreSQL is not compared: initdb and pg_ctl are not on PATH.")
        return 0
    sys.path.append(str(_TESTS / "faults"))  # where the server is started that tests use
    with tempfile.TemporaryDirectory() as name:
        wiki = options.folder or _wiki(Path(name), options.partitions)
        compare(wiki.resolve(), Path(name), options.partitions)
    return 0


def _wiki(folder: Path, partitions: int) -> Path:
    pages = partitions * _PAGES_IN_BATCH
    size = ("--pages", str(pages), "--links", str(pages * 20), "--batch-size", str(_PAGES_IN_BATCH))
    write_wiki(folder / "wiki", arguments_of((*size, "--seeds", str(pages), "--derived")))
    return folder / "wiki"


def compare(wiki: Path, folder: Path, partitions: int) -> None:
    """Time both storages and print what each took."""
    from storages.places import postgres_place, sqlite_place  # noqa: PLC0415 - found only now

    batches = Lake(wiki / "data").partitions(PAGES)[:partitions]
    print(f"{len(batches):,} batches", flush=True)
    ours = times_of(sqlite_place(folder / "sqlite"), wiki, folder, batches)
    with postgres_place(folder / "postgres") as place:
        theirs = times_of(place, wiki, folder, batches)
    print(f"{'':<56}{'SQLite':>10}{'PostgreSQL':>12}{'ratio':>8}")
    for what, figure in ours.items():
        print(f"{what:<56}{figure:>10.2f}{theirs[what]:>12.2f}{theirs[what] / figure:>8.2f}")


def times_of(place: Any, wiki: Path, folder: Path, batches: list[str]) -> dict[str, float]:
    """All that is timed, on one storage."""
    from storages import work  # noqa: PLC0415 - found only now

    times: dict[str, float] = {}
    for part in (
        partial(work.partitions_and_events, place, batches),
        partial(work.runs_over_many, place, batches),
        partial(work.writers_at_once, place, batches),
        partial(work.launched_runs, place, batches[0], folder),
    ):
        times |= _told(place, part())
    ticks: dict[str, float] = {}
    measure: Measure = partial(_noted, ticks)
    with place.open() as instance:
        tick_all(instance, wiki, measure)
    ask_all(str(place.home), wiki, batches[len(batches) // 2], measure)
    ticks["size on disk, MB"] = place.bytes_on_disk() / 1e6
    return times | _told(place, ticks)


def _told(place: Any, times: dict[str, float]) -> dict[str, float]:
    """Say at once what was measured: all of it takes an hour at 14,000 batches."""
    for what, figure in times.items():
        print(f"{place.name}: {what}: {figure:.2f}", flush=True)
    return times


def _noted(times: dict[str, float], what: str, do: Callable[[], Any]) -> Any:
    """Note how long second ticks and queries take: the first load code and look at the whole lake."""
    from storages.work import timed  # noqa: PLC0415 - found only now

    with timed(times if "second" in what else {}, f"{what}, ms", 1000):
        return do()


if __name__ == "__main__":
    sys.exit(main())
