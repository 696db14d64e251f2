"""The types that a page can have, read from taxonomy.yaml."""

from functools import cache
from pathlib import Path

from pydantic import ConfigDict, Field, ValidationError
from yaml import YAMLError

from holocron_assets.errors import PermanentError, first_problem
from holocron_assets.frozen_model import FrozenModel
from holocron_assets.lake.files.people_yaml import load_yaml

TAXONOMY_FILE = Path(__file__).with_name("taxonomy.yaml")

UNKNOWN = "Unknown"
WORK = "WorkMedia"


class TaxonomyError(PermanentError, ValueError):
    """A taxonomy file is not valid; the message names the file and the key."""


class PageType(FrozenModel):
    """One type of page.

    Attributes:
        definition: what it is, in a line.
        entity_worthy: whether a page of this type can become an entity.
        kind_of: the wider type that its pages also belong to.
    """

    model_config = ConfigDict(strict=True)

    definition: str = Field(min_length=1)
    entity_worthy: bool
    kind_of: str | None = None


class Taxonomy(FrozenModel):
    """The types, the media of works and their canon contexts.

    Attributes:
        taxonomy_version: raised when a type is added, removed or redefined.
        types: the types by name.
        work_media: media that a work can have.
        canon_contexts: continuities that a work can have.
    """

    model_config = ConfigDict(strict=True)

    taxonomy_version: str = Field(min_length=1)
    types: dict[str, PageType] = Field(min_length=1)
    work_media: list[str] = Field(min_length=1)
    canon_contexts: list[str] = Field(min_length=1)

    @property
    def wider_types(self) -> dict[str, str]:
        """The wider type of each type that is a kind of another."""
        return {name: page_type.kind_of for name, page_type in self.types.items() if page_type.kind_of}

    @property
    def entity_worthy_types(self) -> tuple[str, ...]:
        """Names of the types whose pages can become entities, in the file's order."""
        return tuple(name for name, page_type in self.types.items() if page_type.entity_worthy)


def known_types(names: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """The same names, if the taxonomy has all of them: for files of people that name types.

    Raises:
        ValueError: names those that it lacks.
    """
    if unknown := set(names or ()) - load_taxonomy().types.keys():
        raise ValueError(f"not in the taxonomy: {', '.join(sorted(unknown))}")
    return names


def read_taxonomy(path: Path) -> Taxonomy:
    """Read and validate a taxonomy file.

    Raises:
        TaxonomyError: the file is missing, is not YAML, or a key is missing, unknown or wrong.
    """
    try:
        content = load_yaml(path.read_text(encoding="utf-8"))
        taxonomy = Taxonomy.model_validate(content)
    except ValidationError as error:
        key, problem = first_problem(error)
        raise TaxonomyError(f"{path}: key {key or '(top)'}: {problem}") from error
    except (OSError, YAMLError) as error:
        raise TaxonomyError(f"{path}: cannot be read as YAML: {error}") from error
    for name in (UNKNOWN, WORK):
        if name not in taxonomy.types:
            raise TaxonomyError(f"{path}: key types: {name} is missing; the rules need it")
    for name, page_type in taxonomy.types.items():
        if page_type.kind_of is not None and page_type.kind_of not in taxonomy.types:
            raise TaxonomyError(f"{path}: key types.{name}.kind_of: {page_type.kind_of!r} is no type")
    return taxonomy


@cache
def load_taxonomy() -> Taxonomy:
    """The project's taxonomy, read once (see `read_taxonomy`)."""
    return read_taxonomy(TAXONOMY_FILE)
