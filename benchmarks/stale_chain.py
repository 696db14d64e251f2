"""How long it takes to find what a changed answer makes stale, over a large wiki.

    python benchmarks/stale_chain.py [--pages 200000] [--changed 100]

A lake of made-up pages, each answered by one interrogation and by a second that builds on its answers; a
third reads them by a query. Then some answers of the first change, spread over all batches, and it is asked
what is stale: which partitions, and as `holocron stale` does, how many items the change concerns.
"""

import argparse
import json
import tempfile
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from holocron_assets.derive.dispatch.backlog import stale_partitions
from holocron_assets.derive.dispatch.tallies import stale_rows
from holocron_assets.derive.interrogations.chains import linked
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.items import query_digests
from holocron_assets.derive.items.inputs import input_answers
from holocron_assets.derive.items.recipe import recipe_of
from holocron_assets.derive.results.kept_answers import scope_of
from holocron_assets.derive.results.result_journals import StateJournal, begun, journal_path
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import Row, Table
from holocron_assets.lake.files.parquet import write_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import LLM_RUNS, PAGE_SIGNALS, PAGE_TYPES, PAGES, RULE_CLASSIFICATIONS, SITES

SOURCE = "large"
BATCH_SIZE = 500
MODEL, DIGEST = "small:1b", "5" * 64
NOW = datetime(2026, 1, 1, tzinfo=UTC)

_SCHEMA = {
    "type": "object",
    "required": ["said"],
    "properties": {"said": {"type": "string", "maxLength": 40, "description": "What is said"}},
}


def main() -> None:
    """Make the lake, change it, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=200_000)
    parser.add_argument("--changed", type=int, default=100, help="answers that change")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print_table(Path(folder), arguments.pages, arguments.changed)


def print_table(folder: Path, pages: int, changed: int) -> None:
    """Print how long each check takes, and what it finds."""
    query_digests.REST = 0.0  # `holocron stale` is a process of its own, which knows nothing yet
    first, second, third = chain()
    lake = Lake(folder, (first.table, second.table, third.table))
    titles = [f"Page {number}" for number in range(pages)]
    batches = {
        f"{SOURCE}-{place // BATCH_SIZE + 1:06}": titles[place : place + BATCH_SIZE]
        for place in range(0, pages, BATCH_SIZE)
    }
    write_wiki(lake, batches)
    for one in (first, second, third):
        for batch, own in batches.items():
            write_answers(lake, one, batch, dict.fromkeys(own, "the same"))
    print("| check | seconds | CPU seconds | partitions | items to ask | kept |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    _check("nothing changed, first", lake, [second, third])
    _check("nothing changed, second", lake, [second, third])
    new = dict.fromkeys(titles[:: max(pages // changed, 1)], "something else")
    for batch, own in batches.items():
        if new.keys() & set(own):
            write_answers(lake, first, batch, {title: new.get(title, "the same") for title in own})
    _check(f"{len(new)} answers changed: by inputs", lake, [second])
    _check(f"{len(new)} answers changed: by a query, partitions", lake, [third], without_items)


def _check(
    what: str,
    lake: Lake,
    asked: Sequence[Interrogation],
    rows_of: Callable[[Lake, Sequence[Interrogation]], Iterable[Row]] = lambda lake, asked: stale_rows(
        lake, asked, {MODEL: DIGEST}
    ),
) -> None:
    started, cpu_before = perf_counter(), process_time()
    rows = list(rows_of(lake, asked))
    seconds, cpu_seconds = perf_counter() - started, process_time() - cpu_before
    partitions = sum(row["partitions"] for row in rows)
    to_ask, kept = (_sum(row[name] for row in rows) for name in ("to_ask", "kept"))
    print(f"| {what} | {seconds:.2f} | {cpu_seconds:.2f} | {partitions:,} | {to_ask} | {kept} |")


def without_items(lake: Lake, asked: Sequence[Interrogation]) -> list[dict[str, Any]]:
    """The stale partitions by their names alone: to count what a query concerns, each would be opened."""
    found = stale_partitions(lake, asked, digests={MODEL: DIGEST}, most_opened=0)
    return [{"partitions": 1, "to_ask": None, "kept": None} for _ in found]


def _sum(numbers: Iterable[int | None]) -> str:
    known = list(numbers)
    return "not known" if None in known else f"{sum(number or 0 for number in known):,}"


def chain() -> tuple[Interrogation, ...]:
    """An interrogation, one that builds on its answers, and one that reads them by a query."""
    query = "select said from derived_first where title_key = $title_key order by item_id, position"
    return linked(
        [
            _interrogation("first", [{"source": "page", "part": "lead"}]),
            _interrogation("second", [{"source": "answers", "of": "first"}], inputs=["first"]),
            _interrogation("third", [{"source": "sql", "sql": query}]),
        ]
    )


def _interrogation(key: str, evidence: list[dict[str, Any]], **more: Any) -> Interrogation:
    settings = {
        "key": key,
        "version": 1,
        "title": key,
        "model": MODEL,
        "priority": 500,
        "timeout_seconds": 60,
    }
    asked = {"prompt": "Say it.", "question": "{{ title }}?", "answer_schema": _SCHEMA, "evidence": evidence}
    options = {"options": {"num_ctx": 4096, "num_predict": 100}}
    return Interrogation.model_validate({**settings, **asked, **options, **more})


def write_wiki(lake: Lake, batches: dict[str, list[str]]) -> None:
    """Write pages, signals and types of each batch."""
    site = {"source": SOURCE, "site_name": SOURCE, "title_case": "first-letter", "fetched_at": NOW}
    write_partition(lake, SITES, SOURCE, [{**site, "namespaces": [], "interwiki_prefixes": []}])
    for batch, titles in batches.items():
        for table in (PAGES, PAGE_SIGNALS, RULE_CLASSIFICATIONS, PAGE_TYPES):
            rows = [_row(table, _page(batch, place, title)) for place, title in enumerate(titles)]
            write_partition(lake, table, batch, rows)


def _page(batch: str, place: int, title: str) -> dict[str, Any]:
    key = title_key(SOURCE, title)
    names = {"source": SOURCE, "batch": batch, "title": title, "title_key": key, "name": title}
    asked = {"requested_title": title, "requested_key": key, "position": place, "status": "ok"}
    number = int(title.removeprefix("Page "))
    return {
        **names,
        **asked,
        "page_id": number,
        "revision_id": number,
        "wikitext_length": 100,
        "wikitext": "",
    }


def write_answers(lake: Lake, asked: Interrogation, batch: str, said: dict[str, str]) -> None:
    """Write a batch's answers as a run leaves them: the table, `llm_runs` and a journal."""
    answers = input_answers(lake, asked, batch)
    rows, runs = [], []
    for title, words in said.items():
        key = title_key(SOURCE, title)
        known = {"source": SOURCE, "batch": batch, "title": title, "title_key": key, "item_id": str(key)}
        made = {"model": MODEL, "model_digest": DIGEST, "status": "ok", "said": words, "partition": batch}
        named = {"scope": scope_of(asked.name, batch), "interrogation": asked.name}
        row = {**known, **made, **named, "subject": title, "inputs_hash": answers.hash_of((key,))}
        rows.append(_row(asked.table, row))
        runs.append(_row(LLM_RUNS, {**row, "output": json.dumps({"said": words})}))
    write_partition(lake, LLM_RUNS, scope_of(asked.name, batch), runs)
    recipe = recipe_of(asked, DIGEST)
    write_partition(
        lake,
        asked.table,
        batch,
        rows,
        code_version=recipe.derivation.code_version,
        inputs=recipe.inputs(lake, batch),
    )
    journal = StateJournal(journal_path(lake, asked, batch))
    journal.add(begun("none", "none"))
    journal.close()


_NOTHING = {"string": "", "int64": 0, "double": 0.0, "bool": False}


def _row(table: Table, known: dict[str, Any]) -> dict[str, Any]:
    """A row of a table: what is known, and nothing worth speaking of in the other columns."""
    return {
        column.name: known[column.name] if column.name in known else _nothing(table, column.name)
        for column in table.columns
    }


def _nothing(table: Table, name: str) -> Any:
    field = table.arrow_schema.field(name)
    if field.nullable:
        return None
    kind = str(field.type)
    if kind.startswith("timestamp"):
        return NOW
    return _NOTHING.get(kind, [] if kind.startswith("list") else {})


if __name__ == "__main__":
    main()
