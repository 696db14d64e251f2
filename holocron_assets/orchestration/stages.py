"""Stages: the tables of the knowledge base, one asset each, as the job that resolves entities makes them."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import dagster as dg

from holocron_assets.orchestration.stored import Stored
from holocron_assets.resolve.look import Look


class Stage(NamedTuple):
    """One table, and when and how its partitions are made.

    Attributes:
        asset: the asset that a person materializes; its partitions are entity types, or sources.
        stale: which of some partitions are not what the lake would give today.
        store: writes one partition, named, in a run, named.
    """

    asset: dg.AssetsDefinition
    stale: Callable[[Look, Sequence[str]], list[str]]
    store: Callable[[Look, str, str], Stored]

    @property
    def table(self) -> str:
        """The table's name."""
        return self.asset.key.to_user_string()
