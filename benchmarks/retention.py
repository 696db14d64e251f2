"""What forgetting old runs frees: real batch runs in an instance in SQLite, measured before and after.

Run: python benchmarks/retention.py [--runs N]

What is freed is given back to the disk; what is reusable stays in SQLite's shared files, for later runs.
"""

import argparse
import sqlite3
import tempfile
from datetime import timedelta
from pathlib import Path

import dagster as dg

from holocron_assets.crawl.frontier.batches import cut_batches
from holocron_assets.crawl.sources.files import load_source, write_dump_source
from holocron_assets.crawl.sources.seeds import store_seeds, store_site
from holocron_assets.definitions import build_definitions
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.orchestration.internals.retention import forget_old_runs
from holocron_assets.orchestration.resources.resources import LakeResource, SourcesResource
from holocron_assets.planning.job_names import BATCH_JOB
from holocron_assets.settings import PROJECT_FOLDER, run_retention

SOURCE = "bench"
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
PARTS = {
    "events of each run": "history/runs/*-*.db*",
    "events of assets": "history/runs/index.db*",
    "records of runs": "history/runs.db*",
    "all": "**/*",
}
"""Files of the instance's folder, by what they hold. Logs of steps are in `all` only."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        batch, home = prepare(folder), folder / "dagster"
        home.mkdir()
        with opened(home) as instance:
            instance.add_dynamic_partitions("batches", [batch])
        empty = sizes(home)
        with opened(home) as instance:
            run_batch(folder, instance, batch, times=runs)
        before = sizes(home)
        with opened(home) as instance:
            forgotten = forget_old_runs(instance, run_retention({}), now=utc_now() + timedelta(days=91))
        after = sizes(home)
        if forgotten.runs != runs:
            raise RuntimeError(f"{forgotten.runs} of {runs} runs were forgotten")
        print_table(runs, empty, before, after, reusable(home))


def opened(home: Path) -> dg.DagsterInstance:
    return dg.DagsterInstance.local_temp(str(home), overrides={"telemetry": {"enabled": False}})


def prepare(folder: Path) -> str:
    """A lake with the sample wiki listed and cut into a batch; gives its name."""
    write_dump_source(folder / "sources", SOURCE, PROJECT_FOLDER / "data" / "sample" / "wiki.xml")
    lake, source = Lake(folder / "data"), load_source(folder / "sources" / f"{SOURCE}.yaml")
    store_site(lake, source, None)
    store_seeds(lake, source, None)
    return cut_batches(lake, source, now=utc_now())[0]


def run_batch(folder: Path, instance: dg.DagsterInstance, batch: str, *, times: int) -> None:
    """Run the job that crawls a batch and derives from it; after the first time there is nothing to read."""
    lake = LakeResource(folder=str(folder / "data"))
    sources = SourcesResource(folder=str(folder / "sources"), politeness_folder=str(folder / "state"))
    job = build_definitions({"lake": lake, "sources": sources}).resolve_job_def(BATCH_JOB)
    for _ in range(times):
        job.execute_in_process(instance=instance, partition_key=batch, run_config=QUIET)


def sizes(home: Path) -> dict[str, int]:
    return {
        what: sum(path.stat().st_size for path in home.glob(pattern) if path.is_file())
        for what, pattern in PARTS.items()
    }


def reusable(home: Path) -> int:
    """Bytes in SQLite's files that hold nothing any more."""
    free = 0
    for path in home.rglob("*.db"):
        with sqlite3.connect(path) as connection:
            (pages,) = connection.execute("pragma freelist_count").fetchone()
            (size,) = connection.execute("pragma page_size").fetchone()
            free += pages * size
        connection.close()
    return free


def print_table(
    runs: int, empty: dict[str, int], before: dict[str, int], after: dict[str, int], left: int
) -> None:
    print(f"{runs} runs; KB a run")
    print(f"{'':<22}{'written':>10}{'freed':>10}{'left':>10}")
    for what in PARTS:
        figures = (before[what] - empty[what], before[what] - after[what], after[what] - empty[what])
        print(f"{what:<22}" + "".join(f"{figure / runs / 1000:>10.1f}" for figure in figures))
    print(f"of what is left, {left / runs / 1000:.1f} KB a run are reusable")


if __name__ == "__main__":
    main()
