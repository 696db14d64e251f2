"""What a mention is worth: data that says how surely a thing is there that only lists name."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from holocron_assets.lake.schema import Row

DEFAULT_CONFIDENCE_FILE = Path(__file__).with_name("mentions.yaml")

_Share = Annotated[float, Field(strict=True, ge=0, le=1)]


class MentionConfidenceError(ValueError):
    """The file cannot be used; the message names the file and the key."""


class MentionConfidence(BaseModel):
    """Confidence, between 0 and 1, by what speaks for a mention. See `mentions.yaml`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    unsupported: _Share
    supported: _Share
    linked: _Share
    another_list: _Share
    most: _Share

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.unsupported <= self.supported <= self.linked <= self.most:
            raise ValueError("must not fall from unsupported over supported and linked to most")
        return self

    def of(self, mentions: Sequence[Row]) -> float:
        """How sure it is that there is a thing.

        Args:
            mentions: the rows of `entity_mentions` that mean it, at least one.
        """
        supported = [row for row in mentions if row["supported"]]
        if not supported:
            return self.unsupported
        surest = self.linked if any(row["method"] == "link" for row in supported) else self.supported
        further = len({row["title_key"] for row in supported}) - 1
        return round(min(surest + further * self.another_list, self.most), 2)


def read_mention_confidence(path: Path) -> MentionConfidence:
    """Read and validate a file of confidences.

    Raises:
        MentionConfidenceError: the file is missing or not YAML, or a key is missing, unknown or out of range.
    """
    try:
        content = YAML(typ="safe").load(path)
        return MentionConfidence.model_validate(content)
    except (OSError, UnicodeDecodeError, YAMLError) as error:
        raise MentionConfidenceError(f"{path}: not a readable YAML file: {error}") from error
    except ValidationError as error:
        raise MentionConfidenceError(f"{path}: {'; '.join(map(_problem, error.errors()))}") from error


@cache
def mention_confidence() -> MentionConfidence:
    """The project's file, read once (see `read_mention_confidence`)."""
    return read_mention_confidence(DEFAULT_CONFIDENCE_FILE)


def _problem(error: Mapping[str, object]) -> str:
    location = error["loc"]
    key = ".".join(map(str, location)) if isinstance(location, tuple) and location else "(top level)"
    return f"{key}: {error['msg']}"
