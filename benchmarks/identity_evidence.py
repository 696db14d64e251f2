"""What the pages of alike records say for and against their being one, on a real wiki.

Run: python benchmarks/identity_evidence.py [--show N]

Two tests, each with two wikis. In "halves", the infobox pages of the wiki are dealt out by lot to two wikis:
all pairs are two things. In "copies", the second wiki has the pages that other files of ../shared have, too:
pairs of one title are one thing, all others two. Facts are what the shipped rules read of the infoboxes.

Prints how many pairs were merged and asked about by names alone and with facts, and how often that was right.
Then the truth of two fifths of the questions stands for a person's decisions, weights are learned
from them by type, and the other questions are judged.
"""

import argparse
import sys
import tempfile
from collections.abc import Container, Iterable, Iterator
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any
from zlib import crc32

from fact_agreement import box_wikitext
from resolve_wiki import FILES, NOW, SHARED, TYPES, WORTHY, known, pages_of
from type_accuracy import SITE

from holocron_assets.entities.facts.page_facts import page_fact_rows
from holocron_assets.entities.facts.rules import RuleBook, load_rule_book
from holocron_assets.entities.identity.evidence.weights import evidence_of, examples_of, weights_from
from holocron_assets.entities.identity.judgement_store import store_judgements
from holocron_assets.entities.identity.pair_store import store_pairs
from holocron_assets.entities.identity.policy import shipped_policy
from holocron_assets.entities.snapshot import Snapshot, open_snapshot
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.parquet import write_partition
from holocron_assets.lake.files.people_yaml import load_yaml
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import ENTITY_CANDIDATES, PAGE_FACTS, PAGE_SIGNALS, PAGES
from holocron_assets.signals.infobox.values import InfoboxValue, infobox_values

FIRST, SECOND = "one", "two"
LEARNT = 2
FOLDS = 5


def main() -> None:
    """Print the figures of both tests."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--show", type=int, default=0, help="how many contradicted pairs and wrong merges to list"
    )
    show = parser.parse_args().show
    if not SHARED.exists():
        sys.exit(f"needs {SHARED}, which is not next to this checkout")
    templates = load_yaml(Path(__file__).with_name("type_scoring.yaml").read_text(encoding="utf-8"))
    wiki, copies = (list(pages_of(source, templates)) for source in FILES)
    halves = [(FIRST if sha256(page["title"].encode()).digest()[0] & 1 else SECOND, page) for page in wiki]
    both = [*((FIRST, page) for page in wiki), *((SECOND, page) for page in copies)]
    for test, pages in (("halves", halves), ("copies", both)):
        print(f"\n=== {test}")
        report("by names", resolved(pages, ("name",)))
        pairs = resolved(pages, ("name", "fact", "relation"))
        report("with facts", pairs)
        report_against(pairs, show)
        for line in learnt(pairs):
            print(line)


def resolved(pages: Iterable[tuple[str, dict[str, Any]]], kinds: Container[str]) -> list[Row]:
    """The pairs of a lake with these pages of two wikis, and whether they are merged.

    Args:
        pages: the pages, with their wiki.
        kinds: what of their infoboxes is known: rows of `page_facts` of these kinds.
    """
    by_source: dict[str, list[dict[str, Any]]] = {}
    for source, page in pages:
        by_source.setdefault(source, []).append(page)
    with tempfile.TemporaryDirectory() as folder:
        lake = Lake(Path(folder))
        for source, of_source in by_source.items():
            write(lake, source, of_source, kinds)
        with open_snapshot(lake) as snapshot:
            return [row for name in sorted(snapshot.candidate_marks) for row in judged(snapshot, name)]


def judged(snapshot: Snapshot, name: str) -> Iterator[Row]:
    _, pairs = store_pairs(snapshot, name, entity_types=WORTHY)
    _, judgements = store_judgements(snapshot, name, entity_types=WORTHY, now=NOW)
    merged = {row["pair_id"] for row in judgements if row["judgement"] == "same" and row["is_followed"]}
    yield from ({**pair, "is_merged": pair["pair_id"] in merged} for pair in pairs)


def write(lake: Lake, source: str, pages: Iterable[dict[str, Any]], kinds: Container[str]) -> None:
    batch = f"{source}-000001"
    rows = [
        {**known(source, page), "batch": batch, "position": place, "page": page}
        for place, page in enumerate(pages)
        if page["entity_type"] in TYPES
    ]
    for row in rows:
        row["infobox_template"] = row["page"]["infobox_template"]
    for table in (PAGES, PAGE_SIGNALS, ENTITY_CANDIDATES):
        columns = [column.name for column in table.columns]
        write_partition(lake, table, batch, [{name: row.get(name) for name in columns} for row in rows])
    rules = load_rule_book(source)
    facts = [
        {column.name: fact.get(column.name) for column in PAGE_FACTS.columns}
        for row in rows
        for fact in page_fact_rows(row, row["infobox_template"], values_of(row["page"], rules), rules)
        if fact["kind"] in kinds
    ]
    write_partition(lake, PAGE_FACTS, batch, facts)


def values_of(page: dict[str, Any], rules: RuleBook) -> list[InfoboxValue]:
    """The values of a page's infobox, read once for both tests."""
    template = page["infobox_template"]
    if "values" not in page:
        parts_at_commas = partial(rules.parts_at_commas, template)
        page["values"] = list(
            infobox_values(box_wikitext({"infobox": [], **page}), template, SITE, parts_at_commas)
        )
    values: list[InfoboxValue] = page["values"]
    return values


def is_one(pair: Row) -> bool:
    """Whether both titles have the same letters: some files of ../shared lack apostrophes."""
    first, second = (filter(str.isalnum, pair[side].lower()) for side in ("first_title", "second_title"))
    return "".join(first) == "".join(second)


def report(label: str, pairs: list[Row]) -> None:
    asked = [pair for pair in pairs if pair["verdict"] == "unsure"]
    merged = [pair for pair in pairs if pair["is_merged"]]
    right = sum(map(is_one, merged))
    print(
        f"{label}: {len(pairs):,} pairs; merged {len(merged):,}, rightly {right:,} "
        f"({right / max(len(merged), 1):.2%}); "
        f"asked about {len(asked):,}, of one thing {sum(map(is_one, asked)):,}"
    )


def report_against(pairs: list[Row], show: int) -> None:
    against = [pair for pair in pairs if evidence_of(pair).get("contradictions")]
    print(f"contradicted: {len(against):,}, of one thing: {sum(map(is_one, against)):,}")
    for pair in against[:show]:
        print(f"  {is_one(pair)} {pair['first_title']!r}, {pair['second_title']!r}: {pair['reason']}")
    wrong = [pair for pair in pairs if pair["is_merged"] and not is_one(pair)]
    for pair in wrong[:show]:
        print(f"  merged: {pair['first_title']!r}, {pair['second_title']!r}: {pair['reason']}")


def learnt(pairs: list[Row]) -> Iterator[str]:
    """What weights make of the questions that they were not learned from, by type."""
    rules = shipped_policy().weights
    for name in sorted({pair["entity_type"] for pair in pairs}):
        asked = [pair for pair in pairs if pair["entity_type"] == name and pair["verdict"] == "unsure"]
        learning = [pair for pair in asked if crc32(pair["pair_id"].encode()) % FOLDS < LEARNT]
        decided = {
            frozenset((pair["first_id"], pair["second_id"])): {"kind": "merge" if is_one(pair) else "split"}
            for pair in learning
        }
        weights = weights_from(examples_of(asked, decided), rules)
        if weights.origin == "as shipped":
            continue
        others = [pair for pair in asked if pair not in learning]
        joined = [pair for pair in others if weights.makes_one(evidence_of(pair))]
        yield (
            f"{name}: {weights.origin}: {dict(weights.log_odds)}, one from {weights.one_from}; "
            f"of {len(others):,} other questions joined {len(joined):,}, rightly {sum(map(is_one, joined)):,}"
        )


if __name__ == "__main__":
    main()
