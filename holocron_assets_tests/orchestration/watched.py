"""A Holocron whose sensors a test ticks, one by one, as the daemon would."""

from collections.abc import Sequence
from dataclasses import dataclass

import dagster as dg
from dagster import DagsterRunStatus
from sample_dagster import definitions_of, lake_resource, run_job, sources_resource
from sample_holocron import Holocron


@dataclass(frozen=True)
class Tick:
    """What one evaluation of a sensor came to."""

    asked: list[dg.RunRequest]
    partitions: set[str]
    skipped: str | None
    cursor: str | None
    events: Sequence[object] = ()

    @property
    def work(self) -> list[tuple[str | None, str | None]]:
        return [(request.job_name, request.partition_key) for request in self.asked]


@dataclass(frozen=True)
class Watched:
    """A Holocron and the instance whose daemon would tick its sensors."""

    holocron: Holocron
    instance: dg.DagsterInstance

    def tick(self, sensor: dg.SensorDefinition, cursor: str | None = None) -> Tick:
        """Evaluate a sensor once, and do with partitions as the daemon does."""
        resources = {"lake": lake_resource(self.holocron), "sources": sources_resource(self.holocron)}
        with dg.build_sensor_context(
            instance=self.instance, cursor=cursor, resources=resources, sensor_name=sensor.name
        ) as context:
            result = sensor(context)
            cursor = context.cursor
        if isinstance(result, dg.SkipReason):
            return Tick([], set(), result.skip_message, cursor)
        assert isinstance(result, dg.SensorResult)
        added: set[str] = set()
        for request in result.dynamic_partitions_requests or ():
            self.instance.add_dynamic_partitions(request.partitions_def_name, list(request.partition_keys))
            added.update(request.partition_keys)
        skipped = result.skip_reason.skip_message if result.skip_reason else None
        return Tick(list(result.run_requests or ()), added, skipped, cursor, result.asset_events)

    def store_run(self, request: dg.RunRequest, status: DagsterRunStatus) -> None:
        """Record the run of a request, as the daemon does, without running it."""
        job = definitions_of(self.holocron).resolve_job_def(request.job_name or "")
        partition = {"dagster/partition": request.partition_key} if request.partition_key else {}
        tags = {**job.run_tags, **request.tags, **partition}
        self.instance.create_run_for_job(job, status=status, tags=tags)

    def run(self, request: dg.RunRequest) -> None:
        """Run what was asked for."""
        job, partition = request.job_name or "", request.partition_key
        assert run_job(self.holocron, self.instance, job, partition, tags=request.tags).success
