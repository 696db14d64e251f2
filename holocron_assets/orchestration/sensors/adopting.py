"""A tick's result: partitions that Dagster does not know yet, and the runs for them."""

from collections.abc import Mapping, Sequence

import dagster as dg

from holocron_assets.lake.place.paths import Lake
from holocron_assets.orchestration.runs.registration import batches_cut
from holocron_assets.orchestration.sensors.run_requests import Requested

MOST_ADOPTED = 200
"""The most partitions of a kind that a tick adopts. It takes some 10 ms to read a manifest, and as long to
record it. Dagster ends a tick after 60 s, and a large lake with a new storage has thousands to adopt."""


def answer(
    lake: Lake,
    requested: Requested,
    adopted: Mapping[dg.DynamicPartitionsDefinition, Sequence[str]],
    lacking: str,
    problems: Sequence[str] = (),
) -> dg.SensorResult:
    """The tick's result: partitions first, then the runs for them.

    Args:
        lake: the lake.
        requested: the runs.
        adopted: keys of partitions that Dagster does not know yet. Of many, later ticks adopt the rest.
        lacking: the reason to skip the tick if no other is known.
        problems: what went wrong.
    """
    adopted = {definition: _first(requested, keys) for definition, keys in adopted.items()}
    return dg.SensorResult(
        run_requests=requested.requests,
        dynamic_partitions_requests=[
            definition.build_add_request(keys) for definition, keys in adopted.items() if keys
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


def _first(requested: Requested, keys: Sequence[str]) -> list[str]:
    """The keys to adopt now: those that the requested runs need, then as many others as a tick may adopt."""
    needed = {request.partition_key for request in requested.requests}
    ordered = sorted(keys, key=lambda key: key not in needed)
    return ordered[: max(MOST_ADOPTED, len(needed))]
