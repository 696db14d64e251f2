"""Whether passages that a search finds help a model: what is a thing that only other pages name?

Run: python benchmarks/search_evidence.py [--things 60] [--folder DIRECTORY] [--errors]

Needs ../shared/wookieepedia and a model server (OLLAMA_HOST, else the embedded one). The wiki is the leads
and sections of its pages, without infoboxes. The things have a page in Wookieepedia whose infobox template
says what they are; that page is left out, and at least two pages of the wiki name them. Their names are
made up: no word of theirs is a word of the wiki in small letters, so that a name alone says little. They are
drawn evenly over true types. Nobody read those of the default seed when prompt and query were written.

The shipped interrogation `mention_summary` is asked twice about each: with what its search finds, and with
the name alone. Prints how often each names the right type, and how often they differ.
"""

import argparse
import asyncio
import os
import random
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from math import comb
from pathlib import Path
from typing import Any, NamedTuple

from model_accuracy import asked
from rich.console import Console
from rich.table import Table
from search_quality import imported, shared_rows, texts
from type_accuracy import SCORING_FILE

from holocron_assets.derive.code.answering import CodeAnswerer
from holocron_assets.derive.dispatch.served import served_by_code
from holocron_assets.derive.evidence.specs import InlineEvidence
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.interrogations.loading import load_interrogations
from holocron_assets.derive.results.partition_work import PartitionWork
from holocron_assets.lake.files.parquet import read_partition, write_partition
from holocron_assets.lake.files.people_yaml import load_yaml
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import ENTITIES
from holocron_assets.retrieval.index.index import SearchIndex
from holocron_assets.retrieval.search import Searcher

SEED = 20
KEY = "mention_summary"
PARTITION = "Concept"
"""The partition that all things are put into: it tells the model nothing."""
_FEWEST_PAGES = 2
_SHORTEST = 4
_QUALIFIER = re.compile(r"/Legends$")
_WORD = re.compile(r"[^\W\d_]+")
_SMALL = re.compile(r"\b[a-z][^\W\d_]+\b")


class Thing(NamedTuple):
    """A thing that the wiki has no page of, and the types that are right."""

    title: str
    name: str
    truth: Sequence[str]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--things", type=int, default=60)
    parser.add_argument("--seed", type=int, default=SEED, help="of the draw; the default was never tuned on")
    parser.add_argument("--folder", type=Path, help="where to work, or worked before; temporary by default")
    parser.add_argument("--model", default="qwen2.5-coder:1.5b", help="the model, as the server calls it")
    parser.add_argument("--errors", action="store_true", help="show every wrong answer")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.folder or Path(temporary)).resolve()
        lake = wiki(folder)
        things = drawn(Searcher(lake), options.things, options.seed)
        write_entities(lake, things)
        by_key = {one.key: one for one in load_interrogations()}
        asyncio.run(find_passages(lake, by_key[f"{KEY}_passages"]))
        shown = by_key[KEY]
        answers = {
            "with passages": answered(lake, shown, options.model),
            "with the name alone": answered(lake, without_passages(shown), options.model),
        }
    report(things, answers, show=options.errors)


def wiki(folder: Path) -> Lake:
    """The lake of what pages say, indexed without vectors; made unless it is there."""
    lake = imported(folder, dict(texts()))
    os.environ.pop("HOLOCRON_LLM")
    SearchIndex(lake).update()
    return lake


def drawn(searcher: Searcher, count: int, seed: int) -> list[Thing]:
    """Things that no page is about and several name, as many of each type as of any other."""
    scoring: dict[str, Any] = load_yaml(SCORING_FILE.read_text(encoding="utf-8"))
    there = {title for title, _ in texts()}
    words = {word for _, text in texts() for word in _SMALL.findall(text)}
    by_type: dict[str, list[Thing]] = defaultdict(list)
    for row in shared_rows("infobox_pages"):
        name = _QUALIFIER.sub("", row["title"])
        scored = scoring.get(row["infobox_template"])
        is_made_up = len(name) >= _SHORTEST and not words.intersection(_WORD.findall(name.lower()))
        if scored and is_made_up and not there.intersection((row["title"], name)):
            by_type[scored["types"][0]].append(Thing(row["title"], name, scored["types"]))
    chooser = random.Random(seed)  # noqa: S311 - a sample, not a secret
    for group in by_type.values():
        chooser.shuffle(group)
    chosen: list[Thing] = []
    while len(chosen) < count and any(by_type.values()):
        for kind in sorted(by_type):
            named = next((one for one in popped(by_type[kind]) if is_named(searcher, one)), None)
            if named and len(chosen) < count:
                chosen.append(named)
    return chosen


def popped(things: list[Thing]) -> Iterator[Thing]:
    """Takes things off a list, one after the other."""
    while things:
        yield things.pop()


def is_named(searcher: Searcher, thing: Thing) -> bool:
    """Whether enough pages have its name, word for word."""
    found = searcher.naming([thing.name], _FEWEST_PAGES, source="wiki", without=thing.title)
    return len(found) == _FEWEST_PAGES


def write_entities(lake: Lake, things: Sequence[Thing]) -> None:
    """Write the things as entities without a page."""
    [like, *_] = [row for name in lake.partitions(ENTITIES) for row in read_partition(lake, ENTITIES, name)]
    own = {"entity_type": PARTITION, "origin": "mention", "state": "candidate", "valid_to": None}
    rows = [
        {**like, **own, "entity_id": f"thing-{number:04}", "name": thing.name, "title": thing.title}
        for number, thing in enumerate(things)
    ]
    write_partition(lake, ENTITIES, PARTITION, rows)


async def find_passages(lake: Lake, search: Interrogation) -> None:
    """Have the search answer about all things."""
    [(kind, digest)] = served_by_code([search]).digests.items()
    work = PartitionWork(lake, search, PARTITION, model=kind, digest=digest)
    code = CodeAnswerer("benchmark")
    for item in work.ready(datetime.now(UTC)):
        attempt = work.start(item)
        work.record(item, await code.answer(item, model=kind, digest=digest, attempt=attempt))
    work.publish("benchmark")


def without_passages(shown: Interrogation) -> Interrogation:
    """The same question, with a note in the place of what the search finds."""
    note = InlineEvidence(source="inline", label="note", text="No passage that names it was found.")
    return shown.model_copy(update={"key": f"{KEY}_by_name", "inputs": (), "evidence": (note,)}).reading(
        (), ()
    )


def answered(lake: Lake, asking: Interrogation, model: str) -> Mapping[str, Mapping[str, Any]]:
    """The answers about the things, by title."""
    rows = asyncio.run(asked(lake, PARTITION, model, None, asking))
    return {row["title"]: row for row in rows}


def report(
    things: Sequence[Thing], answers: Mapping[str, Mapping[str, Mapping[str, Any]]], *, show: bool
) -> None:
    """Print how often each is right, and what speaks for a difference."""
    console = Console(width=110)
    table = Table("", "things", "answered", "right type", "quotes a passage", title="What is it?")
    right = {}
    for name, rows in answers.items():
        right[name] = {one.title: rows.get(one.title, {}).get("type") in one.truth for one in things}
        quoted = sum(bool(row["supported"] and row["evidence"]) for row in rows.values())
        shares = [f"{sum(right[name].values()) / len(things):.0%}", f"{quoted / max(len(rows), 1):.0%}"]
        table.add_row(name, str(len(things)), str(len(rows)), *shares)
    console.print(table)
    [first, second] = right.values()
    gained = sum(first[one.title] and not second[one.title] for one in things)
    lost = sum(second[one.title] and not first[one.title] for one in things)
    console.print(
        f"{gained} right only with passages, {lost} only without; sign test p = {sign_test(gained, lost):.2g}"
    )
    console.print(f"true types: {dict(Counter(one.truth[0] for one in things))}")
    for one in things if show else ():
        said = {name: rows.get(one.title, {}).get("type") for name, rows in answers.items()}
        if not first[one.title]:
            console.print(f"{one.title}: {said}, true: {one.truth}", markup=False)


def sign_test(gained: int, lost: int) -> float:
    """The chance of a difference at least as large, either way, if passages made none."""
    every = gained + lost
    tail = sum(comb(every, number) for number in range(max(gained, lost), every + 1))
    return min(1.0, 2 * tail / float(2**every))


if __name__ == "__main__":
    main()
