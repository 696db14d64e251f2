"""Entities of a real wiki, resolved: time, memory, and which records were found to be one.

Run: python benchmarks/resolve_wiki.py [--folder DIRECTORY]

All 61,329 infobox pages of ../shared are one wiki, and the pages of its other files a second one, of another
host: many of these are in both, some of them with other texts. Both are imported with `holocron import`. Then
all entities are resolved again from their candidates, in a process of its own, into a lake that has none: that
is what is timed. An import that the folder holds is used again.

Prints seconds by table, processor time and peak memory; merges by type and method; a seeded sample of merges
and one of pairs that are to be asked about, for reading. Fails if a cluster holds canon and legends.
"""

import argparse
import json
import multiprocessing
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from rich.console import Console
from rich.table import Table as Printed

from holocron_assets.classify.taxonomy import load_taxonomy
from holocron_assets.lake.paths import Lake
from holocron_assets.lake.tables import (
    COMPARED_NAMES,
    ENTITIES,
    ENTITY_ALIASES,
    ENTITY_JUDGEMENTS,
    ENTITY_PAIRS,
)
from holocron_assets.lake.views import connect, query
from holocron_assets.resolve.judgement_store import store_judgements
from holocron_assets.resolve.look import look_at
from holocron_assets.resolve.pair_store import store_pairs
from holocron_assets.resolve.store import store_aliases, store_entities

SHARED = Path(__file__).parents[2] / "shared"
FILES = {
    "wookieepedia": ("infobox_pages",),
    "mirror": ("wikitext_pages", "sample_pages", "lead_pages", "category_pages"),
}
TYPES = tuple(load_taxonomy().entity_worthy_types)
RESOLVED = (ENTITY_PAIRS, COMPARED_NAMES, ENTITY_JUDGEMENTS, ENTITIES, ENTITY_ALIASES)
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
STATES = "select state, count(*) as entities from lake.entities where valid_to is null group by 1 order by 1"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, help="where to work; a temporary folder by default")
    options = parser.parse_args()
    if not SHARED.exists():
        sys.exit(f"needs {SHARED}, which is not beside this checkout")
    console = Console(width=200)
    with working_folder(options.folder) as folder:
        import_all(folder)
        lake = unresolved(Lake(folder / "imported" / "data"), folder / "resolved")
        with multiprocessing.get_context("spawn").Pool(1) as own_process:
            taken = own_process.apply(resolve, (str(lake.root),))
        console.print_json(json.dumps(taken))
        report(console, lake)


@contextmanager
def working_folder(chosen: Path | None) -> Iterator[Path]:
    if chosen:
        chosen.mkdir(parents=True, exist_ok=True)
        yield chosen
    else:
        with tempfile.TemporaryDirectory() as name:
            yield Path(name)


def import_all(folder: Path) -> None:
    """Import each source's pages as a dump, the smaller first."""
    home = folder / "imported"
    if home.exists():
        return
    home.mkdir()
    environment = {
        **os.environ,
        "HOLOCRON_LLM": "off",
        "HOLOCRON_DATA": str(home / "data"),
        "HOLOCRON_SOURCES": str(home / "sources"),
        "HOLOCRON_STATE": str(home / "state"),
        "DAGSTER_HOME": str(home / "dagster"),
    }
    for source, names in reversed(FILES.items()):
        dump = folder / f"{source}.xml"
        pages = [str(SHARED / "wookieepedia" / f"{name}.jsonl.gz") for name in names]
        with dump.open("wb") as written:
            command = [sys.executable, str(SHARED / "realwiki" / "make_xml.py"), *pages]
            subprocess.run(command, stdout=written, check=True)  # noqa: S603 - a script beside this checkout
        command = [str(Path(sys.executable).with_name("holocron")), "import", str(dump), "--source", source]
        subprocess.run(command, env=environment, check=True)  # noqa: S603 - our own command


def unresolved(imported: Lake, root: Path) -> Lake:
    """A copy of a lake, without all that is resolved."""
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(imported.root, root)
    lake = Lake(root)
    for table in RESOLVED:
        shutil.rmtree(lake.folder(table), ignore_errors=True)
    return lake


def resolve(root: str) -> dict[str, Any]:
    """Resolve all types of a lake; tell seconds by table, processor time and peak memory."""
    started, worked = perf_counter(), process_time()
    seconds: defaultdict[str, float] = defaultdict(float)
    now, worthy = datetime.now(UTC), frozenset(TYPES)
    with look_at(Lake(Path(root))) as look:
        names = sorted(look.candidate_marks)
        with timed(seconds, "look"):
            look.told  # noqa: B018 - read once for all types
        for name in names:
            with timed(seconds, "entity_pairs"):
                store_pairs(look, name, entity_types=worthy)
            with timed(seconds, "entity_judgements"):
                store_judgements(look, name, entity_types=worthy, now=now)
            with timed(seconds, "entities"):
                store_entities(look, name, entity_types=worthy, now=now, run_id="benchmark")
        for name in names:
            with timed(seconds, "entity_aliases"):
                store_aliases(look, name)
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
