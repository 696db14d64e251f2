"""Checks that files of the lake are as they were written: every byte by its seal, and each file's place.

Of journals, only the packed parts are checked: lines in a journal's own file have checksums of their own.
"""

import hashlib
import zlib
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow.parquet as pq

from holocron_assets.lake.files.damage import (
    PACK_FOLDER,
    DamagedPartitionError,
    FileFault,
    UnreadableFileError,
    damage_named,
    is_object,
)
from holocron_assets.lake.files.footers import stored_footer
from holocron_assets.lake.files.sealing import is_as_sealed
from holocron_assets.lake.journals.notes import FileNote
from holocron_assets.lake.journals.packed import ENDING, read_through
from holocron_assets.lake.packs.packs import stored_contents
from holocron_assets.lake.place.paths import Lake

_HOUR = timedelta(hours=1)
_MOST_AT_ONCE = 24
_NOTE = "verified-until"
HOURS_OF_A_ROUND = 7 * 24
"""Hours in which every file is verified once, if a check runs each hour."""


def damage_of(file: Path) -> DamagedPartitionError | None:
    """What is wrong with a partition's file, a pack, a packed journal or an object; None if it is whole.

    The whole file is read. An older file has no seal: its pages are checked by their own checksums.

    Raises:
        FileNotFoundError: there is no such file any more.
    """
    try:
        if file.suffix == ENDING:
            read_through(file)
            return None
        if is_object(file):
            return _damage_of_object(file)
        with damage_named(file), pq.ParquetFile(file, page_checksum_verification=True) as opened:
            if file.parent.name == PACK_FOLDER:
                stored_contents(file, opened.metadata)
            else:
                stored_footer(file, opened.metadata)
            sound = is_as_sealed(file)
            if sound is None:
                for group in range(opened.num_row_groups):
                    opened.read_row_group(group)
            elif not sound:
                return DamagedPartitionError(file, "its bytes are not those that were written")
    except DamagedPartitionError as error:
        return error
    return None


def _damage_of_object(file: Path) -> DamagedPartitionError | None:
    with file.open("rb") as opened:
        found = hashlib.file_digest(opened, "sha256").hexdigest()
    return None if found == file.name else DamagedPartitionError(file, "its bytes are not those of its name")


def faulty_files(files: Iterable[Path]) -> Iterator[FileFault]:
    """What is wrong with each damaged file, and each that the system cannot read.

    Files that were removed meanwhile are left out.
    """
    for file in files:
        try:
            error: FileFault | None = damage_of(file)
        except FileNotFoundError:
            continue
        except OSError as trouble:  # the others are checked all the same
            error = UnreadableFileError(file, trouble)
        if error:
            yield error


def files_of_all_tables(lake: Lake) -> list[Path]:
    """Every file that can be checked by itself, also of tables that are not declared, and every object."""
    objects = sorted(file for file in lake.objects.glob("??/*") if is_object(file))
    return [*lake.files(), *lake.packed_journals(), *objects]


def files_to_verify(lake: Lake) -> list[Path]:
    """Every file of the present tables that can be checked by itself, and every object that is here."""
    folders = {lake.folder(table) for table in lake.tables}
    files = files_of_all_tables(lake)
    return [file for file in files if is_object(file) or file.parent.parent in folders]


def files_due(lake: Lake, now: datetime) -> tuple[list[Path], int]:
    """The files that are due now. Each hour has its own files, and a week of hours covers them all.

    Files of hours without a check are due later, at most a day's at once. So a check that runs once a day
    also verifies all files within a week.

    Returns:
        The files, and the last hour that they cover, for `note_verified`.
    """
    hour = int(now.timestamp() // _HOUR.total_seconds())
    last = _last_hour(lake)
    first = hour if last is None or last > hour else last + 1
    hours = range(first, min(hour, first + _MOST_AT_ONCE - 1) + 1)
    turns = {one % HOURS_OF_A_ROUND for one in hours}
    files = [file for file in files_to_verify(lake) if _turn_of(lake, file) in turns]
    return files, hours[-1] if hours else hour


def note_verified(lake: Lake, hour: int) -> None:
    """Record up to which hour all due files were verified."""
    _note(lake).write(str(hour))


def _last_hour(lake: Lake) -> int | None:
    try:
        return int(_note(lake).read() or "")
    except ValueError:
        return None


def _note(lake: Lake) -> FileNote:
    """This machine's own note: where machines share a lake, each has files of its own to verify."""
    return FileNote(lake.locks / _NOTE)


def _turn_of(lake: Lake, file: Path) -> int:
    return zlib.crc32(str(file.relative_to(lake.root)).encode()) % HOURS_OF_A_ROUND
