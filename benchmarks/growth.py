"""How work grows with a wiki: time of the processor and memory, at several sizes.

    python benchmarks/growth.py [--pages 2000 20000 200000] [--imported 61329] [--only NAME ...] [--record]

Lakes are made up, with sixty links a page; only those that `import` reads are pages of ../shared. Each figure
is of a process of its own. Prints a table, and names what grows faster than n log n from one size to the
next. `--record` writes benchmarks/growth.json and draws docs/growth.svg, which docs/speed.md shows.
"""

import argparse
import json
import os
import resource
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from math import log
from pathlib import Path
from time import process_time
from typing import NamedTuple

from entity_increment import Growing
from import_dump import INFOBOX_PAGES, run_import, write_dump
from large_wiki import SOURCE, arguments_of, write_wiki
from rich.console import Console
from rich.table import Table
from side_by_side.processes import cpu_of, in_a_process
from side_by_side.recorded import run_of

from holocron_assets.crawl.frontier.known_links import make_known_links
from holocron_assets.crawl.frontier.pending import pending_pages
from holocron_assets.crawl.sources.files import load_source
from holocron_assets.derive.dispatch.backlog import backlog
from holocron_assets.derive.interrogations.loading import load_interrogations
from holocron_assets.derive.opening import open_lake
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.planning.work import batches_to_settle, entities_to_resolve
from holocron_assets.settings import PROJECT_FOLDER

RECORDED = PROJECT_FOLDER / "benchmarks" / "growth.json"
PICTURE = PROJECT_FOLDER / "docs" / "growth.svg"
LINKS_OF_A_PAGE = 60
BATCH = 500
AS_EXPECTED = 1.25
"""Two figures may differ by as much, though the work grows like n log n."""


class Cost(NamedTuple):
    """Seconds of the processor, most memory in MiB, and the pages, if there are fewer than asked for."""

    cpu: float
    mebibytes: float
    pages: int | None = None


@dataclass(frozen=True)
class Figure:
    """What some work took of a wiki.

    Attributes:
        name: of the work.
        pages: of the wiki.
        cpu: seconds of the processor.
        mebibytes: most memory.
    """

    name: str
    pages: int
    cpu: float
    mebibytes: float


Work = Callable[[Path, int], Cost]
"""Does some work in a folder that holds a wiki of so many pages, in a process of its own."""


def main() -> None:
    """Measure, print and record."""
    options = arguments()
    os.environ["HOLOCRON_LLM"] = "off"
    console = Console(width=120, highlight=False)
    figures = list(measured(options, console))
    console.print(table_of(figures))
    for line in faster_than_n_log_n(figures):
        console.print(line)
    if options.record:
        record(figures)


def measured(options: argparse.Namespace, console: Console) -> Iterator[Figure]:
    """The figures, size by size."""
    seen: set[tuple[str, int]] = set()
    for pages in options.pages:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name).resolve()
            os.environ["HOLOCRON_STATE"] = str(folder / "state")
            if set(options.only) - {"import", "resolve"}:
                in_a_process(write_large, folder, pages)
            for work in options.only:
                size = min(pages, options.imported) if work == "import" else pages
                if (work, size) in seen or (work == "import" and not INFOBOX_PAGES.exists()):
                    continue
                seen.add((work, size))
                cost: Cost = in_a_process(WORK[work], folder, size)
                size = cost.pages or size
                console.print(f"{work} of {size:,} pages: {cost.cpu:.1f} s, {cost.mebibytes:,.0f} MiB")
                yield Figure(work, size, round(cost.cpu, 3), round(cost.mebibytes))


def write_large(folder: Path, pages: int) -> None:
    """Make a wiki up, with all that follows from its pages, and with its links compacted.

    What is found out once in a home, such as the versions of code, is found out by dispatching an empty lake.
    """
    dispatch(folder / "empty", 0)
    links = ["--links", str(pages * LINKS_OF_A_PAGE), "--batch-size", str(BATCH)]
    write_wiki(folder, arguments_of(["--derived", "--pages", str(pages), *links]))
    make_known_links(open_lake(folder / "data"), load_source(folder / "sources" / f"{SOURCE}.yaml"))


def _taken(work: Callable[[], object]) -> Cost:
    before = process_time()
    work()
    return Cost(process_time() - before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def frontier(folder: Path, _pages: int) -> Cost:
    """Read which pages to fetch next."""
    lake, source = open_lake(folder / "data"), load_source(folder / "sources" / f"{SOURCE}.yaml")
    return _taken(lambda: pending_pages(lake, source, limit=10 * BATCH))


def settle(folder: Path, _pages: int) -> Cost:
    """Find the batches that lack a step, as the sensor `settle` does at its first tick."""
    lake, source = open_lake(folder / "data"), load_source(folder / "sources" / f"{SOURCE}.yaml")
    return _taken(lambda: batches_to_settle(lake, [source]))


def promotion(folder: Path, _pages: int) -> Cost:
    """Find the types whose entities are stale, as the sensor `promotion` does at its first tick."""
    lake = open_lake(folder / "data")
    return _taken(lambda: entities_to_resolve(lake))


def dispatch(folder: Path, _pages: int) -> Cost:
    """Count the work of models, as the dispatcher does at its first tick."""
    lake, asked = open_lake(folder / "data"), [one for one in load_interrogations() if one.enabled]
    digests = {name: "0" * 64 for one in asked for name in one.models}
    return _taken(lambda: backlog(lake, asked, digests=digests, now=utc_now()))


def status(folder: Path, _pages: int) -> Cost:
    """`holocron status`, the second one: the first one checks interrogations."""
    environment = {"HOLOCRON_DATA": str(folder / "data"), "HOLOCRON_SOURCES": str(folder / "sources")}
    environment["DAGSTER_HOME"] = str(folder / "dagster")
    command = [str(Path(sys.executable).with_name("holocron")), "status"]
    cpu_of(command, environment)
    return Cost(cpu_of(command, environment), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)


def resolve(folder: Path, pages: int) -> Cost:
    """Resolve the entities of one type, of all pages, from nothing."""
    cost = Growing(folder / "resolved", pages, 0).begin()
    return Cost(sum(cost.stages.values()), cost.mebibytes)


def imported(folder: Path, pages: int) -> Cost:
    """`holocron import` of an export of short pages, to promoted entities; memory of all processes."""
    dump, pages = write_dump(folder / "dump.xml", pages)
    done = run_import(folder / "imported", dump, [])
    return Cost(done.processor_seconds, done.peak_mib, pages)


WORK: Mapping[str, Work] = {
    "import": imported,
    "resolve": resolve,
    "frontier": frontier,
    "settle": settle,
    "promotion": promotion,
    "dispatch": dispatch,
    "status": status,
}


def table_of(figures: Sequence[Figure]) -> Table:
    """The figures as a table: a line for each work."""
    sizes = sorted({one.pages for one in figures})
    table = Table(title="CPU seconds (ms a page, MiB)")
    for column in ("work", *(f"{pages:,} pages" for pages in sizes)):
        table.add_column(column, justify="left" if column == "work" else "right")
    for name, of_work in _by_work(figures).items():
        found = {one.pages: one for one in of_work}
        table.add_row(name, *(_cell(found.get(pages)) for pages in sizes))
    return table


def _cell(figure: Figure | None) -> str:
    if figure is None:
        return ""
    return f"{figure.cpu:,.2f} ({figure.cpu / figure.pages * 1000:.3f}, {figure.mebibytes:,.0f})"


def faster_than_n_log_n(figures: Sequence[Figure]) -> Iterator[str]:
    """A line for each step to a larger wiki at which some work grew faster than n log n."""
    for name, of_work in _by_work(figures).items():
        for small, large in pairwise(sorted(of_work, key=lambda one: one.pages)):
            expected = large.pages * log(large.pages) / (small.pages * log(small.pages))
            if small.cpu and large.cpu / small.cpu > AS_EXPECTED * expected:
                grew = f"{large.cpu / small.cpu:.1f} times from {small.pages:,} to {large.pages:,} pages"
                yield f"{name} grew faster than n log n: {grew}, which is {expected:.1f} times by n log n"


def _by_work(figures: Sequence[Figure]) -> dict[str, list[Figure]]:
    found: dict[str, list[Figure]] = {}
    for one in figures:
        found.setdefault(one.name, []).append(one)
    return found


def record(figures: Sequence[Figure]) -> None:
    """Write the figures, in place of earlier ones, and draw them."""
    run = run_of((), "full")
    known = {"commit": run.commit, "date": run.date, "machine": asdict(run.machine)}
    text = json.dumps({**known, "figures": [asdict(one) for one in figures]}, indent=1)
    RECORDED.write_text(f"{text}\n", encoding="utf-8")
    draw(figures, PICTURE)


def read_figures(file: Path = RECORDED) -> list[Figure]:
    """The recorded figures."""
    return [Figure(**one) for one in json.loads(file.read_text(encoding="utf-8"))["figures"]]


def draw(figures: Sequence[Figure], picture: Path) -> None:
    """Draw processor time a page and memory over the size of the wiki, a line for each work."""
    import matplotlib as mpl  # noqa: PLC0415 - takes a second, and not every process here draws
    from matplotlib.figure import Figure as Picture  # noqa: PLC0415 - the same

    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "growth"}):
        drawn = Picture(figsize=(10, 4), layout="constrained")
        time, memory = drawn.subplots(1, 2)
        for name, of_work in _by_work(figures).items():
            pages = [one.pages for one in of_work]
            time.plot(pages, [one.cpu / one.pages * 1000 for one in of_work], "o-", label=name)
            memory.plot(pages, [one.mebibytes for one in of_work], "o-", label=name)
        for axes, title in ((time, "CPU, ms a page"), (memory, "most memory, MiB")):
            axes.set(xscale="log", yscale="log", xlabel="pages of the wiki", title=title)
            axes.grid(alpha=0.3)
        time.legend(fontsize="small")
        drawn.savefig(picture, format="svg", metadata={"Date": None})


def arguments() -> argparse.Namespace:
    """The command line's."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    sizes = [2_000, 20_000, 200_000]
    parser.add_argument("--pages", type=int, nargs="+", default=sizes, help="sizes of wikis, small to large")
    parser.add_argument("--imported", type=int, default=61_329, help="most pages that are imported")
    parser.add_argument("--only", nargs="+", choices=WORK, default=list(WORK), metavar="NAME")
    parser.add_argument("--record", action="store_true", help="record the figures, and draw them")
    return parser.parse_args()


if __name__ == "__main__":
    main()
