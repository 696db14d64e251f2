"""Where things lie in the data folder. Nothing else builds a path into it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from holocron_assets.lake.keys import content_hash
from holocron_assets.lake.schema import Table

_PARTITION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


class PartitionNameError(ValueError):
    """A partition name that could lead outside its folder."""


@dataclass(frozen=True)
class Lake:
    """The data folder of one Holocron.

    Attributes:
        root: the folder that holds `lake/`, `locks/` and `holocron.duckdb`; `data/` unless moved.
    """

    root: Path

    @property
    def database(self) -> Path:
        """The published DuckDB file of views."""
        return self.root / "holocron.duckdb"

    @property
    def locks(self) -> Path:
        """Folder of lock files, made on first use."""
        folder = self.root / "locks"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def folder(self, table: Table) -> Path:
        """The folder that holds a table's partitions."""
        return self.root / "lake" / table.layer / table.name

    def partition_folder(self, table: Table, partition: str) -> Path:
        """The folder of one partition.

        Raises:
            PartitionNameError: the name has other characters than letters, digits, '_' and '-'.
        """
        if not _PARTITION.fullmatch(partition):
            raise PartitionNameError(
                f"table {table.name}: partition {partition!r} must be 1 to 100 letters, digits, '_' or '-'"
            )
        return self.folder(table) / partition

    def file(self, table: Table, partition: str) -> Path:
        """The Parquet file of one partition."""
        return self.partition_folder(table, partition) / "data.parquet"

    def journal(self, table: Table, partition: str) -> Path:
        """The journal that one partition is built from."""
        return self.partition_folder(table, partition) / "journal.jsonl"

    def partitions(self, table: Table) -> list[str]:
        """Names of the partitions whose file is there, sorted."""
        return sorted(file.parent.name for file in self.folder(table).glob("*/data.parquet"))

    def files(self) -> list[Path]:
        """The Parquet files of all tables' partitions, sorted."""
        return sorted((self.root / "lake").glob("*/*/*/data.parquet"))

    def mark(self, tables: Iterable[Table]) -> str:
        """A text that changes whenever a partition of some tables is written or removed; cheap to compute."""
        files = (file for table in tables for file in self.folder(table).glob("*/data.parquet"))
        states = sorted(
            f"{file.parent.parent.name}/{file.parent.name} {file.stat().st_mtime_ns}" for file in files
        )
        return content_hash("\n".join(states))

    def has(self, table: Table, partition: str) -> bool:
        """Whether the partition's file is there."""
        return self.file(table, partition).is_file()
