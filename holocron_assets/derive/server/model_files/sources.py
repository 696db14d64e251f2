"""What a source of model files is: the hub and the packages are two of them."""

from collections.abc import Callable
from pathlib import Path

from holocron_assets.derive.server.model_files.catalog import Model


class ModelSourceError(Exception):
    """A source that does not have a model or cannot be reached; the text says why, in one line."""


Report = Callable[[str, int, int], None]
"""Told how far a fetch is: what is done, bytes that are there, bytes in all."""

Source = Callable[[Model, Path, Report], Path]
"""Fetches a model's file into a folder, which may hold what an interrupted try left, and verifies nothing."""


def no_report(doing: str, done: int, total: int) -> None:
    """Tell nobody."""
    del doing, done, total
