"""How a question or a key's name is worded: words without endings, who does what, and what is asked for."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path

from pydantic import ConfigDict, RootModel

from holocron_assets.entities.data_files import read_data_file
from holocron_assets.frozen_model import FrozenModel
from holocron_assets.retrieval.index.full_text import name_words, words_analyzer

VERBS_FILE = Path(__file__).with_name("verbs.yaml")

_EMPTY = frozenset(
    re.findall(
        r"\w+",
        """a an and are as at be been by did do does for from had has have he her his how in is it its
        many much of on or s she that the their them there they this to was were what when where which who
        whom whose why will with""",
    )
)
_PREPOSITIONS = frozenset({"at", "in", "of", "on"})
_NAME = "_"
_WHO_DID = re.compile(
    r"^\s*(?:who|what|which)(?: has| have| had)?\s+(?!(?:did|does|do|is|was|are|were|has|have|had|_)\b)",
    re.IGNORECASE,
)
_BY_NAME = re.compile(rf"\bby (?:the )?{_NAME}\b(?! s\b)")
"""Who was trained by X? X trained."""
_DID_NAME = re.compile(rf"\b(?:did|does|do|has|have|had) (?:the )?{_NAME}\b(?! s\b)")
"""Which ships did X own? X owns. What X's owner did is not said."""
_POSSESSED = re.compile(
    rf"^(.*)\b{_NAME} s (?:(?:current|first|former|full|last|new|old|only|own|real|second|third) )*(\w.*)"
)
"""Who killed X's master? That says nothing of what killed X."""
_WHAT_IS = re.compile(rf"^(?:what|which) .*\b(?:is|was|are|were) (?:the )?{_NAME}$")
"""What species is X?"""
_NOT = re.compile(r"\b(?:not|never|no|without|except|besides)\b|n t\b")
_BEFORE_A_VERB = frozenset({"did", "do", "does", "will"})
_WAS_DONE = re.compile(r"\w+[^\We]ed")


class Verb(FrozenModel):
    """A line of `verbs.yaml`, which explains it."""

    forms: tuple[str, ...] = ()
    doers: tuple[str, ...] = ()
    also: tuple[str, ...] = ()


class VerbsFile(RootModel[Mapping[str, Verb]]):
    """The whole file."""

    model_config = ConfigDict(frozen=True)


class Part(Enum):
    """What the entity is to the words: 'X owns', 'X is owned by', 'X is an apprentice of'."""

    DOES = "does"
    IS_DONE_TO = "is done to"
    IS_OF = "is of"


class Kind(Enum):
    """What can answer a question."""

    PERSON = "person"
    PLACE = "place"
    TIME = "time"
    NO_TIME = "no time"
    ANYTHING = "anything"


_ASKS_FOR = {
    Kind.TIME: r"when|(?:what|which) (?:year|date|day|era)",
    Kind.PLACE: r"where|(?:what|which) (?:place|planet|world|city|country|system|region)",
    Kind.PERSON: r"who|whom|whose",
}
_KINDS = re.compile(
    "|".join(rf"(?P<{kind.name}>\b(?:{words})\b)" for kind, words in _ASKS_FOR.items()), re.IGNORECASE
)


@dataclass(frozen=True)
class Wording:
    """The words of a question or of a key's name.

    Attributes:
        stems: its words without endings; of a verb and of the noun for its doer, the verb's.
        part: what the entity is to them.
        prepositions: those that it has; a question for a place has those of places.
        kind: what it asks for.
        noun: stems of the noun for that, as in "what region".
        possessed: stems of what the entity is said to have, as in "X's master", and of words that mean the
            same; a key has to be about one of them.
        done: stems of the verbs before that; a key has to be about all of them.
        is_negative: whether it asks for what is not so, which no key says.
    """

    stems: frozenset[str]
    part: Part
    prepositions: frozenset[str]
    kind: Kind = Kind.ANYTHING
    noun: frozenset[str] = frozenset()
    possessed: frozenset[str] = frozenset()
    done: frozenset[str] = frozenset()
    is_negative: bool = False

    def asks_for(self, key: "Wording") -> bool:
        """Whether the words of a question have all that a key's name says, of the same part."""
        if self.is_negative:
            return False
        is_about = not self.possessed or bool(self.possessed & key.stems and self.done <= key.stems)
        has_words = key.stems <= self.stems and key.prepositions <= self.prepositions
        return is_about and has_words and key.part is self.part


@cache
def wording_of_key(phrase: str) -> Wording:
    """The wording of a key's name, such as 'written by', which says what its entity is."""
    words = name_words(phrase)
    return Wording(stems_of(words), _part_in_key(words), _PREPOSITIONS.intersection(words))


def wording_of_question(question: str, name: str) -> Wording:
    """The wording of a question about what has a name."""
    asks_for = _KINDS.search(question)
    kind = Kind[asks_for.lastgroup] if asks_for and asks_for.lastgroup else Kind.ANYTHING
    rest = question.replace(asks_for[0], " ", 1) if asks_for else question
    own = name_words(name)
    others = [word for word in name_words(rest) if word not in own]
    prepositions = _PREPOSITIONS.intersection(others)
    if kind in {Kind.PLACE, Kind.TIME}:
        prepositions |= _PREPOSITIONS - {"of"}
    said = re.sub(rf"\b{re.escape(' '.join(own))}\b", _NAME, " ".join(name_words(question)))
    if kind is Kind.ANYTHING and (_BY_NAME.search(said) or _DID_NAME.search(said)):
        kind = Kind.NO_TIME  # what was destroyed by X, and not when X was destroyed
    before, had = _possessed(said)
    possessed = stems_of(had)
    return Wording(
        stems_of(others),
        _part_in_question(said, kind),
        prepositions,
        kind,
        stems_of(name_words(asks_for[0]) if asks_for else ()),
        possessed.union(*map(other_stems, possessed)),
        stems_of(before) & _verb_stems(),
        is_negative=bool(_NOT.search(said)),
    )


@cache
def other_stems(stem: str) -> frozenset[str]:
    """Other words that a question with a verb may mean."""
    verbs = read_data_file(VERBS_FILE, VerbsFile).root
    return frozenset().union(*(stems_of(one.also) for verb, one in verbs.items() if _stem(verb) == stem))


def stems_of(words: Sequence[str]) -> frozenset[str]:
    """The words without endings, and without those that every question has."""
    return frozenset(_stem(word) for word in words if word not in _EMPTY)


@cache
def _stem(word: str) -> str:
    verb = _verbs_of_forms().get(word) or _verbs_of_doers().get(word) or word
    return next(iter(words_analyzer().analyze(verb)), verb)


def _part_in_key(words: Sequence[str]) -> Part:
    has_doer = not _verbs_of_doers().keys().isdisjoint(words)
    is_of = words[-1:] == ["of"]
    if "by" in words or (has_doer and not is_of):
        return Part.IS_DONE_TO
    return Part.IS_OF if is_of and not has_doer else Part.DOES


def _part_in_question(said: str, kind: Kind) -> Part:
    """What the entity is to the words of a question, in which its name is `_NAME`."""
    words = said.split()
    if _BY_NAME.search(said) or (_DID_NAME.search(said) and not {"by", "of"} & set(words)):
        return Part.DOES
    is_about_another = (
        kind in {Kind.ANYTHING, Kind.PERSON} and _WHO_DID.match(said) and not _WHAT_IS.match(said)
    )
    if is_about_another or "by" in words:
        return Part.IS_DONE_TO
    has_doer = not _verbs_of_doers().keys().isdisjoint(words)
    if re.search(rf"\bof (?:the )?{_NAME}\b|\b{_NAME} s\b", said):
        return Part.IS_DONE_TO if has_doer else Part.DOES
    if "of" in words:
        return Part.DOES if has_doer else Part.IS_OF
    return Part.DOES


def _possessed(said: str) -> tuple[list[str], list[str]]:
    """The words before "X's" in a question, and those after it for what X has, such as "military rank"."""
    found = _POSSESSED.search(said)
    if found is None:
        return [], []
    before, after = (words.split() for words in found.groups())
    ends = (place for place, word in enumerate(after) if place and _ends_a_name(word))
    # Where did X's master live? No list has all verbs.
    return before, after[: next(ends, None)] if _BEFORE_A_VERB.isdisjoint(before) else after[:1]


def _ends_a_name(word: str) -> bool:
    """Whether a word cannot be of what X has: it is a verb or a small word."""
    if word in _verbs_of_doers():
        return False
    return word in _EMPTY or bool(_WAS_DONE.fullmatch(word)) or _stem(word) in _verb_stems()


@cache
def _verb_stems() -> frozenset[str]:
    return stems_of(list(read_data_file(VERBS_FILE, VerbsFile).root))


@cache
def _verbs_of_forms() -> Mapping[str, str]:
    verbs = read_data_file(VERBS_FILE, VerbsFile).root
    return {form: verb for verb, one in verbs.items() for form in one.forms}


@cache
def _verbs_of_doers() -> Mapping[str, str]:
    """The verb of each noun for a doer, also of several."""
    verbs = read_data_file(VERBS_FILE, VerbsFile).root
    doers = [(doer, verb) for verb, one in verbs.items() for doer in one.doers]
    return dict(doers) | {f"{doer}s": verb for doer, verb in doers}
