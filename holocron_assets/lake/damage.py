"""Files of the lake that are there but cannot be read."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

PACK_FOLDER = ".packs"
"""The folder of a table that holds its packs: no partition can have that name."""


class DamagedPartitionError(RuntimeError):
    """A partition's file, or a pack of several, is there but cannot be read."""


def damaged_file(file: Path, error: Exception) -> DamagedPartitionError:
    """The error to raise for a file that cannot be read: it names what is damaged, and what to do."""
    *_, table, partition, name = file.parts
    what = f"pack {name!r}" if partition == PACK_FOLDER else f"partition {partition!r}"
    again = "the batches that it held" if partition == PACK_FOLDER else "the partition"
    return DamagedPartitionError(
        f"table {table}, {what}: {file} cannot be read ({error}). "
        f"Restore it from a backup, or move it away and materialize {again} again."
    )


@contextmanager
def damage_named(file: Path) -> Iterator[None]:
    """Raise DamagedPartitionError for what reading a damaged file raises; other troubles stay themselves."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the system's own, such as too many open files: the file may be good
        raise damaged_file(file, error) from error
