"""Opens the lake with the tables of all interrogations."""

from pathlib import Path

from holocron_assets.derive.interrogations.loading import derived_tables
from holocron_assets.lake.place.paths import Lake


def open_lake(root: Path) -> Lake:
    """The lake of a data folder, with the tables of the interrogations that can be used.

    Args:
        root: the data folder.
    """
    return Lake(root, derived_tables())
