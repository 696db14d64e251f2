"""All of ../shared's infobox pages as one dump, imported to promoted entities by `holocron import`.

Run: python benchmarks/import_dump.py [--pages 61329] [--folder DIRECTORY]

Imported twice, each time into a fresh folder: once in one go, and once killed with SIGKILL on the way, when
two fifths of the batches are read and when the first type's entities are written, and started again with
the same command. Prints the time of each stage, peak memory, and whether both came to the same rows.

Stages overlap nothing: all runs in one process. "Between the stages" is what Dagster takes around its steps,
searching for work, and cutting batches.
"""

import argparse
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from math import ceil
from pathlib import Path
from time import perf_counter, sleep
from unittest.mock import patch

import dagster as dg
from rich.console import Console
from rich.table import Table as Printed
from side_by_side.processes import home_in

from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import (
    ENTITIES,
    ENTITY_ALIASES,
    ENTITY_CANDIDATES,
    PAGE_LINKS,
    PAGE_SIGNALS,
    PAGE_TYPES,
    PAGES,
    RULE_CLASSIFICATIONS,
)
from holocron_assets.lake.views.database import connect, query
from holocron_assets.orchestration.internals.runs import step_seconds

SHARED = Path(__file__).parents[2] / "shared"
INFOBOX_PAGES = SHARED / "wookieepedia" / "infobox_pages.jsonl.gz"
SOURCE = "wookieepedia"
BATCH_SIZE = 500
POLL_SECONDS = 0.05

# When and how often something was done differs between any two imports.
OF_THE_RUN = {"fetched_at", "attempts", "valid_from", "valid_to"}
COMPARED = (
    *(PAGES, PAGE_LINKS, PAGE_SIGNALS, RULE_CLASSIFICATIONS, PAGE_TYPES, ENTITY_CANDIDATES),
    *(ENTITIES, ENTITY_ALIASES),
)
COUNTS = """
    select
        (select count(*) from current_pages) as pages,
        (select count(*) from page_links) as links,
        (select count(*) from page_types where not needs_review) as settled_types,
        (select count(*) from entities) as entities,
        (select count(*) from entities where state = 'promoted') as promoted,
        (select count(*) from entity_aliases) as names,
        (select count(*) from dead_letters) as dead
"""

Progress = Callable[[Lake], bool]


@dataclass(frozen=True)
class Import:
    """What one import took: all its processes together.

    Attributes:
        seconds: from the first start to the last end.
        processor_seconds: of all processes together; on an idle machine about what it takes.
        stages: seconds by stage.
        peak_mib: most memory held at one moment by the processes, resident, in MiB.
        kills: how often it was killed.
        counts: rows by what they are.
        hashes: of the rows of each table.
    """

    seconds: float
    processor_seconds: float
    stages: Mapping[str, float]
    peak_mib: float
    kills: int
    counts: Mapping[str, int]
    hashes: Mapping[str, str]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pages", type=int, default=61_329, help="how many pages to take")
    parser.add_argument("--folder", type=Path, help="where to work; a temporary folder by default")
    options = parser.parse_args()
    if not INFOBOX_PAGES.exists():
        sys.exit(f"needs {INFOBOX_PAGES}, which is not next to this checkout")
    with working_folder(options.folder) as folder:
        dump, pages = write_dump(folder / "dump.xml", options.pages)
        moments = [batches_read(ceil(pages / BATCH_SIZE * 0.4)), entities_began]
        imports = {
            "in one go": run_import(folder / "whole", dump, []),
            "killed twice": run_import(folder / "killed", dump, moments),
        }
    print_tables(Console(), imports)
    if len({tuple(done.hashes.items()) for done in imports.values()}) > 1:
        sys.exit("the two imports differ")


@contextmanager
def working_folder(chosen: Path | None) -> Iterator[Path]:
    if chosen:
        chosen.mkdir(parents=True)
        yield chosen
    else:
        with tempfile.TemporaryDirectory() as name:
            yield Path(name)


def write_dump(file: Path, most: int) -> tuple[Path, int]:
    """Write the first pages as an export; give its path and the number of its pages."""
    command = [sys.executable, str(SHARED / "realwiki" / "make_xml.py"), str(INFOBOX_PAGES)]
    pages = 0
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8") as made,  # noqa: S603 - a script next to this checkout
        file.open("w", encoding="utf-8") as written,
    ):
        lines = iter(made.stdout or ())
        written.writelines(islice(lines, 1))
        for line in lines:
            starts = line.startswith("<page>")
            if starts and pages == most:
                made.kill()
                break
            pages += starts
            if not line.startswith("</mediawiki>"):
                written.write(line)
        written.write("</mediawiki>\n")
    return file, pages


def batches_read(number: int) -> Progress:
    return lambda lake: len(lake.partitions(PAGES)) >= number


def entities_began(lake: Lake) -> bool:
    return bool(lake.partitions(ENTITIES))


def run_import(folder: Path, dump: Path, moments: Sequence[Progress]) -> Import:
    """Import the dump into a folder; kill all of it at each of the moments, and start it again."""
    folder.mkdir()
    lake = Lake(folder / "data")
    environment = home_in(folder)
    peak, started, busy_before = 0.0, perf_counter(), processor_seconds()
    with (folder / "output").open("wb") as output:
        for moment in (*moments, None):
            peak = max(peak, run_once(environment, dump, lake, moment, output.fileno()))
    seconds = perf_counter() - started
    with connect(lake) as connection:
        (counts,) = query(connection, COUNTS)
    return Import(
        seconds,
        processor_seconds() - busy_before,
        stages(folder / "dagster", seconds),
        peak,
        len(moments),
        counts,
        {table.name: rows_hash(lake, table) for table in COMPARED},
    )


def run_once(
    environment: Mapping[str, str], dump: Path, lake: Lake, moment: Progress | None, output: int
) -> float:
    """Run the command until the moment comes, or to its end; give the peak memory in MiB."""
    command = [str(Path(sys.executable).with_name("holocron")), "import", str(dump), "--source", SOURCE]
    process = subprocess.Popen(  # noqa: S603 - our own command
        command,
        env={**os.environ, **environment},
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    peak = 0.0
    while process.poll() is None:
        peak = max(peak, resident_mib(process.pid))
        if moment and moment(lake):
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return peak
        sleep(POLL_SECONDS)
    if moment or process.returncode:
        sys.exit(f"`{' '.join(command)}` ended with {process.returncode} too early; see its output")
    return peak


def processor_seconds() -> float:
    """Of the processes that were started and ended so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def resident_mib(group: int) -> float:
    """Memory of all processes of a group now."""
    total = 0
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            if os.getpgid(int(status.parent.name)) == group:
                fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
                total += int(fields.get("VmRSS", "0").split()[0])
        except (OSError, ValueError):
            continue  # it ended in between
    return total / 1024


def stages(dagster_home: Path, seconds: float) -> dict[str, float]:
    """Seconds by step of all runs, killed ones as far as they came, and what went by between them."""
    spent: Counter[str] = Counter()
    # `dagster.yaml` names the folder of its storage by this variable.
    with (
        patch.dict(os.environ, {"DAGSTER_HOME": str(dagster_home)}),
        dg.DagsterInstance.from_config(str(dagster_home)) as instance,
    ):
        for run in reversed(instance.get_runs()):
            spent.update(step_seconds(instance, run.run_id))
    return {**spent, "between the stages": seconds - spent.total()}


def rows_hash(lake: Lake, table: Table) -> str:
    """A hash of a table's rows in any order, but for what says when and how often they were made."""
    columns = ", ".join(f'"{name}"' for name in table.content_columns if name not in OF_THE_RUN)
    sql = f"select count(*) || '-' || sum(hash({columns})) as hash from lake.{table.name}"  # noqa: S608 - own names
    with connect(lake) as connection:
        rows = query(connection, sql)
    return str(rows[0]["hash"])


def print_tables(console: Console, imports: Mapping[str, Import]) -> None:
    """One column an import."""
    printed = Printed("", *imports)
    done = list(imports.values())
    names = dict.fromkeys(name for each in done for name in each.stages)
    for name in names:
        printed.add_row(f"{name}, s", *(f"{each.stages.get(name, 0):.1f}" for each in done))
    printed.add_section()
    printed.add_row("all, s", *(f"{each.seconds:.1f}" for each in done))
    printed.add_row("processor time, s", *(f"{each.processor_seconds:.1f}" for each in done))
    printed.add_row("peak memory, MiB", *(f"{each.peak_mib:.0f}" for each in done))
    printed.add_row("kills", *(str(each.kills) for each in done))
    printed.add_section()
    for name in done[0].counts:
        printed.add_row(name.replace("_", " "), *(f"{each.counts[name]:,}" for each in done))
    console.print(printed)
    same = [
        name for name, value in done[0].hashes.items() if all(each.hashes[name] == value for each in done)
    ]
    console.print(f"the same rows: {', '.join(same) or 'of no table'}")


if __name__ == "__main__":
    main()
