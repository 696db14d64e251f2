"""The places of files in the data folder. Only this module builds paths in it."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock, Timeout

from holocron_assets.errors import PermanentError
from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.files.damage import DATA_FILE, OBJECTS, PACK_FOLDER
from holocron_assets.lake.files.durable import make_folder
from holocron_assets.lake.files.listing import JOURNAL_FILE, Listing, list_partitions
from holocron_assets.lake.journals.notes import FileNote, Note
from holocron_assets.lake.journals.packed import ENDING
from holocron_assets.lake.packs.packs import Packs, packs_of
from holocron_assets.lake.place.marking import mark
from holocron_assets.lake.place.presence import refuse_another
from holocron_assets.lake.shared.places import mirror_of
from holocron_assets.lake.shared.server_locks import Lock
from holocron_assets.lake.tables import ALL_TABLES

_NS = 1_000_000_000
_PARTITION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


class PartitionNameError(PermanentError, ValueError):
    """A partition's name could lead outside its folder."""


def source_of(batch: str) -> str:
    """The source that a batch's name begins with."""
    return batch.rpartition("-")[0]


def _mark_of(states: Iterable[str]) -> str:
    return content_hash("\n".join(sorted(states)))


@dataclass(frozen=True)
class Lake:
    """The data folder of one Holocron.

    Attributes:
        root: the folder that holds `lake/`, `locks/` and `holocron.duckdb`; `data/` unless moved.
        derived_tables: the tables that interrogations declare. A table without a folder has no rows yet.
    """

    root: Path
    derived_tables: tuple[Table, ...] = field(default=(), compare=False)

    @property
    def tables(self) -> tuple[Table, ...]:
        """Every table: the project's own, and those of interrogations."""
        return ALL_TABLES + self.derived_tables

    def derived_table(self, name: str) -> Table | None:
        """The table of an interrogation; None if none declares it."""
        return next((table for table in self.derived_tables if table.name == name), None)

    @property
    def layers(self) -> Path:
        """The folder of all tables.

        Raises:
            FolderGoneError: this process has used it, and it is gone. It must not be taken for an empty lake.
        """
        folder = self.root / "lake"
        refuse_another(folder)
        return folder

    @property
    def objects(self) -> Path:
        """The folder of files' bytes, by their SHA-256. It lies beside the tables of files."""
        return self.layers / "files" / OBJECTS

    @property
    def parts(self) -> Path:
        """The folder of bytes that are still coming; on the disk of the objects, and this machine's own."""
        return self.layers / "files" / ".parts"

    @property
    def database(self) -> Path:
        """The published DuckDB file of views."""
        return self.root / "holocron.duckdb"

    @property
    def locks(self) -> Path:
        """Folder of lock files, made on first use.

        Raises:
            FolderGoneError: this process has used it, and it is gone. Others may hold locks in it.
        """
        folder = self.root / "locks"
        mark(folder)
        return folder

    def lock(self, name: str, *, timeout: float = -1, blocking: bool = True) -> Lock:
        """A lock that one process of this lake holds at a time. It is not taken yet.

        Any thread may release it. It is free when its process dies.

        Args:
            name: the lock's name; a slash in it stands for a folder of locks, which is made.
            timeout: seconds to wait for it; without limit if negative.
            blocking: whether to wait for it at all.
        """
        if mirror := mirror_of(self.root):
            return mirror.lock(name, timeout=timeout, blocking=blocking)
        file = self._lock_file(name)
        make_folder(file.parent)
        return FileLock(file, timeout=timeout, blocking=blocking, thread_local=False)

    def is_locked(self, name: str) -> bool:
        """Whether a process holds a lock. This makes no file, and holds a free lock for a moment."""
        if not (mirror_of(self.root) or self._lock_file(name).exists()):
            return False
        try:
            with self.lock(name, blocking=False):
                return False
        except Timeout:
            return True

    def note(self, name: str) -> Note:
        """A short text that all processes of this lake see."""
        if mirror := mirror_of(self.root):
            return mirror.note(name)
        return FileNote(self.locks / name)

    def read_file_anew(self, file: Path) -> None:
        """See what was last written to one file, also on other machines, without a listing of its table."""
        if mirror := mirror_of(self.root):
            mirror.bring_if_new(file)

    def folder(self, table: Table) -> Path:
        """The folder that holds a table's present partitions."""
        return self._up_to_date(self._folder(table))

    def earlier_partitions(self, table: Table) -> set[str]:
        """Names of partitions in the folders that a table had when it had other columns."""
        folder = self._folder(table)
        self._up_to_date(folder.parent)
        others = set(folder.parent.glob(f"{table.name}-*")) - {folder}
        return {name for other in others for name in list_partitions(other).names}

    def partition_folder(self, table: Table, partition: str) -> Path:
        """The folder of one partition.

        Raises:
            PartitionNameError: the name has other characters than letters, digits, '_' and '-'.
        """
        if not _PARTITION.fullmatch(partition):
            raise PartitionNameError(
                f"table {table.name}: partition {partition!r} must be 1 to 100 letters, digits, '_' or '-'"
            )
        return self._up_to_date(self._folder(table) / partition)

    def packs(self, table: Table) -> Packs:
        """The packs of a table, as they are now.

        Raises:
            DamagedPartitionError: a pack cannot be read.
        """
        folder = self._folder(table)
        self._up_to_date(folder / PACK_FOLDER)
        return packs_of(folder)

    def file(self, table: Table, partition: str) -> Path:
        """The file of one partition. A packed partition has no file of its own."""
        return self.partition_folder(table, partition) / DATA_FILE

    def written_at(self, table: Table, partition: str) -> int:
        """When a partition's own file was written, in ns; exact to the second where machines share the lake.

        Raises:
            FileNotFoundError: the partition has no own file.
        """
        mtime_ns = self.file(table, partition).stat().st_mtime_ns
        return mtime_ns // _NS * _NS if mirror_of(self.root) else mtime_ns

    def journal(self, table: Table, partition: str) -> Path:
        """The journal from which one partition is built."""
        return self.partition_folder(table, partition) / JOURNAL_FILE

    def journals(self, table: Table, prefix: str = "") -> list[Path]:
        """The journals of a table's partitions, sorted; also journals that have only a packed part.

        Args:
            table: the table.
            prefix: what the names of the partitions begin with.
        """
        every_part = self.folder(table).glob(f"{prefix}*/journal*.jsonl*")
        return sorted({part.with_name(JOURNAL_FILE) for part in every_part})

    def packed_journals(self) -> list[Path]:
        """The packed parts of all journals, sorted."""
        return sorted(self._up_to_date(self.layers).glob(f"*/*/*/{JOURNAL_FILE}{ENDING}"))

    def dump_copy(self, table: Table, partition: str) -> Path:
        """The copy of a packed dump that can be read from its middle, next to the index of its places."""
        return self.partition_folder(table, partition) / "copy.xml.zst"

    def listing(self, table: Table) -> Listing:
        """A table's partitions and where each is read, as they are now.

        Raises:
            DamagedPartitionError: a pack cannot be read.
        """
        return list_partitions(self.folder(table))

    def partitions(self, table: Table) -> list[str]:
        """Names of a table's partitions, sorted."""
        return self.listing(table).names

    def names_used(self, table: Table) -> set[str]:
        """Names of all partitions, and of folders that have no partition yet or any more."""
        folder = self.folder(table)
        folders = folder.glob("[!.]*")
        return {path.name for path in folders} | packs_of(folder).newest.keys()

    def files(self) -> list[Path]:
        """The Parquet files of all tables' partitions and packs, sorted."""
        kinds = (f"*/*/*/{DATA_FILE}", f"*/*/{PACK_FOLDER}/[!.]*")
        layers = self._up_to_date(self.layers)
        return sorted(file for kind in kinds for file in layers.glob(kind))

    def mark(self, tables: Iterable[Table], of: Callable[[str], bool] = lambda _: True) -> str:
        """A text that changes whenever a partition of some tables is written or removed. Quick to compute.

        It stays the same when partitions are packed.

        Args:
            tables: the tables.
            of: chooses the partitions that count, by name.
        """
        return _mark_of(state for table in tables for name, state in self._states(table) if of(name))

    def marks(self, table: Table, by: Callable[[str], str]) -> dict[str, str]:
        """A mark of each group of a table's partitions, like `mark`. All are found in one listing.

        Args:
            table: the table.
            by: names a partition's group.
        """
        groups: defaultdict[str, list[str]] = defaultdict(list)
        for name, state in self._states(table):
            groups[by(name)].append(state)
        return {group: _mark_of(states) for group, states in groups.items()}

    def _states(self, table: Table) -> Iterator[tuple[str, str]]:
        """The name of each partition of a table, and a text that changes when it is written."""
        listing = self.listing(table)
        for name in listing.names:
            if mark := listing.mark(name):
                yield name, f"{table.name}/{name} {mark.mtime_ns}"

    def has(self, table: Table, partition: str) -> bool:
        """Whether the partition is in the lake."""
        return self.file(table, partition).is_file() or partition in self.packs(table).newest

    def _lock_file(self, name: str) -> Path:
        return self.locks / f"{name}.lock"

    def _folder(self, table: Table) -> Path:
        return self.layers / table.layer / (table.folder or table.name)

    def _up_to_date(self, folder: Path) -> Path:
        """A folder, after the files that other machines wrote were brought into it."""
        if mirror := mirror_of(self.root):
            mirror.bring_up_to_date(folder)
        return folder
