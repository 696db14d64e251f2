"""Lists, crawls and asks, as runs of Dagster without any config; one run fails. Then it is killed.

python work_observed.py TRACEPARENT
"""

import os
import signal
import sys

import dagster as dg
from dagster._core.definitions.instigation_logger import InstigationLogger

from holocron_assets.crawl.frontier.batches import cut_batches
from holocron_assets.crawl.sources.files import load_source
from holocron_assets.definitions import defs
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.planning.job_names import BATCH_JOB, GPU_JOB, SEEDS_JOB, TRACE_TAG
from holocron_assets.settings import data_folder, sources_folder


def main() -> None:
    (parent,) = sys.argv[1:]
    with dg.DagsterInstance.ephemeral() as instance:

        def run(job: str, partition: str | None = None) -> None:
            defs.resolve_job_def(job).execute_in_process(
                instance=instance,
                partition_key=partition,
                raise_on_error=False,
                tags={TRACE_TAG: parent},
            )

        InstigationLogger(repository_name="all", instigator_name="new_pages").info("cut a batch")
        instance.add_dynamic_partitions("sources", ["tiny"])
        run(SEEDS_JOB, "tiny")
        (batch,) = cut_batches(
            Lake(data_folder()), load_source(sources_folder() / "tiny.yaml"), now=utc_now()
        )
        instance.add_dynamic_partitions("batches", [batch, "tiny-000099"])
        run(BATCH_JOB, batch)
        run(GPU_JOB)
        run(BATCH_JOB, "tiny-000099")  # which was never cut
        os.kill(os.getpid(), signal.SIGKILL)


main()
