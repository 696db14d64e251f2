"""How well a name fits what is searched. Small errors of typing are forgiven."""

import re
from collections.abc import Iterable, Iterator, Sequence

import tantivy
from rapidfuzz.distance import OSA

from holocron_assets.retrieval.index.full_text import LONGEST_TITLE, name_words, unmarked, words_analyzer
from holocron_assets.retrieval.index.signs import HANGUL, SPACELESS, has_signs, is_mark, row_of_signs

_ONE_ERROR, _TWO_ERRORS = 4, 8
"""From so many letters on, one error or two are forgiven."""
_MOST_WORDS = 8
"""Words of a whole name that is looked for in a longer text."""
_ENDS_IN_HANGUL = re.compile(f"[{HANGUL}]$")


def errors_forgiven(word: str) -> int:
    """How many errors of typing a word may have."""
    return (len(word) >= _ONE_ERROR) + (len(word) >= _TWO_ERRORS)


def names_query(schema: tantivy.Schema, words: Sequence[str]) -> tantivy.Query:
    """A query of names that have one of some words, or one that is written almost so."""
    each = []
    for word in words:
        exact = tantivy.Query.boost_query(tantivy.Query.term_query(schema, "names", word), 2.0)
        alike = [exact]
        if distance := errors_forgiven(word):
            alike.append(tantivy.Query.fuzzy_term_query(schema, "names", word, distance=distance))
        each.append((tantivy.Occur.Should, tantivy.Query.disjunction_max_query(alike)))
    return tantivy.Query.boolean_query(each)


def whole_names_query(schema: tantivy.Schema, words: Sequence[str]) -> tantivy.Query:
    """A query of pages that have some words as a whole name, or some of them in a row: the longest first.

    However many other names a page has, they do not matter here: BM25 counts them against it. The whole of
    the words may have one error of typing, unless it is longer than any title.
    """
    size, whole = len(words), " ".join(words)
    is_title = len(whole) <= LONGEST_TITLE
    ends = ((at, end) for at in range(size) for end in range(at + 1, min(at + _MOST_WORDS, size) + 1))
    wholes = {" ".join(words[at:end]) for at, end in ends} | ({whole} if is_title else set())
    each = [
        tantivy.Query.const_score_query(tantivy.Query.term_query(schema, "whole_names", one), float(len(one)))
        for one in sorted(wholes)
    ]
    if is_title and errors_forgiven(whole):
        alike = tantivy.Query.fuzzy_term_query(schema, "whole_names", whole)
        each.append(tantivy.Query.const_score_query(alike, float(len(whole)) - 0.5))
    return tantivy.Query.disjunction_max_query(each)


def names_in_text(schema: tantivy.Schema, names: Iterable[str]) -> tantivy.Query:
    """A query of passages whose text has one of some names, whatever the endings of its words.

    They may stand without spaces around them where a script has none, and before particles of Korean.
    """
    queries = (query for name in names for query in _name_in_text(schema, name))
    return tantivy.Query.boolean_query([(tantivy.Occur.Should, query) for query in queries])


def _name_in_text(schema: tantivy.Schema, name: str) -> Iterator[tantivy.Query]:
    if words := words_analyzer().analyze(unmarked(name)):
        if not _ENDS_IN_HANGUL.search(words[-1]):
            yield _in_a_row(schema, "text", [*enumerate(words)])
        elif before := words[:-1]:
            yield tantivy.Query.regex_phrase_query(schema, "text", [*before, f"{words[-1]}[{HANGUL}]*"])
        else:
            yield tantivy.Query.regex_query(schema, "text", f"{words[-1]}[{HANGUL}]*")
    if signs := row_of_signs(name):
        yield _in_a_row(schema, "signs", signs)


def _in_a_row(schema: tantivy.Schema, field: str, row: Sequence[tuple[int, str]]) -> tantivy.Query:
    if len(row) > 1:
        return tantivy.Query.phrase_query(schema, field, [*row])
    return tantivy.Query.term_query(schema, field, row[0][1])


def places_of_names(text: str, names: Iterable[str]) -> list[tuple[int, int]]:
    """Where a text has one of some names word for word, in any case: start and end of each, in order.

    Letters of scripts that put no space between words may stand on both sides of it, and of Korean after it.
    """
    longest_first = sorted(filter(str.strip, names), key=len, reverse=True)
    if not longest_first:
        return []
    found = re.finditer("|".join(map(_as_whole_words, longest_first)), text, re.IGNORECASE)
    return [match.span() for match in found if not is_mark(text[match.end() : match.end() + 1])]


def _as_whole_words(name: str) -> str:
    before = "" if has_signs(name[0]) else rf"(?<![^\W{SPACELESS}])"
    after = "" if has_signs(name[-1]) else rf"(?![^\W{HANGUL}{SPACELESS}])"
    return f"{before}{re.escape(name)}{after}"


def fit_of_names(names: Iterable[str], words: Sequence[str]) -> tuple[float, str]:
    """How well the best of some names fits the words that are searched, and that name.

    Returns:
        0 where none fits: neither are all words of the name searched, nor has it all that are searched.
        Otherwise the share of the longer of the two that both have, a little less for errors of typing. A
        word that the name repeats is shared as often as it is searched.
    """
    return max(((_fit(name_words(name), words), name) for name in names), default=(0.0, ""))


def _fit(name: Sequence[str], words: Sequence[str]) -> float:
    if not name or not words:
        return 0.0
    errors = [_errors(one, words) for one in name]
    if not all(errors) and not all(_errors(one, name) for one in words):
        return 0.0
    shared, wrong = 0, 0
    for place, (one, nearest) in enumerate(zip(name, errors, strict=True)):
        earlier = name[:place].count(one)
        if earlier < len(nearest):
            shared, wrong = shared + len(one), wrong + nearest[earlier]
    return shared / max(sum(map(len, name)), sum(map(len, words))) - 0.05 * wrong


def _errors(word: str, others: Sequence[str]) -> list[int]:
    """The errors of typing between a word and each of others that have not too many, the fewest first."""
    allowed = errors_forgiven(word)
    found = (OSA.distance(word, other, score_cutoff=allowed) for other in others)
    return sorted(number for number in found if number <= allowed)
