"""Weights and confidence of tags, read from `worth.yaml`."""

from functools import cache
from pathlib import Path

from holocron_assets.entities.data_files import read_data_file
from holocron_assets.frozen_model import FrozenModel, StrictShare

_FILE = Path(__file__).with_name("worth.yaml")


class Weighed(FrozenModel):
    """How much of a page a tag is about."""

    weight: StrictShare


class WithConfidence(Weighed):
    """How much of a page a tag is about, and how certain that is."""

    confidence: StrictShare


class Named(FrozenModel):
    """How certain it is that a list names something, by whether it has the words that a model quotes."""

    supported: StrictShare
    unsupported: StrictShare


class Worth(FrozenModel):
    """See `worth.yaml`."""

    category: WithConfidence
    continuity: WithConfidence
    medium: Weighed
    topic: WithConfidence
    named: Named


@cache
def tag_worth() -> Worth:
    """The project's file, read once.

    Raises:
        DataFileError: the file is missing or not YAML, or a key is missing, unknown or out of range.
    """
    return read_data_file(_FILE, Worth)
