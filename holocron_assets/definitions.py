"""The one place where everything is assembled."""

from collections.abc import Mapping
from typing import Any

import dagster as dg

from holocron_assets.derive.dispatch.pools import DispatchSettings, read_dispatch_settings
from holocron_assets.derive.interrogations.loading import load_interrogations
from holocron_assets.lake.files.people_settings import SettingsError
from holocron_assets.orchestration.assets.batches import BATCH_ASSETS
from holocron_assets.orchestration.assets.change_readings import page_changes
from holocron_assets.orchestration.assets.crawl import batch_pages, pages, seed_titles, sites
from holocron_assets.orchestration.assets.derivations import derive_assets
from holocron_assets.orchestration.assets.entities import ENTITY_JOBS, STAGE_ASSETS, WHOLE_RUN_CHECKS
from holocron_assets.orchestration.assets.files import file_batches, file_list, files
from holocron_assets.orchestration.assets.known_links import known_links
from holocron_assets.orchestration.assets.published import search_index, views
from holocron_assets.orchestration.assets.revision_checks import revision_checks
from holocron_assets.orchestration.assets.status import hourly_status, operation_status, report_status
from holocron_assets.orchestration.checks.answers import derive_checks
from holocron_assets.orchestration.checks.quality import QUALITY_CHECKS
from holocron_assets.orchestration.internals.run_queue import sleep_while_pools_are_full
from holocron_assets.orchestration.internals.runs import fork_runs
from holocron_assets.orchestration.jobs.assets import ASSET_JOBS
from holocron_assets.orchestration.jobs.derive import derive_jobs
from holocron_assets.orchestration.jobs.group import run_group
from holocron_assets.orchestration.jobs.refresh import add_pages, refresh
from holocron_assets.orchestration.jobs.upkeep import compaction_job, upkeep_job
from holocron_assets.orchestration.model_runs.what_to_ask import RESOURCE, WhatToAsk
from holocron_assets.orchestration.resources.resources import (
    LakeResource,
    ModelsResource,
    SnapshotResource,
    SourcesResource,
)
from holocron_assets.orchestration.runtime.observing import observe_runs
from holocron_assets.orchestration.schedules.clock import clock_schedules
from holocron_assets.orchestration.schedules.file import load_schedules, schedules_sensor
from holocron_assets.orchestration.schedules.revision_checks import recheck_schedules
from holocron_assets.orchestration.sensors.alerts import raise_alerts
from holocron_assets.orchestration.sensors.changes import changed_pages
from holocron_assets.orchestration.sensors.crawl_and_entities import SENSORS
from holocron_assets.orchestration.sensors.dispatch import dispatch_sensors
from holocron_assets.orchestration.sensors.files import new_files
from holocron_assets.orchestration.sensors.lost_runs import lost_runs
from holocron_assets.orchestration.sensors.notifications import tell_webhooks
from holocron_assets.settings import (
    data_folder,
    dispatch_file,
    politeness_folder,
    sources_folder,
)

observe_runs()
sleep_while_pools_are_full()
fork_runs()


def build_definitions(resource_overrides: Mapping[str, Any] | None = None) -> dg.Definitions:
    """Assemble assets, checks, jobs, sensors, schedules and resources.

    Args:
        resource_overrides: resources by name that take the place of the usual ones, for tests.
    """
    overrides = resource_overrides or {}
    lake = overrides.get("lake") or LakeResource(folder=str(data_folder()))
    resources = {
        "lake": lake,
        "snapshot": SnapshotResource(folder=lake.folder),
        "sources": SourcesResource(folder=str(sources_folder()), politeness_folder=str(politeness_folder())),
        "models": ModelsResource(folder=str(data_folder())),
        RESOURCE: WhatToAsk.configure_at_launch(),
        **overrides,
    }
    schedules = load_schedules()
    interrogations, dispatch = load_interrogations(), _dispatch_settings()
    asking_models = derive_jobs(interrogations, dispatch)
    return dg.Definitions(
        assets=[
            *(batch_pages, sites, seed_titles, page_changes, revision_checks, pages),
            *(file_list, file_batches, files),
            *(*BATCH_ASSETS, *STAGE_ASSETS, known_links, search_index, views, operation_status),
            *derive_assets(interrogations, dispatch),
        ],
        asset_checks=[*QUALITY_CHECKS, *WHOLE_RUN_CHECKS, *derive_checks(interrogations)],
        jobs=[
            *ASSET_JOBS.values(),
            *asking_models,
            *ENTITY_JOBS,
            upkeep_job,
            compaction_job,
            report_status,
            refresh,
            add_pages,
            run_group,
        ],
        sensors=[
            *SENSORS,
            new_files,
            lost_runs,
            changed_pages,
            *dispatch_sensors(dispatch, asking_models, interrogations),
            tell_webhooks,
            raise_alerts,
            schedules_sensor(schedules),
        ],
        schedules=[
            *clock_schedules(schedules.schedules),
            hourly_status,
            *recheck_schedules(resources["sources"]),
        ],
        resources=resources,
        # A step costs 0.02 to 0.06 s in the run's own process, and 1.6 s and orphans in one of its own.
        executor=dg.in_process_executor,
    )


def _dispatch_settings() -> DispatchSettings:
    """How work is dispatched; the usual way where the file cannot be used, and then no sensor gives work."""
    try:
        return read_dispatch_settings(dispatch_file())
    except SettingsError:
        return DispatchSettings()


defs = build_definitions()
