"""Who finds out what is due: Dagster's automation conditions, or a sensor that reads the lake.

Run: python benchmarks/automation.py [--batches NUMBER]

An upstream asset has a partition a batch, and an asset by entity type depends on all of them, as those of
entities do. One has the condition `eager()`, evaluated by Dagster as its daemon does: the first time, again
with nothing new, and after one batch was made anew. The mark that the sensor `promotion` compares
is read off a lake with as many batches. Both run in one process, in turns.

Prints a table of processor seconds an evaluation, and how many runs each asked for.
"""

import argparse
import tempfile
from pathlib import Path
from time import process_time

import dagster as dg
from rich.console import Console
from rich.table import Table as Printed

from holocron_assets.classify.taxonomy import load_taxonomy
from holocron_assets.lake.files.parquet import write_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import ENTITY_CANDIDATES

BATCHES = dg.DynamicPartitionsDefinition(name="batches")
TYPES = dg.StaticPartitionsDefinition(sorted(load_taxonomy().entity_worthy_types))


@dg.asset(partitions_def=BATCHES)
def candidates() -> None:
    """Made for each batch."""


@dg.asset(
    partitions_def=TYPES,
    deps=[dg.AssetDep(candidates, partition_mapping=dg.AllPartitionMapping())],
    automation_condition=dg.AutomationCondition.eager(),
)
def entities() -> None:
    """Made for each type, of all batches."""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--batches", type=int, default=14_000)
    batches = [f"wiki-{number:06}" for number in range(1, parser.parse_args().batches + 1)]
    table = Printed(
        "what", "condition, CPU s", "runs", "sensor's mark, CPU s", title=f"{len(batches):,} batches"
    )
    with tempfile.TemporaryDirectory() as folder, dg.DagsterInstance.ephemeral() as instance:
        lake = Lake(Path(folder))
        instance.add_dynamic_partitions(str(BATCHES.name), batches)
        for batch in batches:
            make(instance, lake, batch)
        cursor = None
        for what, anew in (("first", None), ("nothing new", None), ("one batch made anew", batches[-1])):
            if anew:
                make(instance, lake, anew)
            started = process_time()
            result = dg.evaluate_automation_conditions([candidates, entities], instance, cursor=cursor)
            evaluated = process_time()
            lake.mark([ENTITY_CANDIDATES])
            marked = process_time()
            cursor = result.cursor
            table.add_row(
                what, f"{evaluated - started:.2f}", str(result.total_requested), f"{marked - evaluated:.2f}"
            )
    Console().print(table)


def make(instance: dg.DagsterInstance, lake: Lake, batch: str) -> None:
    """Make a batch, in the lake and in Dagster."""
    write_partition(lake, ENTITY_CANDIDATES, batch, [])
    instance.report_runless_asset_event(dg.AssetMaterialization(candidates.key, partition=batch))


if __name__ == "__main__":
    main()
