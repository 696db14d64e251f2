"""Search: by names, by words and by meaning, fused into one list of passages."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import tantivy

from holocron_assets.errors import PermanentError
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.place.paths import Lake
from holocron_assets.retrieval.asking import NoVectorError, QueryVector, query_vector
from holocron_assets.retrieval.fusing import MEANING, NAME, WORDS, Fusing
from holocron_assets.retrieval.index.full_text import (
    FILTERS,
    UnreadableIndexError,
    name_words,
    passage_number,
    stored_row,
)
from holocron_assets.retrieval.index.index import SearchIndex
from holocron_assets.retrieval.index.nearest import Neighbour, SpaceArrays, workers
from holocron_assets.retrieval.names import (
    fit_of_names,
    names_in_text,
    names_query,
    places_of_names,
    whole_names_query,
)
from holocron_assets.retrieval.word_queries import WordQueries

_LISTED = 100
"""Passages of each list that are fused."""
_NAMED = 20
_LONGEST = 2_000
"""Characters of what is searched. Names that are written almost so take memory for each of its words."""
_DIGITS = 3
"""Of the scores of words that are compared; those that are equal come by the numbers of the passages."""

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


class _WithWords(NamedTuple):
    """A passage that has words: its number, its page's title key, and where its text is stored."""

    number: Any
    page: Any
    address: Any


class Searcher:
    """Searches the index of a lake as it was when the searcher was made. Threads may share it."""

    def __init__(self, lake: Lake, embed: Embed = query_vector) -> None:
        """Open the index.

        Args:
            lake: whose.
            embed: makes the vector of what is searched.

        Raises:
            SearchError: nothing is indexed yet, or the index is damaged or cannot be read now.
        """
        self._index = SearchIndex(lake)
        self.state = self._index.state
        try:
            self._spaces = self._index.spaces
            self._text = self._index.searcher()
        except UnreadableIndexError as error:
            raise SearchError(str(error)) from error
        except OSError as error:
            raise SearchError(f"the search index cannot be read now: {error.strerror}") from error
        self._embed = embed
        self._searcher = self._text.searcher()
        self._words = WordQueries(self._text.schema, self._searcher)
        self._arrays: dict[tuple[str, int], SpaceArrays] = {}

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
            text: words, a name or a question. Quotation marks keep words together. It has at most 2,000
                characters, unless no names are searched.
            limit: the most hits.
            wanted: values of 'type', 'continuity', 'source' or 'state', of which a hit has one each.
            a_page: the most hits of one page.
            by: the lists that are fused: pages by 'name', passages by 'words' and by 'meaning'.

        Raises:
            SearchError: the text is too long, or the search is narrowed by something else.
        """
        wanted = {name: list(values) for name, values in (wanted or {}).items() if values}
        if unknown := wanted.keys() - set(FILTERS):
            raise SearchError(f"{', '.join(sorted(unknown))}: a search is narrowed by {', '.join(FILTERS)}")
        if NAME in by and len(text) > _LONGEST:
            raise SearchError(f"a search has at most {_LONGEST:,} characters, and this one has {len(text):,}")
        if not any(map(str.isalnum, text)):
            return Found((), None)
        # The model works on the vector meanwhile.
        vector = workers().submit(self._embed, text, self._spaces) if MEANING in by else None
        fusing = Fusing()
        for rank, one in enumerate(self._with_words(text, wanted, limit) if WORDS in by else (), 1):
            fusing.add(one.number, one.page, partial(self._row, one.address)).ranks[WORDS] = rank
        named = self._named(text, wanted, _NAMED) if NAME in by else []
        near, without_meaning = self._near(vector, wanted) if vector else ([], None)
        for rank, neighbour in enumerate(near, 1):
            number, read = passage_number(neighbour.passage_id), partial(self._passage, neighbour.passage_id)
            fusing.add(number, neighbour.page, read).ranks[MEANING] = rank
        for rank, (row, _, name) in enumerate(named, 1):
            _add_named(fusing, row, rank, name)
        ranked = islice(fusing.ranked(a_page), limit)
        return Found([Hit(row, one.score, one.ranks, one.name) for one, row in ranked], without_meaning)

    def names(
        self, text: str, limit: int = 10, *, wanted: Mapping[str, Sequence[str]] | None = None
    ) -> list[Hit]:
        """Find pages by their names, titles and redirects alone, the best first; by a long text, none."""
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
        query, own = names_in_text(self._text.schema, names), title_key(source, without)

        def best(passed_over: Collection[int]) -> Sequence[tuple[float, Any]]:
            narrowed = self._narrowed(query, {"source": [source]}, {own, *passed_over})
            return self._searcher.search(narrowed, _LISTED, count=False).hits

        found: dict[str, tuple[dict[str, Any], list[tuple[int, int]]]] = {}
        for _, address in self._of_pages(best, _LISTED):
            row = self._row(address)
            if places := places_of_names(row["text"], names):
                found.setdefault(row["title"], (row, places))
            if len(found) == limit:
                break
        return list(found.values())

    def _with_words(self, text: str, wanted: Mapping[str, Sequence[str]], limit: int) -> list[_WithWords]:
        def best(passed_over: Collection[int]) -> Sequence[tuple[float, Any]]:
            narrowed = partial(self._narrowed, wanted=wanted, without=passed_over)
            return self._words.best(text, _LISTED, narrowed)

        hits = list(self._of_pages(best, min(limit, _LISTED)))
        addresses = [address for _, address in hits]
        numbers, pages = (self._searcher.fast_field_values(name, addresses) for name in ("passage", "page"))
        found = [_WithWords(*one) for one in zip(numbers, pages, addresses, strict=True)]
        scored = zip((round(score, _DIGITS) for score, _ in hits), found, strict=True)
        return [one for _, one in sorted(scored, key=lambda pair: (-pair[0], pair[1].number))]

    def _of_pages(
        self, best: Callable[[Collection[int]], Sequence[tuple[float, Any]]], pages: int
    ) -> Iterator[tuple[float, Any]]:
        """The best passages of so many pages, if there are so many; it may give more.

        A long page may take all places of a list. Then the list is asked for again without the pages so far.

        Args:
            best: gives the first `_LISTED` passages without those of some pages, by their title keys.
            pages: how many.
        """
        seen: set[int] = set()
        is_full = True
        while is_full and len(seen) < pages:
            hits = best(seen)
            yield from hits
            pages_of: Sequence[Any] = self._searcher.fast_field_values("page", [one for _, one in hits])
            seen.update(pages_of)
            is_full = len(hits) == _LISTED

    def _near(
        self, embedding: Future[QueryVector], wanted: Mapping[str, Sequence[str]]
    ) -> tuple[list[Neighbour], str | None]:
        """The passages that are near in meaning; or why there are none."""
        try:
            vector = embedding.result()
            space = vector.space, len(vector.numbers)
            if space not in self._arrays:
                self._arrays[space] = self._index.arrays(*space)
            near = self._arrays[space].nearest(vector.numbers, _LISTED, {**wanted, "model": [vector.digest]})
        except (NoVectorError, UnreadableIndexError) as error:
            return [], str(error)
        except OSError as error:  # also of a file that was lost since the arrays were opened
            return [], f"the vectors cannot be read: {error.strerror}"
        return near, (
            None if near else f"no passage that fits is embedded by this build of {vector.space}'s model"
        )

    def _named(
        self, text: str, wanted: Mapping[str, Sequence[str]], limit: int
    ) -> list[tuple[dict[str, Any], float, str]]:
        words = name_words(text)
        if not words or len(text) > _LONGEST:
            return []
        addresses: dict[tuple[int, int], Any] = {}
        for query in (names_query(self._text.schema, words), whole_names_query(self._text.schema, words)):
            hits = self._searcher.search(self._narrowed(query, wanted), max(_LISTED, limit), count=False).hits
            addresses |= {(address.segment_ord, address.doc): address for _, address in hits}
        rows = [self._row(address) for address in addresses.values()]
        fits = [(row, *fit_of_names(row["names"], words)) for row in rows]
        ranked = sorted((one for one in fits if one[1] > 0), key=_by_fit)
        return ranked[:limit]

    def _row(self, address: Any) -> dict[str, Any]:
        return stored_row(self._searcher.doc(address))

    def _passage(self, passage_id: str) -> dict[str, Any] | None:
        """What is shown of a passage; None if only its vector is there."""
        query = tantivy.Query.term_query(self._text.schema, "passage_id", passage_id)
        hits = self._searcher.search(query, 1, count=False).hits
        return next((self._row(address) for _, address in hits), None)

    def _narrowed(
        self, query: tantivy.Query, wanted: Mapping[str, Sequence[str]], without: Collection[int] = ()
    ) -> tantivy.Query:
        """The query with its conditions. Without any, what cannot be among the best is passed over."""
        schema, must = self._text.schema, tantivy.Occur.Must
        conditions = [
            tantivy.Query.const_score_query(tantivy.Query.term_set_query(schema, name, list(values)), 0.0)
            for name, values in wanted.items()
        ]
        clauses = [(must, one) for one in conditions]
        if without:
            pages = tantivy.Query.term_set_query(schema, "page", list(without))
            clauses.append((tantivy.Occur.MustNot, pages))
        return tantivy.Query.boolean_query([(must, query), *clauses]) if clauses else query


_SEARCHERS: dict[Path, Searcher] = {}
"""The searcher of each lake that this process searched."""


def searcher_of(lake: Lake) -> Searcher:
    """A searcher of the index as it is now; the same as long as the index is the same.

    Raises:
        SearchError: nothing is indexed yet, or the index is damaged.
    """
    known = _SEARCHERS.get(lake.root)
    if known is None or known.state != SearchIndex(lake).state:
        known = _SEARCHERS[lake.root] = Searcher(lake)
    return known


def _add_named(fusing: Fusing, row: Mapping[str, Any], rank: int, name: str) -> None:
    """Rank a page by its name: its best passage so far, or else its first, or the page itself."""
    page = title_key(row["source"], row["title"])
    number = passage_number(row["passage_id"]) if row["passage_id"] else page
    best = fusing.best_of(page) or fusing.add(number, page, lambda: row)
    best.ranks[NAME], best.name = rank, name


def _by_fit(one: tuple[Mapping[str, Any], float, str]) -> tuple[float, bool, bool, bool]:
    """Of pages whose names fit alike: first those with an entity, promoted, with the name as their title."""
    row, fit, name = one
    is_promoted = row["state"] in {"promoted", "adjudicated"}
    return -fit, row["entity_id"] is None, not is_promoted, row["title"] != name
