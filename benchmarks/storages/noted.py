"""A code location whose runs only leave events: what they take is what Dagster and its storage take."""

import dagster as dg

from holocron_assets.orchestration.assets.partitions import BATCHES

NOTE_JOB = "note"
NOTED = "noted"


@dg.asset(partitions_def=BATCHES, backfill_policy=dg.BackfillPolicy.single_run())
def noted(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
    """As many materializations as the run has partitions."""
    return dg.MaterializeResult(metadata={"partitions": len(context.partition_keys)})


defs = dg.Definitions(assets=[noted], jobs=[dg.define_asset_job(NOTE_JOB, [noted])])
