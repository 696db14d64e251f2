"""Whether a derived partition is what its inputs and code would give today. Data state is the queue."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

from holocron_assets.lake.parquet import read_footer
from holocron_assets.lake.paths import Lake
from holocron_assets.lake.schema import Table

_FRESH: dict[tuple[Path, str], tuple[Any, ...]] = {}
"""The state in which each partition was found fresh: some 1 KB for each of the lake's batches."""


@dataclass(frozen=True)
class Derivation:
    """How a table follows from others, partition by partition.

    Attributes:
        table: the derived table.
        inputs: the tables that it is made from; their partitions have the same names.
        source_inputs: tables that it is made from too, whose partitions are sources.
        code_version: version of the code and rules that make it.
    """

    table: Table
    inputs: tuple[Table, ...]
    source_inputs: tuple[Table, ...]
    code_version: str

    def fingerprints(self, lake: Lake, partition: str) -> Mapping[str, str] | None:
        """Content ids of the inputs of one partition, by table name; None while an input is missing."""
        found: dict[str, str] = {}
        named = [(table, partition) for table in self.inputs]
        named += [(table, partition.rpartition("-")[0]) for table in self.source_inputs]
        for table, name in named:
            footer = read_footer(lake, table, name)
            if footer is None:
                return None
            found[table.name] = footer.content_id
        return found

    def is_stale(self, lake: Lake, partition: str) -> bool:
        """Whether the partition could be made, and what is there (if anything) was made otherwise.

        Args:
            lake: where.
            partition: the partition's name.
        """
        wanted = self.fingerprints(lake, partition)
        if wanted is None:
            return False
        footer = read_footer(lake, self.table, partition)
        return footer is None or footer.code_version != self.code_version or dict(footer.inputs) != wanted


def stale_partitions(lake: Lake, derivations: Sequence[Derivation], partitions: Iterable[str]) -> list[str]:
    """The partitions of which any derivation is stale.

    One that was fresh is looked at again only when a file of it changed: a process that asks again and again
    reads next to nothing.

    Args:
        lake: where.
        derivations: in the order in which they follow from each other.
        partitions: names of partitions.
    """
    derived = [table for derivation in derivations for table in (derivation.table, *derivation.inputs)]
    own = [lake.listing(table) for table in dict.fromkeys(derived)]
    of_sources = {table for derivation in derivations for table in derivation.source_inputs}
    sources = [lake.listing(table) for table in sorted(of_sources, key=attrgetter("name"))]
    versions = tuple(derivation.code_version for derivation in derivations)
    stale = []
    for partition in partitions:
        source = partition.rpartition("-")[0]
        state = (
            *(listing.mark(partition) for listing in own),
            *(listing.mark(source) for listing in sources),
            versions,
        )
        if _FRESH.get((lake.root, partition)) == state:
            continue
        if any(derivation.is_stale(lake, partition) for derivation in derivations):
            stale.append(partition)
        else:
            _FRESH[lake.root, partition] = state
    return stale
