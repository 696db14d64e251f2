"""What Holocron costs beside peers and limits that run in turns with it: ratios, compared with recorded ones.

    python benchmarks/ratios.py [--full] [--only NAME ...] [--record]
    python benchmarks/ratios.py --draw

Ends with 1 if a ratio is more than a quarter worse than the recorded one, and names its row. Such a row is
measured once more before, and its better ratio counts. `--record` adds the run to benchmarks/results.json,
under the present commit, and draws docs/speed.svg: these ratios are the recorded ones from then on, so it
compares nothing. docs/speed.md tells more.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from time import perf_counter

from rich.console import Console
from side_by_side.drawing import svg
from side_by_side.printing import complaints, table_of
from side_by_side.processes import in_a_process
from side_by_side.recorded import Judged, Run, better_of, judged, read_runs, record, run_of
from side_by_side.row import LeftOutError, Row, Scale

from holocron_assets.settings import PROJECT_FOLDER

PICTURE = PROJECT_FOLDER / "docs" / "speed.svg"
MEASUREMENTS = {
    "import": "imports",
    "pages": "long_pages",
    "crawl": "crawls",
    "dagster": "dagster_share",
    "entities": "entities",
    "status": "status_command",
    "files": "small_files",
    "search": "searches",
}
"""Modules of package `side_by_side`. One is loaded only in the process that measures its rows."""


def main() -> None:
    """Measure, print and judge."""
    options = arguments()
    if options.draw:
        draw()
        return
    os.environ["HOLOCRON_LLM"] = "off"
    scale: Scale = "full" if options.full else "quick"
    console, started = Console(width=150, highlight=False), perf_counter()
    found = measured(console, options.only, scale, read_runs())
    console.print(table_of(found))
    load = os.getloadavg()[0]
    console.print(f"{perf_counter() - started:.0f} s; load {load:.1f} on {os.cpu_count()} cores")
    if options.record:
        record(run_of([one.row for one in found], scale))
        draw()
    elif worse := complaints(found):
        sys.exit("\n".join(["worse than recorded by more than a quarter:", *worse]))


def measured(console: Console, names: Sequence[str], scale: Scale, runs: Sequence[Run]) -> list[Judged]:
    """The rows, each beside what was recorded of it. Says what is left out."""
    found: list[Judged] = []
    for name in names:
        started = perf_counter()
        try:
            rows = in_a_process(rows_of, name, scale)
            if any(one.is_worse for one in judged(rows, runs, scale)):
                rows = better_of(rows, in_a_process(rows_of, name, scale))
        except LeftOutError as error:
            console.print(f"{name} is left out: {error}")
            continue
        console.print(f"{name}: {perf_counter() - started:.0f} s")
        found += judged(rows, runs, scale)
    return found


def rows_of(name: str, scale: Scale) -> list[Row]:
    """Measure the rows of one name."""
    rows: list[Row] = import_module(f"side_by_side.{MEASUREMENTS[name]}").measure(scale)
    return rows


def draw() -> None:
    """Draw all recorded runs."""
    PICTURE.write_text(svg(read_runs()), encoding="utf-8")


def arguments() -> argparse.Namespace:
    """The command line's."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--full", action="store_true", help="as much work as the docs tell of; half an hour")
    parser.add_argument(
        "--only",
        nargs="+",
        choices=MEASUREMENTS,
        default=list(MEASUREMENTS),
        metavar="NAME",
        help=f"some of {', '.join(MEASUREMENTS)}",
    )
    parser.add_argument("--record", action="store_true", help="record the ratios, in place of comparing them")
    parser.add_argument("--draw", action="store_true", help="only draw what is recorded")
    return parser.parse_args()


if __name__ == "__main__":
    main()
