"""Files of the lake that are there but cannot be read."""

import errno
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from holocron_assets.errors import HolocronError

_SET_ASIDE = (
    "The next run or sensor that reads it sets it aside, and its rows are made again; "
    "`holocron verify` does so at once."
)
_OBJECT_SET_ASIDE = (
    "`holocron verify` sets it aside; its artifact is fetched again, if an enabled source lists it."
)
OUTLOOK: Mapping[str, str] = {
    "decisions": (
        "It holds people's decisions, which nothing can make again: restore this file from a backup. Until "
        "then nothing is typed, resolved or cut anew, so that no decision is undone. If there is no "
        "backup, move the file away, and let people decide again."
    ),
    "controls": (
        "It holds what people paused or drained, which nothing can make again: restore this file from a "
        "backup, or move it away and pause again what must be held back. Until then nothing is started, so "
        "that nothing that was held back goes on."
    ),
}
"""What happens to damaged files of some tables. Other files are set aside."""

_NOT_ALLOWED = (errno.EACCES, errno.EPERM)

DATA_FILE = "data.parquet"
PACK_FOLDER = ".packs"
"""The folder of a table that holds its packs. No partition can have this name."""
OBJECTS = "sha256"
"""Name of the folder of files' bytes. It lies beside the folders of the tables of files."""
SHA256 = re.compile(r"[0-9a-f]{64}")


def is_object(file: Path) -> bool:
    """Whether a file is an object: fetched bytes, named by their SHA-256."""
    return file.parent.parent.name == OBJECTS and SHA256.fullmatch(file.name) is not None


class DamagedPartitionError(HolocronError, RuntimeError):
    """A partition's file, or a pack of several, is there but cannot be read.

    Attributes:
        file: the file.
        why: what is wrong with it.
    """

    def __init__(self, file: Path, why: str) -> None:
        """Name what is damaged, and what happens to it."""
        *_, table, partition, name = file.parts
        what = f"pack {name!r}" if partition == PACK_FOLDER else f"partition {partition!r}"
        named, outlook = f"table {table}, {what}", OUTLOOK.get(table, _SET_ASIDE)
        if is_object(file):
            named, outlook = f"object {name}", _OBJECT_SET_ASIDE
        super().__init__(f"{named}: {file} cannot be read ({why}). {outlook}")
        self.file, self.why = file, why

    @property
    def is_for_good(self) -> bool:
        """Whether nothing can make the file's content again."""
        return self.file.parts[-3] in OUTLOOK


class UnreadableFileError(HolocronError, RuntimeError):
    """The system cannot read a file. It may be whole, so it stays where it is.

    Attributes:
        file: the file.
    """

    def __init__(self, file: Path, error: OSError) -> None:
        """Name the file, and say what to do."""
        advice = "let this user read and write it" if error.errno in _NOT_ALLOWED else "check its disk"
        why = error.strerror or str(error)
        super().__init__(f"{file} cannot be read ({why}): {advice}, then run `holocron verify`")
        self.file = file


FileFault = DamagedPartitionError | UnreadableFileError
"""What is wrong with a file."""


def damaged_file(file: Path, error: Exception) -> DamagedPartitionError:
    """The error to raise for a file that cannot be read."""
    return DamagedPartitionError(file, str(error))


def refuse_unknown_zones(fields: Iterable[pa.Field]) -> None:
    """Look up the time zones of columns, also within lists and structs.

    Arrow looks them up only when times become Python's, and pages' checksums do not cover them.

    Raises:
        ValueError: there is no such time zone, so the stored schema was changed.
    """
    for field in fields:
        kind = field.type
        if pa.types.is_timestamp(kind):
            try:
                pa.scalar(0, kind).as_py()
            except LookupError as error:
                raise ValueError(f"column {field.name!r} has no known time zone") from error
        refuse_unknown_zones(kind.field(place) for place in range(kind.num_fields))


@contextmanager
def damage_named(file: Path) -> Iterator[None]:
    """Turn the errors of reading a damaged file into DamagedPartitionError; other errors stay as they are."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError) as error:
        if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno is not None):
            raise  # an error of the system, such as too many open files: the file may be good
        raise damaged_file(file, error) from error
