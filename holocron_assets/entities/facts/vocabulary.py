"""The closed list of relations and facts that a model's words are read as; `vocabulary.yaml` explains it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from holocron_assets.entities.data_files import read_data_file
from holocron_assets.frozen_model import FrozenModel

VOCABULARY_FILE = Path(__file__).with_name("vocabulary.yaml")
TRUST_FILE = Path(__file__).with_name("trust.yaml")

Text = Annotated[str, Field(strict=True, min_length=1)]
Key = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,59}$")]
Types = tuple[Text, ...]
Kind = Literal["fact", "relation"]


class _Strict(FrozenModel):
    model_config = ConfigDict(populate_by_name=True)


class Meaning(_Strict):
    """What a key says, and whether an entity can have only one of it."""

    means: Text
    single: bool = False


class RelationMeaning(Meaning):
    """What a relation says, from either end."""

    inverse: Key | None = None
    symmetric: bool = False
    from_types: Types = Field(default=(), alias="from")
    to_types: Types = Field(default=(), alias="to")

    @model_validator(mode="after")
    def _one_way_back(self) -> Self:
        if self.symmetric and self.inverse:
            raise ValueError("a symmetric relation is its own inverse")
        return self


class _Entry(Meaning):
    called: tuple[Key, ...] = ()
    says: tuple[Text, ...] = Field(min_length=1)
    example: Text
    counter_example: Text


class RelationEntry(RelationMeaning, _Entry):
    """A relation as the file has it; `vocabulary.yaml` explains each key."""

    before_noun: bool = False
    implied_by: tuple[Key, ...] = ()
    called_inverse: tuple[Key, ...] = ()
    says_inverse: tuple[Text, ...] = ()

    @model_validator(mode="after")
    def _words_of_an_inverse(self) -> Self:
        if not self.inverse and (self.called_inverse or self.says_inverse):
            raise ValueError("called_inverse and says_inverse need an inverse")
        return self


class FactEntry(_Entry):
    """A key of facts as the file has it."""

    of: Types = ()
    value: Literal["text", "number", "date"] | tuple[Text, ...] = "text"


class VocabularyFile(_Strict):
    """The whole file."""

    lists: Mapping[str, tuple[Text, ...]] = Field(default_factory=dict)
    relations: Mapping[Key, RelationEntry]
    facts: Mapping[Key, FactEntry]

    @model_validator(mode="after")
    def _one_meaning_a_word(self) -> "VocabularyFile":
        for words in (_relation_words(self), _fact_words(self)):
            seen: dict[str, str] = {}
            for word, key in words:
                if seen.setdefault(word, key) != key:
                    raise ValueError(f"{word!r} is another word for {seen[word]!r} and for {key!r}")
        return self


@dataclass(frozen=True)
class Relation:
    """One direction of a relation.

    Attributes:
        key: its name, read from the entity to the other one.
        inverse: its name from the other end; its own if it is symmetric, None if it has none.
        from_types: types that the entity may have; any if empty.
        to_types: types that the other one may have.
        says: regular expressions of what stands between the two.
        before_noun: whether the other one's name may stand before a noun.
    """

    key: str
    inverse: str | None
    from_types: Types
    to_types: Types
    says: tuple[str, ...]
    before_noun: bool = False


@dataclass(frozen=True)
class Vocabulary:
    """All relations in both directions, and all facts."""

    file: VocabularyFile

    @cached_property
    def relations(self) -> Mapping[str, Relation]:
        """Relations by key, each inverse as a relation of its own."""
        found: dict[str, Relation] = {}
        for key, entry in self.file.relations.items():
            back = key if entry.symmetric else entry.inverse
            sides = (entry.from_types, entry.to_types)
            found[key] = Relation(key, back, *sides, entry.says, before_noun=entry.before_noun)
            if entry.inverse:
                found[entry.inverse] = Relation(
                    entry.inverse, key, entry.to_types, entry.from_types, entry.says_inverse
                )
        return found

    @property
    def facts(self) -> Mapping[str, FactEntry]:
        """Facts by key."""
        return self.file.facts

    @cached_property
    def _called(self) -> Mapping[tuple[Kind, str], str]:
        relations: list[tuple[tuple[Kind, str], str]] = [
            (("relation", word), key) for word, key in _relation_words(self.file)
        ]
        return dict([*relations, *((("fact", word), key) for word, key in _fact_words(self.file))])

    def key_of(self, kind: Kind, word: str) -> str | None:
        """The key that a model's word stands for; None if there is none.

        Args:
            kind: what the model calls so.
            word: in small letters and underscores.
        """
        return self._called.get((kind, word))

    def words(self) -> Sequence[Mapping[str, Any]]:
        """Every word that is a key or another word for one: rows of `kind`, `called` and `key`."""
        return [{"kind": kind, "called": word, "key": key} for (kind, word), key in self._called.items()]

    def types(self) -> Sequence[Mapping[str, Any]]:
        """The types that may be on a side of a key: rows of `side` (of, from or to), `key` and `types`."""
        sides = [("of", key, fact.of) for key, fact in self.facts.items()]
        sides += [("from", key, one.from_types) for key, one in self.relations.items()]
        sides += [("to", key, one.to_types) for key, one in self.relations.items()]
        return [{"side": side, "key": key, "types": list(types)} for side, key, types in sides if types]

    def same_relations(self) -> Sequence[Mapping[str, Any]]:
        """What relations of infoboxes and models also say: rows of `said`, `key` and `is_turned`.

        `is_turned` says that the ends change places.
        """
        narrower = [
            (one, key) for key, entry in self.file.relations.items() for one in (key, *entry.implied_by)
        ]
        backwards = {key: one.inverse for key, one in self.relations.items() if one.inverse}
        straight = {*narrower, *((key, key) for key in self.relations)}
        turned = {(said, backwards[key]) for said, key in straight if key in backwards}
        return [
            {"said": said, "key": key, "is_turned": is_turned}
            for pairs, is_turned in ((straight, False), (turned, True))
            for said, key in sorted(pairs)
        ]


def _relation_words(file: VocabularyFile) -> Iterator[tuple[str, str]]:
    for key, entry in file.relations.items():
        yield from ((word, key) for word in (key, *entry.called))
        if entry.inverse:
            yield from ((word, entry.inverse) for word in (entry.inverse, *entry.called_inverse))


def _fact_words(file: VocabularyFile) -> Iterator[tuple[str, str]]:
    for key, entry in file.facts.items():
        yield from ((word, key) for word in (key, *entry.called))


@cache
def load_vocabulary() -> Vocabulary:
    """Read the vocabulary.

    Raises:
        DataFileError: the file cannot be used; names file and key.
    """
    return Vocabulary(read_data_file(VOCABULARY_FILE, VocabularyFile))


class Trust(_Strict):
    """Keys of which a model's statements were measured to be right, if no check speaks against them.

    Attributes:
        model: the model.
        relations: relations.
        facts: keys of facts.
    """

    model: Text
    relations: tuple[Key, ...] = ()
    facts: tuple[Key, ...] = ()


class TrustFile(_Strict):
    """`trust.yaml`, which says how it was measured."""

    trusted: tuple[Trust, ...] = ()


def trusted_keys(path: Path = TRUST_FILE) -> Sequence[Mapping[str, str]]:
    """Keys whose statements count as stated if they fail no check: rows of `kind`, `key` and `model`.

    Raises:
        DataFileError: the file cannot be used; names file and key.
    """
    return [
        {"kind": kind, "key": key, "model": one.model}
        for one in read_data_file(path, TrustFile).trusted
        for kind, keys in (("relation", one.relations), ("fact", one.facts))
        for key in keys
    ]
