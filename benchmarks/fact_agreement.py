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
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from model_accuracy import Page, asked, of_all_pages, write_batch
from type_accuracy import SHARED, SITE, SOURCE, Case, page_row

from holocron_assets.classify.rules import classify_page
from holocron_assets.entities.facts.page_facts import page_fact_rows
from holocron_assets.entities.facts.rules import load_rule_book
from holocron_assets.entities.facts.vocabulary import load_vocabulary
from holocron_assets.lake.place.paths import Lake
from holocron_assets.signals.extract import signal_row
from holocron_assets.signals.infobox.values import infobox_values

SEED = 20
MODEL = "qwen2.5-coder:1.5b"
# What lead_pages calls a fact, by our key
COMPARED = {
    "species": ("species", "species_2nd", "species_3rd"),
    "homeworld": ("home_world",),
    "gender": ("gender",),
}
_APART = re.compile(r"[^a-z0-9]+")

Facts = Mapping[str, frozenset[str]]
"""Values of each key, normalised."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--show", type=int, default=0, metavar="N", help="show N differences of a key")
    parser.add_argument("--model", action="store_true", help="ask the model about some of the pages")
    parser.add_argument("--pages", type=int, default=100, help="pages that the model is asked about")
    parser.add_argument("--most", type=int, metavar="N", help="ask about N pages more")
    parser.add_argument("--work", type=Path, help="folder that keeps the answers; a new one by default")
    arguments = parser.parse_args()
    if not (SHARED / "wookieepedia").is_dir():
        sys.exit(f"{SHARED / 'wookieepedia'} is missing; this measurement needs it")
    leads = {row["title"]: lead_facts(row) for row in shared_rows("lead_pages") if row.get("facts")}
    boxes = {row["title"]: box_facts(row) for row in shared_rows("infobox_pages") if row["title"] in leads}
    report("infobox", boxes, "lead_pages", leads, boxes, show=arguments.show)
    if arguments.model:
        lake = Lake(arguments.work or Path(tempfile.mkdtemp(prefix="holocron-facts-")))
        batch, asking = write_batch(lake, sampled(arguments.pages)), of_all_pages("entity_facts")
        rows = asyncio.run(asked(lake, batch, MODEL, arguments.most, asking))
        report_model(rows, boxes, leads, show=arguments.show)


def lead_facts(row: Mapping[str, Any]) -> Facts:
    return {
        key: normalised(row["facts"][name] for name in names if row["facts"][name])
        for key, names in COMPARED.items()
    }


def box_facts(row: Mapping[str, Any]) -> Facts:
    """What the shipped rules read of an infobox."""
    rules, template = load_rule_book(SOURCE), row["infobox_template"]
    page = {"source": SOURCE, "batch": "benchmark", "title": row["title"], "title_key": 0, "revision_id": 0}
    values = infobox_values(
        box_wikitext(row), template, SITE, lambda field: rules.parts_at_commas(template, field)
    )
    return by_key((said["key"], said["value"]) for said in page_fact_rows(page, template, values, rules))


def box_wikitext(row: Mapping[str, Any]) -> str:
    """An infobox as its wiki may have written it: values are list items, first mentions of pages links."""
    lines = ["{{" + row["infobox_template"]]
    for field in row["infobox"]:
        text = "\n".join(f"*{value}" for value in field["values"])
        for shown, address in field["links"]:
            title = unquote(address.removeprefix("/wiki/"))
            text = text.replace(shown, f"[[{title}|{shown}]]", 1) if shown else text
        lines.append(f"|{field['label']}={text}")
    return "\n".join([*lines, "}}"])


def by_key(said: Iterable[tuple[str, str]]) -> Facts:
    found = defaultdict(list)
    for key, value in said:
        found[key].append(value)
    return {key: normalised(found[key]) for key in COMPARED}


def normalised(values: Iterable[str]) -> frozenset[str]:
    return frozenset(_APART.sub(" ", value.lower()).strip() for value in values)


def report(  # noqa: PLR0913 - two sides, each with its name
    one: str,
    ones: Mapping[str, Facts],
    other: str,
    others: Mapping[str, Facts],
    titles: Iterable[str],
    *,
    show: int,
) -> None:
    """How two sides agree about some pages, key by key."""
    titles = sorted(titles)
    print(f"\n{one} and {other}, {len(titles)} pages")
    print(f"{'':12}{'both say':>9}{'agree':>8}{'overlap':>9}{'differ':>8}{one:>18}{other:>18}{'neither':>9}")
    for key in COMPARED:
        counts, differing, alone = Counter[str](), list[Any](), list[str]()
        for title in titles:
            standing = compared(ones[title][key], others[title][key])
            counts[standing] += 1
            alone += [*others[title][key]] if standing == "second" else []
            if standing in ("differ", "overlap"):
                differing.append((title, sorted(ones[title][key]), sorted(others[title][key])))
        both = sum(counts[name] for name in ("agree", "overlap", "differ"))
        print(
            f"{key:12}{both:9}{counts['agree']:8}{counts['overlap']:9}{counts['differ']:8}"
            f"{counts['first']:18}{counts['second']:18}{counts['neither']:9}"
        )
        chooser = random.Random(SEED)  # noqa: S311 - a sample, not a secret
        for line in chooser.sample(differing, min(show, len(differing))):
            print(f"    {line}")
        if show:
            print(f"    {other} alone: {dict(Counter(alone).most_common(6))}")


def compared(one: frozenset[str], other: frozenset[str]) -> str:
    if not one or not other:
        return "first" if one else "second" if other else "neither"
    if one == other:
        return "agree"
    return "overlap" if one & other else "differ"


def report_model(
    rows: Sequence[Mapping[str, Any]], boxes: Mapping[str, Facts], leads: Mapping[str, Facts], *, show: int
) -> None:
    """What the model said, next to both; facts whose quotes are not in the text are left out."""
    keys = {row["called"]: row["key"] for row in load_vocabulary().words() if row["kind"] == "fact"}
    said = defaultdict(list)
    for row in rows:
        name = _APART.sub("_", row["fact_key"].lower()).strip("_")
        said[row["title"]].append((keys.get(name, name), row["value"], row["supported"]))
    supported = {
        title: by_key((key, value) for key, value, holds in facts if holds) for title, facts in said.items()
    }
    held = sum(row["supported"] for row in rows)
    print(f"\n{MODEL}: {len(rows)} facts of {len(said)} pages, {held} with words that the page has")
    print("keys:", Counter(key for facts in said.values() for key, _, _ in facts).most_common(25))
    report("model", supported, "lead_pages", leads, supported, show=show)
    report("model", supported, "infobox", boxes, supported, show=show)


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


if __name__ == "__main__":
    main()
