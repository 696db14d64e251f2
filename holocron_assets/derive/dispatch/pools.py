"""How work is dispatched, as data: live or shadow, how waiting counts, and what may be done at once."""

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, StrictInt, StrictStr, model_validator

from holocron_assets.derive.code.kinds import CODE_KINDS
from holocron_assets.derive.dispatch.choosing import ITEMS_A_TURN, Ageing
from holocron_assets.derive.gpu.slots import GPU_POOL, place_of
from holocron_assets.derive.interrogations.loading import load_interrogations
from holocron_assets.lake.files.people_settings import Settings, SettingsError, read_settings
from holocron_assets.settings import dispatch_file

CODE_POOL = "code"
"""Pool of interrogations that code answers: they need no GPU and no model server."""

EMBEDDING_POOL = "embedding"
"""With policy 'kind', the pool of models that embed passages."""

ONE_FOR_ALL = "everything"
"""With policy 'global', the one place that all work takes turns at."""

Places = Callable[[str], str]
"""The place of a model, which one process has at a time: see `place_of`."""

PoolName = Annotated[StrictStr, Field(pattern=r"^[a-z][a-z0-9_]{0,29}$")]


class Pool(Settings):
    """Models that are served elsewhere than on this machine's GPU.

    Attributes:
        models: patterns of their names, such as `*-cloud`; case counts.
        limit: runs at once, each for another model.
    """

    models: tuple[StrictStr, ...] = Field(min_length=1)
    limit: Annotated[StrictInt, Field(ge=1, le=100)]


class AgeingSettings(Settings):
    """How waiting raises a priority; see `choosing.Ageing`.

    Attributes:
        points_an_hour: for each whole hour that the oldest of it waits.
        most_points: what waiting adds at most.
    """

    points_an_hour: Annotated[StrictInt, Field(ge=0, le=1000)] = Ageing.points_an_hour
    most_points: Annotated[StrictInt, Field(ge=0, le=1000)] = Ageing.most_points


class DispatchSettings(Settings):
    """How work is dispatched.

    Attributes:
        mode: 'live' launches runs; 'shadow' records what would be launched, and launches nothing.
        policy: what may be done at once. 'global': one run over everything. 'kind': one run of models that
            write, one of models that embed, one of code; `pools` do not count. 'resource': as many as the
            pools have places.
        ageing: how waiting raises a priority.
        items_a_turn: items after which the next decision is made.
        pools: of models that do not need this machine's GPU, by name. Every other model is in pool 'gpu',
            which has one run at a time. What code answers is in pool 'code', which has one more.
    """

    mode: Literal["live", "shadow"] = "live"
    policy: Literal["global", "kind", "resource"] = "resource"
    ageing: AgeingSettings = AgeingSettings()
    items_a_turn: Annotated[StrictInt, Field(ge=1, le=10_000)] = ITEMS_A_TURN
    pools: dict[PoolName, Pool] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_gpu(self) -> Self:
        if GPU_POOL in self.pools:
            raise ValueError(f"pools: {GPU_POOL!r} is the pool of all other models, with one run at a time")
        if CODE_POOL in self.pools:
            raise ValueError(f"pools: {CODE_POOL!r} is the pool of what code answers, and holds no model")
        return self

    @property
    def pools_now(self) -> Mapping[str, int]:
        """The pools that the policy makes, each with jobs and a sensor of its own, and their places."""
        if self.policy == "kind":
            return {GPU_POOL: 1, EMBEDDING_POOL: 1, CODE_POOL: 1}
        return {GPU_POOL: 1, CODE_POOL: 1, **{name: pool.limit for name, pool in self.pools.items()}}

    @property
    def limits(self) -> Mapping[str, int]:
        """Runs at once, by what they take turns at: a pool, or `ONE_FOR_ALL`."""
        return {ONE_FOR_ALL: 1} if self.policy == "global" else self.pools_now

    def turns_of(self, pool: str) -> str:
        """What the runs of a pool take turns at: one of `limits`."""
        return ONE_FOR_ALL if self.policy == "global" else pool

    def sharing(self, turns: str) -> list[str]:
        """The pools whose runs take turns at one of `limits`."""
        return [pool for pool in self.pools_now if self.turns_of(pool) == turns]

    @property
    def rules(self) -> Ageing:
        """How waiting counts, for `choosing.decide`."""
        return Ageing(self.ageing.points_an_hour, self.ageing.most_points)

    def pool_of(self, model: str) -> str:
        """The pool of a model: the first with a pattern that fits its name; of code, `CODE_POOL`.

        With policy 'kind', it is that of its kind of work.
        """
        if model in CODE_KINDS:
            return CODE_POOL
        if self.policy == "kind":
            return EMBEDDING_POOL if model in _models_that_embed() else GPU_POOL
        return next(
            (
                name
                for name, pool in self.pools.items()
                if any(fnmatchcase(model, pattern) for pattern in pool.models)
            ),
            GPU_POOL,
        )


def _models_that_embed() -> set[str]:
    return {model for one in load_interrogations() if one.is_space for model in one.models}


def read_dispatch_settings(file: Path) -> DispatchSettings:
    """How work is dispatched; the defaults where there is no file.

    Raises:
        SettingsError: the file cannot be used; names file, key and reason.
    """
    return read_settings(file, DispatchSettings)


def configured_places() -> Places:
    """Places as the dispatch file says; if that file cannot be used, all models share the GPU."""
    try:
        settings = read_dispatch_settings(dispatch_file())
    except SettingsError:
        settings = DispatchSettings()
    return lambda model: place_of(settings.pool_of(model), model)
