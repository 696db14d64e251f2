"""The derived assets of a batch, one for each step of `planning.batch_steps`."""

from collections.abc import Iterator
from time import perf_counter

import dagster as dg

from holocron_assets.decisions.controls import refuse_held
from holocron_assets.derive.interrogations.unread import refuse_unread_answers
from holocron_assets.lake.files.durable import replaced_files
from holocron_assets.lake.place.paths import Lake, source_of
from holocron_assets.orchestration.assets.events import StepResult, Stored, partition_of, step_results
from holocron_assets.orchestration.assets.metadata import sample_list, table_arguments, written_metadata
from holocron_assets.orchestration.assets.partitions import BATCHES
from holocron_assets.orchestration.resources.resources import LakeResource
from holocron_assets.orchestration.runs.failures import clear_failures
from holocron_assets.orchestration.runs.held import ended_when_held
from holocron_assets.orchestration.runs.retries import LAKE
from holocron_assets.planning.batch_steps import BATCH_STEPS, Step, run_step


def batch_asset(step: Step) -> dg.AssetsDefinition:
    """The asset of one step: partitioned by batch, made from its inputs' partitions of the same name."""

    @dg.asset(
        name=step.table.name,
        deps=[table.name for table in (*step.derivation.inputs, *step.derivation.optional_inputs)],
        partitions_def=BATCHES,
        group_name=step.group,
        code_version=step.derivation.code_version,
        **table_arguments(step.table, "python"),
        retry_policy=LAKE,
    )
    def made(context: dg.AssetExecutionContext, lake: LakeResource) -> Iterator[StepResult]:
        with ended_when_held(context), clear_failures():
            opened, batch = lake.open(), partition_of(context)
            is_made = opened.has(step.table, batch)
            refuse_held(opened, source=source_of(batch), is_begun=not is_made)
            refuse_unread_answers(opened, [step.table.name])
            stored = _stored(opened, step, batch, context.run.run_id)
        yield from step_results(context, stored)

    return made


def _stored(lake: Lake, step: Step, batch: str, run_id: str) -> Stored:
    started = perf_counter()
    with replaced_files() as replaced:
        footer, rows = run_step(lake, step, batch, run_id)
    notes = step.notes(lake, batch) if step.notes else {}
    metadata = written_metadata(
        footer,
        rows,
        counted=step.counted,
        seconds=perf_counter() - started,
        titles="from_title" if "from_title" in step.table.arrow_schema.names else "title",
    )
    all_metadata = {**metadata, **{name: sample_list(texts) for name, texts in notes.items()}}
    return Stored(footer, all_metadata, lake.file(step.table, batch) in replaced)


BATCH_ASSETS = [batch_asset(step) for step in BATCH_STEPS]
BATCH_STEP_NAMES = [step.table.name for step in BATCH_STEPS]
