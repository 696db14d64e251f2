"""Passages as evidence: what interrogations of kind 'search' find, by words and by meaning."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager

from holocron_assets.derive.evidence.queries import QueryError
from holocron_assets.derive.evidence.specs import SearchEvidence
from holocron_assets.derive.items.searching import FindPassages, PageName
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.place.paths import Lake
from holocron_assets.retrieval.asking import QueryVector, query_vector
from holocron_assets.retrieval.fusing import MEANING, WORDS
from holocron_assets.retrieval.search import Embed, Hit, Searcher, SearchError


@contextmanager
def finding(lake: Lake, search: SearchEvidence) -> Iterator[FindPassages]:
    """A function that finds passages as an interrogation's file says.

    Without a space, only words are searched, so that the same index always gives the same passages. With one,
    a model server must run: it is not started here. Pages are not searched by name: a query that names its
    page is about what other pages say. While nothing is indexed, the function raises that for now.

    Args:
        lake: whose index is searched.
        search: where, for what types, and how many.
    """
    try:
        searcher = Searcher(lake, _embedding_in(search.space))
    except SearchError as error:
        yield _finding_nothing(str(error))
        return
    wanted = {"type": list(search.types)} if search.types else {}

    def find(text: str, without: Collection[PageName]) -> list[Row]:
        # One passage of each page, so that no page takes all places: its own pages may take some.
        by = (WORDS, MEANING) if search.space else (WORDS,)
        found = searcher.search(text, search.limit + len(without), wanted=wanted, by=by)
        if search.space and found.without_meaning:
            reason = f"space {search.space} cannot be searched now: {found.without_meaning}"
            raise QueryError(reason, is_transient=True)
        others = [hit for hit in found.hits if (hit.row["source"], hit.row["title"]) not in without]
        return [_row(hit) for hit in others[: search.limit] if hit.row["passage_id"]]

    yield find


def _finding_nothing(reason: str) -> FindPassages:
    def find(_text: str, _without: Collection[PageName]) -> list[Row]:
        raise QueryError(reason, is_transient=True)

    return find


def _embedding_in(space: str | None) -> Embed:
    """What makes the vector of a query in one space alone."""

    def embed(text: str, embedded: Mapping[str, int]) -> QueryVector:
        return query_vector(text, {name: count for name, count in embedded.items() if name == space})

    return embed


def _row(hit: Hit) -> Row:
    row = hit.row
    return {
        "passage_id": row["passage_id"],
        "from_title": row["title"],
        "from_source": row["source"],
        "from_revision_id": row["revision_id"],
        "headings": list(row["headings"]),
        "start_offset": row["start_offset"],
        "end_offset": row["end_offset"],
        "text": row["text"],
        "score": round(hit.score, 6),
        "matched_by": ", ".join(hit.matched_by),
    }
