"""Stages: how each table of the knowledge base is made, a partition at a time, from one snapshot of the lake.

`entity_stages` declares them, and `entity_assets` makes an asset of each.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from holocron_assets.lake.parquet import Footer
from holocron_assets.lake.schema import Table
from holocron_assets.orchestration.asset_events import Stored
from holocron_assets.orchestration.metadata import timing
from holocron_assets.resolve.look import Look


@dataclass(frozen=True)
class Stage:
    """One table, and when and how its partitions are made.

    Attributes:
        table: the table.
        group: the asset group that shows it.
        code_version: of the code that makes it.
        inputs: tables that it is made from, partitioned as it is.
        whole_inputs: tables that it is made from, with all their partitions.
        stale: which of some partitions are not what the lake would give today.
        store: writes one partition, named, in a run, named; gives the file's footer and metadata.
    """

    table: Table
    group: str
    code_version: str
    inputs: tuple[str, ...]
    whole_inputs: tuple[str, ...]
    stale: Callable[[Look, Sequence[str]], list[str]]
    store: Callable[[Look, str, str], tuple[Footer, dict[str, Any]]]

    @property
    def name(self) -> str:
        """The name of the table, and of the asset."""
        return self.table.name

    def stored(self, look: Look, partition: str, run_id: str) -> Stored:
        """Write one partition, and time it.

        Args:
            look: at the lake.
            partition: an entity type, or a source.
            run_id: the run that writes it.
        """
        started = perf_counter()
        footer, metadata = self.store(look, partition, run_id)
        return Stored(footer, {**metadata, **timing(footer, perf_counter() - started)})
