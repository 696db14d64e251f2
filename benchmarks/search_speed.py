"""How fast the search index is made, updated and searched, with made-up passages and vectors.

Run: python benchmarks/search_speed.py [--passages 1000000] [--folder DIRECTORY] [--no-model]

Words follow Zipf's law, as those of a language do. Vectors are drawn by lot, so that search by meaning does
all its work and finds nothing in particular. What is searched is embedded by the real model, each time
another text. Prints the time to make the index, to replace one batch, and to search.
"""

import argparse
import base64
import resource
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from holocron_assets.derive.server.process.connection import model_server
from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.place.paths import Lake
from holocron_assets.retrieval.asking import QueryVector, query_vector
from holocron_assets.retrieval.index.contents import IndexedPage
from holocron_assets.retrieval.index.full_text import IndexWriter, open_index
from holocron_assets.retrieval.index.index import Pointer, SearchIndex
from holocron_assets.retrieval.index.vectors import write_arrays
from holocron_assets.retrieval.search import Searcher

BATCH, A_PAGE = 2_500, 5
"""Passages of a batch and of a page: 500 pages of five."""
WORDS, DIMENSIONS, VOCABULARY = 120, 384, 200_000
SEARCHES = 200
_TYPES = ("PersonCharacter", "LocationPlace", "EventConflict", "Droid")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--passages", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="where to work; a temporary folder by default")
    parser.add_argument("--no-model", action="store_true", help="draw the vectors of queries by lot too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        lake = Lake((options.folder or Path(temporary)).resolve() / "data")
        table = Table("", "seconds", title=f"{options.passages:,} passages")
        made = timed(lambda: make(lake, range(options.passages // BATCH)))
        table.add_row("make the index", f"{made:.1f}")
        table.add_row("replace one batch", f"{timed(lambda: make(lake, [7])):.2f}")
        with nullcontext() if options.no_model else model_server():
            searcher = Searcher(lake, drawn if options.no_model else query_vector)
            table.add_row("open, and search once", f"{timed(lambda: searcher.search('first words')):.2f}")
            for name, search in searches(searcher).items():
                table.add_row(name, spread([timed(partial(search, text)) for text in questions()]))
    table.add_row("most memory, MiB", f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f}")
    Console(width=110).print(table)


def searches(searcher: Searcher) -> dict[str, Callable[[str], object]]:
    """The ways to search that are measured."""
    return {
        "search names": searcher.names,
        "search words": lambda text: searcher._by_words(text, {}, {}),  # noqa: SLF001 - a part of a search
        "search names, words and meaning": searcher.search,
        "the same, of one type": lambda text: searcher.search(text, wanted={"type": ["Droid"]}),
    }


def make(lake: Lake, batches: Sequence[int]) -> None:
    """Index some batches, as `SearchIndex.update` does with those of a lake."""
    folder = lake.root / "search"
    pointer = SearchIndex(lake).read_pointer() or Pointer("benchmark", "text-1")
    writer = IndexWriter(open_index(folder / pointer.text))
    for number in batches:
        name, generator = f"wiki-{number:06}", np.random.default_rng(number)
        pages = list(made_up(number, generator))
        rows = {page.row["title_key"]: page.row for page in pages}
        current = frozenset(passage["passage_id"] for page in pages for passage in page.passages)
        arrays = f"vectors/minilm/{name}"
        write_arrays(folder / arrays, answers(pages, generator), rows, current, pointer.codes)
        spaces = {"minilm": {"folder": arrays, "vectors": BATCH}}
        pointer.batches[name] = {
            "fingerprint": "",
            "passages": writer.replace(name, pages),
            "spaces": spaces,
        }
        if number % 20 == 0:
            writer.commit()
    writer.commit()
    writer.close()
    SearchIndex(lake).point_to(pointer)


def made_up(number: int, generator: np.random.Generator) -> Iterator[IndexedPage]:
    """The pages of a batch."""
    words = generator.zipf(1.1, (BATCH, WORDS)) % VOCABULARY
    for start in range(0, BATCH, A_PAGE):
        key = number * BATCH + start
        title = f"w{key % VOCABULARY} {key}"
        page = {
            "title": title,
            "title_key": key,
            "source": "wiki",
            "name": title,
            "names": [title],
            "type": _TYPES[key % len(_TYPES)],
            "continuity": "canon",
            "state": "promoted",
            "entity_id": str(key),
            "entity_type": _TYPES[key % len(_TYPES)],
            "revision_id": key,
        }
        passages = [
            {
                "passage_id": content_hash(f"{key} {place}"),
                "position": place,
                "headings": ["Biography"],
                "text": " ".join(f"w{word}" for word in words[start + place]),
                "start_offset": 0,
                "end_offset": 700,
            }
            for place in range(A_PAGE)
        ]
        yield IndexedPage(page, passages)


def answers(pages: Sequence[IndexedPage], generator: np.random.Generator) -> pa.Table:
    """A row of a space for each passage."""
    vectors = generator.integers(-127, 128, (BATCH, DIMENSIONS), dtype=np.int8)
    ids = [(page.row["title_key"], passage["passage_id"]) for page in pages for passage in page.passages]
    return pa.table(
        {
            "title_key": [key for key, _ in ids],
            "passage_id": [passage for _, passage in ids],
            "vector": [base64.b64encode(vector.tobytes()).decode() for vector in vectors],
            "model_digest": [_digest()] * len(ids),
        }
    )


def _digest() -> str:
    from holocron_assets.derive.server.model_files.catalog import shipped_catalog  # noqa: PLC0415

    return shipped_catalog().find("all-minilm:22m").sha256


def questions() -> Iterator[str]:
    """What is searched: four words each, frequent and rare ones."""
    generator = np.random.default_rng(19)
    for _ in range(SEARCHES):
        yield " ".join(f"w{word % VOCABULARY}" for word in generator.zipf(1.1, 4))


def drawn(text: str, _embedded: object) -> QueryVector:
    """A vector by lot."""
    generator = np.random.default_rng(abs(hash(text)))
    return QueryVector("minilm", _digest(), [float(one) for one in generator.standard_normal(DIMENSIONS)])


def timed(work: Callable[[], object]) -> float:
    """Seconds that some work takes."""
    started = perf_counter()
    work()
    return perf_counter() - started


def spread(seconds: Sequence[float]) -> str:
    """The median and the 95th percentile, in milliseconds."""
    median, high = np.quantile(np.array(seconds) * 1000, [0.5, 0.95])
    return f"{median:.1f} ms, p95 {high:.1f} ms"


if __name__ == "__main__":
    main()
