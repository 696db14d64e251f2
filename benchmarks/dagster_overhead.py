"""What Dagster adds to the work of one batch: the same 500 pages through the rooms alone, and through jobs.

Both write the same tables. The jobs run in this process, on an instance that `dagster.yaml` configures, as
under `holocron run`. What a daemon adds on top is per run and not per page: a process for each run, 1 to 3
seconds.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from unittest.mock import patch

import dagster as dg

from holocron_assets.classify.taxonomy import load_taxonomy
from holocron_assets.crawl.fetch import fetch_batch
from holocron_assets.crawl.frontier.batches import cut_batches
from holocron_assets.crawl.readers import page_reader
from holocron_assets.crawl.sources.files import load_source, write_dump_source
from holocron_assets.crawl.sources.seeds import load_site, store_seeds, store_site
from holocron_assets.definitions import build_definitions
from holocron_assets.entities.snapshot import open_snapshot
from holocron_assets.entities.store import stale_aliases, stale_entities, store_aliases, store_entities
from holocron_assets.lake.files.parquet import read_footer
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import ENTITIES, PAGES
from holocron_assets.orchestration.resources.resources import LakeResource, SourcesResource
from holocron_assets.planning.batch_steps import BATCH_STEPS, run_step
from holocron_assets.planning.job_names import BATCH_JOB, ENTITIES_JOB
from holocron_assets.settings import PROJECT_FOLDER
from holocron_assets.signals.links import link_extractor

PAGES_IN_BATCH = 500
REPETITIONS = 3
SOURCE = "bench"
BATCH = f"{SOURCE}-000001"
ENTITY_TYPES = frozenset(load_taxonomy().entity_worthy_types)
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}

Seconds = dict[str, float]
Clock = Callable[[], float]


@dataclass(frozen=True)
class Jobs:
    """The jobs of a batch, and Dagster's instance that records their runs."""

    instance: dg.DagsterInstance
    batch: dg.JobDefinition
    entities: dg.JobDefinition


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder / "prepared", write_export(folder / "bench.xml"))
        plain: list[Seconds] = []
        through_dagster: list[Seconds] = []
        for number in range(REPETITIONS):
            plain.append(measure_batch(folder, f"plain-{number}", run_rooms))
            through_dagster.append(measure_batch(folder, f"dagster-{number}", run_jobs))
    print_table(plain, through_dagster)


def prepare(folder: Path, export: Path) -> None:
    """A lake with the pages of an export listed and cut into one batch."""
    folder.mkdir()
    write_dump_source(folder / "sources", SOURCE, export)
    lake, source = Lake(folder / "data"), load_source(folder / "sources" / f"{SOURCE}.yaml")
    store_site(lake, source, None)
    store_seeds(lake, source, None)
    if cut_batches(lake, source, now=utc_now()) != [BATCH]:
        raise RuntimeError("the export must fill exactly one batch")


def write_export(path: Path, pages_wanted: int = PAGES_IN_BATCH) -> Path:
    """The sample's pages over and over, each time under other titles and ids."""
    sample = (PROJECT_FOLDER / "data" / "sample" / "wiki.xml").read_text(encoding="utf-8")
    head, _, rest = sample.partition("<page>")
    pages = [f"<page>{page}" for page in rest.rpartition("</mediawiki>")[0].split("<page>")]
    chosen = [renamed(pages[n % len(pages)], n // len(pages)) for n in range(pages_wanted)]
    path.write_text(f"{head}{''.join(chosen)}</mediawiki>\n", encoding="utf-8")
    return path


def renamed(page: str, copy: int) -> str:
    titled = page.replace("</title>", f" no. {copy}</title>", 1) if copy else page
    return re.sub(r"<id>(\d+)</id>", lambda id_: f"<id>{int(id_[1]) + copy * 1_000_000}</id>", titled)


def measure_batch(folder: Path, name: str, run: Callable[[Path], Seconds]) -> Seconds:
    """Run on a fresh copy of the prepared lake."""
    copy = folder / name
    shutil.copytree(folder / "prepared", copy)
    seconds = run(copy)
    footer = read_footer(Lake(copy / "data"), PAGES, BATCH)
    if footer is None or footer.rows != PAGES_IN_BATCH or not Lake(copy / "data").partitions(ENTITIES):
        raise RuntimeError(f"{name} did not do the work that is measured")
    shutil.rmtree(copy)
    return seconds


def run_rooms(folder: Path, clock: Clock = perf_counter) -> Seconds:
    """The work of every asset, called directly."""
    started = clock()
    lake = fetch(folder)
    derive(lake)
    batch_ended = clock()
    with open_snapshot(lake) as snapshot:
        for entity_type in stale_entities(snapshot, sorted(ENTITY_TYPES)):
            store_entities(snapshot, entity_type, entity_types=ENTITY_TYPES, now=utc_now(), run_id="bench")
        for entity_type in stale_aliases(snapshot, sorted(ENTITY_TYPES)):
            store_aliases(snapshot, entity_type)
    return {BATCH_JOB: batch_ended - started, ENTITIES_JOB: clock() - batch_ended}


def fetch(folder: Path) -> Lake:
    """Read the pages of the batch into the lake."""
    lake, source = Lake(folder / "data"), load_source(folder / "sources" / f"{SOURCE}.yaml")
    with page_reader(
        lake, source, BATCH, link_extractor(load_site(lake, SOURCE)), folder / "state"
    ) as reader:
        fetch_batch(lake, BATCH, reader, "bench")
    return lake


def derive(lake: Lake) -> None:
    """Make all that follows from the pages of the batch alone."""
    for step in BATCH_STEPS:
        run_step(lake, step, BATCH, "bench")


def run_jobs(folder: Path, clock: Clock = perf_counter) -> Seconds:
    """The same through jobs: one run for the batch, one for the entities of all types."""
    with opened_jobs(folder) as jobs:
        started = clock()
        execute(jobs.batch, jobs.instance, BATCH)
        batch_ended = clock()
        execute(jobs.entities, jobs.instance)
        return {BATCH_JOB: batch_ended - started, ENTITIES_JOB: clock() - batch_ended}


@contextmanager
def opened_jobs(folder: Path) -> Iterator[Jobs]:
    """The jobs over the lake of a folder, on an instance of their own below it."""
    definitions = build_definitions(
        {
            "lake": LakeResource(folder=str(folder / "data")),
            "sources": SourcesResource(
                folder=str(folder / "sources"), politeness_folder=str(folder / "state")
            ),
        }
    )
    batch_job, entities_job = map(definitions.resolve_job_def, (BATCH_JOB, ENTITIES_JOB))
    home = folder / "dagster"
    home.mkdir(exist_ok=True)
    shutil.copy(PROJECT_FOLDER / "dagster.yaml", home)
    with (
        patch.dict(os.environ, {"DAGSTER_HOME": str(home)}),
        dg.DagsterInstance.from_config(str(home)) as instance,
    ):
        instance.add_dynamic_partitions("batches", [BATCH])
        yield Jobs(instance, batch_job, entities_job)


def execute(job: dg.JobDefinition, instance: dg.DagsterInstance, partition: str | None = None) -> str:
    """Run a job in this process; give the run's id."""
    return job.execute_in_process(instance=instance, partition_key=partition, run_config=QUIET).run_id


def print_table(plain: list[Seconds], through_dagster: list[Seconds]) -> None:
    print(f"{PAGES_IN_BATCH} pages, {REPETITIONS} repetitions, medians (fastest in brackets)")
    print(f"{'job':<18}{'rooms alone, s':>18}{'through Dagster, s':>20}{'added, ms/page':>16}{'ratio':>8}")
    for name in (BATCH_JOB, ENTITIES_JOB, "both"):
        alone, with_it = series(plain, name), series(through_dagster, name)
        added = (median(with_it) - median(alone)) / PAGES_IN_BATCH * 1000
        ratio = median(with_it) / median(alone)
        print(f"{name:<18}{shown(alone):>18}{shown(with_it):>20}{added:>16.2f}{ratio:>8.2f}")


def series(measured: list[Seconds], name: str) -> list[float]:
    return [sum(seconds.values()) if name == "both" else seconds[name] for seconds in measured]


def shown(seconds: list[float]) -> str:
    return f"{median(seconds):.2f} ({min(seconds):.2f})"


if __name__ == "__main__":
    main()
