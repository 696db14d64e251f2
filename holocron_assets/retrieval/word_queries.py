"""Passages with the words that are searched, the best by BM25; quick where some words are in most passages.

A frequent word adds little to a score. So passages are looked for by the rarer words, and the frequent ones
only add to what is found, as soon as no passage can be among the best by frequent words alone (MaxScore:
Turtle and Flood, 1995). What is found, and in which order, is what a search of all words would find.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from math import log
from typing import Any, NamedTuple

import tantivy

from holocron_assets.retrieval.index.full_text import unmarked, words_analyzer
from holocron_assets.retrieval.index.signs import has_signs, row_of_signs, signs_analyzer, unbroken_runs

_BOOSTS = {"text": 1.0, "place": 1.5}
"""A word counts more in a title or heading than in the text."""
_K1 = 1.2
"""Of BM25, as the index has it."""
_FEW = 20_000
"""Passages that a word may be in so that all of them are looked at."""
_QUOTATION_MARKS = str.maketrans(dict.fromkeys("“”„‟«»「」『』", '"'))
"""Of phones and of other languages."""
_PIECE = re.compile(r'"([^"]*)"|([^\s"]+)')

_Row = tuple[tuple[int, str], ...]
"""Words that must stand in a row, each with its place there."""


class _Clause(NamedTuple):
    """A part of a query.

    Attributes:
        documents: how many have it; 0 for words in a row, which are always looked for.
        most: the most that it can add to a score.
        query: what it looks for.
    """

    documents: int
    most: float
    query: tantivy.Query


class WordQueries:
    """Searches one state of an index for words."""

    def __init__(self, schema: tantivy.Schema, searcher: tantivy.Searcher) -> None:
        """Count the documents; deleted ones count for BM25 too, until segments are merged."""
        self._schema, self._searcher = schema, searcher
        self._documents = sum(count for _, count in searcher.terms_with_prefix("source", ""))

    def best(
        self, text: str, limit: int, narrowed: Callable[[tantivy.Query], tantivy.Query]
    ) -> Sequence[tuple[float, Any]]:
        """The best passages with any of the words of a text: the score and address of each.

        Args:
            text: words; those between quotation marks, and the parts of a compound, must stand in a row. Of
                scripts that put no space between words, each two letters must, with nothing between them.
            limit: the most passages.
            narrowed: adds conditions to a query.
        """
        clauses = sorted(self._clauses(text), key=lambda one: one.documents)
        for needed in range(1, len(clauses) + 1):
            found, others = clauses[:needed], clauses[needed:]
            documents = sum(one.documents for one in found)
            if others and (documents < limit or others[0].documents <= _FEW):
                continue
            hits = self._searcher.search(narrowed(_query(found, others)), limit, count=False).hits
            is_full = len(hits) == limit and hits[-1][0] >= sum(one.most for one in others)
            if is_full or not others:
                return hits
        return []

    def _clauses(self, text: str) -> Iterator[_Clause]:
        typed = unmarked(text).translate(_QUOTATION_MARKS)
        found = _PIECE.findall(typed)
        pieces = {tuple(enumerate(words_analyzer().analyze("".join(one)))) for one in found} - {()}
        for words in sorted(pieces):
            for field, boost in _BOOSTS.items():
                yield self._clause(field, words, boost)
        for signs in sorted({signs for one in found for signs in self._signs(*one)}):
            yield self._clause("signs", signs, 1.0)

    def _signs(self, quoted: str, plain: str) -> Iterator[_Row]:
        """Letters of such scripts that must stand in a row: each two of a run, or all that is quoted."""
        if any(map(has_signs, unbroken_runs(quoted))):
            yield row_of_signs(quoted)
        for run in filter(has_signs, unbroken_runs(plain)):
            each = signs_analyzer().analyze(run)
            yield from map(tuple, map(enumerate, pairwise(each) if len(each) > 1 else [each]))

    def _clause(self, field: str, row: _Row, boost: float) -> _Clause:
        if len(row) > 1:
            phrase = tantivy.Query.phrase_query(self._schema, field, [*row])
            return _Clause(0, 0.0, tantivy.Query.boost_query(phrase, boost))
        [(_, word)] = row
        documents = self._searcher.doc_freq(field, word)
        rarity = log(1 + (self._documents - documents + 0.5) / (documents + 0.5))
        term = tantivy.Query.term_query(self._schema, field, word)
        return _Clause(documents, boost * rarity * (_K1 + 1), tantivy.Query.boost_query(term, boost))


def _query(found: Sequence[_Clause], others: Sequence[_Clause]) -> tantivy.Query:
    """What has one of the first clauses; the others only add to scores."""
    query = tantivy.Query.boolean_query([(tantivy.Occur.Should, one.query) for one in found])
    for one in others:  # one within the other: a union of frequent words would be read as a whole
        query = tantivy.Query.boolean_query([(tantivy.Occur.Must, query), (tantivy.Occur.Should, one.query)])
    return query
