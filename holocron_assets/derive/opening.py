"""Opens the lake with the tables of all interrogations."""

from pathlib import Path

from holocron_assets.derive.interrogations.files import load_interrogations
from holocron_assets.lake.place.paths import Lake


def open_lake(root: Path) -> Lake:
    """The lake of a data folder, with the tables of the configured interrogations.

    Args:
        root: the data folder.

    Raises:
        InterrogationError: a file of an interrogation cannot be used.
    """
    return Lake(root, tuple(interrogation.table for interrogation in load_interrogations()))
