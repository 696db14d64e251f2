"""A tick's result: partitions that Dagster does not know yet, and the runs for them."""

from collections.abc import Mapping, Sequence

import dagster as dg

from holocron_assets.lake.place.paths import Lake
from holocron_assets.orchestration.runs.registration import batches_cut
from holocron_assets.orchestration.sensors.run_requests import Requested


def answer(
    lake: Lake,
    requested: Requested,
    adopted: Mapping[dg.DynamicPartitionsDefinition, Sequence[str]],
    lacking: str,
    problems: Sequence[str] = (),
) -> dg.SensorResult:
    """The tick's result: partitions first, then the runs for them."""
    return dg.SensorResult(
        run_requests=requested.requests,
        dynamic_partitions_requests=[
            definition.build_add_request(list(keys)) for definition, keys in adopted.items() if keys
        ],
        asset_events=[
            event for definition, keys in adopted.items() for event in batches_cut(lake, definition, keys)
        ],
        skip_reason=None if requested.requests else "; ".join([*problems, *(requested.waiting or [lacking])]),
    )


def unknown(
    instance: dg.DagsterInstance, definition: dg.DynamicPartitionsDefinition, keys: Sequence[str]
) -> list[str]:
    """Keys that the instance does not know yet: new ones, and those left by a crash."""
    known = set(instance.get_dynamic_partitions(definition.name or ""))
    return [key for key in keys if key not in known]
