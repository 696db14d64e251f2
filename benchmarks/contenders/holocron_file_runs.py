"""Holocron's contender for files, through Dagster: each batch in a run of `fetch_files`, recorded in SQLite.

Run in benchmarks/: python -m contenders.holocron_file_runs FOLDER IN_FLIGHT FILE_OF_URLS
"""

import sys
from pathlib import Path

import dagster as dg

from contenders.holocron_files import fast_source, manifest
from contenders.report import Stopwatch
from holocron_assets.crawl.sources.file_source import FileSource
from holocron_assets.definitions import build_definitions
from holocron_assets.lake.files.parquet import read_partition, write_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import FILE_BATCHES, FILES
from holocron_assets.orchestration.assets.partitions import BATCHES_OF_FILES
from holocron_assets.orchestration.resources.resources import LakeResource, SourcesResource
from holocron_assets.orchestration.runs.waiting import QUIET
from holocron_assets.planning.job_names import FILES_JOB


class FastSources(SourcesResource):
    """One source that is as fast as it goes, which no source file allows."""

    in_flight: int

    def get_files(self, name: str) -> FileSource:  # noqa: ARG002 - there is only one
        """The source."""
        return fast_source(self.in_flight)


def main() -> None:
    """Fetch the files in runs, in this process, and report."""
    folder, in_flight, names = Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    lake, urls = Lake(folder / "data"), names.read_text().split()
    size = fast_source(in_flight).files_in_a_batch
    sources = FastSources(folder=str(folder), politeness_folder=str(folder / "hosts"), in_flight=in_flight)
    resources = {"lake": LakeResource(folder=str(lake.root)), "sources": sources}
    job = build_definitions(resources).resolve_job_def(FILES_JOB)
    home, done = folder / "dagster", 0
    home.mkdir(exist_ok=True)
    with dg.DagsterInstance.local_temp(str(home), overrides={"telemetry": {"enabled": False}}) as instance:
        stopwatch = Stopwatch()
        for number, start in enumerate(range(0, len(urls), size), start=1):
            batch = f"bench-{number:06d}"
            piece = enumerate(urls[start : start + size])
            write_partition(lake, FILE_BATCHES, batch, [manifest(batch, place, url) for place, url in piece])
            instance.add_dynamic_partitions(BATCHES_OF_FILES.name or "", [batch])
            job.execute_in_process(instance=instance, partition_key=batch, run_config=QUIET)
            done += sum(row["status"] == "ok" for row in read_partition(lake, FILES, batch))
        stopwatch.report(folder, pages=done)


if __name__ == "__main__":
    main()
