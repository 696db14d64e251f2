"""The confidence of mentions: data on how certain a thing is that only lists name."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Self

from pydantic import model_validator

from holocron_assets.entities.data_files import read_data_file
from holocron_assets.frozen_model import FrozenModel, StrictShare
from holocron_assets.lake.declaration.schema import Row

DEFAULT_CONFIDENCE_FILE = Path(__file__).with_name("mentions.yaml")


class MentionConfidence(FrozenModel):
    """Confidence, between 0 and 1, by the evidence for a mention. See `mentions.yaml`."""

    unsupported: StrictShare
    supported: StrictShare
    linked: StrictShare
    another_list: StrictShare
    most: StrictShare

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.unsupported <= self.supported <= self.linked <= self.most:
            raise ValueError("must not fall from unsupported over supported and linked to most")
        return self

    def of(self, mentions: Sequence[Row]) -> float:
        """How certain it is that the thing exists.

        Args:
            mentions: the rows of `entity_mentions` that mean it, at least one.
        """
        supported = [row for row in mentions if row["supported"]]
        if not supported:
            return self.unsupported
        surest = self.linked if any(row["method"] == "link" for row in supported) else self.supported
        further = len({row["title_key"] for row in supported}) - 1
        return round(min(surest + further * self.another_list, self.most), 2)


@cache
def mention_confidence() -> MentionConfidence:
    """The project's file, read once.

    Raises:
        DataFileError: the file is missing or not YAML, or a key is missing, unknown or out of range.
    """
    return read_data_file(DEFAULT_CONFIDENCE_FILE, MentionConfidence)
