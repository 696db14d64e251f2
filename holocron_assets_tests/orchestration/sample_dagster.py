"""Dagster's definitions over a Holocron, and their jobs run in this process."""

from collections.abc import Mapping
from typing import Any

import dagster as dg
from sample_holocron import Holocron

from holocron_assets.definitions import build_definitions
from holocron_assets.derive.dispatch.pools import DispatchSettings
from holocron_assets.lake.declaration.schema import Table
from holocron_assets.orchestration.resources.resources import LakeResource, SourcesResource
from holocron_assets.orchestration.sensors.dispatch import dispatch_sensors

_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


def lake_resource(holocron: Holocron) -> LakeResource:
    return LakeResource(folder=str(holocron.lake.root))


def sources_resource(holocron: Holocron) -> SourcesResource:
    return SourcesResource(
        folder=str(holocron.sources_folder), politeness_folder=str(holocron.politeness_folder)
    )


def definitions_of(holocron: Holocron) -> dg.Definitions:
    """The real definitions, over the folders of one Holocron."""
    return build_definitions({"lake": lake_resource(holocron), "sources": sources_resource(holocron)})


def model_dispatch(pool: str = "gpu") -> dg.SensorDefinition:
    """The sensor that gives work to models of the GPU, or to code."""
    settings = DispatchSettings()
    return dispatch_sensors(settings, [], [])[list(settings.pools_now).index(pool)]


def run_job(  # noqa: PLR0913 - what a run may be given
    holocron: Holocron,
    instance: dg.DagsterInstance,
    job: str,
    partition: str | None = None,
    config: Mapping[str, Any] | None = None,
    *,
    resources: Mapping[str, Any] | None = None,
    tags: Mapping[str, str] | None = None,
) -> dg.ExecuteInProcessResult:
    """Run a job in this process. A run that fails is given back like any other."""
    return (
        definitions_of(holocron)
        .resolve_job_def(job)
        .execute_in_process(
            instance=instance,
            partition_key=partition,
            tags=dict(tags or {}),
            raise_on_error=False,
            run_config={**_QUIET, "ops": config or {}, "resources": resources or {}},
        )
    )


def metadata_of(result: dg.ExecuteInProcessResult, table: Table) -> dict[str, Any]:
    """The values that a run's materialization of a table states."""
    (event,) = result.asset_materializations_for_node(table.name)
    return {name: value.value for name, value in event.metadata.items()}


def failure_message(result: dg.ExecuteInProcessResult) -> str:
    """What a failed run's first failed step says."""
    data = next(event for event in result.all_events if event.is_step_failure).step_failure_data
    if data.user_failure_data and data.user_failure_data.description:
        return data.user_failure_data.description
    assert data.error is not None
    return data.error.to_string()
