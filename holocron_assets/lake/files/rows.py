"""SQL that reads a table's rows from own files and packs, each partition once."""

import glob
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

import pyarrow.parquet as pq

from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.files.damage import DATA_FILE, DamagedPartitionError, damage_named
from holocron_assets.lake.files.durable import replacing
from holocron_assets.lake.files.listing import Listing
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.views.empty_database import empty_database
from holocron_assets.lake.views.literals import quoted

NUMBERED = re.compile(r"(?P<series>.+)-(?P<number>[0-9]+)")
"""Names of partitions that are numbered, such as batches."""

WRITTEN_ONCE = re.compile(r"[0-9]{8}T[0-9]{6}-[0-9a-f]{8}")
"""Names of partitions that are written once: a time and a random part, as of a session of a model."""

_COLUMNS_FILE = ".columns.parquet"


def rows_of(lake: Lake, table: Table, partitions: Sequence[str] | None = None) -> str:
    """SQL that reads a table's rows as they are now, or gives its columns if there are no rows.

    Args:
        lake: where the files are.
        table: which table.
        partitions: only these existing ones; all by default.

    Raises:
        DamagedPartitionError: a pack cannot be read.
    """
    listing = lake.listing(table)
    wanted = listing.names if partitions is None else partitions
    folder = _pattern(listing.folder)  # resolved once: a partition has no link to elsewhere
    own = [f"{folder}/{name}/{DATA_FILE}" for name in wanted if not listing.is_packed(name)]
    packed = [name for name in wanted if listing.is_packed(name)]
    parts = [_own_rows(table, own)] if own else []
    return _union([*parts, *_packed_rows(table, listing, packed)]) or no_rows(table)


def rows_at_any_time(lake: Lake, table: Table) -> str:
    """SQL that reads a table's rows at the time of the query, also those of partitions written later.

    The SQL names the present packs and the partitions that are read from them: when these change, it must be
    made anew. Until then a packed partition that is written again shows its packed rows. Its own file is left
    out by its name, before it is opened. Of partitions that are written once, only own files that are still
    there are named: their names make no ranges.

    Raises:
        DamagedPartitionError: a pack cannot be read.
    """
    listing = lake.listing(table)
    packed = [name for name in listing.names if listing.is_packed(name)]
    folder = lake.folder(table)
    resolved = folder.resolve()
    # The file with the columns comes first: DuckDB takes the columns from it, and it may be the only file.
    own = _own_rows(table, [_pattern(folder / _COLUMNS_FILE), f"{_pattern(folder)}/*/{DATA_FILE}"])
    left_out = [
        f"filename between {quoted(file)} and {quoted(listing.file(last).resolve())}"
        f" and length(filename) = {len(str(file))}"
        for first, last in _ranges([name for name in packed if not WRITTEN_ONCE.fullmatch(name)])
        for file in [listing.file(first).resolve()]
    ]
    once = [name for name in packed if WRITTEN_ONCE.fullmatch(name) and name in listing.own]
    if once:
        # One text: DuckDB compares thousands of names one by one, or of a list, for each file.
        files = "|".join(f"{resolved}/{name}/{DATA_FILE}" for name in once)
        left_out.append(f"contains({quoted(files)}, filename)")
    if left_out:
        own += f" where not ({' or '.join(left_out)})"
    return _union([own, *_packed_rows(table, listing, packed)])


def write_columns(lake: Lake, table: Table) -> None:
    """Write the file without rows that `rows_at_any_time` needs, unless it is there and can be read."""
    file, wanted = lake.folder(table) / _COLUMNS_FILE, table.arrow_schema
    with suppress(FileNotFoundError, DamagedPartitionError), damage_named(file):
        if pq.read_schema(file).equals(wanted, check_metadata=False):
            return
    with replacing(file) as aside:
        pq.write_table(wanted.empty_table(), aside)


def no_rows(table: Table) -> str:
    """SQL that gives a table's columns without rows."""
    return f"select {_columns(table)} where false"


@cache
def _columns(table: Table) -> str:
    with empty_database() as connection:
        connection.register("empty_table", table.arrow_schema.empty_table())
        described = connection.execute("describe empty_table").fetchall()
    return ", ".join(f'cast(null as {kind}) as "{name}"' for name, kind, *_ in described)


def _own_rows(table: Table, patterns: Sequence[str]) -> str:
    found = f"from read_parquet([{_texts(patterns)}], hive_partitioning = false, allow_empty = true"
    if table.added_columns:
        # DuckDB reads the columns of every file, which takes too long for tables with thousands of files.
        return f"{no_rows(table)} union all by name {found}, union_by_name = true)"
    return f"{found})"


def _packed_rows(table: Table, listing: Listing, partitions: Iterable[str]) -> Iterator[str]:
    """SQL of some partitions' rows in packs: one part for all whole packs, and one for each other pack."""
    by_pack: defaultdict[Path, list[str]] = defaultdict(list)
    for name in partitions:
        by_pack[listing.packed[name].pack].append(name)
    sizes = {pack.path: len(held) for pack, held in listing.packs.contents.items()}
    whole = [pack for pack, names in by_pack.items() if len(names) == sizes[pack]]
    if whole:
        by_name = ", union_by_name = true" if table.added_columns else ""
        yield f"from read_parquet([{_texts(map(_pattern, whole))}], hive_partitioning = false{by_name})"
    for pack, names in by_pack.items():
        if len(names) < sizes[pack]:
            # A join, because a long list of names in a condition is compared one by one.
            yield (
                f"from read_parquet([{quoted(_pattern(pack))}], hive_partitioning = false) as rows "
                f"semi join (select unnest([{_texts(names)}]) as name) as wanted "
                f'on rows."{table.partition_column}" = wanted.name'
            )


def _ranges(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """First and last of each run of partitions with consecutive numbers: no other as long lies between."""
    first = last = ""
    for name in names:
        if not _follows(last, name):
            if first:
                yield first, last
            first = name
        last = name
    if first:
        yield first, last


def _follows(one: str, other: str) -> bool:
    before, after = NUMBERED.fullmatch(one), NUMBERED.fullmatch(other)
    return (
        before is not None
        and after is not None
        and before["series"] == after["series"]
        and len(before["number"]) == len(after["number"])
        and int(before["number"]) + 1 == int(after["number"])
    )


def _union(parts: Sequence[str]) -> str:
    return " union all by name ".join(f"({part})" for part in parts)


def _pattern(path: Path) -> str:
    """A path, escaped for the places where DuckDB takes patterns."""
    return glob.escape(str(path.resolve()))


def _texts(values: Iterable[str]) -> str:
    return ", ".join(map(quoted, values))
