"""The pages that search passages, pages and entities, and that answer a question."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from holocron_assets.errors import HolocronError
from holocron_assets.retrieval.answers.answer import answer
from holocron_assets.retrieval.answers.reading import running_reader
from holocron_assets.retrieval.highlights import pieces
from holocron_assets.retrieval.index.full_text import FILTERS
from holocron_assets.retrieval.search import Found, Hit, SearchError, searcher_of
from holocron_assets.review.entity_detail import search_entities
from holocron_assets.review.web.desk import Desk

_SHORTEST = 2
_HITS = 20
_LONGEST = 360
"""Characters of a passage that are shown."""


@dataclass(frozen=True)
class SearchPages:
    """The search page, and that of answers."""

    desk: Desk

    def search(self, request: Request) -> Response:
        """Passages by names, words and meaning; without an index, entities by part of a name."""
        text = request.query_params.get("q", "").strip()
        wanted = {name: chosen for name in FILTERS if (chosen := request.query_params.getlist(name))}
        values: dict[str, Any] = {
            "searched": text,
            "wanted": wanted,
            "narrowed": partial(_narrowed, text, wanted),
            "found": [],
            "hits": [],
            "note": None,
        }
        if len(text) >= _SHORTEST:
            started = perf_counter()
            try:
                found = searcher_of(self.desk.lake).search(text, _HITS, wanted=wanted)
                values |= {"hits": [_shown(hit, text) for hit in found.hits], "note": _note(found)}
                values["facets"] = _facets(found)
            except SearchError as error:
                values |= {"found": search_entities(self.desk.lake, text), "note": str(error)}
            values["milliseconds"] = round((perf_counter() - started) * 1000)
        return self.desk.show(request, "search.html", values)

    def answer(self, request: Request) -> Response:
        """An answer to a question with the words of pages, or a refusal. A model may read for a while."""
        question = request.query_params.get("q", "").strip()
        values: dict[str, Any] = {"searched": question, "answer": None, "note": None}
        if len(question) >= _SHORTEST:
            try:
                searcher, reader = searcher_of(self.desk.lake), running_reader(self.desk.lake)
                values["answer"] = answer(self.desk.lake, searcher, question, reader)
            except HolocronError as error:
                values["note"] = str(error)
        return self.desk.show(request, "answer.html", values)


def _narrowed(text: str, wanted: Mapping[str, Sequence[str]], name: str, *values: str) -> str:
    """The address of the same search with other values of one filter; of none, without that filter."""
    given = {"q": [text], **wanted, name: values}
    return f"/search?{urlencode(given, doseq=True)}"


def _shown(hit: Hit, text: str) -> dict[str, object]:
    return {"hit": hit, "row": hit.row, "pieces": list(pieces(hit.row["text"] or "", text, _LONGEST))}


def _note(found: Found) -> str | None:
    return found.without_meaning and f"not searched by meaning: {found.without_meaning}"


def _facets(found: Found) -> dict[str, list[str]]:
    """The values of filters that the hits have, to narrow the search to."""
    return {name: sorted({hit.row[name] for hit in found.hits}) for name in FILTERS}
