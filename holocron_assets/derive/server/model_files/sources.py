"""The interface of a source of model files, such as the hub and the packages."""

import hashlib
from collections.abc import Callable
from pathlib import Path

from holocron_assets.derive.server.model_files.catalog import Model


class ModelSourceError(Exception):
    """A source that does not have a model or cannot be reached; the text says why, in one line."""


Report = Callable[[str, int, int], None]
"""Takes the progress of a fetch: what is done, bytes that are there, bytes in all."""

Source = Callable[[Model, Path, Report], Path]
"""Fetches a model's file into a folder, which may hold parts of an interrupted try; verifies nothing."""


def no_report(doing: str, done: int, total: int) -> None:
    """Report nothing."""
    del doing, done, total


def sha256_of(path: Path) -> str:
    """The sha256 of a file's contents, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
