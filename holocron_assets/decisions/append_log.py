"""An append-only log of what people decide: decisions and controls are both written and read by it."""

import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, lru_cache
from operator import itemgetter

from holocron_assets.lake.declaration.schema import Row, Table
from holocron_assets.lake.files.parquet import read_partition, write_partition
from holocron_assets.lake.files.verifying import damage_of
from holocron_assets.lake.packs.packs import FileMark
from holocron_assets.lake.place.clock import SMALLEST_STEP, utc_now
from holocron_assets.lake.place.paths import Lake

_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class AppendLog:
    """A table to which people's decisions or controls are added, a new file each time.

    Attributes:
        table: the table.
        id_column: the column that names a row.
        time_column: the column with the time of a row.
    """

    table: Table
    id_column: str
    time_column: str

    def rows(self, lake: Lake) -> Sequence[Row]:
        """Every row, the oldest first; read again only when rows were added.

        Raises:
            DamagedPartitionError: a file of the log cannot be read.
        """
        return self.rows_at(lake, self.mark(lake))

    def rows_at(self, lake: Lake, mark: str) -> Sequence[Row]:
        """Every row, the oldest first, for a mark that was just taken."""
        return _rows(self, lake, mark)

    def mark(self, lake: Lake) -> str:
        """A text that changes with every row that is added."""
        return lake.mark([self.table])

    def next_moment(self, lake: Lake) -> datetime:
        """The moment of a row that is added now: later than all others, even if the clock was set back."""
        last: datetime = max((row[self.time_column] for row in self.rows(lake)), default=_LONG_AGO)
        return max(utc_now(), last + SMALLEST_STEP)

    def append(self, lake: Lake, rows: Sequence[Row]) -> int:
        """Add rows, all of them or none. What the log has already is not added again.

        Args:
            lake: the lake with the log. The caller holds the log's lock.
            rows: the rows, each with a unique id.

        Returns:
            How many were new.

        Raises:
            SchemaError: a row does not fit the table.
        """
        known = {row[self.id_column] for row in self.rows(lake)}
        new = [row for row in rows if row[self.id_column] not in known]
        if new:
            write_partition(lake, self.table, new[0][self.id_column], new)
        return len(new)


def id_at(moment: datetime) -> str:
    """A unique id for a row of a moment: ids sort by time."""
    return f"{moment:%Y%m%dT%H%M%S%f}-{uuid.uuid4().hex[:12]}"


@lru_cache(maxsize=8)
def _rows(log: AppendLog, lake: Lake, _mark: str) -> Sequence[Row]:
    listing = lake.listing(log.table)
    rows = [row for name in listing.names for row in _rows_of(lake, log.table, name, listing.mark(name))]
    return sorted(rows, key=itemgetter(log.time_column, log.id_column))


@cache  # a process reads each file once; there is one for each addition
def _rows_of(lake: Lake, table: Table, partition: str, _mark: FileMark | None) -> Sequence[Row]:
    # Nothing can make these rows again, and a page's own checksum leaves out its header: check every byte.
    with suppress(FileNotFoundError):  # it is in a pack by now
        if damage := damage_of(lake.file(table, partition)):
            raise damage
    return read_partition(lake, table, partition)
