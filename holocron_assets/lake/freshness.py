"""Whether a derived partition is what its inputs and code would give today. Data state is the queue."""

from collections.abc import Mapping
from dataclasses import dataclass

from holocron_assets.lake.parquet import read_footer
from holocron_assets.lake.paths import Lake
from holocron_assets.lake.schema import Table


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
