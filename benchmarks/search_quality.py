"""How well search finds what is meant: by words alone, by meaning alone, both fused, and with names.

Run: python benchmarks/search_quality.py [--cranfield FOLDER] [--queries 300] [--folder DIRECTORY]

Three kinds of questions, each with the pages that answer it:

* Cranfield, if FOLDER holds `cran.all.1400`, `cran.qry` and `cranqrel`: abstracts, and engineers' questions.
* links: the text of a link that is not the title that it leads to. The page to find is the link's target.
* facts: what an infobox says, as "homeworld of TITLE", where the page's lead says it. Infoboxes are hidden.

The wiki of the last two is the leads and sections of ../shared/wookieepedia. Pages are ranked by their best
passage.
Prints nDCG@10, MRR@10 and recall@100 with 95% intervals of 1,000 bootstrap samples.
"""

import argparse
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote
from xml.sax.saxutils import escape

import numpy as np
from rich.console import Console
from rich.table import Table

from holocron_assets.derive.dispatch.served import served_models
from holocron_assets.derive.gpu.model_run import ModelRun, Session, work_on
from holocron_assets.derive.gpu.turns import Given
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.opening import open_lake
from holocron_assets.derive.server.process.connection import model_server
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGE_CHUNKS
from holocron_assets.retrieval.asking import spaces
from holocron_assets.retrieval.fusing import MEANING, NAME, RANK_OFFSET, WORDS
from holocron_assets.retrieval.index.index import SearchIndex
from holocron_assets.retrieval.search import Hit, Searcher

SHARED = Path(__file__).parents[2] / "shared" / "wookieepedia"
SAMPLES = 1_000
_LISTED = 300
_SHORTEST = 2


@dataclass(frozen=True)
class Question:
    """What is searched, and the titles of the pages that answer it."""

    text: str
    wanted: frozenset[str]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cranfield", type=Path, help="folder of the Cranfield collection")
    parser.add_argument("--queries", type=int, default=300, help="most questions of each kind")
    parser.add_argument("--folder", type=Path, help="where to work, or worked before; temporary by default")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.folder or Path(temporary)).resolve()
        if options.cranfield:
            pages, questions = cranfield(options.cranfield)
            report("Cranfield", searched(folder / "cranfield", pages), questions[: options.queries])
        if SHARED.is_dir():
            pages = dict(texts())
            wiki = searched(folder / "wiki", pages)
            report("link texts", wiki, drawn(link_questions(pages.keys()), options.queries))
            rows = [row for row in shared_rows("lead_pages") if row.get("lead")]
            report("facts", wiki, drawn(fact_questions(rows), options.queries))


def searched(folder: Path, pages: Mapping[str, str]) -> Lake:
    """The lake of some pages, embedded and indexed; made unless it is there."""
    lake = imported(folder, pages)
    os.environ["HOLOCRON_LLM"] = "embedded"
    embed_all(lake, spaces()[0])
    SearchIndex(lake).update()
    return lake


def imported(folder: Path, pages: Mapping[str, str]) -> Lake:
    """The lake of some pages, with no model asked; made unless it is there."""
    os.environ |= {
        "HOLOCRON_DATA": str(folder / "data"),
        "HOLOCRON_STATE": str(folder / "state"),
        "HOLOCRON_SOURCES": str(folder / "sources"),
        "HOLOCRON_LLM": "off",
    }
    if not (folder / "data").exists():
        (folder / "sources").mkdir(parents=True)
        write_dump(folder / "dump.xml", pages)
        holocron = Path(sys.executable).with_name("holocron")
        # It ends with 1: checks of quality expect a wiki whose pages have infoboxes.
        subprocess.run([holocron, "import", folder / "dump.xml", "--source", "wiki"], check=False)  # noqa: S603 - ours
    lake = open_lake(folder / "data")
    if not lake.partitions(PAGE_CHUNKS):
        sys.exit(f"the import into {folder} made no passages")
    return lake


def write_dump(file: Path, pages: Mapping[str, str]) -> None:
    """Write pages as an XML export."""
    with file.open("w", encoding="utf-8") as dump:
        dump.write('<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/">\n')
        for number, (title, text) in enumerate(pages.items(), 1):
            dump.write(
                f"<page><title>{escape(title)}</title><ns>0</ns><id>{number}</id><revision><id>{number}</id>"
                "<timestamp>2026-01-01T00:00:00Z</timestamp><model>wikitext</model>"
                f"<text>{escape(text)}</text></revision></page>\n"
            )
        dump.write("</mediawiki>\n")


def embed_all(lake: Lake, space: Interrogation) -> None:
    """Embed every passage that has no vector."""
    with model_server() as server:
        model = space.models[0]
        run = ModelRun(
            *(lake, str(server), "gpu", model, served_models([space]).digests[model]),
            num_ctx=space.options.num_ctx,
            run_id="benchmark",
            started_by="benchmark",
            is_of_space=True,
        )
        agenda = Given(space, lake.partitions(PAGE_CHUNKS))
        with closing(work_on(run, agenda, session := Session())) as working:
            for _ in working:
                pass
    print(f"embedding: {session.outcome}: {session.reason}")


def report(title: str, lake: Lake, questions: Sequence[Question]) -> None:
    """Print how well each way of searching does."""
    lists = {
        "words (BM25)": (WORDS,),
        "meaning": (MEANING,),
        "words and meaning, fused": (WORDS, MEANING),
        "all, as `holocron search`": (NAME, WORDS, MEANING),
    }
    found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in lists}
    searcher = Searcher(lake)
    with model_server():
        for question in questions:
            hits = searcher.search(question.text, _LISTED, a_page=_LISTED).hits
            for name, kinds in lists.items():
                found[name].append(measures(ranked(hits, kinds), question.wanted))
    table = Table(title=f"{title}: {len(questions)} questions")
    for column in ("", "nDCG@10", "MRR@10", "recall@100"):
        table.add_column(column, justify="left" if not column else "right")
    for name, rows in found.items():
        table.add_row(name, *(interval([row[place] for row in rows]) for place in range(3)))
    Console(width=110).print(table)


def ranked(hits: Sequence[Hit], kinds: Sequence[str]) -> list[str]:
    """Titles in the order that only some lists give, each once."""
    if NAME in kinds:
        ordered = list(hits)
    else:
        scores = [(fused_score(hit, kinds), hit) for hit in hits]
        ordered = [hit for score, hit in sorted(scores, key=lambda one: -one[0]) if score]
    return list(dict.fromkeys(hit.row["title"] for hit in ordered))


def fused_score(hit: Hit, kinds: Sequence[str]) -> float:
    """The score of a hit by some of the lists alone."""
    return sum(1 / (RANK_OFFSET + rank) for kind, rank in hit.ranks.items() if kind in kinds)


def measures(titles: Sequence[str], wanted: frozenset[str]) -> tuple[float, float, float]:
    """NDCG@10, the reciprocal rank of the first within 10, and the share of all within 100."""
    gains = [title in wanted for title in titles]
    found = sum(1 / np.log2(rank + 2) for rank, gain in enumerate(gains[:10]) if gain)
    best = sum(1 / np.log2(rank + 2) for rank in range(min(len(wanted), 10)))
    first = next((1 / (rank + 1) for rank, gain in enumerate(gains[:10]) if gain), 0.0)
    return float(found / best), first, sum(gains[:100]) / len(wanted)


def interval(values: Sequence[float]) -> str:
    """The mean, and where 95 of 100 means of samples like it are."""
    generator = np.random.default_rng(19)
    means = np.array(values)[generator.integers(0, len(values), (SAMPLES, len(values)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return f"{np.mean(values):.3f} ({low:.3f} to {high:.3f})"


def cranfield(folder: Path) -> tuple[dict[str, str], list[Question]]:
    """The abstracts by number, and the questions."""
    pages = {}
    for part in (folder / "cran.all.1400").read_text(encoding="latin-1").split("\n.I ")[0:]:
        number = part.removeprefix(".I ").split("\n", 1)[0].strip()
        title = part.split("\n.T\n", 1)[-1].split("\n.A\n", 1)[0].replace("\n", " ")
        pages[f"Abstract {number}"] = f"{title}\n\n" + part.split("\n.W\n", 1)[-1].replace("\n", " ")
    asked = [
        part.split("\n.W\n", 1)[-1].replace("\n", " ").strip()
        for part in (folder / "cran.qry").read_text(encoding="latin-1").split(".I ")[1:]
    ]
    wanted: dict[int, set[str]] = {}
    for line in (folder / "cranqrel").read_text().splitlines():
        question, abstract, grade = map(int, line.split()[:3])
        if grade > 0:
            wanted.setdefault(question, set()).add(f"Abstract {abstract}")
    return pages, [
        Question(text, frozenset(wanted[number])) for number, text in enumerate(asked, 1) if number in wanted
    ]


def texts() -> Iterator[tuple[str, str]]:
    """Titles and texts of the pages that have one, without infoboxes."""
    for row in shared_rows("lead_pages"):
        if row.get("lead"):
            yield row["title"], row["lead"]
    for row in shared_rows("category_pages"):
        sections = [text.partition("\n")[2].strip() for text in row["sections"].values()]
        if text := "\n\n".join(filter(None, sections)):
            yield row["title"], text


def link_questions(titles: Collection[str]) -> Iterator[Question]:
    """Link texts that are not the title that they lead to."""
    seen = set()
    for row in (*shared_rows("infobox_pages"), *shared_rows("sample_pages")):
        for text, address in (link for field in row["infobox"] for link in field["links"]):
            target = unquote(address.removeprefix("/wiki/").partition("#")[0]).replace("_", " ")
            is_other = text.casefold() not in target.casefold()
            if target in titles and is_other and len(text) > _SHORTEST and (target, text) not in seen:
                seen.add((target, text))
                yield Question(text, frozenset([target]))


def fact_questions(rows: Sequence[Mapping[str, dict[str, str | None]]]) -> Iterator[Question]:
    """Facts of infoboxes that the page's lead says too, as questions without the value."""
    for row in rows:
        for key, value in row["facts"].items():
            if key != "name" and isinstance(value, str) and value.casefold() in str(row["lead"]).casefold():
                yield Question(f"{key.replace('_', ' ')} of {row['title']}", frozenset([str(row["title"])]))


def drawn(questions: Iterator[Question], most: int) -> list[Question]:
    """Some of the questions, drawn by lot."""
    every = list(questions)
    return random.Random(19).sample(every, min(most, len(every)))  # noqa: S311 - no secret


def shared_rows(name: str) -> Iterator[dict]:  # type: ignore[type-arg] # JSON of any shape
    """The rows of a shared file."""
    with gzip.open(SHARED / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


if __name__ == "__main__":
    main()
