"""What the dispatcher wants done next, pool by pool. Pure, like the decisions that it is made of."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime

from holocron_assets.derive.dispatch import Decision, Waiting, decide
from holocron_assets.derive.interrogation import Interrogation
from holocron_assets.derive.pools import DispatchSettings
from holocron_assets.derive.recipe import recipe_of
from holocron_assets.lake.keys import content_hash

_NOBODY: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Plan:
    """What is decided for one place of a pool.

    Attributes:
        pool: the pool's name.
        decision: which model works there, if any.
    """

    pool: str
    decision: Decision

    @property
    def progress(self) -> str:
        """A hash of what the chosen model has to do: another as soon as any of it was done."""
        return content_hash(
            repr(
                sorted(
                    (work.interrogation, work.items, work.completions, work.uncounted)
                    for work in (score.waiting for score in self.decision.scores)
                    if work.model == self.decision.model
                )
            )
        )[:12]


def plan(
    waiting: Iterable[Waiting],
    settings: DispatchSettings,
    loaded: AbstractSet[str],
    now: datetime,
    *,
    at_work: Mapping[str, AbstractSet[str]] | None = None,
) -> list[Plan]:
    """Decide for every free place of every pool.

    Args:
        waiting: the work of all interrogations.
        settings: pools, and how waiting counts.
        loaded: models that are loaded now.
        now: the moment.
        at_work: models that runs under way ask, by pool. Each has a place, and is not given another.

    Returns:
        For a pool with free places a plan for each that finds work; one that says why, if none does.
    """
    by_pool: dict[str, list[Waiting]] = {pool: [] for pool in settings.limits}
    for work in waiting:
        by_pool[settings.pool_of(work.model)].append(work)
    busy = at_work or {}
    return [
        Plan(pool, decision)
        for pool, own in by_pool.items()
        for decision in _decisions(own, settings, loaded, now, pool, busy.get(pool, _NOBODY))
    ]


def _decisions(  # noqa: PLR0913, PLR0917 - what `plan` takes, for one pool
    waiting: Sequence[Waiting],
    settings: DispatchSettings,
    loaded: AbstractSet[str],
    now: datetime,
    pool: str,
    at_work: AbstractSet[str],
) -> list[Decision]:
    found: list[Decision] = []
    taken = set(at_work)
    for _ in range(settings.limits[pool] - len(at_work)):
        free = [work for work in waiting if work.model not in taken]
        decision = decide(free, loaded, now, ageing=settings.rules, items_a_turn=settings.items_a_turn)
        if decision.model is None:
            return found or [decision]
        found.append(decision)
        taken.add(decision.model)
    return found


def version_of(interrogations: Iterable[Interrogation], model: str, digest: str) -> str:
    """A hash of what a model is asked at all: a failed run is tried at once when that is something else."""
    recipes = [
        (interrogation.name, sorted(recipe_of(interrogation, digest).versions.items()))
        for interrogation in interrogations
        if model in interrogation.models
    ]
    return content_hash(repr((model, digest, sorted(recipes))))
