"""Interrogations of folders, where each of them must be good."""

from pathlib import Path

from holocron_assets.derive.interrogations.files import read_each
from holocron_assets.derive.interrogations.interrogation import Interrogation, InterrogationError


def read_interrogations(*folders: Path) -> tuple[Interrogation, ...]:
    """Every interrogation of some folders, in the order of their names; an error if one cannot be used."""
    reading = read_each(*folders)
    if reading.broken:
        raise InterrogationError(next(iter(reading.broken.values())))
    return reading.good
