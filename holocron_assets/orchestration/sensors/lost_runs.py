"""Finds runs whose process or machine is gone."""

import dagster as dg

from holocron_assets.orchestration.resources.resources import LakeResource
from holocron_assets.orchestration.runs.reaper import reap_dead_runs

_SECONDS_BETWEEN_LOOKS = 15


@dg.sensor(
    minimum_interval_seconds=_SECONDS_BETWEEN_LOOKS,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Reports runs as failed whose process or machine is gone, so that their work is done again.",
)
def lost_runs(context: dg.SensorEvaluationContext, lake: LakeResource) -> dg.SkipReason:
    """Find the runs under way without a living process."""
    reaped = reap_dead_runs(context.instance, lake.open())
    return dg.SkipReason(
        f"reported as failed: {', '.join(reaped)}" if reaped else "every run has its process"
    )
