"""Dagster's storage in SQLite and in PostgreSQL: the same work on both, and how many times longer it takes.

    python benchmarks/postgres_storage.py [--partitions 14000]

starts a PostgreSQL of its own with its usual settings (`initdb` and `pg_ctl` must be on PATH), and does to
both what Holocron does: partitions and events, which is also what sensors ask for, runs over many partitions,
several writers, runs launched through a daemon, and the queries of the UI's page of an asset. Part after part
is done on the one and then on the other, so that a machine that has other work slows both. Both write to the
disk of the temporary folder.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from partitions import Measure, ask_all

_TESTS = Path(__file__).resolve().parents[1] / "holocron_assets_tests"


def main() -> int:
    """Time both, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--partitions", type=int, default=1000, help="batches; 14,000 are 7 million pages")
    options = parser.parse_args()
    if not (shutil.which("initdb") and shutil.which("pg_ctl")):
        print("PostgreSQL is not compared: initdb and pg_ctl are not on PATH.")
        return 0
    sys.path.append(str(_TESTS / "faults"))  # where the server is started that tests use
    with tempfile.TemporaryDirectory() as name:
        compare(Path(name), [f"large-{number:06}" for number in range(1, options.partitions + 1)])
    return 0


def compare(folder: Path, batches: list[str]) -> None:
    """Time both storages and print what each took."""
    from storages import work  # noqa: PLC0415 - found only now
    from storages.places import postgres_place, sqlite_place  # noqa: PLC0415 - found only now

    print(f"{len(batches):,} batches\n{'':<56}{'SQLite':>10}{'PostgreSQL':>12}{'ratio':>8}", flush=True)
    ours = sqlite_place(folder / "sqlite")
    with postgres_place(folder / "postgres") as theirs:
        for part in (
            partial(work.partitions_and_events, keys=batches),
            partial(work.runs_over_many, keys=batches),
            partial(work.writers_at_once, keys=batches),
            partial(work.launched_runs, key=batches[0], folder=folder),
            partial(_pages_of_the_ui, batch=batches[len(batches) // 2], folder=folder),
            lambda place: {"size on disk, MB": place.bytes_on_disk() / 1e6},
        ):
            times = part(ours)
            for what, figure in part(theirs).items():
                ratio = figure / times[what]
                print(f"{what:<56}{times[what]:>10.2f}{figure:>12.2f}{ratio:>8.2f}", flush=True)


def _pages_of_the_ui(place: Any, *, batch: str, folder: Path) -> dict[str, float]:
    times: dict[str, float] = {}
    measure: Measure = partial(_noted, times)
    ask_all(str(place.home), folder / "empty", batch, measure)
    return times


def _noted(times: dict[str, float], what: str, do: Callable[[], Any]) -> Any:
    """Note how long the second time takes: the first loads code."""
    from storages.work import timed  # noqa: PLC0415 - found only now

    with timed(times if "second" in what else {}, f"{what}, ms", 1000):
        return do()


if __name__ == "__main__":
    sys.exit(main())
