"""The assets of interrogations: one step makes those of one model that are partitioned alike.

The dispatcher makes them by the jobs of `jobs.derive`, in turns, for as long as it would choose that model
(`dispatched_runs`). A person may materialize them too: such a run asks about all of its partitions, and fails
with counts if it cannot. What is asked of which pages is data.
"""

import re
import warnings
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import dagster as dg

from holocron_assets.decisions.controls import HeldBackError
from holocron_assets.derive.dispatch.backlog import model_to_ask
from holocron_assets.derive.dispatch.pools import DispatchSettings
from holocron_assets.derive.dispatch.standing_controls import StandingControls
from holocron_assets.derive.gpu.model_run import Session, work_on
from holocron_assets.derive.gpu.turns import Given
from holocron_assets.derive.interrogations.chains import upstream_tables
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.items.recipe import derivation_of
from holocron_assets.errors import PermanentError
from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.files.footers import Footer
from holocron_assets.lake.files.parquet import read_footer
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import ALL_TABLES
from holocron_assets.orchestration.assets.events import StepResult, is_deferred
from holocron_assets.orchestration.assets.metadata import table_arguments
from holocron_assets.orchestration.assets.partitions import BATCHES, ENTITY_TYPES
from holocron_assets.orchestration.model_runs.asking import (
    answers_metadata,
    asking,
    raise_unfinished,
    session_metadata,
    written_event,
)
from holocron_assets.orchestration.model_runs.dispatched_runs import asked_in_turns
from holocron_assets.orchestration.model_runs.what_to_ask import WhatToAsk
from holocron_assets.orchestration.resources.resources import LakeResource, ModelsResource
from holocron_assets.orchestration.runs.failures import clear_failures
from holocron_assets.orchestration.runs.held import ended_when_held
from holocron_assets.orchestration.runs.retries import MODEL_SERVER
from holocron_assets.planning.derive_job_names import is_by_type
from holocron_assets.planning.entity_stages import STAGES
from holocron_assets.planning.job_names import PRIORITY_TAG

GROUP = "derivations"
_PRIORITIES_A_MODEL = 10_000
"""Higher than any interrogation's priority, so that all steps of a model come before the next model's."""

_NO_ASSETS = frozenset(
    table.name for table in ALL_TABLES if table.layer not in {"crawl", "signals", "classify", "resolve"}
) - {stage.name for stage in STAGES}
"""Tables that interrogations may read, and that no asset makes."""


@dataclass(frozen=True)
class ModelGroup:
    """The interrogations of one step: they ask one model, over one kind of partitions.

    Attributes:
        model: the first model that they name.
        by_type: whether their partitions are entity types, and not batches.
        pool: of the model.
        turns: what its runs take turns at: a pool of Dagster's.
        interrogations: which.
        name: of the step.
    """

    model: str
    by_type: bool
    pool: str
    turns: str
    interrogations: tuple[Interrogation, ...]
    name: str

    @property
    def assets(self) -> list[str]:
        """The names of its assets."""
        return [one.table.name for one in self.interrogations]


def model_groups(interrogations: Sequence[Interrogation], settings: DispatchSettings) -> list[ModelGroup]:
    """Interrogations by step; the model of the most important one comes first.

    Args:
        interrogations: which.
        settings: says which pool a model is of.
    """
    found: dict[tuple[str, bool], list[Interrogation]] = {}
    for one in interrogations:
        found.setdefault((one.models[0], is_by_type(one)), []).append(one)
    models = _models_by_priority(interrogations)
    pools = {model: settings.pool_of(model) for model in models}
    names = _step_names({model for model, _ in found})
    return [
        ModelGroup(
            *(model, by_type, pools[model], settings.turns_of(pools[model]), tuple(several)),
            name=f"{names[model]}_by_type" if by_type else names[model],
        )
        for (model, by_type), several in sorted(
            found.items(), key=lambda item: (models.index(item[0][0]), item[0][1])
        )
    ]


def _step_names(models: Collection[str]) -> Mapping[str, str]:
    """A name for the step of each model: Dagster allows few characters, so two may be alike in the others."""
    names = {model: f"ask_{re.sub(r'[^a-z0-9]+', '_', model.lower())}" for model in models}
    count = Counter(names.values())
    return {
        model: name if count[name] == 1 else f"{name}_{content_hash(model)[:6]}"
        for model, name in names.items()
    }


def derive_assets(
    interrogations: Sequence[Interrogation], settings: DispatchSettings
) -> list[dg.AssetsDefinition]:
    """The assets of some interrogations.

    Args:
        interrogations: which.
        settings: says which pool a model is of.
    """
    groups, models = model_groups(interrogations, settings), _models_by_priority(interrogations)
    with warnings.catch_warnings():
        # A warning about backfill policies; this version of Dagster has them, and is pinned.
        warnings.simplefilter("ignore", dg.BetaWarning)
        return [
            model_assets(group, step_priority=(len(models) - models.index(group.model)) * _PRIORITIES_A_MODEL)
            for group in groups
        ]


def model_assets(group: ModelGroup, *, step_priority: int) -> dg.AssetsDefinition:
    """The assets that one step makes.

    Args:
        group: its interrogations.
        step_priority: of the steps of all runs that wait for the pool, the highest goes first.
    """

    @dg.multi_asset(
        name=group.name,
        description=f"Ask {group.model} about everything that waits for it.",
        specs=[_spec(one) for one in group.interrogations],
        can_subset=True,
        partitions_def=ENTITY_TYPES if group.by_type else BATCHES,
        pool=group.turns,
        # One run for all partitions of all models: a run for each partition would load every model again.
        backfill_policy=dg.BackfillPolicy.single_run(),
        op_tags={PRIORITY_TAG: str(step_priority + max(one.priority for one in group.interrogations))},
        retry_policy=MODEL_SERVER,
    )
    def asked(
        context: dg.AssetExecutionContext,
        lake: LakeResource,
        models: ModelsResource,
        what_to_ask: WhatToAsk,
    ) -> Iterator[StepResult]:
        keys = context.selected_asset_keys
        chosen = [one for one in group.interrogations if dg.AssetKey(one.table.name) in keys]
        with ended_when_held(context), clear_failures():
            if is_deferred(context.run):
                yield from asked_in_turns(context, lake.open(), models, what_to_ask, chosen, group.pool)
            else:
                yield from _all_asked_by_hand(context, chosen, lake.open(), models)

    return asked


def _spec(interrogation: Interrogation) -> dg.AssetSpec:
    table, read = interrogation.table, upstream_tables(interrogation)
    own = [*derivation_of(interrogation).inputs, *read.same_partition]
    every = dg.AllPartitionMapping()
    return dg.AssetSpec(
        table.name,
        deps=[
            *(dg.AssetDep(name) for name in _assets_of(own)),
            *(dg.AssetDep(name, partition_mapping=every) for name in _assets_of(read.whole)),
            *([dg.AssetDep("search_index")] if interrogation.search else []),
        ],
        group_name=GROUP,
        tags={"shadow": "true"} if interrogation.shadow else {},
        code_version=content_hash(f"{interrogation.prompt_version}{interrogation.schema_version}")[:16],
        **table_arguments(
            table, interrogation.kind if interrogation.is_of_code else "ollama", **_declared(interrogation)
        ),
    )


def _assets_of(tables: Sequence[Table]) -> list[str]:
    names = dict.fromkeys(table.name for table in tables)
    return [name for name in names if name not in _NO_ASSETS]


def _models_by_priority(interrogations: Sequence[Interrogation]) -> list[str]:
    best: dict[str, int] = {}
    for one in interrogations:
        best[one.models[0]] = max(one.priority, best.get(one.models[0], 0))
    return sorted(best, key=lambda model: (-best[model], model))


def _declared(interrogation: Interrogation) -> dict[str, Any]:
    """The interrogation's text, for people who read the asset's page."""
    asked = {name: getattr(interrogation, name) for name in ("sql", "function", "prompt", "question")}
    search = interrogation.search
    searched = search and {"search": dg.MetadataValue.json(search.model_dump(mode="json", exclude_none=True))}
    return {
        "model": ", then ".join(interrogation.models),
        "priority": interrogation.priority,
        "version": interrogation.version,
        "wants": dg.MetadataValue.json(interrogation.wants.model_dump(exclude_none=True)),
        **{name: dg.MetadataValue.text(text) for name, text in asked.items() if text},
        **({"domain": interrogation.domain} if interrogation.domain else {}),
        **(searched or {}),
        "answer_schema": dg.MetadataValue.json(interrogation.answer_schema),
    }


def _all_asked_by_hand(
    context: dg.AssetExecutionContext, chosen: Sequence[Interrogation], lake: Lake, models: ModelsResource
) -> Iterator[StepResult]:
    """Ask each interrogation. What one leaves undone keeps none of the others from being asked."""
    unfinished: list[dg.Failure | PermanentError | HeldBackError] = []
    for one in chosen:
        try:
            yield from _asked_by_hand(context, one, lake, models)
        except (dg.Failure, PermanentError, HeldBackError) as error:
            context.log.warning(f"{one.name}: {getattr(error, 'description', None) or error}")
            unfinished.append(error)
    if unfinished:
        # A failure may say when it is due again.
        first = (one for kind in (dg.Failure, PermanentError) for one in unfinished if isinstance(one, kind))
        raise next(first, unfinished[0])


def _asked_by_hand(
    context: dg.AssetExecutionContext,
    interrogation: Interrogation,
    lake: Lake,
    models: ModelsResource,
) -> Iterator[StepResult]:
    """Ask about everything in the run's partitions; written files are recorded even if answers are missing.

    Partitions that a person holds back are left out, and the run ends as canceled.

    Raises:
        PermanentError: none of its models can be asked; says what to do.
    """
    asked = asking(lake, models, context.run, [interrogation])
    chosen = model_to_ask(interrogation, asked.served.digests)
    if chosen is None:
        raise PermanentError(
            f"{interrogation.name} asks only the builds of {' or '.join(interrogation.models)} that its "
            "`embedding.digests` names, and the model server has another: get one of those, or name this one"
        )
    model, _ = chosen
    session, seen = Session(), set[str]()
    replaced, complete = dict[str, Footer](), dict[str, Footer]()
    controls = StandingControls(lake)
    held = {name: why for name in context.partition_keys if (why := controls.hold_of(interrogation, name))}
    agenda = Given(interrogation, [name for name in context.partition_keys if name not in held])
    if not agenda.partitions:
        raise HeldBackError("; ".join(dict.fromkeys(held.values())))
    with closing(work_on(asked.model_run(model, [interrogation]), agenda, session)) as working:
        for written in working:
            partition = written.opened.work.partition
            seen.add(partition)
            if written.footer:
                replaced[partition] = written.footer
            is_done = written.is_over and written.is_complete
            if is_done and (standing := read_footer(lake, interrogation.table, partition)):
                complete[partition] = standing
    context.log.info(f"{session.outcome}: {session.reason}. {dict(session_metadata(session))}")
    if len(complete) == len(context.partition_keys):
        yield _result(lake, interrogation, session, complete)
        return
    # Written files are recorded all the same.
    yield from (written_event(lake, interrogation, name, footer) for name, footer in replaced.items())
    if held or session.paused:
        raise HeldBackError("; ".join(dict.fromkeys([*held.values(), *filter(None, [session.paused])])))
    seen.update(partition for _, partition in session.problems)
    elsewhere = sorted(set(context.partition_keys) - seen)
    raise_unfinished(session, more=[f"another run works on {name}" for name in elsewhere])


def _result(
    lake: Lake, interrogation: Interrogation, session: Session, complete: Mapping[str, Footer]
) -> dg.MaterializeResult[None]:
    """The result for all partitions of the run: Dagster has one for them together."""
    key = dg.AssetKey(interrogation.table.name)
    if len(complete) == 1:
        ((partition, footer),) = complete.items()
        return dg.MaterializeResult(
            asset_key=key,
            metadata={
                **answers_metadata(lake, interrogation, partition, footer),
                **session_metadata(session),
            },
            data_version=dg.DataVersion(footer.content_id),
        )
    metadata = {"partitions": len(complete), **session_metadata(session)}
    return dg.MaterializeResult(asset_key=key, metadata=metadata)
