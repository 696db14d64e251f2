"""Whether infobox rules, lead_pages' own facts and a model say the same of species, homeworld and gender.

Run: python benchmarks/fact_agreement.py [--show 30] [--model] [--pages 100] [--work FOLDER]

Needs ../shared/wookieepedia. Infobox facts are read by the rules that the project ships, from infobox_pages
rebuilt as wikitext; they are held against lead_pages' facts about the same titles. With `--model` a model is
asked, through the derive room's own code, for the facts of 100 of these pages: it is shown their lead, not
their infobox. What it answered stays in the work folder: the measurement can be stopped and run again.
"""

import argparse
import asyncio
import gzip
import json
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from model_accuracy import Page, ask_all, write_batch
from type_accuracy import SHARED, SITE, Case, page_row

from holocron_assets.classify.rules import classify_page
from holocron_assets.derive.engine.engine import Engine, open_client
from holocron_assets.derive.interrogations.derived_rows import derived_rows
from holocron_assets.derive.interrogations.files import load_interrogations
from holocron_assets.derive.interrogations.interrogation import Interrogation, Wants
from holocron_assets.derive.results.partition_work import PartitionWork
from holocron_assets.lake.paths import Lake
from holocron_assets.models.connection import model_server
from holocron_assets.signals.extract import signal_row

SEED = 20
MODEL = "qwen2.5-coder:1.5b"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", action="store_true", help="ask the model about some of the pages")
    parser.add_argument("--pages", type=int, default=100, help="pages that the model is asked about")
    parser.add_argument("--most", type=int, metavar="N", help="ask about N pages more")
    parser.add_argument("--work", type=Path, help="folder that keeps the answers; a new one by default")
    arguments = parser.parse_args()
    if not (SHARED / "wookieepedia").is_dir():
        sys.exit(f"{SHARED / 'wookieepedia'} is missing; this measurement needs it")
    if arguments.model:
        lake = Lake(arguments.work or Path(tempfile.mkdtemp(prefix="holocron-facts-")))
        rows = asyncio.run(asked(lake, write_batch(lake, sampled(arguments.pages)), arguments.most))
        print(len(rows))


def shared_rows(name: str) -> Iterator[dict[str, Any]]:
    with gzip.open(SHARED / "wookieepedia" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def sampled(count: int) -> list[Page]:
    """Pages with a lead and facts in lead_pages and an infobox in infobox_pages, by a fixed seed."""
    with_infobox = {row["title"] for row in shared_rows("infobox_pages")}
    rows = {row["title"]: row for row in shared_rows("lead_pages") if row["title"] in with_infobox}
    titles = sorted(
        title for title, row in rows.items() if (row.get("lead") or "").strip() and row.get("facts")
    )
    chosen = random.Random(SEED).sample(titles, count)  # noqa: S311 - a sample, not a secret
    return [lead_page(rows[title]) for title in chosen]


def lead_page(row: dict[str, Any]) -> Page:
    """A page that is its lead and nothing else."""
    case = Case(row["title"], row["infobox_template"], row["lead"], infobox_hidden=True)
    signals = signal_row(page_row(case), SITE)
    return Page(case, signals, classify_page(signals), ())


def interrogation() -> Interrogation:
    """The shipped one, but of all pages, whatever the rules make of them without their infobox."""
    [shipped] = [one for one in load_interrogations() if one.key == "entity_facts"]
    return shipped.model_copy(update={"wants": Wants(of="rule_classifications")})


async def asked(lake: Lake, batch: str, most: int | None) -> Sequence[dict[str, Any]]:
    """The model's facts about a batch; what it said before it is not asked again."""
    with model_server() as url:
        if url is None:
            sys.exit("no model server may be used: HOLOCRON_LLM is off")
        async with open_client(url) as client:
            engine = Engine(client, run_id="benchmark")
            chosen = await engine.digest([MODEL])
            work = PartitionWork(lake, interrogation(), batch, model=chosen.name, digest=chosen.digest)
            await ask_all(engine, work, chosen.name, chosen.digest, most)
            work.publish("benchmark")
    answers = ((item, work.answer_of(item)) for item in work.items)
    return [
        row
        for item, answer in answers
        if answer is not None
        for row in derived_rows(item, answer, model=chosen.name, digest=chosen.digest, run_id="benchmark")
    ]


if __name__ == "__main__":
    main()
