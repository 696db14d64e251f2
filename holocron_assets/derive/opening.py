"""Opens the lake with the tables of all interrogations."""

from pathlib import Path

from holocron_assets.derive.interrogations.files import load_interrogations
from holocron_assets.lake.place.paths import Lake


def open_lake(root: Path) -> Lake:
    """The lake of a data folder, with the tables of the interrogations that can be used.

    Args:
        root: the data folder.
    """
    return Lake(root, tuple(interrogation.table for interrogation in load_interrogations()))
