"""Tags by which steps record events of assets themselves, and the content that the last events name.

Waits for: a public setting that keeps Dagster from recording a materialization for each partition of a run's
range, and a public call that gives the data versions of many partitions at once.
"""

from collections.abc import Mapping, Sequence

import dagster as dg

DEFERRED: Mapping[str, str] = {"dagster/defer_asset_events": "true"}
"""Tag of a job whose steps say themselves which files they replaced. Dagster does not document it."""

RANGE_TAGS = ("dagster/asset_partition_range_start", "dagster/asset_partition_range_end")
"""Tags of a run over several partitions. Without them or a partition, a step that follows another fails."""

DATA_VERSION_TAG = "dagster/data_version"
"""Tag of a materialization: the data version of what was made."""


def last_data_versions(
    instance: dg.DagsterInstance, asset: dg.AssetKey, partitions: Sequence[str]
) -> dict[str, str | None]:
    """The data version that the last materialization of each partition names.

    Dagster has no public call that reads it for many partitions at once.

    Args:
        instance: knows the events.
        asset: whose.
        partitions: which.
    """
    tags = instance.event_log_storage.get_latest_tags_by_partition(
        asset, dg.DagsterEventType.ASSET_MATERIALIZATION, [DATA_VERSION_TAG], list(partitions)
    )
    return {name: own.get(DATA_VERSION_TAG) for name, own in tags.items()}
