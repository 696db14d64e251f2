"""What sensors of new pages and files share: when they cut batches, and their ticks' results."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

import dagster as dg

from holocron_assets.lake.place.paths import Lake
from holocron_assets.orchestration.runs.registration import batches_cut
from holocron_assets.orchestration.runs.requesting import Requested

MOST_ADOPTED = 200
"""The most partitions of a kind that a tick adopts. It takes some 10 ms to read a manifest, and as long to
record it. Dagster ends a tick after 60 s, and a large lake with a new storage has thousands to adopt."""


def cut_unless_same(
    context: dg.SensorEvaluationContext,
    mark: str,
    cut: Callable[[], list[str]],
    *,
    now: datetime,
    again_after: timedelta,
) -> list[str] | None:
    """Cut what is pending into batches, unless nothing was pending a short time ago and nothing changed.

    Args:
        context: of the sensor, whose cursor remembers a look that found nothing.
        mark: changes with all that tells what is pending.
        cut: cuts batches, and gives their names.
        now: the moment.
        again_after: how long after such a look it is looked again: items become due that failed.

    Returns:
        The batches; None if it was not looked.
    """
    memory: dict[str, str] = json.loads(context.cursor or "{}")
    if memory.get("nothing_pending") == mark:
        looked_at = datetime.fromisoformat(memory["looked_at"])
        if timedelta(0) <= now - looked_at < again_after:  # the clock may be set back
            return None
    batches = cut()
    remembered = {} if batches else {"nothing_pending": mark, "looked_at": now.isoformat()}
    context.update_cursor(json.dumps(remembered))
    return batches


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
