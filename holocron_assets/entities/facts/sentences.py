"""Reading English sentences: where they end, whom they name, and which pattern stands between two names.

Patterns are data: `vocabulary.yaml` has those of each key, `sentences.yaml` the words of any sentence.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from itertools import pairwise
from pathlib import Path

from holocron_assets.derive.evidence.quotes import find_quote
from holocron_assets.entities.data_files import read_data_file
from holocron_assets.entities.facts.vocabulary import Relation, Vocabulary
from holocron_assets.entities.names.naming import (
    CAPITALS,
    NAME,
    Names,
    Place,
    plain_names,
    without_parentheses,
    words_of,
)
from holocron_assets.frozen_model import FrozenModel

SENTENCES_FILE = Path(__file__).with_name("sentences.yaml")

LONGEST_SENTENCE = 800
"""Characters. A longer one is a list or a table, which no pattern reads."""

_OWNER = "owner"
"""Group that matches a word that says whose something is: 'her' is no subject of a verb."""

_SHORTEST_NAME = 3
"""Characters of a part of a name that may stand for all of it."""

_ASIDE = r"(?:\s*\([^)]*\))?(?:,[^,.]{1,120},)?"
_LISTED = rf"(?:(?:the\s+)?{NAME}(?:\s+{NAME}){{0,4}}(?:,\s+and\s+|,\s+|\s+and\s+)(?:the\s+)?){{0,6}}"
_SENTENCE_END = re.compile(rf"[.!?][\"'\u201d\u2019)\]]*\s+(?=[\"'\u201c(\[]*[{CAPITALS}0-9])|\n+")
_LAST_WORD = re.compile(r"(\w+)$")
_ANOTHER_SUBJECT = re.compile(
    rf"[{CAPITALS}][\w'\u2019-]* (?:who|which|whose|that|where)\s+$|, (?:who|which|whose|where)\s+$"
    r"|\b(?:he|she|it|they|whom|whose)\b"
)


class Sentences(FrozenModel):
    """The words of `sentences.yaml`, which explains each list."""

    denied: tuple[str, ...]
    supposed: tuple[str, ...]
    attributed: tuple[str, ...]
    pronouns: tuple[str, ...]
    possessives: tuple[str, ...]
    genders: tuple[tuple[str, ...], ...]
    determiners: tuple[str, ...]
    prepositions: tuple[str, ...]
    adverbs: tuple[str, ...]
    after_phrase: tuple[str, ...]
    abbreviations: tuple[str, ...]

    @cached_property
    def hedge(self) -> re.Pattern[str]:
        """Finds a word by which a sentence does not state what it says."""
        words = (*self.denied, *self.supposed, *self.attributed)
        return re.compile(rf"\b(?!May\b)(?i:{_any(words)})\b|n't\b")  # May is a month

    def speaks_of_another(self, pronoun: str, before: str) -> bool:
        """Whether a pronoun follows one of another gender: "he praised her when she left"."""
        own = next((each for each in self.genders if pronoun.lower() in each), None)
        others = [word for each in self.genders if each != own for word in each]
        return own is not None and re.search(rf"\b(?i:{_any(tuple(others))})\b", before) is not None

    @cached_property
    def pronoun(self) -> re.Pattern[str]:
        """Finds a pronoun that may be a subject, or a word that says whose something is."""
        return re.compile(rf"\b(?i:{_any(self.pronouns)}|(?P<{_OWNER}>{_any(self.possessives)}))\b")

    @cached_property
    def word(self) -> str:
        """Pattern of a word that is no preposition."""
        return rf"(?!(?:{_any(self.prepositions)})\b)[\w'\u2019-]+,?"

    @cached_property
    def phrase_ends(self) -> str:
        """Pattern of what follows a whole phrase: no further word of its name, and no noun."""
        after = _any((*self.prepositions, *self.after_phrase))
        return rf"(?=\s*(?:[,.;:()!?\"\u201c\u201d\u2014\u2013]|$)|\s+(?:{after})\b)"

    @cached_property
    def before_object(self) -> str:
        """Pattern of what may stand between a verb and the name of its object."""
        return rf"\s+(?:(?:{_any(self.determiners)})\s+)?(?:{self.word}\s+){{0,4}}?{_LISTED}$"

    @cached_property
    def before_verb(self) -> str:
        """Pattern of what may stand between the subject and its verb."""
        chain = r"(?P<chain>[^.;]{0,200}?(?:\band|\bwho|\bthat|\bwhich|\bthen|,)\s+)?"
        # No word fits both alternatives: each that did would double the time.
        adverbs = _any(tuple(word for word in self.adverbs if not word.endswith("ly")))
        return rf"^{_ASIDE}\s*{chain}(?:(?:{adverbs}|\w+ly)\s+)*"


@cache
def load_sentences() -> Sentences:
    """Read the words of sentences.

    Raises:
        DataFileError: the file cannot be used; names file and key.
    """
    return read_data_file(SENTENCES_FILE, Sentences)


@dataclass(frozen=True)
class PageRead:
    """The page that a sentence is on.

    Attributes:
        title: its title.
        text: its text as a reader sees it.
        language: what its wiki says of its language; None if it says nothing.
    """

    title: str
    text: str
    language: str | None = None

    @cached_property
    def short_title(self) -> str:
        """The title without what stands in parentheses."""
        return without_parentheses(self.title).split("/")[0]

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of its subject: the title without what stands in parentheses, and its first and last word."""
        words = [
            word for word in self.short_title.split() if len(word) >= _SHORTEST_NAME and word[:1].isupper()
        ]
        return frozenset({self.short_title, *words[:1], *words[-1:]})

    def is_own(self, name: str) -> bool:
        """Whether a name is the subject's."""
        return _folded(name) in self._folded_names

    @cached_property
    def _folded_names(self) -> frozenset[str]:
        return frozenset(map(_folded, (*self.names, self.title)))

    def sentence(self, quote: str) -> str | None:
        """The sentence that a quote stands in, or the sentences; None if the page lacks the words."""
        span = find_quote(quote, self.text)
        if span is None:
            return None
        start = max(end for end in self._ends if end <= span.start)
        stop = min(end for end in self._ends if end >= span.end)
        return self.text[start:stop].strip()

    @property
    def sentences(self) -> Iterator[str]:
        """All its sentences, in order."""
        for start, end in pairwise(self._ends):
            if sentence := self.text[start:end].strip():
                yield sentence

    def name(self, name: str) -> Names:
        """The names of something that the page is about, or that it names.

        Args:
            name: its name. The page's own subject also goes by its first and last name alone.
        """
        if not self.is_own(name):
            return Names(words_of(name))
        parts = self.names - {self.short_title, name}
        return Names(words_of(self.short_title, name), words_of(*parts))

    def subject(self, name: str) -> Names:
        """The names of something before its verb: also a pronoun, if it is the page's own subject.

        Args:
            name: its name.
        """
        return replace(self.name(name), by_pronoun=self.is_own(name))

    @cached_property
    def _ends(self) -> list[int]:
        return [0, *_sentence_ends(self.text), len(self.text)]


def mentions(names: Names, sentence: str, *, owner: bool = False) -> Iterator[Place]:
    """Where a sentence has some names.

    Args:
        names: what is looked for.
        sentence: the sentence.
        owner: whether a word that says whose something is counts as a name: "her", "its".
    """
    words = load_sentences()
    said = words.pronoun.finditer(sentence) if names.by_pronoun else ()
    pronouns = (Place(one.start(), one.end(), is_own=owner or not one[_OWNER]) for one in said)
    for found in names.places(sentence, pronouns):
        before = sentence[: found.start]
        if found.is_own and not words.speaks_of_another(sentence[found.start : found.end], before):
            yield found


def states_relation(
    relation: Relation, words: Vocabulary, ends: tuple[str, str], page: PageRead, sentence: str
) -> bool:
    """Whether a sentence says a relation, from either end.

    Args:
        relation: the relation.
        words: the vocabulary that it is from.
        ends: names of whom it is from and to.
        page: the page that the sentence is on.
        sentence: the sentence.
    """
    one, other = ends
    if _says(relation.says, page.subject(one), page.name(other), sentence, before_noun=relation.before_noun):
        return True
    back = words.relations[relation.inverse].says if relation.inverse else ()
    return _says(back, page.subject(other), page.name(one), sentence)


def _says(
    patterns: Sequence[str], first: Names, second: Names, sentence: str, *, before_noun: bool = False
) -> bool:
    """Whether a sentence says one of some patterns of two names, the second of which is a whole phrase."""
    return any(
        _is_verb(pattern, between)
        for between in _all_between(first, second, sentence, before_noun=before_noun)
        for pattern in patterns
    )


@lru_cache(maxsize=64)
def _all_between(first: Names, second: Names, sentence: str, *, before_noun: bool) -> tuple[str, ...]:
    """What stands between two names, wherever a sentence has the first before the second.

    All relations are looked for in the same places, one after another.
    """
    ends = re.compile(r"(?!['\u2019]s\b|-\w)" if before_noun else load_sentences().phrase_ends)
    return tuple(
        sentence[one.end : other.start]
        for other in mentions(second, sentence)
        if ends.match(sentence, other.end)
        for one in mentions(first, sentence[: other.start])
    )


def _is_verb(pattern: str, between: str) -> bool:
    """Whether a pattern reads what stands between two names, and no third name is the verb's subject."""
    if not _verb(pattern).search(between):  # few have the verb at all, and the whole is dear to compile
        return False
    found = _between(pattern).search(between)
    return found is not None and not _ANOTHER_SUBJECT.search(found.group("chain") or "")


def states_fact(pattern: str, value: str, sentence: str, subjects: Names) -> bool:
    """Whether a sentence says a value of what some names or pronouns stand for.

    Args:
        pattern: one of the key's patterns.
        value: the value.
        sentence: the sentence.
        subjects: the names.
    """
    starts_with_verb = pattern.startswith("(was")
    for rest in _all_after(subjects, sentence):
        if not _of_any_value(pattern).search(rest):  # few do, and one of each value is dear to compile
            continue
        for found in _of_value(pattern, value).finditer(rest):
            lead = rest[: found.start()]
            if starts_with_verb:
                if re.search(load_sentences().before_verb + "$", lead) and not _ANOTHER_SUBJECT.search(lead):
                    return True
            elif not re.search(r",? (?:who|which|whose|where) ", lead):
                return True
    return False


@lru_cache(maxsize=64)
def _all_after(subjects: Names, sentence: str) -> tuple[str, ...]:
    """What stands after some names, wherever a sentence has one. All facts are looked for there."""
    return tuple(sentence[one.end :] for one in mentions(subjects, sentence, owner=True))


@cache
def _of_any_value(pattern: str) -> re.Pattern[str]:
    """Finds something wherever the pattern finds it with some value."""
    around = _pattern(pattern).replace("HEAD", "VALUE").removeprefix("VALUE")
    return _whole(around.replace("VALUE", "(?s:.*?)"))


def _of_value(pattern: str, value: str) -> re.Pattern[str]:
    text = rf"\b{_spaced(re.escape(value.strip()))}\b"
    heads = _pattern(pattern).replace("HEAD", f"VALUE{load_sentences().phrase_ends}")
    return _whole(heads.replace("VALUE", text))


def _whole(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{pattern})" if pattern[:1].isalpha() else pattern, re.IGNORECASE)


@cache
def _verb(pattern: str) -> re.Pattern[str]:
    return re.compile(_pattern(pattern))


@cache
def _between(pattern: str) -> re.Pattern[str]:
    words = load_sentences()
    return re.compile(words.before_verb + rf"(?:{_pattern(pattern)})" + words.before_object)


def _pattern(says: str) -> str:
    """A pattern of the vocabulary as a regular expression."""
    return _spaced(says).replace("WORD", load_sentences().word)


def name_pattern(*names: str) -> str:
    """A pattern of some names, in singular or plural, whatever they have in parentheses."""
    plain = "|".join(_spaced(re.escape(name)) for name in plain_names(*names))
    return rf"(?<![\w-])(?:{plain})(?:s|es)?(?!\w)"


def _sentence_ends(text: str) -> Iterator[int]:
    short = load_sentences().abbreviations
    for found in _SENTENCE_END.finditer(text):
        before = _LAST_WORD.search(text[: found.start()][-20:])
        word = before[1] if before else ""
        if found[0].startswith(".") and (word.lower() in short or (len(word) == 1 and word.isupper())):
            continue
        yield found.end()


@cache
def _any(words: tuple[str, ...]) -> str:
    return "|".join(_spaced(re.escape(word)) for word in sorted(words, key=lambda word: (-len(word), word)))


def _spaced(pattern: str) -> str:
    return pattern.replace(r"\ ", " ").replace(" ", r"\s+")


def _folded(name: str) -> str:
    return " ".join(name.lower().split())
