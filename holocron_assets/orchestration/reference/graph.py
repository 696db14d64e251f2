"""The dependency graph, from the definitions: what each stage requires and produces, and what starts it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import dagster as dg

from holocron_assets.crawl.frontier.views import FRONTIER_TABLES
from holocron_assets.definitions import defs
from holocron_assets.derive.interrogations.loading import load_interrogations
from holocron_assets.derive.items.recipe import derivation_of
from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.tables import (
    ALERTS,
    BATCH_PAGES,
    CHANGE_LOOKS,
    COMPARED_NAMES,
    CONTROLS,
    DECISIONS,
    DUMP_INDEX,
    ENTITIES,
    ENTITY_FACTS,
    ENTITY_JUDGEMENTS,
    ENTITY_PAIRS,
    ENTITY_RELATIONS,
    FILE_BATCHES,
    FILE_LIST,
    FILE_USES,
    FILES,
    GPU_RUNS,
    HTTP_ATTEMPTS,
    LLM_ATTEMPTS,
    LLM_RUNS,
    NOTICES,
    PAGE_CHANGES,
    PAGES,
    REVIEW_ITEMS,
    REVISION_CHECKS,
    SEED_TITLES,
    SITES,
    TRACEBACKS,
    UNREAD_PAGES,
)
from holocron_assets.operations.notifications.dead_letters import TABLES as DEAD_LETTER_TABLES
from holocron_assets.orchestration.assets.partitions import (
    BATCHES,
    BATCHES_OF_FILES,
    ENTITY_TYPES,
    SOURCES,
    SOURCES_OF_FILES,
)
from holocron_assets.orchestration.assets.published import READ as OF_VIEWS
from holocron_assets.orchestration.assets.published import SPACE_TABLES
from holocron_assets.orchestration.internals.assets import assets_in_order, assets_of_job
from holocron_assets.orchestration.schedules.revision_checks import RECHECK_PREFIX
from holocron_assets.orchestration.sensors.crawl_and_entities import SETTLED_TABLES
from holocron_assets.orchestration.sensors.files import FILE_TABLES
from holocron_assets.planning.batch_derivations import BATCH_DERIVATIONS
from holocron_assets.planning.entity_stages import ENTITY_TABLES
from holocron_assets.planning.job_names import GPU_JOB
from holocron_assets.retrieval.index.contents import READ as OF_SEARCH

_OF_ONE = (
    (BATCHES, "batch"),
    (SOURCES, "source"),
    (BATCHES_OF_FILES, "batch of files"),
    (SOURCES_OF_FILES, "source of files"),
    (ENTITY_TYPES, "entity type"),
)
_BUILT_IN_JOB = "__ASSET_JOB"

_MADE_BY_SENSORS = {
    BATCH_PAGES.name: "new_pages",
    PAGE_CHANGES.name: "changed_pages",
    FILE_BATCHES.name: "new_files",
}
"""Assets that a sensor writes in its tick: Dagster does not know what makes an asset without a job."""

_NO_TABLE = {"views": "holocron.duckdb", "search_index": "search/"}
"""What the stages write that are no table."""

_READ_TOO: Mapping[str, tuple[Table, ...]] = {
    **{
        one.table.name: (*one.source_inputs, *(each.table for each in one.row_inputs))
        for one in BATCH_DERIVATIONS
    },
    PAGES.name: (SITES,),
    FILE_LIST.name: (FILE_USES, ENTITIES),
    FILE_BATCHES.name: (FILE_LIST, FILES, DECISIONS),
    **{
        table.name: (DECISIONS,)
        for table in (ENTITY_JUDGEMENTS, ENTITIES, ENTITY_FACTS, ENTITY_RELATIONS, REVIEW_ITEMS)
    },
}
"""What a stage reads in addition to its dependencies in Dagster: other partitions, and people's decisions."""

_WRITTEN_TOO: Mapping[str, tuple[Table, ...]] = {
    **{
        one.table.name: (TRACEBACKS, UNREAD_PAGES)
        for one in BATCH_DERIVATIONS
        if any(each.table == UNREAD_PAGES for each in one.row_inputs)
    },
    SITES.name: (HTTP_ATTEMPTS,),
    SEED_TITLES.name: (DUMP_INDEX, HTTP_ATTEMPTS),
    PAGES.name: (HTTP_ATTEMPTS, TRACEBACKS),
    PAGE_CHANGES.name: (CHANGE_LOOKS, HTTP_ATTEMPTS),
    REVISION_CHECKS.name: (HTTP_ATTEMPTS,),
    FILE_LIST.name: (HTTP_ATTEMPTS,),
    FILES.name: (HTTP_ATTEMPTS, TRACEBACKS),
    ENTITY_PAIRS.name: (COMPARED_NAMES,),
    **{one.table.name: (LLM_RUNS, LLM_ATTEMPTS, GPU_RUNS, TRACEBACKS) for one in load_interrogations()},
}
"""What a stage writes in addition to the table of its name: logs, indexes, unread pages, tracebacks."""


@dataclass(frozen=True)
class Stage:
    """An asset: one table, and what it is made from.

    Attributes:
        name: of the asset and its table.
        group: the asset group.
        of_one: what one partition stands for; empty for an asset without partitions.
        requires: stages that must be made first.
        reads_too: tables that it also reads, as far as they exist.
        produces: tables, its own first.
        made_by: jobs, or the sensor that makes it in its tick; the one that makes most first.
    """

    name: str
    group: str
    of_one: str
    requires: tuple[str, ...]
    reads_too: tuple[str, ...]
    produces: tuple[str, ...]
    made_by: tuple[str, ...]


@dataclass(frozen=True)
class Trigger:
    """A sensor or schedule.

    Attributes:
        name: its name.
        when: how often it runs.
        looks_at: tables that it finds missing work in; empty for a schedule, which follows the clock.
        starts: the jobs that it requests.
    """

    name: str
    when: str
    looks_at: tuple[str, ...]
    starts: tuple[str, ...]


@dataclass(frozen=True)
class Graph:
    """All stages and triggers, each by name."""

    stages: tuple[Stage, ...]
    triggers: tuple[Trigger, ...]

    def homes(self) -> dict[str, list[Stage]]:
        """Stages by the job that makes most of them; by a sensor's name, those that it makes itself."""
        found: dict[str, list[Stage]] = {}
        for stage in self.stages:
            found.setdefault(next(iter(stage.made_by), ""), []).append(stage)
        return dict(sorted(found.items()))

    @property
    def edges(self) -> list[tuple[str, str]]:
        """From each stage to those that require it."""
        return [(required, stage.name) for stage in self.stages for required in stage.requires]

    @property
    def starts(self) -> list[tuple[str, str, str]]:
        """From each trigger to a group of stages that it starts, or makes itself, and by which job."""
        homes, found = self.homes(), []
        for trigger in self.triggers:
            if trigger.name in homes:
                found.append((trigger.name, trigger.name, "in its tick"))
            for job in trigger.starts:
                found += [(trigger.name, home, job) for home in homes if self._makes(job, homes[home])]
        return found

    @staticmethod
    def _makes(job: str, stages: Iterable[Stage]) -> bool:
        return any(job in stage.made_by for stage in stages)


def read_graph() -> Graph:
    """The graph as it is defined now."""
    nodes = assets_in_order(defs)
    made_by = _makers()
    stages = [
        _stage(
            node.key.to_user_string(),
            group=node.group_name,
            of_one=of_one(node.partitions_def),
            requires=sorted(key.to_user_string() for key in node.parent_keys),
            made_by=made_by,
        )
        for node in nodes
    ]
    triggers = sorted([*_sensors(), *_schedules()], key=lambda trigger: trigger.name)
    return Graph(tuple(stages), tuple(triggers))


def _stage(
    name: str, *, group: str, of_one: str, requires: list[str], made_by: Mapping[str, tuple[str, ...]]
) -> Stage:
    own = (_NO_TABLE.get(name, name),)
    return Stage(
        name=name,
        group=group,
        of_one=of_one,
        requires=tuple(requires),
        reads_too=tuple(sorted(table.name for table in _READ_TOO.get(name, ()))),
        produces=(*own, *sorted(table.name for table in _WRITTEN_TOO.get(name, ()))),
        made_by=made_by[name],
    )


def _makers() -> dict[str, tuple[str, ...]]:
    """What makes each stage: the job that makes most first, then the others by name."""
    made = {job.name: _makes(job) for job in jobs()}
    found: dict[str, tuple[str, ...]] = {}
    for spec in defs.resolve_all_asset_specs():
        name = spec.key.to_user_string()
        makers = sorted((job for job in made if name in made[job]), key=lambda job: (-len(made[job]), job))
        sensor = _MADE_BY_SENSORS.get(name)
        found[name] = (*makers, *([sensor] if sensor else []))
    return found


@cache
def jobs() -> tuple[dg.JobDefinition, ...]:
    """Every job but the one that Dagster adds."""
    return tuple(job for job in defs.resolve_all_job_defs() if job.name != _BUILT_IN_JOB)


def sensors() -> list[dg.SensorDefinition]:
    """Every sensor."""
    return [sensor for sensor in defs.sensors or () if isinstance(sensor, dg.SensorDefinition)]


def schedules() -> list[dg.ScheduleDefinition]:
    """Schedules of the code, without those that source files set."""
    return [
        schedule
        for schedule in defs.schedules or ()
        if isinstance(schedule, dg.ScheduleDefinition) and not schedule.name.startswith(RECHECK_PREFIX)
    ]


def of_one(definition: dg.PartitionsDefinition[str] | None) -> str:
    """What one partition of a definition stands for; empty if there are none."""
    return next((name for known, name in _OF_ONE if known == definition), "")


def _makes(job: dg.JobDefinition) -> frozenset[str]:
    """The assets that a job makes."""
    return frozenset(key.to_user_string() for key in assets_of_job(job))


def _sensors() -> Iterator[Trigger]:
    looks_at: Mapping[str, Iterable[Table]] = {
        "new_pages": (*FRONTIER_TABLES, DECISIONS),
        "settle": (*SETTLED_TABLES, DECISIONS),
        "promotion": (*ENTITY_TABLES, *(one.table for one in load_interrogations()), DECISIONS),
        "new_files": FILE_TABLES,
        "stale_search": (*OF_SEARCH, *SPACE_TABLES),
        "stale_views": OF_VIEWS,
        "changed_pages": (SEED_TITLES, CHANGE_LOOKS, REVISION_CHECKS),
        "tell_webhooks": (NOTICES, *DEAD_LETTER_TABLES),
        "raise_alerts": (ALERTS, PAGES, LLM_RUNS, CONTROLS),
    }
    asked = [table for one in load_interrogations() for table in derivation_of(one).inputs]
    for sensor in sensors():
        starts = tuple(sorted(target.job_name for target in sensor.targets))
        asks = any(job == GPU_JOB or job.startswith(f"{GPU_JOB}_") for job in starts)
        tables = (*asked, LLM_RUNS, DECISIONS) if asks else looks_at.get(sensor.name, ())
        names = tuple(sorted({table.name for table in tables}))
        yield Trigger(sensor.name, f"every {sensor.minimum_interval_seconds} s", names, starts)


def _schedules() -> list[Trigger]:
    return [Trigger(one.name, str(one.cron_schedule), (), (one.job_name,)) for one in schedules()]
