"""The jobs that ask models: `derive` for those of this machine's GPU, and one for each pool of others.

Each has a second job for assets by entity type, since a job's assets are partitioned alike. The tags that
limit runs are set here, on the jobs, so that they hold for every way to launch them.
"""

from collections.abc import Sequence

import dagster as dg

from holocron_assets.derive.dispatch.plans import Plan
from holocron_assets.derive.dispatch.pools import DispatchSettings
from holocron_assets.derive.gpu.slots import GPU_POOL
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.orchestration.assets.derivations import ModelGroup, model_groups
from holocron_assets.orchestration.assets.events import RANGE_OF_TAG, range_tags
from holocron_assets.orchestration.assets.partitions import BATCHES
from holocron_assets.orchestration.internals.assets import DEFERRED, AssetJob
from holocron_assets.planning.derive_job_names import job_name, job_of
from holocron_assets.planning.entity_stages import TYPES
from holocron_assets.planning.job_names import GPU_MODEL_TAG, MODEL_POOL_TAG

ANY_MODEL = "any"
"""The tag of a run on the GPU that has not chosen its model yet. The limit counts every value."""


def derive_jobs(interrogations: Sequence[Interrogation], settings: DispatchSettings) -> list[AssetJob]:
    """The jobs that ask some interrogations; none for a pool of whose models nothing is asked.

    Args:
        interrogations: which.
        settings: says which pool a model is of.
    """
    by_job: dict[str, list[ModelGroup]] = {}
    for group in model_groups(interrogations, settings):
        by_job.setdefault(job_of(group.pool, by_type=group.by_type), []).append(group)
    return [_job(name, groups) for name, groups in by_job.items()]


def job_of_plan(
    plan: Plan, interrogations: Sequence[Interrogation], settings: DispatchSettings
) -> str | None:
    """The job for a decision: the one that asks its most important interrogation; None if there is none.

    Args:
        plan: the decision.
        interrogations: those that the decision is about.
        settings: says which pool a model is of.
    """
    named = {one.name: one for one in interrogations}
    for turn in plan.decision.turns:
        one = named[turn.interrogation]
        return job_name(settings.pool_of(one.models[0]), one)
    return None


def jobs_of_pool(pool: str, interrogations: Sequence[Interrogation], settings: DispatchSettings) -> set[str]:
    """The names of the jobs that a pool's sensor may request.

    A job is in the pool of its interrogations' first model, which may be another pool.

    Args:
        pool: which.
        interrogations: what is asked.
        settings: says which pool a model is of.
    """
    return {
        job_name(settings.pool_of(one.models[0]), one)
        for one in interrogations
        if pool in map(settings.pool_of, one.models)
    }


def _job(name: str, groups: Sequence[ModelGroup]) -> AssetJob:
    pool, by_type = groups[0].pool, groups[0].by_type
    assets = dg.AssetSelection.assets(*(asset for group in groups for asset in group.assets))
    partitions = range_tags(TYPES) if by_type else {RANGE_OF_TAG: str(BATCHES.name)}
    gpu = {GPU_MODEL_TAG: ANY_MODEL} if pool == GPU_POOL else {}
    return dg.define_asset_job(
        name,
        selection=assets - dg.AssetSelection.all_asset_checks(),
        tags={**DEFERRED, **partitions, MODEL_POOL_TAG: pool, **gpu},
        description=f"Ask a model of pool {pool} all that waits for it "
        f"{'by entity type' if by_type else 'about pages'}, until another's turn comes, or for half an hour.",
    )
