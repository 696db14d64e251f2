"""A search by words alone, beside tantivy's own query of the same words in the same index."""

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from time import process_time

from search_speed import BATCH, make, questions, without_vector

from holocron_assets.lake.place.paths import Lake
from holocron_assets.retrieval.fusing import WORDS
from holocron_assets.retrieval.index.index import SearchIndex
from holocron_assets.retrieval.search import Searcher
from side_by_side.row import Row, Scale, compared, in_turns

_PASSAGES: Mapping[Scale, int] = {"quick": 50_000, "full": 1_000_000}
_TURNS: Mapping[Scale, int] = {"quick": 10, "full": 5}
_LISTED = 10


def measure(scale: Scale) -> list[Row]:
    """The row of searches: the median of many, in each turn."""
    with tempfile.TemporaryDirectory() as name:
        lake = Lake(Path(name) / "data")
        make(lake, range(_PASSAGES[scale] // BATCH))
        searcher, index = Searcher(lake, without_vector), SearchIndex(lake).searcher()
        plain = index.searcher()

        def ours(text: str) -> object:
            return searcher.search(text, _LISTED, by=[WORDS]).hits

        def peer(text: str) -> object:
            hits = plain.search(index.parse_query(text, ["text", "place"]), _LISTED).hits
            return [plain.doc(address) for _, address in hits]

        turns = in_turns(lambda _: _median_ms(ours), lambda _: _median_ms(peer), _TURNS[scale])
    return [compared("search by words", "CPU ms", "tantivy's own query", turns)]


def _median_ms(search: Callable[[str], object]) -> float:
    taken = []
    for text in questions():
        started = process_time()
        search(text)
        taken.append(process_time() - started)
    return median(taken) * 1000
