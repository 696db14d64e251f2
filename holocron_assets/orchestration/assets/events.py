"""Dagster's record of assets: one event for each file that a step replaced, and no other.

Jobs have a tag (`internals/assets.py`) under which Dagster plans and records no events of assets by
itself. Otherwise a run over a range of partitions would record an event for each of them, all with one data
version, whether its file was replaced or not, and a run that failed would show as failed what it never
touched. `test_asset_events.py` shows what the tag does. A run that Dagster makes by itself (its Materialize
button, a backfill) does not have it, and has Dagster's own events.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import dagster as dg

from holocron_assets.errors import PermanentError
from holocron_assets.lake.files.parquet import Footer
from holocron_assets.orchestration.internals.assets import (
    DATA_VERSION_TAG,
    DEFERRED,
    RANGE_TAGS,
    last_data_versions,
)
from holocron_assets.planning.job_names import PARTITION_TAG, PARTITIONS_TAG

RANGE_OF_TAG = "holocron/range_of"
"""Tag of a job over dynamic partitions, with their definition. The range is known when a run begins."""

PARTITIONS_SEPARATOR = ","
"""Separates partitions in the tag that names several: no partition's name contains it."""

RECORDED_LATE = "The file stood already: a run ended before it could record it, or Dagster's storage is new."

StepResult = dg.AssetMaterialization | dg.MaterializeResult[None]


class Stored(NamedTuple):
    """One partition's file, with the data for its event.

    Attributes:
        footer: of the file.
        metadata: the metadata of its materialization.
        is_replaced: whether this step replaced it. Otherwise the file is as it was.
    """

    footer: Footer
    metadata: Mapping[str, Any]
    is_replaced: bool = True


def range_tags(every_partition: Sequence[str]) -> dict[str, str]:
    """Tags of a run over several partitions, which let Dagster resolve what its steps read.

    The range covers all partitions, in the order of their definition. It does not say which of them a run
    makes: a range of dynamic partitions follows the order of registration, and mixes sources.
    """
    return dict(zip(RANGE_TAGS, (every_partition[0], every_partition[-1]), strict=True))


def makes_what_is_stale(tags: Mapping[str, str]) -> bool:
    """Whether runs of a job with these tags choose their partitions themselves."""
    return RANGE_OF_TAG in tags or RANGE_TAGS[0] in tags


def partitions_of_run(run: dg.DagsterRun) -> list[str]:
    """The partitions that a run may make, as its tags name them; none where they name none."""
    named = run.tags.get(PARTITION_TAG) or run.tags.get(PARTITIONS_TAG) or ""
    return named.split(PARTITIONS_SEPARATOR) if named else []


def partition_of(context: dg.AssetExecutionContext) -> str:
    """The one partition that a step makes.

    Raises:
        PermanentError: the run is one over several partitions, which the UI offers for every asset.
    """
    if not context.has_partition_key:
        raise PermanentError(
            f"{context.asset_key.to_user_string()} makes one partition in a run: launch the range as "
            "multiple runs, or give `holocron backfill ASSET --from FIRST --to LAST`"
        )
    partition: str = context.partition_key
    return partition


def is_deferred(run: dg.DagsterRun) -> bool:
    """Whether a run's steps themselves record which files they replaced."""
    return DEFERRED.items() <= run.tags.items()


def materialization(asset: dg.AssetKey, partition: str | None, stored: Stored) -> dg.AssetMaterialization:
    """The event of one file."""
    return dg.AssetMaterialization(
        asset,
        partition=partition,
        metadata=stored.metadata,
        tags={DATA_VERSION_TAG: stored.footer.content_id},
    )


def step_results(context: dg.AssetExecutionContext, stored: Stored) -> Iterator[StepResult]:
    """The results of a step that makes one partition.

    In a deferred run, the event of its file comes first, if the file was replaced, or if a run died between
    the replacement and the event. An output without an event follows, so that the next step runs.
    """
    if not is_deferred(context.run):
        version = dg.DataVersion(stored.footer.content_id)
        yield dg.MaterializeResult(metadata=stored.metadata, data_version=version)
        return
    partition, footer = partition_of(context), stored.footer
    if stored.is_replaced:
        yield materialization(context.asset_key, partition, stored)
    elif not recorded_partitions(context.instance, context.asset_key, {partition: footer}):
        yield recorded_late(context.asset_key, partition, footer)
    yield dg.MaterializeResult()


def recorded_late(asset: dg.AssetKey, partition: str, footer: Footer) -> dg.AssetMaterialization:
    """The event of a file that existed before the run, and that Dagster does not know."""
    return dg.AssetMaterialization(
        asset,
        partition=partition,
        description=RECORDED_LATE,
        metadata={"dagster/row_count": footer.rows, "content_id": footer.content_id},
        tags={DATA_VERSION_TAG: footer.content_id},
    )


def recorded_partitions(
    instance: dg.DagsterInstance, asset: dg.AssetKey, footers: Mapping[str, Footer]
) -> Collection[str]:
    """The partitions whose last event names their present content.

    Args:
        instance: knows the events.
        asset: the asset.
        footers: the files' footers, by partition.
    """
    versions = last_data_versions(instance, asset, list(footers))
    return {name for name, version in versions.items() if version == footers[name].content_id}
