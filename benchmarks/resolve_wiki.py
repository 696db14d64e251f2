"""Entities of a real wiki, resolved: time, memory, and which records were found to be one.

Run: python benchmarks/resolve_wiki.py [--folder DIRECTORY]

All 61,329 infobox pages of ../shared are one wiki. Those pages of its other files that have an infobox are a
second one, of another host; most of them are in both. Pages are written as candidates of the type that their
infobox template stands for (`type_scoring.yaml`): what it takes to read and type them, `import_dump.py`
measures. Then all are resolved through the real steps, in a process of its own: the first wiki, and the
second one added to it; in two lakes in turn, a stage for all types before the next stage, as the asset graph
does it, and all stages of one type before the next type.

Prints the ratio of both orders, which give the same entities. Prints seconds by table, processor time and
peak memory; merges by type and method; a seeded sample of merges and one of pairs that are to be asked about,
for reading. Fails if a cluster holds canon and legends.
"""

import argparse
import gzip
import json
import multiprocessing
import random
import resource
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from rich.console import Console
from rich.table import Table as Printed

from holocron_assets.classify.taxonomy import load_taxonomy
from holocron_assets.entities.departures import store_departures
from holocron_assets.entities.identity.judgement_store import store_judgements
from holocron_assets.entities.identity.pair_store import store_pairs
from holocron_assets.entities.snapshot import Snapshot, open_snapshot
from holocron_assets.entities.store import store_aliases, store_entities
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.parquet import write_partition
from holocron_assets.lake.files.people_yaml import load_yaml
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import ENTITY_CANDIDATES, PAGE_SIGNALS, PAGE_TYPES, PAGES
from holocron_assets.lake.views.database import connect, query
from holocron_assets.signals.continuity import split_continuity
from holocron_assets.signals.vocabulary import VOCABULARY

SHARED = Path(__file__).parents[2] / "shared" / "wookieepedia"
FILES = {
    "wookieepedia": ("infobox_pages",),
    "mirror": ("wikitext_pages", "sample_pages", "lead_pages", "category_pages"),
}
TYPES = tuple(load_taxonomy().entity_worthy_types)
WORTHY = frozenset(TYPES)
ORDERS = ("stage by stage", "type by type")
CONTINUITIES = {"canon": "canon", "legends": "legends"}
NOW = datetime(2026, 3, 1, tzinfo=UTC)
BATCH_SIZE = 500
SAID_OF_ALL = {
    **dict.fromkeys(("run_id", "signals_version", "taxonomy_version", "reason"), "benchmark"),
    **{name: [] for name in ("continuity_evidence", "infobox_fields", "categories", "sections")},
    **dict.fromkeys(("is_redirect", "is_disambiguation", "is_list", "needs_review"), False),
    **dict.fromkeys(("namespace", "depth", "extraction_ms"), 0),
    **dict.fromkeys(("revision_id", "attempts", "lead_length", "wikitext_length"), 1),
    "status": "ok",
    "http_status": 200,
    "fetched_at": NOW,
    "lead_method": "bold_title",
    "timeline_markers": [],
    "types": [],
    "rule_ids": ["infobox"],
    "confidence": 0.95,
    "method": "rules",
    "has_lead": True,
}
SEED = 5
SAMPLED = 30

MERGES = """
    select
        judgements.entity_type, judgements.method, pairs.reason, pairs.score,
        first_source, first_title, second_source, second_title
    from lake.entity_judgements as judgements
    join lake.entity_pairs as pairs using (pair_id)
    where judgements.judgement = 'same' and judgements.is_followed
    order by pair_id
"""
REFUSED = "select refused, count(*) as pairs from lake.entity_judgements where refused is not null group by 1"
UNSURE = """
    select entity_type, method, reason, score, first_source, first_title, second_source, second_title
    from lake.entity_pairs where verdict = 'unsure' and (first_source = second_source) = $within_one_wiki
    order by pair_id
"""
BOTH_CONTINUITIES = """
    select coalesce(merged_into, entity_id) as cluster, list(title order by title) as titles
    from lake.entities
    where valid_to is null and continuity in ('canon', 'legends')
    group by 1
    having count(distinct continuity) > 1
"""
STANDING = (
    "select entity_id, title, state, state_reason, merged_into from lake.entities where valid_to is null"
)
STATES = "select state, count(*) as entities from lake.entities where valid_to is null group by 1 order by 1"


def departures(snapshot: Snapshot, name: str) -> None:
    """Say whom a type gives up."""
    store_departures(snapshot, name, "benchmark")


def pairs(snapshot: Snapshot, name: str) -> None:
    """Compare a type's names."""
    store_pairs(snapshot, name, entity_types=WORTHY)


def judgements(snapshot: Snapshot, name: str) -> None:
    """Judge a type's pairs."""
    store_judgements(snapshot, name, entity_types=WORTHY, now=NOW)


def entities(snapshot: Snapshot, name: str) -> None:
    """Resolve a type."""
    store_entities(snapshot, name, entity_types=WORTHY, now=NOW, run_id="benchmark")


def store_names(snapshot: Snapshot, name: str) -> None:
    """Collect the names of a type's entities."""
    store_aliases(snapshot, name)


IDENTITY = (departures, pairs, judgements, entities)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, help="where to work; a temporary folder by default")
    options = parser.parse_args()
    if not SHARED.exists():
        sys.exit(f"needs {SHARED}, which is not next to this checkout")
    console = Console(width=200)
    templates = load_yaml(Path(__file__).with_name("type_scoring.yaml").read_text(encoding="utf-8"))
    with working_folder(options.folder) as folder:
        lakes = {order: Lake(folder / order) for order in ORDERS}
        for source in FILES:
            cost = {}
            for order, lake in lakes.items():
                write_candidates(lake, source, templates)
                with multiprocessing.get_context("spawn").Pool(1) as own_process:
                    taken = own_process.apply(resolve, (str(lake.root), order))
                console.print(f"with {source}, {order}:", taken)
                cost[order] = taken["processor_seconds"]
            ratio = cost[ORDERS[0]] / cost[ORDERS[1]]
            console.print(f"processor time of {ORDERS[0]} to {ORDERS[1]}: {ratio:.2f}")
        by_stage, by_type = ({str(row) for row in entities_of(lake)} for lake in lakes.values())
        if by_stage != by_type:
            sys.exit(f"the orders give other entities: {sorted(by_stage ^ by_type)[:5]}")
        report(console, lakes[ORDERS[0]])


def entities_of(lake: Lake) -> list[Row]:
    """What is held true now, but for the moment."""
    with connect(lake) as connection:
        return list(query(connection, STANDING))


@contextmanager
def working_folder(chosen: Path | None) -> Iterator[Path]:
    if chosen:
        chosen.mkdir(parents=True)
        yield chosen
    else:
        with tempfile.TemporaryDirectory() as name:
            yield Path(name)


def write_candidates(lake: Lake, source: str, templates: Mapping[str, Any]) -> None:
    """Write the pages of a source's files in batches, as what the steps before resolving make of them."""
    rows = [known(source, page) for page in pages_of(source, templates) if page["entity_type"] in TYPES]
    for number, start in enumerate(range(0, len(rows), BATCH_SIZE), start=1):
        batch = f"{source}-{number:06}"
        of_batch = [
            {**row, "batch": batch, "position": place}
            for place, row in enumerate(rows[start : start + BATCH_SIZE])
        ]
        for table in (PAGES, PAGE_SIGNALS, PAGE_TYPES, ENTITY_CANDIDATES):
            columns = [column.name for column in table.columns]
            write_partition(
                lake, table, batch, [{name: row.get(name) for name in columns} for row in of_batch]
            )


def pages_of(source: str, templates: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    """The pages of a source's files that have an infobox, each once, with the type of its template."""
    pages: dict[str, dict[str, Any]] = {}
    for name in FILES[source]:
        with gzip.open(SHARED / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                if template := templates.get(row.get("infobox_template", "")):
                    pages.setdefault(row["title"], {**row, "entity_type": template["types"][0]})
    return pages.values()


def known(source: str, page: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that any of the tables holds of a page."""
    name, suffix = split_continuity(page["title"], VOCABULARY.continuity)
    key = title_key(source, page["title"])
    continuity = CONTINUITIES.get(page.get("continuity", ""), "legends" if suffix else "unknown")
    return {
        "source": source,
        "title": page["title"],
        "title_key": key,
        "requested_title": page["title"],
        "requested_key": key,
        "name": name,
        "continuity": continuity,
        "entity_type": page["entity_type"],
        "primary_type": page["entity_type"],
        **SAID_OF_ALL,
    }


def resolve(root: str, order: str) -> dict[str, Any]:
    """Resolve all types of a lake; give seconds by table, processor time and peak memory."""
    started, worked = perf_counter(), process_time()
    seconds: defaultdict[str, float] = defaultdict(float)
    with open_snapshot(Lake(Path(root))) as snapshot:
        names = sorted(snapshot.candidate_marks)
        with timed(seconds, "snapshot"):
            snapshot.stated_names  # noqa: B018 - read once for all types
        steps = [(stage, name) for stage in IDENTITY for name in names]
        if order == ORDERS[1]:
            steps.sort(key=lambda step: step[1])
        for stage, name in [*steps, *((store_names, name) for name in names)]:
            with timed(seconds, stage.__name__):
                stage(snapshot, name)
    return {
        "seconds": {name: round(value, 1) for name, value in seconds.items()},
        "all_seconds": round(perf_counter() - started, 1),
        "processor_seconds": round(process_time() - worked, 1),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


@contextmanager
def timed(seconds: defaultdict[str, float], name: str) -> Iterator[None]:
    started = perf_counter()
    yield
    seconds[name] += perf_counter() - started


def report(console: Console, lake: Lake) -> None:
    with connect(lake) as connection:
        merges = query(connection, MERGES)
        both = query(connection, BOTH_CONTINUITIES)
        console.print(query(connection, STATES), query(connection, REFUSED))
        within, across = (query(connection, UNSURE, {"within_one_wiki": each}) for each in (True, False))
    console.print(by_type(merges))
    show(console, "merges", merges)
    show(console, "fuzzy merges", [row for row in merges if row["method"] == "fuzzy"])
    show(console, "unsure within one wiki", within)
    show(console, "unsure across wikis", across)
    if both:
        sys.exit(f"clusters with canon and legends: {both[:10]}")
    console.print("no cluster holds canon and legends")


def by_type(merges: list[dict[str, Any]]) -> Printed:
    counts = Counter((row["entity_type"], row["method"]) for row in merges)
    printed = Printed("type", "exact", "fuzzy", title=f"{len(merges):,} merges")
    for name in sorted({name for name, _ in counts}):
        printed.add_row(name, f"{counts[name, 'exact']:,}", f"{counts[name, 'fuzzy']:,}")
    return printed


def show(console: Console, label: str, rows: list[dict[str, Any]]) -> None:
    console.print(f"\n{len(rows):,} {label}:", markup=False)
    for row in random.Random(SEED).sample(rows, min(SAMPLED, len(rows))):  # noqa: S311 - a sample to read
        console.print(
            f"  {row['entity_type']}: {row['first_title']!r} of {row['first_source']}, "
            f"{row['second_title']!r} of {row['second_source']}: {row['score']:.3f} {row['reason']}",
            markup=False,
            highlight=False,
        )


if __name__ == "__main__":
    main()
