"""How fast the search index is made, updated and searched, with made-up passages and vectors.

Run: python benchmarks/search_speed.py [--passages 1000000] [--folder DIRECTORY] [--no-model]

Words follow Zipf's law, as those of a language do. Vectors are drawn by lot, so that search by meaning does
all its work and finds nothing in particular. What is searched is embedded by the real model, each time
another text. Prints the time to make the index, to replace one batch, and to search, by the clock and of this
process on all cores: other work on the machine raises the former more.
"""

import argparse
import base64
import os
import resource
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from time import perf_counter, perf_counter_ns, process_time

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from holocron_assets.derive.server.process.connection import model_server
from holocron_assets.lake.declaration.keys import content_hash, title_key
from holocron_assets.lake.place.paths import Lake
from holocron_assets.retrieval.asking import NoVectorError, QueryVector, query_vector
from holocron_assets.retrieval.index.contents import IndexedPage
from holocron_assets.retrieval.index.full_text import IndexWriter, index_to_write
from holocron_assets.retrieval.index.index import SearchIndex
from holocron_assets.retrieval.index.pointer import Pointer
from holocron_assets.retrieval.index.vectors import write_arrays
from holocron_assets.retrieval.search import Searcher

BATCH, A_PAGE = 2_500, 5
"""Passages of a batch and of a page: 500 pages of five."""
WORDS, DIMENSIONS, VOCABULARY = 120, 384, 200_000
SEARCHES = 200
_WORDS = [f"w{word}" for word in range(VOCABULARY)]
_TYPES = ("PersonCharacter", "LocationPlace", "EventConflict", "Droid")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--passages", type=int, default=1_000_000)
    parser.add_argument(
        "--folder",
        type=Path,
        help="where to work, and an index that is there is kept; a temporary folder by default",
    )
    parser.add_argument("--no-model", action="store_true", help="draw the vectors of queries by lot too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        lake = Lake((options.folder or Path(temporary)).resolve() / "data")
        table = Table("", "wall", "CPU", title=f"{options.passages:,} passages")
        if not SearchIndex(lake).exists:
            table.add_row(
                "make the index", *spread([timed(lambda: make(lake, range(options.passages // BATCH)))])
            )
        table.add_row("replace one batch", *spread([timed(lambda: make(lake, [7]))]))
        with nullcontext() if options.no_model else model_server():
            searcher = Searcher(lake, drawn if options.no_model else query_vector)
            table.add_row("open, and search once", *spread([timed(lambda: searcher.search("first words"))]))
            for name, search in searches(searcher, Searcher(lake, without_vector)).items():
                table.add_row(name, *spread([timed(partial(search, text)) for text in questions()]))
    table.add_row("most memory, MiB", f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f}")
    console = Console(width=110)
    console.print(table)
    console.print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


def searches(searcher: Searcher, without_model: Searcher) -> dict[str, Callable[[str], object]]:
    """The ways to search that are measured."""
    return {
        "search names": searcher.names,
        "search names and words": without_model.search,
        "search names, words and meaning": searcher.search,
        "the same, of one type": lambda text: searcher.search(text, wanted={"type": ["Droid"]}),
    }


def make(lake: Lake, batches: Sequence[int]) -> None:
    """Index some batches, as `SearchIndex.update` does with those of a lake."""
    folder = lake.root / "search"
    pointer = SearchIndex(lake).read_pointer() or Pointer("benchmark", "text-1")
    writer = IndexWriter(index_to_write(folder / pointer.text))
    for number in batches:
        name, generator = f"wiki-{number:06}", np.random.default_rng(number)
        pages = list(made_up(number, generator))
        rows = {page.row["title_key"]: page.row for page in pages}
        current = frozenset(passage["passage_id"] for page in pages for passage in page.passages)
        arrays = f"vectors/minilm/{name}-{perf_counter_ns()}"
        written = write_arrays(folder / arrays, answers(pages, generator), rows, current, pointer.codes)
        spaces = {"minilm": {"folder": arrays, **written._asdict()}}
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
    words = (generator.zipf(1.1, (BATCH, WORDS)) % VOCABULARY).tolist()
    for start in range(0, BATCH, A_PAGE):
        key = number * BATCH + start
        title = f"w{key % VOCABULARY} {key}"
        page = {
            "title": title,
            "title_key": title_key("wiki", title),
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
                "text": " ".join([_WORDS[word] for word in words[start + place]]),
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


def without_vector(_text: str, _embedded: object) -> QueryVector:
    """What a search gets where no model server runs."""
    raise NoVectorError("not asked")


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Milliseconds that some work takes: by the clock, and of this process on all cores."""
    started, worked = perf_counter(), process_time()
    work()
    return (perf_counter() - started) * 1000, (process_time() - worked) * 1000


def spread(taken: Sequence[tuple[float, float]]) -> list[str]:
    """The median and the 95th percentile of each; of a single one, its seconds."""
    if len(taken) == 1:
        return [f"{one / 1000:.2f} s" for one in taken[0]]
    return [
        "{:.1f} ms, p95 {:.1f} ms".format(*np.quantile(np.array(one), [0.5, 0.95]))
        for one in zip(*taken, strict=True)
    ]


if __name__ == "__main__":
    main()
