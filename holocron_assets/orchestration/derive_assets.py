"""An asset for each interrogation, partitioned as its pages or pairs are: what a model answered about them.

The dispatcher fills them by the jobs of `gpu_job`. A person may materialize them too: such a run asks about
all of its partitions, and fails with counts if it cannot. What is asked of which pages is data.
"""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

import dagster as dg

from holocron_assets.derive.dispatch.pools import DispatchSettings
from holocron_assets.derive.gpu.model_run import Stretch, work_on
from holocron_assets.derive.gpu.turns import Given
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.interrogations.items import derivation_of
from holocron_assets.derive.results.partition_work import PartitionWork
from holocron_assets.lake.footers import Footer
from holocron_assets.lake.keys import content_hash
from holocron_assets.lake.parquet import read_footer
from holocron_assets.lake.paths import Lake
from holocron_assets.operations.controls import HeldBackError
from holocron_assets.operations.wishes import StandingWishes
from holocron_assets.orchestration.asking import (
    answers_metadata,
    asking,
    materialization,
    raise_unfinished,
    stretch_metadata,
)
from holocron_assets.orchestration.failures import RETRIES, clear_failures
from holocron_assets.orchestration.held_runs import ended_when_held
from holocron_assets.orchestration.metadata import OWNER, table_description, table_metadata
from holocron_assets.orchestration.names import PRIORITY_TAG
from holocron_assets.orchestration.partitions import BATCHES, ENTITY_TYPES
from holocron_assets.orchestration.resources import LakeResource, ModelsResource

GROUP = "derivations"
_PRIORITIES_A_MODEL = 10_000
"""More than an interrogation's priority can be: a model's steps come before all of the next one's."""

_Complete = tuple[PartitionWork, Footer]


def derive_asset(interrogation: Interrogation, *, pool: str, step_priority: int) -> dg.AssetsDefinition:
    """The asset of one interrogation.

    Args:
        interrogation: what is asked.
        pool: of its model.
        step_priority: the higher, the sooner among the steps that wait for the pool, of whatever runs.
    """
    name = interrogation.table.name

    @dg.asset(
        name=name,
        deps=[table.name for table in derivation_of(interrogation).inputs],
        partitions_def=ENTITY_TYPES if interrogation.over == "pairs" else BATCHES,
        pool=pool,
        # One run for all partitions of all models: a run for each would load every model anew.
        backfill_policy=dg.BackfillPolicy.single_run(),
        op_tags={PRIORITY_TAG: str(step_priority)},
        group_name=GROUP,
        kinds={"parquet", "ollama"},
        owners=[OWNER],
        tags={"shadow": "true"} if interrogation.shadow else {},
        code_version=content_hash(f"{interrogation.prompt_version}{interrogation.schema_version}")[:16],
        description=f"{interrogation.title}\n\n{table_description(interrogation.table)}",
        metadata={**table_metadata(interrogation.table), **_declared(interrogation)},
        retry_policy=RETRIES,
    )
    def answered(
        context: dg.AssetExecutionContext, lake: LakeResource, models: ModelsResource
    ) -> Iterator[dg.AssetMaterialization | dg.MaterializeResult[None]]:
        with ended_when_held(context), clear_failures():
            yield from _answered(context, interrogation, lake.open(), models)

    return answered


def derive_assets(
    interrogations: Sequence[Interrogation], settings: DispatchSettings
) -> list[dg.AssetsDefinition]:
    """The assets of some interrogations.

    Args:
        interrogations: which.
        settings: says which pool a model is of.
    """
    models = _models_by_priority(interrogations)
    with warnings.catch_warnings():
        # Of backfill policies, which this version of Dagster has, and which is pinned.
        warnings.simplefilter("ignore", dg.BetaWarning)
        return [
            derive_asset(
                one,
                pool=settings.pool_of(one.models[0]),
                step_priority=(len(models) - models.index(one.models[0])) * _PRIORITIES_A_MODEL
                + one.priority,
            )
            for one in interrogations
        ]


def _models_by_priority(interrogations: Sequence[Interrogation]) -> list[str]:
    best: dict[str, int] = {}
    for one in interrogations:
        best[one.models[0]] = max(one.priority, best.get(one.models[0], 0))
    return sorted(best, key=lambda model: (-best[model], model))


def _declared(interrogation: Interrogation) -> dict[str, Any]:
    """What the interrogation says of itself, for people who look at the asset."""
    return {
        "model": ", then ".join(interrogation.models),
        "priority": interrogation.priority,
        "version": interrogation.version,
        "wants": dg.MetadataValue.json(interrogation.wants.model_dump(exclude_none=True)),
        "prompt": dg.MetadataValue.text(interrogation.prompt),
        "question": dg.MetadataValue.text(interrogation.question),
        "answer_schema": dg.MetadataValue.json(interrogation.answer_schema),
    }


def _answered(
    context: dg.AssetExecutionContext,
    interrogation: Interrogation,
    lake: Lake,
    models: ModelsResource,
) -> Iterator[dg.AssetMaterialization | dg.MaterializeResult[None]]:
    """Ask about everything in the run's partitions; what is complete is told even if not all is.

    What a person holds back is left out, and the run ends as canceled.
    """
    asked = asking(lake, models, context.run, [interrogation])
    model = next(name for name in interrogation.models if name in asked.served.digests)
    stretch, seen = Stretch(), set[str]()
    replaced, complete = dict[str, _Complete](), list[_Complete]()
    wishes = StandingWishes(lake)
    held = {name: why for name in context.partition_keys if (why := wishes.hold_of(interrogation, name))}
    agenda = Given(interrogation, [name for name in context.partition_keys if name not in held], wishes)
    if not agenda.partitions:
        raise HeldBackError("; ".join(dict.fromkeys(held.values())))
    with closing(work_on(asked.model_run(model, [interrogation]), agenda, stretch)) as working:
        for written in working:
            work = written.opened.work
            seen.add(work.partition)
            if written.footer:
                replaced[work.partition] = (work, written.footer)
            if written.is_over and written.is_complete and (standing := _standing(lake, work)):
                complete.append((work, standing))
    context.log.info(f"{stretch.outcome}: {stretch.reason}. {dict(stretch_metadata(stretch))}")
    if len(complete) == len(context.partition_keys):
        yield _result(lake, stretch, complete)
        return
    # What was written is told all the same.
    yield from (materialization(lake, work, footer) for work, footer in replaced.values())
    if held or stretch.paused:
        raise HeldBackError("; ".join(dict.fromkeys([*held.values(), *filter(None, [stretch.paused])])))
    seen.update(partition for _, partition in stretch.problems)
    elsewhere = sorted(set(context.partition_keys) - seen)
    raise_unfinished(stretch, more=[f"another run works on {name}" for name in elsewhere])


def _standing(lake: Lake, work: PartitionWork) -> Footer | None:
    return read_footer(lake, work.interrogation.table, work.partition)


def _result(lake: Lake, stretch: Stretch, complete: Sequence[_Complete]) -> dg.MaterializeResult[None]:
    """What is told of all partitions of the run at once: Dagster has one result for them."""
    if len(complete) == 1:
        ((work, footer),) = complete
        return dg.MaterializeResult(
            metadata={**answers_metadata(lake, work, footer), **stretch_metadata(stretch)},
            data_version=dg.DataVersion(footer.content_id),
        )
    return dg.MaterializeResult(metadata={"partitions": len(complete), **stretch_metadata(stretch)})
