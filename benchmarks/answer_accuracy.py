"""How often `holocron answer` is right, wrong, or refuses, on facts of ../shared/wookieepedia.

Run: python benchmarks/answer_accuracy.py [--folder DIRECTORY] [--questions 200] [--unanswerable 50]

DIRECTORY is that of `search_quality.py`: the leads of pages, without infoboxes. A question is made of a fact
that an infobox gives and the lead says too. A question without an answer asks the same of a page whose
infobox has no such value, and whose lead has none that another page has. An answer is right if it holds the
infobox's value, or the value holds it. Beside it stands the best passage as an answer, which never refuses.
Prints a table, and what was not right.
"""

import argparse
import random
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table
from search_quality import searched, shared_rows

from holocron_assets.derive.server.process.connection import model_server
from holocron_assets.lake.place.paths import Lake
from holocron_assets.retrieval.answers.answer import answer
from holocron_assets.retrieval.answers.reading import Reader, reading_models
from holocron_assets.retrieval.search import Searcher

_LEFT_OUT = {"name", "titles"}
_NUMBER = re.compile(r"_(2nd|3rd)$")


class Asked(NamedTuple):
    """A question, and the infobox's value; None if there is no answer."""

    text: str
    value: str | None


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, help="where to work, or worked before; temporary by default")
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--unanswerable", type=int, default=50)
    parser.add_argument("--model", action="append", help="the model that reads; may be repeated")
    options = parser.parse_args()
    rows = [row for row in shared_rows("lead_pages") if row.get("lead")]
    asked = [*answerable(rows, options.questions), *unanswerable(rows, options.unanswerable)]
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.folder or Path(temporary)).resolve()
        lake = searched(folder / "leads", {row["title"]: row["lead"] for row in rows})
        with model_server() as server:
            reader = Reader(lake, str(server), options.model or reading_models())
            verdicts = [verdict(lake, reader, one) for one in asked]
    report(asked, verdicts)


def verdict(lake: Lake, reader: Reader, asked: Asked) -> tuple[str, str, str]:
    """How the answer is, how the best passage is, and what was answered."""
    found = answer(lake, Searcher(lake), asked.text, reader)
    said = "; ".join(one.answer for one in found.statements)
    nearest = found.nearest[0].row["text"] if found.nearest else said
    given = "refused" if found.refusal else ("right" if is_right(said, asked.value) else "wrong")
    return given, "right" if is_right(nearest, asked.value) else "wrong", said


def is_right(said: str, value: str | None) -> bool:
    """Whether an answer holds the value, or the value holds it."""
    if value is None or not said:
        return False
    return value.casefold() in said.casefold() or said.casefold() in value.casefold()


def answerable(rows: Sequence[Mapping[str, Any]], most: int) -> list[Asked]:
    """Facts that the lead says too, as questions."""
    every = [
        Asked(question(row["title"], key), value)
        for row in rows
        for key, values in facts_of(row).items()
        for value in values
        if value.casefold() in row["lead"].casefold()
    ]
    return random.Random(19).sample(every, min(most, len(every)))  # noqa: S311 - no secret


def unanswerable(rows: Sequence[Mapping[str, Any]], most: int) -> list[Asked]:
    """Questions that neither infobox nor lead answers: the lead has no value that any page has of the key."""
    known: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        for key, values in facts_of(row).items():
            known[key].update(value.casefold() for value in values)
    every = [
        Asked(question(row["title"], key), None)
        for row in rows
        for key, values in facts_of(row).items()
        if not values and known[key] and not any(one in row["lead"].casefold() for one in known[key])
    ]
    return random.Random(19).sample(every, min(most, len(every)))  # noqa: S311 - no secret


def facts_of(row: Mapping[str, Any]) -> dict[str, list[str]]:
    """The values of an infobox by key: a second species is a species."""
    found: dict[str, list[str]] = {}
    for key, value in row["facts"].items():
        values = found.setdefault(_NUMBER.sub("", key), [])
        if isinstance(value, str) and len(value) > 1:
            values.append(value)
    return {key: values for key, values in found.items() if key not in _LEFT_OUT}


def question(title: str, key: str) -> str:
    """A fact's key as a question."""
    return f"What is the {key.replace('_', ' ')} of {title}?"


def report(asked: Sequence[Asked], verdicts: Sequence[tuple[str, str, str]]) -> None:
    """Print how many were right, wrong and refused."""
    table = Table("", "questions", "right", "wrong", "refused", title="Answers")
    for name, has_answer in (("with an answer", True), ("without one", False)):
        own = [
            one for question, one in zip(asked, verdicts, strict=True) if bool(question.value) == has_answer
        ]
        for what, place in (("answers", 0), ("the best passage", 1)):
            counts = Counter(one[place] for one in own)
            shares = [f"{counts[kind] / max(len(own), 1):.0%}" for kind in ("right", "wrong", "refused")]
            table.add_row(f"{name}: {what}", str(len(own)), *shares)
    console = Console(width=110)
    console.print(table)
    for question, (kind, _, said) in zip(asked, verdicts, strict=True):
        if kind == "wrong" or (kind == "refused" and question.value):
            console.print(f"{kind}: {question.text} {said!r}, infobox: {question.value!r}", markup=False)


if __name__ == "__main__":
    main()
