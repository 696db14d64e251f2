"""The vocabulary of tags: people's file of the tags that are shown, and the words that mean the same."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, StrictStr, model_validator

from holocron_assets.entities.data_files import read_data_file
from holocron_assets.entities.tags.names import tag_id
from holocron_assets.frozen_model import FrozenModel
from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.files.people_settings import Pattern

Visibility = Literal["public", "internal", "hidden"]

ANY_SOURCE = "any"
"""Under `visibility`, the key of patterns that hold for every source."""


def _own_id(text: str) -> str:
    kind, colon, name = text.partition(":")
    if not (colon and kind.isidentifier() and kind.islower() and name):
        raise ValueError("must be a tag's id, TYPE:NAME, such as 'topic:smuggling'")
    if text != tag_id(kind, name):
        raise ValueError(f"must be written {tag_id(kind, name)!r}")
    return text


TagId = Annotated[StrictStr, AfterValidator(_own_id)]
_Patterns = dict[StrictStr, tuple[Pattern, ...]]


class VocabularyTag(FrozenModel):
    """A tag in the vocabulary.

    Attributes:
        name: as people read it.
        description: what it means.
        visibility: its visibility, which outranks the patterns.
        synonyms: tags that mean the same; this tag is used for them.
        broader: tags with a wider meaning.
        replaced_by: the tag to use instead.
    """

    name: Annotated[StrictStr, Field(min_length=1, max_length=255)]
    description: StrictStr | None = None
    visibility: Visibility | None = None
    synonyms: tuple[TagId, ...] = ()
    broader: tuple[TagId, ...] = ()
    replaced_by: TagId | None = None


class Vocabulary(FrozenModel):
    """The file.

    Attributes:
        visibility: by visibility and source, patterns of the ids of tags that have it; the rest is public.
        tags: entries of tags, by id.
    """

    visibility: dict[Literal["internal", "hidden"], _Patterns] = Field(default_factory=dict)
    tags: dict[TagId, VocabularyTag] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        steps: dict[str, str] = {}
        for source, target in self._steps():
            if steps.setdefault(source, target) != target:
                raise ValueError(f"tags.{source}: leads to {steps[source]!r} and to {target!r}; keep one")
        for start in steps:
            _refuse_circle(start, steps)
        return self

    @cached_property
    def words(self) -> Mapping[str, str]:
        """The tag to use for each that has a synonym or was replaced, followed to its end."""
        steps = dict(self._steps())
        return {start: _end(start, steps) for start in sorted(steps)}

    @property
    def relations(self) -> list[tuple[str, str, str]]:
        """The relations: a tag, the kind, and the other tag; in order."""
        found = {
            (one, "synonym", identifier) for identifier, tag in self.tags.items() for one in tag.synonyms
        }
        for identifier, tag in self.tags.items():
            found |= {(identifier, "broader", other) for other in tag.broader}
            found |= {(other, "narrower", identifier) for other in tag.broader}
            found |= {(identifier, "replaced_by", tag.replaced_by)} if tag.replaced_by else set()
        return sorted(found)

    def patterns(self, visibility: Literal["internal", "hidden"], source: str) -> tuple[str, ...]:
        """Patterns of the whole ids of a source's tags that have a visibility, in any case."""
        by_source = self.visibility.get(visibility, {})
        return (*by_source.get(ANY_SOURCE, ()), *by_source.get(source, ()))

    @cached_property
    def mark(self) -> str:
        """A mark that changes with the file's content."""
        return content_hash(self.model_dump_json())

    def _steps(self) -> Iterator[tuple[str, str]]:
        for identifier, tag in self.tags.items():
            yield from ((synonym, identifier) for synonym in tag.synonyms)
            if tag.replaced_by:
                yield identifier, tag.replaced_by


def read_vocabulary(path: Path) -> Vocabulary:
    """Read and validate a vocabulary.

    Args:
        path: a YAML file as `data/tags.yaml`.

    Raises:
        DataFileError: the file is missing or not YAML, or a key is missing, unknown or wrong.
    """
    return read_data_file(path, Vocabulary)


def _end(start: str, steps: Mapping[str, str]) -> str:
    while start in steps:
        start = steps[start]
    return start


def _refuse_circle(start: str, steps: Mapping[str, str]) -> None:
    seen = [start]
    while seen[-1] in steps:
        seen.append(steps[seen[-1]])
        if seen[-1] in seen[:-1]:
            raise ValueError(f"tags.{start}: leads in a circle: {' to '.join(seen)}")
