"""Whether a derived partition is what its inputs and code would give now. The data is the queue of work."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from operator import attrgetter
from pathlib import Path
from typing import Any, Self

from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.declaration.schema import Row, Table
from holocron_assets.lake.files.footers import Footer, keep_footers
from holocron_assets.lake.files.listing import Listing
from holocron_assets.lake.files.parquet import read_footer
from holocron_assets.lake.place.paths import Lake, source_of

RowsOf = Callable[[str], Sequence[Row]]
"""Gives the rows that concern a partition, by its name."""

RowsByTable = Callable[[str], Mapping[str, Sequence[Row]]]
"""Gives the rows that concern a partition, by the name of their table; only tables with some."""

FooterOf = Callable[[Table, str], Footer | None]
"""Gives the footer of a table's partition; None if there is no such partition."""

_FRESH: dict[tuple[Path, str], tuple[Any, ...]] = {}
"""The state in which each partition was found fresh: about 1 KB for each batch of the lake."""


@dataclass(frozen=True)
class RowInput:
    """A table with other partitions, of which some rows count for a partition.

    Attributes:
        table: the table.
        read: reads it once, and returns a function that gives the rows for each partition.
    """

    table: Table
    read: Callable[[Lake], RowsOf]


@dataclass(frozen=True)
class Derivation:
    """How a table is derived from others, partition by partition.

    Attributes:
        table: the derived table.
        inputs: the tables that it is made from; their partitions have the same names.
        source_inputs: other tables that it is made from, whose partitions are sources.
        code: version of the code and shipped rules that make it.
        optional_inputs: like `inputs`, but a partition may be missing.
        row_inputs: tables of which only the rows that concern the partition count.
        files_version: gives the version of the files of people that it is made from, if there are some.
    """

    table: Table
    inputs: tuple[Table, ...]
    source_inputs: tuple[Table, ...]
    code: str
    optional_inputs: tuple[Table, ...] = ()
    row_inputs: tuple[RowInput, ...] = ()
    files_version: Callable[[], str] | None = None

    @property
    def code_version(self) -> str:
        """Version of the code and rules that make it, with people's own files as they are now."""
        return f"{self.code}-{self.files_version()}" if self.files_version else self.code

    def as_of_now(self) -> Self:
        """The same with a version that stays, also if people change their files: for one run or look."""
        return replace(self, code=self.code_version, files_version=None)

    def rows_of(self, lake: Lake) -> RowsByTable:
        """Read the tables of `row_inputs` once, for many partitions."""
        read = [(each.table.name, each.read(lake)) for each in self.row_inputs]

        def of_partition(partition: str) -> Mapping[str, Sequence[Row]]:
            return {name: rows for name, rows_of in read if (rows := rows_of(partition))}

        return of_partition

    def fingerprints(
        self,
        lake: Lake,
        partition: str,
        rows_of: RowsByTable | None = None,
        footer_of: FooterOf | None = None,
    ) -> Mapping[str, str] | None:
        """Content ids of the inputs of one partition, by table name; None while an input is missing.

        Args:
            lake: the lake.
            partition: the partition's name.
            rows_of: the result of the method of this name; by default the tables are read anew.
            footer_of: that of a `LakeListings`; by default each footer is looked up anew.
        """
        footer_of = footer_of or partial(read_footer, lake)
        found: dict[str, str] = {}
        named = [(table, partition) for table in self.inputs]
        named += [(table, source_of(partition)) for table in self.source_inputs]
        for table, name in named:
            footer = footer_of(table, name)
            if footer is None:
                return None
            found[table.name] = footer.content_id
        return {**found, **self.late_fingerprints(lake, partition, rows_of, footer_of)}

    def late_fingerprints(
        self,
        lake: Lake,
        partition: str,
        rows_of: RowsByTable | None = None,
        footer_of: FooterOf | None = None,
    ) -> Mapping[str, str]:
        """Like `fingerprints`, for inputs that may come after the partition: optional ones, and rows."""
        footer_of = footer_of or partial(read_footer, lake)
        footers = {table.name: footer_of(table, partition) for table in self.optional_inputs}
        found = {name: footer.content_id if footer else "" for name, footer in footers.items()}
        of_rows = (rows_of or self.rows_of(lake))(partition)
        return {**found, **{name: _content(rows) for name, rows in of_rows.items()}}

    def is_stale(
        self,
        lake: Lake,
        partition: str,
        rows_of: RowsByTable | None = None,
        footer_of: FooterOf | None = None,
    ) -> bool:
        """Whether the partition can be made, and is missing or was made from other inputs or code.

        Args:
            lake: the lake.
            partition: the partition's name.
            rows_of: as for `fingerprints`.
            footer_of: as for `fingerprints`.
        """
        footer_of = footer_of or partial(read_footer, lake)
        wanted = self.fingerprints(lake, partition, rows_of, footer_of)
        if wanted is None:
            return False
        footer = footer_of(self.table, partition)
        return footer is None or not footer.is_of(self.code_version, wanted)


class LakeListings:
    """The lake at one moment: each table is listed once, however many partitions are asked about."""

    def __init__(self, lake: Lake) -> None:
        """List nothing yet."""
        self.lake = lake
        self.listing: Callable[[Table], Listing] = cache(lake.listing)

    def footer(self, table: Table, partition: str) -> Footer | None:
        """The footer of a partition; None if the lake had none when its table was listed.

        Raises:
            DamagedPartitionError: its file, or a pack, cannot be read.
        """
        return self.listing(table).footer(partition)


def stale_partitions(lake: Lake, derivations: Sequence[Derivation], partitions: Iterable[str]) -> list[str]:
    """The partitions for which any derivation is stale.

    A partition that was fresh is checked again only if one of its files has changed, or a row that concerns
    it. So a process that asks often reads almost nothing.

    Args:
        lake: the lake.
        derivations: the derivations; each comes after those that it depends on.
        partitions: names of partitions.
    """
    derivations = [derivation.as_of_now() for derivation in derivations]
    derived = [table for each in derivations for table in (each.table, *each.inputs, *each.optional_inputs)]
    listings = LakeListings(lake)
    own = [listings.listing(table) for table in dict.fromkeys(derived)]
    of_sources = {table for derivation in derivations for table in derivation.source_inputs}
    sources = [listings.listing(table) for table in sorted(of_sources, key=attrgetter("name"))]
    versions = tuple(derivation.code_version for derivation in derivations)
    with_rows = [(derivation, derivation.rows_of(lake)) for derivation in derivations]
    stale = []
    for partition in partitions:
        source = source_of(partition)
        state = (
            *(listing.mark(partition) for listing in own),
            *(listing.mark(source) for listing in sources),
            *(
                (name, _content(rows))
                for _, rows_of in with_rows
                for name, rows in rows_of(partition).items()
            ),
            versions,
        )
        if _FRESH.get((lake.root, partition)) == state:
            continue
        if any(each.is_stale(lake, partition, rows_of, listings.footer) for each, rows_of in with_rows):
            stale.append(partition)
        else:
            _FRESH[lake.root, partition] = state
    keep_footers()
    return stale


def _content(rows: Sequence[Row]) -> str:
    return content_hash(json.dumps(rows, default=str, sort_keys=True))
