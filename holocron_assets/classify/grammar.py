"""A small grammar of definitions, "X was a ... NOUN who ...". Its words are in the file of the language."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from holocron_assets.languages.language import Grammar

_PARENTHESES = re.compile(r"\([^()]*\)")
_LONGEST_SENTENCE = 400  # characters: the verb of a definition comes early
_MOST_ADVERBS = 4
_MOST_CHUNKS = 3
_MOST_WORDS_OF_ATTRIBUTE = 8
_STOPS = frozenset(".;:!?")


class Phrase(NamedTuple):
    """A noun phrase, cut where its head may end.

    Attributes:
        chunks: its words as written, cut at "and" and commas; the head is at the end of the first chunk that
            ends in a known noun.
        determiner: the lower-case word that opened it, or empty.
        end: position after it.
    """

    chunks: list[list[str]]
    determiner: str
    end: int


class Clause(NamedTuple):
    """The place where a sentence says what its subject is.

    Attributes:
        subject: words before the verb, as written.
        start: position of the predicate.
        plural: whether the verb is plural.
        singular: whether it is singular. A dash in its place is neither.
    """

    subject: list[str]
    start: int
    plural: bool
    singular: bool


def tokens_of(sentence: str, grammar: Grammar) -> list[str]:
    """Words and clause marks of a sentence, without text in parentheses. An elided word ("l'") is a word."""
    text = _without_parentheses(sentence[: 2 * _LONGEST_SENTENCE])[:_LONGEST_SENTENCE]
    return _token(grammar.marks, grammar.elided).findall(text)


def _without_parentheses(text: str) -> str:
    """A text without what stands in parentheses, and in parentheses of these: the innermost go first."""
    while (shorter := _PARENTHESES.sub(" ", text)) != text:
        text = shorter
    return text


@lru_cache
def _token(marks: str, elided: frozenset[str]) -> re.Pattern[str]:
    word = r"[^\W_]+(?:['\u2019.\-\u2013][^\W_]+)*"
    words = f"(?:{'|'.join(sorted(elided))})(?=['\u2019])|{word}" if elided else word
    return re.compile(rf"{words}|[{re.escape(marks)}]", re.IGNORECASE)


def find_clause(tokens: Sequence[str], lower: Sequence[str], grammar: Grammar) -> Clause | None:
    """The first verb of a sentence before a noun phrase; None if the sentence defines nothing."""
    for position, word in enumerate(lower[1:-1], start=1):
        plural = word in grammar.copulas_plural
        by_role = word in grammar.as_verbs and lower[position + 1] in grammar.as_words
        if not (plural or by_role or word in grammar.copulas_singular):
            continue
        start = _skip_adverbs(lower, position + 1 + by_role, grammar)
        needs_determiner = not (plural or by_role) and bool(grammar.indefinite)
        if start < len(lower) and _opens_phrase(
            lower, start, needs_determiner=needs_determiner, grammar=grammar
        ):
            singular = word in grammar.copulas_singular and word.isalpha()
            return Clause(list(tokens[:position]), start, plural, singular)
    return None


def _skip_adverbs(lower: Sequence[str], start: int, grammar: Grammar) -> int:
    position = start
    while position < min(len(lower), start + _MOST_ADVERBS) and _is_adverb(lower[position], grammar):
        position += 1
    return position


def _is_adverb(word: str, grammar: Grammar) -> bool:
    return word in grammar.adverbs or word.endswith(grammar.adverb_endings)


def _opens_phrase(lower: Sequence[str], position: int, *, needs_determiner: bool, grammar: Grammar) -> bool:
    word = lower[position]
    if word in grammar.determiners:
        return True
    return not (needs_determiner or word in _STOPS or word == "," or _is_boundary(lower, position, grammar))


def before_preposition(words: list[str], grammar: Grammar) -> list[str]:
    """The words of a title or category before the first preposition that does not begin it."""
    for position, word in enumerate(words):
        if position and word in grammar.boundaries:
            return words[:position]
    return words


def _is_boundary(lower: Sequence[str], position: int, grammar: Grammar) -> bool:
    """Whether a word ends a noun phrase: "popular" does in "popular with us", not in "popular songs"."""
    word = lower[position]
    if word not in grammar.boundaries or word not in grammar.before_noun or position + 1 == len(lower):
        return word in grammar.boundaries
    following = lower[position + 1]
    return (
        following in _STOPS
        or following in grammar.joiners
        or following in grammar.determiners
        or _is_adverb(following, grammar)
        or _is_boundary(lower, position + 1, grammar)
    )


def read_phrase(tokens: Sequence[str], lower: Sequence[str], start: int, grammar: Grammar) -> Phrase:
    """The noun phrase at a position, up to a preposition, relative, verb or the sentence's end."""
    determiner = lower[start] if start < len(lower) and lower[start] in grammar.determiners else ""
    after_article = start + 1 if determiner in grammar.indefinite | grammar.definite else -1
    position = (_attribute(tokens, start + 1, grammar) if determiner else None) or start
    chunks: list[list[str]] = [[]]
    while position < len(tokens):
        word = lower[position]
        is_opener = position == after_article and word in grammar.before_noun
        if word in _STOPS or (not is_opener and _ends_chunk(lower, position, chunks[-1], grammar)):
            break
        if word in grammar.joiners:
            if len(chunks) == _MOST_CHUNKS or _starts_another_clause(lower, position, grammar):
                break
            if chunks[-1]:
                chunks.append([])
        elif _is_determiner(lower, position, grammar):
            if chunks[-1]:
                break
        else:
            chunks[-1].append(tokens[position])
        position += 1
    return Phrase([chunk for chunk in chunks if chunk], determiner, position)


def _attribute(tokens: Sequence[str], start: int, grammar: Grammar) -> int | None:
    """The place of a participle whose own words open a phrase: "gelegene" in "eine in Zed gelegene Stadt"."""
    if start >= len(tokens) or tokens[start] not in grammar.boundaries:
        return None
    for place in range(start + 1, min(start + _MOST_WORDS_OF_ATTRIBUTE, len(tokens))):
        word = tokens[place]
        if word in _STOPS or word in grammar.joiners:
            return None
        if word.endswith(grammar.attribute_endings) and word.islower() and word not in grammar.boundaries:
            return place
    return None


def _ends_chunk(lower: Sequence[str], position: int, chunk: Sequence[str], grammar: Grammar) -> bool:
    """Whether a word ends the phrase after the words of a chunk, which may all stand before its noun."""
    openers = grammar.before_noun | grammar.transparent
    if all(word in openers or _is_adverb(word, grammar) for word in map(str.lower, chunk)):
        return _is_boundary(lower, position, grammar)
    return lower[position] in grammar.boundaries


def _is_determiner(lower: Sequence[str], position: int, grammar: Grammar) -> bool:
    """Whether a word opens a noun phrase. Before "of" it is the head itself: "one of the moons"."""
    return lower[position] in grammar.determiners and grammar.of.isdisjoint(
        lower[position + 1 : position + 2]
    )


def _starts_another_clause(lower: Sequence[str], position: int, grammar: Grammar) -> bool:
    """Whether ", and the ..." or ", which ..." follows: another subject, or more about the same one."""
    following = [
        place
        for place in range(position + 1, min(position + 3, len(lower)))
        if lower[place] not in grammar.joiners
    ]
    return bool(following) and (
        _is_boundary(lower, following[0], grammar) or lower[following[0]] in grammar.definite
    )
