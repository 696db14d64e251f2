"""The identity policy: data on how alike records of one thing are, and when to ask."""

import re
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import Field, StrictStr, model_validator

from holocron_assets.entities.data_files import DataFileError, read_data_file, types_completed
from holocron_assets.entities.identity.evidence.spelling import SpellingRules
from holocron_assets.entities.identity.evidence.weights import WeightRules
from holocron_assets.entities.names.names import WordRules
from holocron_assets.frozen_model import FrozenModel, StrictShare

DEFAULT_IDENTITY_FILE = Path(__file__).with_name("policy.yaml")

Verdict = Literal["same", "unsure"]
ExactKind = Literal[
    "page",
    "identifier",
    "interlanguage",
    "title",
    "name",
    "notice",
    "alias",
    "suffix",
    "spelling",
    "aliases",
]


class Exact(FrozenModel):
    """The verdict for each kind of thing that two records have in common."""

    score: StrictShare
    verdict: Verdict


class Fuzzy(FrozenModel):
    """Likeness of names that differ: what each change takes off 1, and the limit of each verdict."""

    number: StrictShare
    article: StrictShare
    order: StrictShare
    suffix: StrictShare
    letters: StrictShare
    edge: StrictShare
    same: StrictShare
    unsure: StrictShare

    @property
    def most_letters(self) -> float:
        """The largest share of a word's letters that may differ in names that are asked about."""
        return (1 - self.unsure) / self.letters if self.letters else 1.0

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.same < self.unsure:
            raise ValueError(f"same ({self.same}) is below unsure ({self.unsure})")
        return self


class FuzzyByType(FrozenModel):
    """Likeness of names, by entity type."""

    default: Fuzzy
    types: dict[str, Fuzzy]

    @model_validator(mode="before")
    @classmethod
    def _completed(cls, content: Any) -> Any:
        return types_completed(content)


class WithinOneWiki(FrozenModel):
    """Reasons beyond the name to ask whether two pages of one wiki are one thing.

    Attributes:
        categories: patterns of categories by which editors propose a merger.
        facts: sets of keys of `page_facts`; a set singles a thing out if all its values are equal.
    """

    categories: tuple[re.Pattern[str], ...]
    facts: tuple[tuple[StrictStr, ...], ...]

    @property
    def fact_keys(self) -> list[str]:
        """All keys of `facts`."""
        return sorted({key for keys in self.facts for key in keys})

    @property
    def category_pattern(self) -> str:
        """One pattern for all `categories`."""
        return "|".join(f"(?:{each.pattern})" for each in self.categories)


class IdentityPolicy(FrozenModel):
    """The rules for records of one thing, under an id that every judgement by it names."""

    id: Annotated[StrictStr, Field(pattern=r"^[a-z0-9][a-z0-9.-]*$")]
    exact: dict[ExactKind, Exact]
    fuzzy: FuzzyByType
    within_one_wiki: WithinOneWiki
    spelling: SpellingRules
    weights: WeightRules
    margin: StrictShare
    words: WordRules

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if missing := sorted(set(get_args(ExactKind)) - self.exact.keys()):
            raise ValueError(f"exact.{missing[0]} is missing")
        return self

    @property
    def author(self) -> str:
        """The value of `judged_by` for judgements by this policy."""
        return f"policy:{self.id}"

    def fuzzy_of(self, entity_type: str) -> Fuzzy:
        """The meaning of likeness within a type."""
        return self.fuzzy.types.get(entity_type, self.fuzzy.default)


def shipped_policy() -> IdentityPolicy:
    """The project's identity policy.

    Raises:
        DataFileError: it is not valid.
    """
    return read_data_file(DEFAULT_IDENTITY_FILE, IdentityPolicy)


def titles_in(arguments: Iterable[str]) -> Iterator[str]:
    """The titles in arguments of notices, as '|Varn (moon)|date=May'; an empty one where these name none."""
    for written in arguments:
        titles = [_title(part) for part in written.split("|") if part.strip() and "=" not in part]
        yield from titles or [""]


def _title(written: str) -> str:
    title = written.strip(" \n[]:").replace("_", " ")
    return title[:1].upper() + title[1:]


def load_identity_policy(path: Path, entity_types: AbstractSet[str]) -> IdentityPolicy:
    """Read and validate a policy file.

    Args:
        path: a YAML file with the keys of `policy.yaml`.
        entity_types: the taxonomy's entity-worthy types; only these may have figures of their own.

    Returns:
        The policy.

    Raises:
        DataFileError: the file is missing or not YAML, or a key is missing, unknown or out of range.
    """
    policy = read_data_file(path, IdentityPolicy)
    if unknown := sorted(policy.fuzzy.types.keys() - entity_types):
        raise DataFileError(
            f"{path}: fuzzy.types.{unknown[0]}: no entity-worthy type; use one of {sorted(entity_types)}"
        )
    return policy
