"""Opens the lake with the tables of all interrogations."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from holocron_assets.derive.interrogations.remembering import Memory
from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.place.paths import Lake
from holocron_assets.settings import interrogations_folder


def open_lake(root: Path) -> Lake:
    """The lake of a data folder, with the tables of the interrogations that can be used.

    Args:
        root: the data folder.
    """
    return Lake(root, _tables(interrogations_folder()))


def left_out() -> Mapping[str, str]:
    """Why interrogations of the configured folder cannot be used, by name; empty if all can."""
    if Memory(interrogations_folder()).tables() is not None:  # only a folder without a broken file is kept
        return {}
    from holocron_assets.derive.interrogations.files import broken_interrogations  # noqa: PLC0415 - as below

    return broken_interrogations()


@cache
def _tables(folder: Path) -> tuple[Table, ...]:
    known = Memory(folder).tables()
    if known is not None:
        return known
    # The code that checks interrogations takes half a second to import; a known folder does not need it.
    from holocron_assets.derive.interrogations.files import load_interrogations  # noqa: PLC0415

    return tuple(interrogation.table for interrogation in load_interrogations())
