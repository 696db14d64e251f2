"""The jobs that ask models: `derive` for those of this machine's GPU, and one for each pool of others.

A run works on one model's backlog, over interrogations and partitions, for as long as the dispatcher would
choose that model. What it writes is materialized. It waits for nothing: the dispatcher comes back when
the rest is due.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any

import dagster as dg

from holocron_assets.derive.dispatch.pools import read_dispatch_settings
from holocron_assets.derive.gpu.model_run import ModelRun, Stretch, work_on
from holocron_assets.derive.gpu.slots import GPU_POOL
from holocron_assets.derive.gpu.turns import Dispatched
from holocron_assets.derive.interrogations.files import load_interrogations
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.interrogations.items import Item
from holocron_assets.lake.errors import PermanentError
from holocron_assets.lake.paths import Lake
from holocron_assets.operations.controls import HeldBackError, standing_controls
from holocron_assets.operations.wishes import StandingWishes
from holocron_assets.orchestration.asking import (
    Asking,
    asking,
    materialization,
    raise_unfinished,
    stretch_metadata,
)
from holocron_assets.orchestration.failures import RETRIES, clear_failures
from holocron_assets.orchestration.held_runs import ended_when_held
from holocron_assets.orchestration.names import GPU_JOB, OUTCOME_TAG
from holocron_assets.orchestration.resources import LakeResource, ModelsResource
from holocron_assets.settings import dispatch_file


@dataclass(frozen=True)
class WhatToAsk:
    """What a run is to ask; what is left out does not narrow it.

    Attributes:
        model: the model; by default the one that the dispatcher would choose.
        interrogations: only these, by name.
        partitions: only these batches, or entity types.
        pages: only these pages, by title key.
        items: at most so many items of each interrogation.
    """

    model: str | None = None
    interrogations: Sequence[str] | None = None
    partitions: Sequence[str] | None = None
    pages: Sequence[int] | None = None
    items: int | None = None

    def choice(self) -> Callable[[Item], bool]:
        """Says of each item, in order, whether to ask about it."""
        pages, chosen = frozenset(self.pages or ()), Counter[str]()

        def is_wanted(item: Item) -> bool:
            name = item.interrogation.name
            if self.pages is not None and item.row.get("title_key") not in pages:
                return False
            chosen[name] += 1
            return self.items is None or chosen[name] <= self.items

        return is_wanted


_CONFIG = {
    "model": dg.Field(str, is_required=False, description="The model; by default the dispatcher's choice."),
    "interrogations": dg.Field([str], is_required=False, description="Only these, by name."),
    "partitions": dg.Field([str], is_required=False, description="Only these batches, or entity types."),
    "pages": dg.Field([int], is_required=False, description="Only these pages, by title key."),
    "items": dg.Field(int, is_required=False, description="At most so many items of each interrogation."),
}


def run_config(pool: str, what: WhatToAsk) -> dict[str, Any]:
    """The run config of a pool's job.

    Args:
        pool: whose job.
        what: what the run is to ask.
    """
    config = {name: value for name, value in asdict(what).items() if value is not None}
    return {"ops": {_op_name(pool): {"config": config}}}


def _op_name(pool: str) -> str:
    return f"ask_{pool}"  # a job and an op must not be called the same


def _derive_job(name: str, pool: str) -> dg.JobDefinition:
    @dg.op(
        name=_op_name(pool),
        description="Ask one model what it has to be asked, until another's turn comes, or for half an hour.",
        out=dg.Out(dg.Nothing),  # of anything else Dagster keeps a file a run
        config_schema=_CONFIG,
        pool=pool,
        retry_policy=RETRIES,
    )
    def ask(
        context: dg.OpExecutionContext, lake: LakeResource, models: ModelsResource
    ) -> Iterator[dg.AssetMaterialization | dg.Output[None]]:
        config = WhatToAsk(**context.op_config)
        with ended_when_held(context), clear_failures():
            interrogations = _named(config.interrogations)
            asked = asking(lake.open(), models, context.run, interrogations)
            if work := _work(context, asked, config, interrogations, pool):
                yield from _done(context, asked, config, *work)
        yield dg.Output(None)

    @dg.job(
        name=name,
        description=f"Ask a model of pool {pool} what is to be asked; see op `{_op_name(pool)}`.",
        executor_def=dg.in_process_executor,
    )
    def job() -> None:
        ask()

    return job


def _work(
    context: dg.OpExecutionContext,
    asked: Asking,
    config: WhatToAsk,
    interrogations: Sequence[Interrogation],
    pool: str,
) -> tuple[ModelRun, Dispatched] | None:
    """The model to ask, and what it is to be asked; None if there is nothing."""
    by_model = asked.in_pool(interrogations, pool)
    if config.model and not asked.is_dispatched:  # a person's choice: no other model takes its turn
        by_model = {config.model: by_model.get(config.model, [])}
    partitions = None if config.partitions is None else frozenset(config.partitions)
    candidates = [one for several in by_model.values() for one in several]
    wishes = StandingWishes(asked.lake)
    _refuse_all_paused(asked.lake, candidates)
    agenda = Dispatched(
        asked.lake, candidates, asked.served, asked.settings, partitions, wishes, config.model
    )
    if not agenda.model:
        decision = agenda.decision({})
        context.log.info(" ".join(decision.reasons))
        agenda.model = decision.model
    if not (agenda.model and by_model.get(agenda.model)):
        context.log.info(f"nothing is to be asked of {agenda.model or 'any model'} in pool {pool}")
        context.instance.add_run_tags(context.run_id, {OUTCOME_TAG: "complete"})
        return None
    return asked.model_run(agenda.model, by_model[agenda.model]), agenda


def _refuse_all_paused(lake: Lake, interrogations: Sequence[Interrogation]) -> None:
    """Raise HeldBackError if a person has every interrogation paused that might be asked."""
    controls = standing_controls(lake)
    pauses = [controls.pauses(interrogation=one.name) for one in interrogations]
    if pauses and all(pauses):
        raise HeldBackError("; ".join(dict.fromkeys(map(str, pauses))))


def _done(
    context: dg.OpExecutionContext, asked: Asking, config: WhatToAsk, run: ModelRun, agenda: Dispatched
) -> Iterator[dg.AssetMaterialization]:
    """Ask the model; give what was written, as it is, and say what became of the rest."""
    stretch = Stretch()
    with closing(work_on(run, agenda, stretch, is_wanted=config.choice())) as working:
        for written in working:
            if written.footer:
                yield materialization(asked.lake, written.opened.work, written.footer)
    context.instance.add_run_tags(context.run_id, {OUTCOME_TAG: stretch.outcome})
    context.log.info(f"{stretch.outcome}: {stretch.reason}. {dict(stretch_metadata(stretch))}")
    if stretch.problem or stretch.problems:
        raise_unfinished(stretch)


def _named(names: Sequence[str] | None) -> list[Interrogation]:
    found = {one.name: one for one in load_interrogations()}
    if unknown := set(names or ()) - found.keys():
        raise PermanentError(
            f"no interrogation is called {', '.join(sorted(unknown))}; there are {', '.join(sorted(found))}"
        )
    return [found[name] for name in (found if names is None else names)]


def _jobs() -> list[dg.JobDefinition]:
    pools = read_dispatch_settings(dispatch_file()).limits
    return [_derive_job(GPU_JOB if pool == GPU_POOL else f"{GPU_JOB}_{pool}", pool) for pool in pools]


DERIVE_JOBS = _jobs()
"""One for each pool of models."""
