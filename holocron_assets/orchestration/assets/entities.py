"""The assets of the knowledge base, the three jobs that make them, and how such a run ends.

`learn_types` makes those by source that types of pages follow from, `resolve_entities` those by entity
type, and `tag_and_review` those by source that follow from these. Each step makes the stale partitions of
its asset, one after the other, from the run's one snapshot of the lake. If a partition fails, its step and
later steps go on with the others, and the run fails at its end and names it.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import dagster as dg

from holocron_assets.derive.interrogations.unread import refuse_unread_answers
from holocron_assets.entities.snapshot import Snapshot
from holocron_assets.lake.files.parquet import read_footer
from holocron_assets.orchestration.assets.entity_files import stored
from holocron_assets.orchestration.assets.events import (
    PARTITIONS_SEPARATOR,
    RANGE_OF_TAG,
    StepResult,
    is_deferred,
    materialization,
    partition_of,
    partitions_of_run,
    range_tags,
    recorded_late,
    recorded_partitions,
    step_results,
)
from holocron_assets.orchestration.assets.metadata import table_arguments
from holocron_assets.orchestration.assets.partitions import ENTITY_TYPES, SOURCES
from holocron_assets.orchestration.internals.assets import DEFERRED
from holocron_assets.orchestration.internals.runs import events_of_run
from holocron_assets.orchestration.resources.resources import LakeResource, SnapshotResource
from holocron_assets.orchestration.runs.failures import (
    PERMANENT,
    clear_failures,
    failure_from,
    may_be_retried,
    was_asked_to_stop,
)
from holocron_assets.orchestration.runs.held import ended_when_held, refuse_all_held
from holocron_assets.orchestration.runs.retries import LAKE
from holocron_assets.planning.entity_stages import (
    BY_SOURCE,
    BY_TYPE,
    LEARNED,
    STAGES,
    TYPES,
    Stage,
    partitions_of,
)
from holocron_assets.planning.job_names import (
    ENTITIES_JOB,
    LEARN_JOB,
    PARTITIONS_TAG,
    SOURCES_JOB,
    WHOLE_RUN_CHECK,
)

_FAILED = "failed_partitions"
"""Metadata of a step's output: why partitions failed, by their names."""


def stage_asset(stage: Stage) -> dg.AssetsDefinition:
    """The asset of one stage."""

    @dg.asset(
        name=stage.name,
        deps=[
            *stage.inputs,
            *(dg.AssetDep(name, partition_mapping=dg.AllPartitionMapping()) for name in stage.whole_inputs),
        ],
        partitions_def=ENTITY_TYPES if stage in BY_TYPE else SOURCES,
        group_name=stage.group,
        code_version=stage.code_version,
        **table_arguments(stage.table, "duckdb"),
        retry_policy=LAKE,
    )
    def made(
        context: dg.AssetExecutionContext, lake: LakeResource, snapshot: SnapshotResource
    ) -> Iterator[StepResult]:
        with ended_when_held(context), clear_failures():
            refuse_all_held(context, lake.open())
            refuse_unread_answers(lake.open(), [stage.name])
            known = snapshot.opened(is_new=context.retry_number > 0)
            if is_deferred(context.run):
                yield from _stale_made(context, stage, known)
            else:
                yield from step_results(
                    context, stored(stage, known, partition_of(context), context.run.run_id)
                )

    return made


def _stale_made(context: dg.AssetExecutionContext, stage: Stage, known: Snapshot) -> Iterator[StepResult]:
    """Make the stale partitions, without those that failed in an earlier step."""
    left = {
        name for failed in failures_of_steps(context.instance, context.run.run_id).values() for name in failed
    }
    wanted = partitions_of_run(context.run) or partitions_of(known.lake, stage)
    names = [name for name in partitions_of(known.lake, stage) if name in wanted and name not in left]
    yield from _unrecorded(context, stage, known, names)
    errors: dict[str, Exception] = {}
    for name in names:
        with _kept_in(errors, name):
            if stage.stale(known, [name]):
                yield materialization(context.asset_key, name, stored(stage, known, name, context.run.run_id))
    for error in errors.values():
        # Raised when the others are done: the step is tried again, with only these left.
        if may_be_retried(error) and context.retry_number < LAKE.max_retries:
            raise error
    failed = {name: failure_from(error) for name, error in errors.items()}
    for name, failure in failed.items():
        context.log.error(f"{stage.name} of {name}: {failure.reason}")
    reasons = {name: {"reason": one.reason, PERMANENT: one.is_permanent} for name, one in failed.items()}
    yield dg.MaterializeResult(metadata={_FAILED: reasons} if reasons else {})


def _unrecorded(
    context: dg.AssetExecutionContext, stage: Stage, known: Snapshot, names: Sequence[str]
) -> Iterator[dg.AssetMaterialization]:
    """Events for fresh files without one: a run died between the file and its event."""
    footers = {name: footer for name in names if (footer := read_footer(known.lake, stage.table, name))}
    for name in sorted(footers.keys() - recorded_partitions(context.instance, context.asset_key, footers)):
        if not stage.stale(known, [name]):
            yield recorded_late(context.asset_key, name, footers[name])


@contextmanager
def _kept_in(errors: dict[str, Exception], partition: str) -> Iterator[None]:
    """Keep a partition's error, so that the others are made. An interruption still ends the run at once."""
    try:
        with clear_failures():
            yield
    except Exception as error:
        if was_asked_to_stop(error):
            raise
        errors[partition] = error


def failures_of_steps(
    instance: dg.DagsterInstance, run_id: str
) -> dict[str, Mapping[str, Mapping[str, Any]]]:
    """Why partitions failed in the steps of a run that went on with others, by step and partition.

    Returns:
        For each, its `reason`, and whether it is `is_permanent`: waiting does not help.
    """
    outputs = events_of_run(instance, run_id, dg.DagsterEventType.STEP_OUTPUT)
    found: dict[str, Mapping[str, Mapping[str, Any]]] = {}
    for record in outputs:
        event = record.event_log_entry.dagster_event
        failed = event.step_output_data.metadata.get(_FAILED) if event else None
        if event and event.step_key and isinstance(failed, dg.JsonMetadataValue):
            found[event.step_key] = dict(failed.data) if isinstance(failed.data, Mapping) else {}
    return found


def _whole_run_check(asset: str, stages: Sequence[Stage], description: str) -> dg.AssetChecksDefinition:
    """The check that ends a run: it fails the run if a partition failed in any step, and names it."""

    @dg.asset_check(
        asset=asset,
        name=WHOLE_RUN_CHECK,
        description=description,
        additional_deps=[stage.name for stage in stages if stage.name != asset],
        blocking=True,
        retry_policy=LAKE,
    )
    def check(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
        by_step = failures_of_steps(context.instance, context.run.run_id)
        failed = [(step, name, one) for step, own in by_step.items() for name, one in own.items()]
        return dg.AssetCheckResult(
            passed=not failed,
            severity=dg.AssetCheckSeverity.ERROR,
            description="; ".join(f"{step} of {name}: {one['reason']}" for step, name, one in failed)
            or "No partition failed.",
            metadata={PERMANENT: bool(failed) and all(one[PERMANENT] for *_, one in failed)},
        )

    return check


def _steps(stages: Sequence[Stage]) -> dg.AssetSelection:
    """The assets of some stages, and the check that ends the run."""
    assets = dg.AssetSelection.assets(*(stage.name for stage in stages))
    whole_run = dg.AssetCheckKey(dg.AssetKey(stages[-1].name), WHOLE_RUN_CHECK)
    return (assets - dg.AssetSelection.all_asset_checks()) | dg.AssetSelection.checks(whole_run)


STAGE_ASSETS = [stage_asset(stage) for stage in STAGES]

WHOLE_RUN_CHECKS = [
    _whole_run_check(LEARNED[-1].name, LEARNED, "No source failed in any step of the run that learns."),
    _whole_run_check(BY_TYPE[-1].name, BY_TYPE, "No type failed in any step of the run that resolves."),
    _whole_run_check(BY_SOURCE[-1].name, BY_SOURCE, "No source failed in any step of the run that tags."),
]

ENTITY_JOBS = [
    dg.define_asset_job(
        LEARN_JOB,
        selection=_steps(LEARNED),
        tags={**DEFERRED, RANGE_OF_TAG: str(SOURCES.name)},
        description="Train the models of types of all stale sources, and ask them what rules leave open.",
    ),
    dg.define_asset_job(
        ENTITIES_JOB,
        selection=_steps(BY_TYPE),
        tags={**DEFERRED, **range_tags(TYPES), PARTITIONS_TAG: PARTITIONS_SEPARATOR.join(TYPES)},
        description="Resolve and promote the entities of all stale types, from candidates of every batch.",
    ),
    dg.define_asset_job(
        SOURCES_JOB,
        selection=_steps(BY_SOURCE),
        tags={**DEFERRED, RANGE_OF_TAG: str(SOURCES.name)},
        description="Collect the tags and the review queue of all stale sources, once entities are resolved.",
    ),
]
