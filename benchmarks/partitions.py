"""Sensor ticks and the UI's partition page where there are 14,000 batches: the lake's part, and Dagster's.

    python benchmarks/partitions.py [--pack] [FOLDER]

makes an instance in SQLite that knows every batch of a lake that benchmarks/large_wiki.py made, and a
materialization of its pages; evaluates each sensor and the schedule `upkeep` twice in this process; and
asks a web server for what the UI's page of asset `pages` asks for. Without FOLDER a lake of 14,000 batches
of ten pages is made first. With `--pack` old batches are packed first, and their files removed, as `upkeep`
does within two days. The lake is written to by the sensors, as ever.
"""

import argparse
import http.client
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from time import perf_counter, sleep, time
from typing import Any, TypeVar

import dagster as dg
from large_wiki import arguments_of, write_wiki

from holocron_assets.definitions import build_definitions
from holocron_assets.lake.packs.compaction import compact
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGES
from holocron_assets.lake.views.database import publish
from holocron_assets.orchestration.assets.partitions import BATCHES
from holocron_assets.orchestration.resources.resources import LakeResource, SourcesResource
from holocron_assets.settings import PROJECT_FOLDER

Given = TypeVar("Given")
Measure = Callable[[str, Callable[[], Any]], Any]
"""Does what it is given, and notes under a name how long that took."""
PORT = 8377
SMALL_BATCHES = ("--pages", "140000", "--links", "2800000", "--batch-size", "10", "--derived")
QUERIES = {
    "partitions and their states": (
        """query($key: AssetKeyInput!) { assetNodeOrError(assetKey: $key) { ... on AssetNode {
            partitionKeysByDimension { name type partitionKeys }
            assetPartitionStatuses { ... on DefaultPartitionStatuses {
                materializedPartitions materializingPartitions failedPartitions } } } } }""",
        "materializedPartitions",
    ),
    "one partition's events": (
        """query($key: AssetKeyInput!, $partition: String!) { assetOrError(assetKey: $key) { ... on Asset {
            definition { latestRunForPartition(partition: $partition) { id status } }
            assetEventHistory(partitions: [$partition], limit: 1000,
                eventTypeSelectors: [MATERIALIZATION, OBSERVATION, FAILED_TO_MATERIALIZE]) { results {
                    ... on MaterializationEvent { runId timestamp metadataEntries { label } } } } } } }""",
        "timestamp",
    ),
    "whether one is stale": (
        """query($key: AssetKeyInput!, $partition: String!) { assetNodeOrError(assetKey: $key) {
            ... on AssetNode { staleStatus(partition: $partition)
                staleCauses(partition: $partition) { reason category } } } }""",
        "staleStatus",
    ),
    "the newest hundred": (
        """query($key: AssetKeyInput!) { assetNodeOrError(assetKey: $key) { ... on AssetNode {
            partitionKeyConnection(limit: 100, ascending: false) { results } } } }""",
        "results",
    ),
}


def main() -> None:
    arguments = _arguments()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder
        if folder is None:
            folder = Path(temporary)
            write_wiki(folder, arguments_of(SMALL_BATCHES))
        # In memory: what is measured is not how fast a disk syncs.
        with tempfile.TemporaryDirectory(dir=arguments.home) as home:
            measure_all(folder.resolve(), home, with_packs=arguments.pack)


def measure_all(folder: Path, home: str, *, with_packs: bool) -> None:
    lake = Lake(folder / "data")
    if with_packs:
        measure("packing old batches, removing their files", partial(pack, lake))
    batches = lake.partitions(PAGES)
    print(f"{len(batches):,} batches")
    with dg.DagsterInstance.local_temp(home) as instance:
        measure("reporting all batches to Dagster", partial(report, instance, batches))
        measure("reporting one more batch to Dagster", partial(report, instance, ["large-999999"]))
        tick_all(instance, folder, measure)
    ask_all(home, folder, batches[len(batches) // 2], measure)


def pack(lake: Lake) -> None:
    """What `upkeep` does two days after the last batch."""
    compact(lake, now=utc_now() + timedelta(days=2))
    for file in lake.root.glob("lake/*/*/.packs/*.parquet"):
        os.utime(file, (time() - 60, time() - 60))
    publish(lake)
    compact(lake, now=utc_now() + timedelta(days=2))


def report(instance: dg.DagsterInstance, batches: list[str]) -> None:
    """Partitions, and a materialization of each."""
    instance.add_dynamic_partitions(BATCHES.name or "", batches)
    for batch in batches:
        instance.report_runless_asset_event(
            dg.AssetMaterialization(PAGES.name, partition=batch, metadata={"dagster/row_count": 500})
        )


def tick_all(instance: dg.DagsterInstance, folder: Path, measure: Measure) -> None:
    """Each sensor and the schedule, two ticks one after the other, with the cursor that the first left."""
    resources: dict[str, Any] = {
        "lake": LakeResource(folder=str(folder / "data")),
        "sources": SourcesResource(
            folder=str(folder / "sources"), politeness_folder=str(folder / "politeness")
        ),
    }
    definitions = build_definitions(resources)
    for sensor in definitions.sensors or ():
        if isinstance(sensor, dg.SensorDefinition):
            tick_sensor(sensor, instance, resources, measure)
    for schedule in definitions.schedules or ():
        if isinstance(schedule, dg.ScheduleDefinition) and schedule.name == "upkeep":
            for number in ("first", "second"):
                with dg.build_schedule_context(instance=instance, resources=resources) as context:
                    measure(f"schedule upkeep, {number} tick", partial(schedule, context))


def tick_sensor(
    sensor: dg.SensorDefinition, instance: dg.DagsterInstance, resources: dict[str, Any], measure: Measure
) -> None:
    cursor = None
    for number in ("first", "second"):
        with dg.build_sensor_context(
            instance=instance, cursor=cursor, resources=resources, sensor_name=sensor.name
        ) as context:
            measure(f"sensor {sensor.name}, {number} tick", partial(sensor, context))
            cursor = context.cursor


def ask_all(home: str, folder: Path, batch: str, measure: Measure) -> None:
    """The queries of the UI's page of asset `pages`, each twice."""
    variables = {"key": {"path": [PAGES.name]}, "partition": batch}
    with web_server(home, folder):
        for name, (query, expected) in QUERIES.items():
            for number in ("first", "second"):
                answer = measure(f"UI: {name}, {number} time", partial(ask, query, variables))
            if expected not in answer or "errors" in json.loads(answer):
                raise RuntimeError(f"{name}: {answer[:500]}")


@contextmanager
def web_server(home: str, folder: Path) -> Iterator[None]:
    command = [sys.executable, "-m", "dagster_webserver", "-w", str(PROJECT_FOLDER / "workspace.yaml")]
    environment = {
        **os.environ,
        "DAGSTER_HOME": home,
        "HOLOCRON_DATA": str(folder / "data"),
        "HOLOCRON_SOURCES": str(folder / "sources"),
    }
    with subprocess.Popen(  # noqa: S603 - our own command
        [*command, "-h", "127.0.0.1", "-p", str(PORT)],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as server:
        try:
            wait_for_code(perf_counter() + 120)
            yield
        finally:
            server.terminate()


def wait_for_code(deadline: float) -> None:
    query = "{ assetNodes { assetKey { path } } }"
    while perf_counter() < deadline:
        try:
            if PAGES.name in ask(query, {}):
                return
        except OSError:
            pass
        sleep(0.5)
    raise RuntimeError("the web server did not come up")


def ask(query: str, variables: dict[str, Any]) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=300)
    body = json.dumps({"query": query, "variables": variables})
    connection.request("POST", "/graphql", body, {"Content-Type": "application/json"})
    return connection.getresponse().read().decode()


def measure(what: str, do: Callable[[], Given]) -> Given:
    started = perf_counter()
    given = do()
    shown = f"   {given.skip_message}" if isinstance(given, dg.SkipReason) else ""
    print(f"{what:<55}{perf_counter() - started:>9.2f} s{shown}", flush=True)
    return given


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", help="as benchmarks/large_wiki.py made it")
    home = Path("/dev/shm")  # noqa: S108 - it is in memory, and what is made there has a name of chance
    parser.add_argument("--home", type=Path, default=home, help="where Dagster's instance is made")
    parser.add_argument("--pack", action="store_true", help="pack the lake first")
    return parser.parse_args()


if __name__ == "__main__":
    main()
