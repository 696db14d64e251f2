"""`docs/names.md`: every name that other tools may rely on, written from the definitions themselves.

python -m holocron_assets.orchestration.reference.names > docs/names.md
"""

import sys
from collections.abc import Mapping, Sequence

import dagster as dg

from holocron_assets.definitions import defs
from holocron_assets.lake.declaration.reference import code, section
from holocron_assets.orchestration.assets.partitions import (
    BATCHES,
    BATCHES_OF_FILES,
    ENTITY_TYPES,
    SOURCES,
    SOURCES_OF_FILES,
)
from holocron_assets.orchestration.internals.assets import assets_in_order, assets_of_job, checks_of_job
from holocron_assets.orchestration.jobs.group import GroupConfig
from holocron_assets.orchestration.jobs.refresh import AddPagesConfig, RefreshConfig
from holocron_assets.orchestration.reference.graph import jobs, of_one, schedules, sensors
from holocron_assets.orchestration.schedules.revision_checks import RECHECK_PREFIX
from holocron_assets.planning import job_names as names

_HEAD = """\
# Names

The names that other tools may rely on; those of SQL are in [views.md](views.md). A test compares this page
with the definitions. After a change:

    python -m holocron_assets.orchestration.reference.names > docs/names.md
"""
_CONFIGS: Mapping[str, type[dg.Config]] = {
    "refresh_sources": RefreshConfig,
    "add_given_pages": AddPagesConfig,
    "run_steps": GroupConfig,
}

_OF_THE_FILE: Sequence[Sequence[str]] = [
    (
        code(["refresh_SOURCE", "refresh_all"]),
        "running",
        "as in `data/schedules.yaml`",
        code(["refresh"]),
        "Crawls a source, or every enabled one, again from its seeds on; numbered where there are several.",
    ),
    (
        code(["group_NAME"]),
        "running",
        "as in `data/schedules.yaml`",
        code(["run_group"]),
        "Runs the steps of a group; numbered where there are several.",
    ),
]


def names_markdown() -> str:
    """Assets, jobs, sensors, schedules, checks and tags, as Markdown."""
    sections = [
        section("Assets", ("asset", "group", "partitions", "made from"), _assets()),
        section("Partitions", ("of one", "definition", "keys"), _partition_sets()),
        section("Jobs", ("job", "partitions", "assets, checks or config", "what it does"), _jobs()),
        section("Sensors", ("sensor", "at first", "every", "jobs", "what it does"), _sensors()),
        section("Schedules", ("schedule", "at first", "cron", "job", "what it does"), _schedules()),
        section("Asset checks", ("check", "asset", "what it says"), _checks()),
        section("Run tags", ("tag", "what it holds"), _tags()),
    ]
    return "\n".join([_HEAD, *sections])


def _assets() -> list[Sequence[str]]:
    nodes = assets_in_order(defs)
    return [
        (
            code([node.key.to_user_string()]),
            node.group_name,
            of_one(node.partitions_def),
            code(sorted(key.to_user_string() for key in node.parent_keys)),
        )
        for node in nodes
    ]


def _jobs() -> list[Sequence[str]]:
    return [
        (code([job.name]), of_one(job.partitions_def), _selection(job), job.description or "")
        for job in sorted(jobs(), key=lambda job: job.name)
    ]


def _selection(job: dg.JobDefinition) -> str:
    """The assets that a job makes, else the checks that it runs, else the config that it takes."""
    made = sorted(key.to_user_string() for key in assets_of_job(job))
    checked = sorted(checks_of_job(job))
    if made or not _config(job):
        return code(made or checked)
    return code(_config(job))


def _config(job: dg.JobDefinition) -> list[str]:
    return [
        f"ops.{node.name}.config.{name}"
        for node in job.nodes
        if node.name in _CONFIGS
        for name in _CONFIGS[node.name].model_fields
    ]


def _sensors() -> list[Sequence[str]]:
    return [
        (
            code([sensor.name]),
            sensor.default_status.value.lower(),
            f"{sensor.minimum_interval_seconds} s",
            code(sorted(target.job_name for target in sensor.targets)),
            sensor.description or "",
        )
        for sensor in sorted(sensors(), key=lambda sensor: sensor.name)
    ]


def _schedules() -> list[Sequence[str]]:
    of_code = [
        (
            code([schedule.name]),
            schedule.default_status.value.lower(),
            code([str(schedule.cron_schedule)]),
            code([schedule.job_name]),
            schedule.description or "",
        )
        for schedule in schedules()
    ]
    of_sources = (
        code([f"{RECHECK_PREFIX}SOURCE"]),
        "running",
        "the source's `changes.recheck`",
        code([names.RECHECK_JOB]),
        "Compares all pages of a source with its wiki, where its file sets a time.",
    )
    return [*of_code, of_sources, *_OF_THE_FILE]


def _checks() -> list[Sequence[str]]:
    specs = [spec for checks in defs.asset_checks or () for spec in getattr(checks, "check_specs", ())]
    return [
        (code([spec.name]), code([spec.asset_key.to_user_string()]), spec.description or "")
        for spec in sorted(specs, key=lambda spec: spec.name)
    ]


def _tags() -> list[Sequence[str]]:
    return [(code([tag]), meaning) for tag, meaning in names.TAGS.items()]


def _partition_sets() -> list[Sequence[str]]:
    return [
        ("batch", f"dynamic: `{BATCHES.name}`", "Pages of one source that are fetched together"),
        ("source", f"dynamic: `{SOURCES.name}`", "Names of source files"),
        (
            "batch of files",
            f"dynamic: `{BATCHES_OF_FILES.name}`",
            "Files of one source that are fetched together",
        ),
        ("source of files", f"dynamic: `{SOURCES_OF_FILES.name}`", "Names of files of sources of files"),
        ("entity type", "static", code(ENTITY_TYPES.get_partition_keys())),
    ]


if __name__ == "__main__":
    sys.stdout.write(names_markdown())
