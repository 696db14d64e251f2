"""Compaction: old small files of a table become packs. Files that packs replace are removed a day later.

A run can be killed at any moment. Only a finished pack counts, and a file is removed only when all readers
read its rows from a pack.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from filelock import Timeout

from holocron_assets.errors import HolocronError
from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.files.damage import DATA_FILE, PACK_FOLDER
from holocron_assets.lake.files.durable import holding, remove, remove_abandoned
from holocron_assets.lake.files.listing import JOURNAL_FILE, Listing
from holocron_assets.lake.files.rows import NUMBERED, WRITTEN_ONCE
from holocron_assets.lake.journals.journal import Journal
from holocron_assets.lake.packs.packing import PACK_BYTES, PACK_PARTITIONS, Problem, lacks_columns, write_pack
from holocron_assets.lake.packs.packs import FileMark, PackFile
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.shared.places import mirror_of

OLD_AFTER = timedelta(days=1)
"""Age from which a partition is expected not to change."""

GRACE = timedelta(days=1)
"""How long a file stays after a pack replaced it: for queries under way, and for clients of
`holocron.duckdb` that opened it before the pack was there."""

SMALL_BYTES = 16_000_000
"""Size of the largest file that is packed. A partition is in memory while it is packed."""

FEWEST = 50
"""Number of partitions for which a pack is made."""

_NS = 1_000_000_000


class CompactionUnderWayError(HolocronError, RuntimeError):
    """Another process compacts the same lake."""


@dataclass(frozen=True)
class Plan:
    """The work to do for a table.

    Attributes:
        table: the table.
        pack: partitions to pack, sorted: from own files, and from packs that will be replaced.
        own_to_remove: partitions whose own file is not read any more.
        packs_to_remove: packs that are not read any more.
    """

    table: Table
    pack: Sequence[str] = ()
    own_to_remove: Sequence[str] = ()
    packs_to_remove: Sequence[Path] = ()

    def __bool__(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.pack or self.own_to_remove or self.packs_to_remove)


@dataclass
class Compacted:
    """The result of a compaction.

    Attributes:
        packs: number of packs written.
        packed: number of partitions in them.
        removed: number of files removed.
        problems: why partitions could not be packed, each with its name.
    """

    packs: int = 0
    packed: int = 0
    removed: int = 0
    problems: list[Problem] = field(default_factory=list)


def partitions_to_pack(lake: Lake, *, now: datetime) -> list[Plan]:
    """The work to do, by table.

    Args:
        lake: where.
        now: the current time.

    Raises:
        DamagedPartitionError: a pack cannot be read.
    """
    plans = (_plan(lake, table, now) for table in lake.tables if table.partition_column)
    return [plan for plan in plans if plan]


def compact(lake: Lake, *, now: datetime, report: Callable[[str], None] = lambda _: None) -> Compacted:
    """Pack old partitions, and remove the files that packs replaced a day ago or killed writers left.

    Content ids stay the same, and so do the tables made from a partition. Memory is that of one partition.

    Args:
        lake: where.
        now: the current time.
        report: called with a line of text for each pack.

    Raises:
        CompactionUnderWayError: another process compacts this lake.
        DamagedPartitionError: a pack cannot be read. A partition that cannot be read is not changed, and is
            named in the result.
    """
    done = Compacted()
    try:
        with lake.lock("compaction", blocking=False):
            for plan in partitions_to_pack(lake, now=now):
                _pack(lake, plan, done, report)
                _remove(lake, plan, done)
            if not mirror_of(lake.root):  # a mirror dates a file back before it puts it in its place
                remove_abandoned(lake.layers.glob("*/*/*/.*.tmp"))
    except Timeout as error:
        raise CompactionUnderWayError(f"another process compacts {lake.root}") from error
    return done


def _plan(lake: Lake, table: Table, now: datetime) -> Plan:
    listing = lake.listing(table)
    moment = int(now.timestamp() * _NS)
    live = _live(listing)
    fresh = _fresh(listing, table, moment)
    replaced = [pack for pack in live if _is_half_dead(listing, pack, live[pack])]
    if fresh:
        replaced += [pack for pack in live if _is_half_empty(listing, pack, live[pack])]
    # What would not be packed is left out, or the same plan would be made for ever.
    replaced = [pack for pack in replaced if not lacks_columns(table, *pack)]
    return Plan(
        table,
        sorted([*fresh, *(name for pack in set(replaced) for name in live[pack])]),
        _own_to_remove(lake, listing, moment),
        _packs_to_remove(lake, listing, live, moment),
    )


def _fresh(listing: Listing, table: Table, moment: int) -> list[str]:
    """The partitions whose own files are to be packed; none if they are too few for a pack."""
    fresh = [name for name, mark in listing.own.items() if _is_to_pack(listing, name, mark, moment)]
    if len(fresh) >= FEWEST:  # their files are opened only now
        fresh = [name for name in fresh if not lacks_columns(table, listing.file(name), listing.own[name])]
    return fresh if len(fresh) >= FEWEST else []


def _live(listing: Listing) -> dict[PackFile, list[str]]:
    """The partitions that are read from each pack."""
    return {
        pack: [name for name in held if listing.packed[name].pack == pack.path and listing.is_packed(name)]
        for pack, held in listing.packs.contents.items()
    }


def _is_to_pack(listing: Listing, name: str, mark: FileMark, moment: int) -> bool:
    is_old = moment - mark.mtime_ns > OLD_AFTER.total_seconds() * _NS
    return (
        is_old
        and mark.size <= SMALL_BYTES
        and not listing.is_packed(name)
        and (NUMBERED.fullmatch(name) or WRITTEN_ONCE.fullmatch(name)) is not None
        and not Journal(listing.folder / name / JOURNAL_FILE).exists()
    )


def _is_half_dead(listing: Listing, pack: PackFile, live: Sequence[str]) -> bool:
    return 0 < len(live) < len(listing.packs.contents[pack]) / 2


def _is_half_empty(listing: Listing, pack: PackFile, live: Sequence[str]) -> bool:
    size = pack.mark.size * len(live) / len(listing.packs.contents[pack])
    return 0 < len(live) < PACK_PARTITIONS / 2 and size < PACK_BYTES / 2


def _own_to_remove(lake: Lake, listing: Listing, moment: int) -> list[str]:
    written = _written(listing)
    known = {pack for pack, since in written.items() if _is_known(lake, since, moment)}
    return sorted(
        name for name in listing.own if listing.is_packed(name) and listing.packed[name].pack in known
    )


def _packs_to_remove(
    lake: Lake, listing: Listing, live: Mapping[PackFile, Sequence[str]], moment: int
) -> list[Path]:
    """Packs from which nothing has been read for a day."""
    removable = []
    # When a newer version of each partition was written: in its own file, or in a pack after this one.
    newer = {name: mark.mtime_ns for name, mark in listing.own.items() if not listing.is_packed(name)}
    for pack, held in reversed(listing.packs.contents.items()):
        if not live[pack] and all(_is_known(lake, newer[name], moment) for name in held):
            removable.append(pack.path)
        newer |= {name: min(pack.mark.mtime_ns, newer.get(name, pack.mark.mtime_ns)) for name in held}
    return removable


def _written(listing: Listing) -> dict[Path, int]:
    """When each pack was written, in nanoseconds."""
    return {file.path: file.mark.mtime_ns for file in listing.packs.contents}


def _is_known(lake: Lake, since: int, moment: int) -> bool:
    """Whether all readers know the files that were written at a time.

    The views were published after that, and clients with older views had a day to open them again.
    """
    published = lake.database.stat().st_mtime_ns if lake.database.exists() else moment
    return moment - since > GRACE.total_seconds() * _NS and published > since


def _pack(lake: Lake, plan: Plan, done: Compacted, report: Callable[[str], None]) -> None:
    folder = lake.folder(plan.table) / PACK_FOLDER
    for leftover in folder.glob(".*.tmp"):  # a killed compaction left it, since only one runs at a time
        leftover.unlink()
    left = list(plan.pack)
    while left:
        packed, problems, left = write_pack(lake, plan.table, left)
        done.problems += problems
        done.packed += len(packed)
        done.packs += bool(packed)
        report(f"packed {len(packed)} partitions of {plan.table.name}, {len(left)} remain")


def _remove(lake: Lake, plan: Plan, done: Compacted) -> None:
    listing, folder = lake.listing(plan.table), lake.folder(plan.table)
    for name in plan.own_to_remove:
        done.removed += _remove_own(lake, folder / name / DATA_FILE, listing.packed[name].mark)
    for pack in plan.packs_to_remove:
        remove(pack)
        done.removed += 1


def _remove_own(lake: Lake, file: Path, packed: FileMark) -> bool:
    """Remove a partition's own file, unless it was written again, and its folder, if it is empty."""
    with suppress(FileNotFoundError), holding(file.parent):
        lake.read_file_anew(file)
        if FileMark.of(file.stat()) != packed:
            return False
        remove(file)
        with suppress(OSError):  # the folder holds other files
            file.parent.rmdir()
        return True
    return False
