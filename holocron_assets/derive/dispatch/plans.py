"""The dispatcher's next steps, for all that may be done at once. Pure functions, like their decisions."""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime

from holocron_assets.derive.dispatch.choosing import Decision, Waiting, decide
from holocron_assets.derive.dispatch.pools import DispatchSettings
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.items.recipe import recipe_of
from holocron_assets.lake.declaration.keys import content_hash

_NOBODY: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Plan:
    """The decision for one place.

    Attributes:
        pool: the pool of the model; if none works, what the place is of.
        decision: which model works there, if any.
    """

    pool: str
    decision: Decision

    @property
    def progress(self) -> str:
        """A hash of the chosen model's work. It changes as soon as any of the work is done."""
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
    waiting: Iterable[Waiting], settings: DispatchSettings, loaded: AbstractSet[str], now: datetime
) -> list[Plan]:
    """Decide for every place, as if all were free; see `plan_turns`."""
    work = list(waiting)
    return [one for turns in settings.limits for one in plan_turns(turns, work, settings, loaded, now)]


def plan_turns(  # noqa: PLR0913 - five say what there is, two what is not free
    turns: str,
    waiting: Iterable[Waiting],
    settings: DispatchSettings,
    loaded: AbstractSet[str],
    now: datetime,
    *,
    at_work: AbstractSet[str] = _NOBODY,
    resting: AbstractSet[str] = _NOBODY,
) -> list[Plan]:
    """Decide for every free place of those that some work takes turns at.

    Args:
        turns: one of the `limits` of the settings: a pool, or everything.
        waiting: the work of all interrogations, in every pool.
        settings: pools, and how waiting counts.
        loaded: models that are loaded now.
        now: the moment.
        at_work: models that runs under way ask. Each has a place, and gets no other.
        resting: models that are not to be asked now.

    Returns:
        A plan for each free place that finds work; if none does, one that says why. None if no place is free.
    """
    own = [work for work in waiting if settings.turns_of(settings.pool_of(work.model)) == turns]
    taken = at_work | resting
    found: list[Plan] = []
    for _ in range(settings.limits[turns] - len(at_work)):
        free = [work for work in own if work.model not in taken]
        decision = decide(free, loaded, now, ageing=settings.rules, items_a_turn=settings.items_a_turn)
        if decision.model is None:
            return found or [Plan(turns, decision)]
        found.append(Plan(settings.pool_of(decision.model), decision))
        taken |= {decision.model}
    return found


def version_of(interrogations: Iterable[Interrogation], model: str, digest: str) -> str:
    """A hash of all interrogations of a model. When it changes, a failed run is tried again at once."""
    recipes = [
        (interrogation.name, sorted(recipe_of(interrogation, digest).versions.items()))
        for interrogation in interrogations
        if model in interrogation.models
    ]
    return content_hash(repr((model, digest, sorted(recipes))))
