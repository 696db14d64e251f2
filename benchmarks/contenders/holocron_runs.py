"""Holocron as a contender, through Dagster: each batch in a run of `crawl_batch`, or of some of its assets.

Run in benchmarks/: python -m contenders.holocron_runs FOLDER API_URL IN_FLIGHT [ASSET ...]
"""

import sys

import dagster as dg

from contenders.holocron_crawl import crawl, place_from_arguments
from holocron_assets.definitions import build_definitions
from holocron_assets.orchestration.assets.partitions import BATCHES
from holocron_assets.orchestration.resources.resources import LakeResource, SourcesResource
from holocron_assets.orchestration.runs.waiting import QUIET
from holocron_assets.planning.job_names import BATCH_JOB


def main() -> None:
    """Crawl in runs, in this process, recorded in SQLite."""
    place = place_from_arguments()
    selection = [dg.AssetKey(name) for name in sys.argv[4:]] or None
    resources = {
        "lake": LakeResource(folder=str(place.lake.root)),
        "sources": SourcesResource(
            folder=str(place.sources_folder), politeness_folder=str(place.state_folder)
        ),
    }
    job = build_definitions(resources).resolve_job_def(BATCH_JOB)
    home = place.folder / "dagster"
    home.mkdir()
    quiet = {"telemetry": {"enabled": False}}
    with dg.DagsterInstance.local_temp(str(home), overrides=quiet) as instance:

        def run(batch: str) -> None:
            instance.add_dynamic_partitions(BATCHES.name or "", [batch])
            job.execute_in_process(
                instance=instance, partition_key=batch, run_config=QUIET, asset_selection=selection
            )

        crawl(place, run)


if __name__ == "__main__":
    main()
