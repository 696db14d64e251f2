"""What a question asks: about which entity, and which of the things that are known of it."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from pydantic import ConfigDict, RootModel

from holocron_assets.entities.data_files import read_data_file
from holocron_assets.entities.facts.stated_keys import KINDS, StatedKey, load_keys
from holocron_assets.entities.facts.vocabulary import load_vocabulary
from holocron_assets.frozen_model import FrozenModel
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.retrieval.answers.wording import (
    Kind,
    Wording,
    other_stems,
    stems_of,
    wording_of_key,
    wording_of_question,
)
from holocron_assets.retrieval.index.full_text import name_words
from holocron_assets.retrieval.search import Hit

_PEOPLE = frozenset({"PersonCharacter", "Droid", "Organization", "Species"})
_PLACES, _TIMES = frozenset({"LocationPlace"}), frozenset({"TimePeriod"})


GENDERS_FILE = Path(__file__).with_name("genders.yaml")


class Gender(FrozenModel):
    """An entry of `genders.yaml`, which explains it."""

    words: Mapping[str, tuple[str, ...]]
    values: tuple[str, ...]


class GendersFile(RootModel[Mapping[str, Gender]]):
    """The whole file."""

    model_config = ConfigDict(frozen=True)


@dataclass(frozen=True)
class GenderAsked:
    """The gender that an answer must have.

    Attributes:
        said: stems of the words that a page may have for the question's word.
        values: stems of the values of the fact `gender` that fit.
        others: stems of those that do not.
    """

    said: frozenset[str]
    values: frozenset[str]
    others: frozenset[str]

    def fits(self, known: Iterable[str], quote: str) -> bool:
        """Whether somebody is of the gender: by what is known of that, or else by the words of the page.

        Args:
            known: values of the fact `gender`.
            quote: what the page says of the relation.
        """
        of_them = _stems(known)
        if of_them & (self.values | self.others):
            return bool(of_them & self.values)
        return bool(self.said & _stems([quote]))


@dataclass(frozen=True)
class Subject:
    """A page that a question names.

    Attributes:
        row: its title, source and entity, as the index shows them.
        name: the name that the question has.
    """

    row: Row
    name: str


def subjects(question: str, named: Iterable[Hit]) -> list[Subject]:
    """The pages that a question names by a whole name, those with the longest names alone.

    Args:
        question: the question.
        named: pages with fitting names, as `Searcher.names` gives them.
    """
    asked = name_words(question)
    whole = [hit for hit in named if hit.name and _has_in_a_row(asked, name_words(hit.name))]
    longest = max((len(name_words(hit.name or "")) for hit in whole), default=0)
    return [Subject(hit.row, hit.name or "") for hit in whole if len(name_words(hit.name or "")) == longest]


def keys_asked(question: str, subject: Subject, known: Collection[str]) -> list[str]:
    """Which of an entity's keys a question asks for; several where its words do not tell them apart.

    A key is asked for where all words of its name, or of another word for it, are in the question. Where none
    is, other words for the question's verb count. A key must say the same of the entity as the question: "Who
    built X?" asks what X was built by. And it must be able to answer it: "when" asks for a time.

    Args:
        question: the question.
        subject: what it is about.
        known: keys of the statements about it.
    """
    asked = wording_of_question(question, subject.name)
    fitting = [key for key in known if _can_answer(key, asked.kind)]
    if not asked.stems:
        asked = replace(asked, stems=asked.noun)  # in which region is X?
    others = frozenset().union(*map(other_stems, asked.stems))
    return _best(fitting, asked) or _best(fitting, replace(asked, stems=asked.stems | others))


def gender_asked(question: str, subject: Subject, key: str) -> GenderAsked | None:
    """The gender that an answer must have: who asks for a mother by a key of parents asks for a woman.

    Args:
        question: the question.
        subject: what it is about.
        key: one of `keys_asked`.
    """
    asked = wording_of_question(question, subject.name)
    fitting = [phrase for phrase in _phrases(key) if asked.asks_for(wording_of_key(phrase))]
    genders = read_data_file(GENDERS_FILE, GendersFile).root.values()
    for gender in genders:
        if words := [word for word in fitting if word in gender.words]:
            said = [each for word in words for each in (word, *gender.words[word])]
            others = [value for other in genders if other is not gender for value in other.values]
            return GenderAsked(*map(_stems, (said, gender.values, others)))
    return None


def _stems(texts: Iterable[str]) -> frozenset[str]:
    return stems_of([word for text in texts for word in name_words(text)])


def _best(keys: Iterable[str], asked: Wording) -> list[str]:
    """The keys of whose names most words are asked for; rather by their own name than by another word."""
    found: dict[str, tuple[int, bool]] = {}
    for key in keys:
        own, *others = map(wording_of_key, _phrases(key))
        fitting = [(len(one.stems), one is own) for one in (own, *others) if asked.asks_for(one)]
        found[key] = max(fitting, default=(0, False))
    most = max(found.values(), default=(0, False))
    return sorted(key for key, words in found.items() if words == most and most[0])


def _can_answer(key: str, kind: Kind) -> bool:
    """Whether what a key says can be of a kind; of a key that is not in the closed list, anything can."""
    if kind is Kind.ANYTHING:
        return True
    declared = [one for one in map(load_keys().get, ((known, key) for known in KINDS)) if one]
    return not declared or any(_is_of_kind(one, kind) for one in declared)


def _is_of_kind(key: StatedKey, kind: Kind) -> bool:
    if kind is Kind.NO_TIME:
        return key.value != "date"
    if key.kind != "relation":
        return key.value == ("date" if kind is Kind.TIME else "text")
    if kind is Kind.TIME:
        return bool(_TIMES.intersection(key.to_types))
    return not key.to_types or bool((_PEOPLE if kind is Kind.PERSON else _PLACES).intersection(key.to_types))


def _has_in_a_row(words: Sequence[str], name: Sequence[str]) -> bool:
    size = len(name)
    return size > 0 and any(list(words[at : at + size]) == list(name) for at in range(len(words) - size + 1))


@cache
def _phrases(key: str) -> tuple[str, ...]:
    """The name of a key and other words for it, as words."""
    return tuple(word.replace("_", " ") for word in (key, *_called().get(key, ())))


@cache
def _called() -> Mapping[str, Sequence[str]]:
    file = load_vocabulary().file
    found: dict[str, Sequence[str]] = {key: entry.called for key, entry in file.facts.items()}
    for key, entry in file.relations.items():
        found[key] = entry.called
        if entry.inverse:
            found[entry.inverse] = entry.called_inverse
    return found
