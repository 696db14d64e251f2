"""What a question asks: about which entity, and which of the things that are known of it."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from holocron_assets.entities.facts.vocabulary import load_vocabulary
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.retrieval.index.full_text import words_analyzer
from holocron_assets.retrieval.names import name_words
from holocron_assets.retrieval.search import Hit

_BY_ANOTHER = "by"
_WORDS_OF_QUESTIONS = frozenset(
    re.findall(
        r"\w+",
        """a an and are as at be been by did do does for from had has have he her his how in is it its known
        many much of on or s she that the their them there they this to was were what when where which who
        whom whose why will with""",
    )
)
_ASKS_WHO_DID = re.compile(r"^\s*(?:who|what|which)\s+(?!(?:did|does|do|is|was|are|were)\b)", re.IGNORECASE)


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

    A key is asked for where all words of its name, or of another word for it, are in the question.

    Args:
        question: the question.
        subject: what it is about.
        known: keys of the statements about it.
    """
    asked = _stems(question) - _stems(subject.name)
    found: dict[str, tuple[int, str]] = {}
    for key in known:
        fits = [(len(stems), one) for one in _phrases(key) if (stems := _stems(one)) and stems <= asked]
        if fits:
            found[key] = max(fits)
    most = max((words for words, _ in found.values()), default=0)
    best = {key: phrase for key, (words, phrase) in found.items() if words == most}
    asks_who = bool(_ASKS_WHO_DID.match(question))
    fitting = [key for key, phrase in best.items() if _is_by_another(phrase) == asks_who]
    return sorted(fitting or best)


def _has_in_a_row(words: Sequence[str], name: Sequence[str]) -> bool:
    size = len(name)
    return size > 0 and any(list(words[at : at + size]) == list(name) for at in range(len(words) - size + 1))


def _is_by_another(phrase: str) -> bool:
    return _BY_ANOTHER in phrase.split()


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


@cache
def _stems(text: str) -> frozenset[str]:
    words = [word for word in name_words(text) if word not in _WORDS_OF_QUESTIONS]
    return frozenset(stem for word in words for stem in words_analyzer().analyze(word))
