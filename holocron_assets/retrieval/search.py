"""Search: by names, by words and by meaning, fused into one list of passages."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tantivy

from holocron_assets.errors import PermanentError
from holocron_assets.lake.place.paths import Lake
from holocron_assets.retrieval.asking import NoVectorError, QueryVector, query_vector
from holocron_assets.retrieval.index.full_text import FILTERS, stored_row
from holocron_assets.retrieval.index.index import SearchIndex
from holocron_assets.retrieval.index.vectors import SpaceArrays
from holocron_assets.retrieval.names import (
    fit_of_names,
    name_words,
    names_in_text,
    names_query,
    places_of_names,
)

NAME, WORDS, MEANING = "name", "words", "meaning"

_LISTED = 100
"""Passages of each list that are fused."""
_NAMED = 20
RANK_OFFSET = 20.0
"""Added to ranks: the larger it is, the less the first place of one list counts against several places."""
_WEIGHTS = {NAME: 1.5, WORDS: 1.0, MEANING: 1.0}
_PLACE_BOOST = 1.5
"""How much more a word counts in a title or heading than in the text."""

Embed = Callable[[str, Mapping[str, int]], QueryVector]


class SearchError(PermanentError):
    """A search cannot be made; the message says what to do."""


@dataclass(frozen=True)
class Hit:
    """A passage that was found.

    Attributes:
        row: its page's title, source, type, continuity, state and entity, and the passage itself.
        score: by which hits are ordered; it only compares hits of one search.
        ranks: its place in each list that has it, from 1, by 'name', 'words' and 'meaning'.
        name: the name that fits what was searched, if it was found by one.
    """

    row: Mapping[str, Any]
    score: float
    ranks: Mapping[str, int]
    name: str | None = None

    @property
    def matched_by(self) -> list[str]:
        """The lists that have it."""
        return [kind for kind in (NAME, WORDS, MEANING) if kind in self.ranks]

    def to_json(self) -> dict[str, Any]:
        """The hit for programs."""
        row = self.row
        return {
            **{name: row[name] for name in ("title", "source", "entity_id", "entity_type")},
            "passage": row["text"],
            "start": row["start_offset"],
            "end": row["end_offset"],
            "score": round(self.score, 6),
            "matched_by": self.matched_by,
            "ranks": dict(self.ranks),
            "headings": row["headings"],
            "type": row["type"],
            "state": row["state"],
            "continuity": row["continuity"],
            "passage_id": row["passage_id"],
            "revision_id": row["revision_id"],
        }


@dataclass(frozen=True)
class Found:
    """What a search found.

    Attributes:
        hits: the best first.
        without_meaning: why passages were not searched by meaning; None if they were.
    """

    hits: Sequence[Hit]
    without_meaning: str | None


@dataclass
class _Fusing:
    """A passage while the lists are fused."""

    row: Mapping[str, Any]
    ranks: dict[str, int] = field(default_factory=dict)
    name: str | None = None

    @property
    def score(self) -> float:
        return sum(_WEIGHTS[kind] / (RANK_OFFSET + rank) for kind, rank in self.ranks.items())


class Searcher:
    """Searches the index of a lake as it was when the searcher was made. Threads may share it."""

    def __init__(self, lake: Lake, embed: Embed = query_vector) -> None:
        """Open the index.

        Args:
            lake: whose.
            embed: makes the vector of what is searched.

        Raises:
            SearchError: nothing is indexed yet.
        """
        self._index = SearchIndex(lake)
        if not self._index.exists:
            raise SearchError("nothing is indexed yet: `holocron run` makes the search index")
        self.state = self._index.state
        self._embed = embed
        self._text = self._index.searcher()
        self._searcher = self._text.searcher()
        self._arrays: dict[str, SpaceArrays] = {}

    def search(
        self,
        text: str,
        limit: int = 10,
        *,
        wanted: Mapping[str, Sequence[str]] | None = None,
        a_page: int = 1,
        by: Collection[str] = (NAME, WORDS, MEANING),
    ) -> Found:
        """Find passages.

        Args:
            text: words, a name or a question. Quotation marks keep words together.
            limit: the most hits.
            wanted: values of 'type', 'continuity', 'source' or 'state', of which a hit has one each.
            a_page: the most hits of one page.
            by: the lists that are fused: pages by 'name', passages by 'words' and by 'meaning'.
        """
        wanted = {name: list(values) for name, values in (wanted or {}).items() if values}
        if unknown := wanted.keys() - set(FILTERS):
            raise SearchError(f"{', '.join(sorted(unknown))}: a search is narrowed by {', '.join(FILTERS)}")
        if not name_words(text):
            return Found((), None)
        fusing: dict[str, _Fusing] = {}
        if WORDS in by:
            self._by_words(text, wanted, fusing)
        without_meaning = self._by_meaning(text, wanted, fusing) if MEANING in by else None
        if NAME in by:
            self._by_name(text, wanted, fusing)
        return Found(_best(fusing.values(), limit, a_page), without_meaning)

    def names(
        self, text: str, limit: int = 10, *, wanted: Mapping[str, Sequence[str]] | None = None
    ) -> list[Hit]:
        """Find pages by their names, titles and redirects alone, the best first."""
        return [
            Hit(row, fit, {NAME: rank}, name)
            for rank, (row, fit, name) in enumerate(self._named(text, wanted or {}, limit), 1)
        ]

    def naming(
        self, names: Sequence[str], limit: int, *, source: str, without: str
    ) -> list[tuple[dict[str, Any], list[tuple[int, int]]]]:
        """Find passages of a source that have one of some names word for word, one of each page.

        Args:
            names: the names.
            limit: the most passages.
            source: whose pages are searched.
            without: title of a page that is left out.

        Returns:
            Each passage with the places of the names in its text, the best passages first.
        """
        query = self._narrowed(names_in_text(self._text.schema, names), {"source": [source]})
        found: dict[str, tuple[dict[str, Any], list[tuple[int, int]]]] = {}
        for _, address in self._searcher.search(query, _LISTED, count=False).hits:
            row = stored_row(self._searcher.doc(address))
            places = places_of_names(row["text"], names)
            if places and row["title"] != without:
                found.setdefault(row["title"], (row, places))
            if len(found) == limit:
                break
        return list(found.values())

    def _by_words(self, text: str, wanted: Mapping[str, Sequence[str]], fusing: dict[str, _Fusing]) -> None:
        boosts = {"text": 1.0, "place": _PLACE_BOOST}
        parsed, _ = self._text.parse_query_lenient(text, ["text", "place"], field_boosts=boosts)
        hits = self._searcher.search(self._narrowed(parsed, wanted), _LISTED, count=False).hits
        for rank, (_, address) in enumerate(hits, 1):
            _fused(fusing, stored_row(self._searcher.doc(address))).ranks[WORDS] = rank

    def _by_meaning(
        self, text: str, wanted: Mapping[str, Sequence[str]], fusing: dict[str, _Fusing]
    ) -> str | None:
        try:
            vector = self._embed(text, self._index.spaces)
        except NoVectorError as error:
            return str(error)
        if vector.space not in self._arrays:
            self._arrays[vector.space] = self._index.arrays(vector.space)
        arrays = self._arrays[vector.space]
        nearest = arrays.nearest(vector.numbers, _LISTED, {**wanted, "model": [vector.digest]})
        rows = self._passages([passage_id for passage_id, _ in nearest])
        for rank, (passage_id, _) in enumerate(nearest, 1):
            if row := rows.get(passage_id):
                _fused(fusing, row).ranks[MEANING] = rank
        return (
            None if nearest else f"no passage that fits is embedded by this build of {vector.space}'s model"
        )

    def _by_name(self, text: str, wanted: Mapping[str, Sequence[str]], fusing: dict[str, _Fusing]) -> None:
        """Rank the pages with fitting names: each by its best passage so far, or else its first."""
        for rank, (row, _, name) in enumerate(self._named(text, wanted, _NAMED), 1):
            of_page = [one for one in fusing.values() if _page(one.row) == _page(row)]
            best = max(of_page, key=lambda one: one.score, default=None) or _fused(fusing, row)
            best.ranks[NAME], best.name = rank, name

    def _named(
        self, text: str, wanted: Mapping[str, Sequence[str]], limit: int
    ) -> list[tuple[dict[str, Any], float, str]]:
        words = name_words(text)
        if not words:
            return []
        query = self._narrowed(names_query(self._text.schema, words), wanted)
        hits = self._searcher.search(query, max(_LISTED, limit), count=False).hits
        rows = [stored_row(self._searcher.doc(address)) for _, address in hits]
        fits = [(row, *fit_of_names(row["names"], words)) for row in rows]
        ranked = sorted((one for one in fits if one[1] > 0), key=_by_fit)
        return ranked[:limit]

    def _passages(self, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """What is shown of some passages, by their ids."""
        query = tantivy.Query.term_set_query(self._text.schema, "passage_id", list(ids))
        hits = self._searcher.search(query, max(len(ids), 1), count=False).hits
        rows = (stored_row(self._searcher.doc(address)) for _, address in hits)
        return {row["passage_id"]: row for row in rows}

    def _narrowed(self, query: tantivy.Query, wanted: Mapping[str, Sequence[str]]) -> tantivy.Query:
        """The query with its conditions. Without any, what cannot be among the best is passed over."""
        schema, must = self._text.schema, tantivy.Occur.Must
        conditions = [
            tantivy.Query.const_score_query(tantivy.Query.term_set_query(schema, name, list(values)), 0.0)
            for name, values in wanted.items()
        ]
        if not conditions:
            return query
        return tantivy.Query.boolean_query([(must, query), *((must, one) for one in conditions)])


_SEARCHERS: dict[Path, Searcher] = {}
"""The searcher of each lake that this process searched."""


def searcher_of(lake: Lake) -> Searcher:
    """A searcher of the index as it is now; the same as long as the index is the same.

    Raises:
        SearchError: nothing is indexed yet.
    """
    known = _SEARCHERS.get(lake.root)
    if known is None or known.state != SearchIndex(lake).state:
        known = _SEARCHERS[lake.root] = Searcher(lake)
    return known


def _fused(fusing: dict[str, _Fusing], row: Mapping[str, Any]) -> _Fusing:
    key = row["passage_id"] or f"{_page(row)}"
    return fusing.setdefault(key, _Fusing(row))


def _by_fit(one: tuple[Mapping[str, Any], float, str]) -> tuple[float, bool, bool, bool]:
    """Of pages whose names fit alike: first those with an entity, promoted, with the name as their title."""
    row, fit, name = one
    is_promoted = row["state"] in {"promoted", "adjudicated"}
    return -fit, row["entity_id"] is None, not is_promoted, row["title"] != name


def _page(row: Mapping[str, Any]) -> tuple[str, str]:
    return row["source"], row["title"]


def _best(fusing: Iterable[_Fusing], limit: int, a_page: int) -> list[Hit]:
    ranked = sorted(fusing, key=lambda one: (-one.score, *_page(one.row), one.row["position"] or 0))
    hits: list[Hit] = []
    of_pages: dict[tuple[str, str], int] = {}
    for one in ranked:
        page = _page(one.row)
        of_pages[page] = of_pages.get(page, 0) + 1
        if of_pages[page] <= a_page:
            hits.append(Hit(one.row, one.score, one.ranks, one.name))
        if len(hits) == limit:
            break
    return hits
