"""Holocron's crawl compared with Scrapy's: the same pages of one local wiki that answers after 50 ms.

Run: python benchmarks/crawl_compared_with_scrapy.py [--full] [--pages N] [--rounds N] [--latency SECONDS]

A short measurement by default, in about a minute; `--full` takes the one in docs/measurements.md.
Contenders take turns, each in a fresh process. Time and processor time count from the first request to the
last page stored, without the loading of libraries. A contender that asks for one page a request gets fewer
pages, so that it ends: its rate does not depend on their number.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median
from urllib.request import urlopen

from contenders.report import Report, read_report
from local_wiki.objects import API_PATH
from local_wiki.server import COUNT_PATH
from rich.console import Console
from rich.table import Table

FOLDER = Path(__file__).parent
CHARACTERS = 3000
SLOW_SECONDS = 10
IN_FLIGHT = (1, 4, 8)
USUAL_IN_FLIGHT = (4,)


@dataclass(frozen=True)
class Contender:
    """One way to crawl a wiki.

    Attributes:
        name: for the table.
        module: its program.
        arguments: further ones of the program.
        titles_in_request: pages that it asks for at once.
        stores: what is on disk at the end.
    """

    name: str
    module: str
    arguments: tuple[str, ...]
    titles_in_request: int
    stores: str


@dataclass(frozen=True)
class Outcome:
    """One crawl: what the contender reports, the requests that the wiki counted, and the peak of memory."""

    report: Report
    requests: int
    peak_mib: float


PARQUET = "Parquet, journal, request log; synced"
DERIVED = "the same, and links, signals, types"
JSON_LINES = "JSON lines"
CONTENDERS = [
    Contender("Holocron", "holocron_crawl", (), 50, PARQUET),
    Contender("Holocron, Dagster runs of `pages`", "holocron_runs", ("pages",), 50, PARQUET),
    Contender("Holocron, whole `crawl_batch` runs", "holocron_runs", (), 50, DERIVED),
    Contender("Scrapy, 50 titles a request", "scrapy_crawl", ("50",), 50, JSON_LINES),
    Contender("Scrapy, one title a request", "scrapy_crawl", ("1",), 1, JSON_LINES),
]


class Wikis:
    """Local wikis by number of pages, each in a process of its own, started when it is first asked for."""

    def __init__(self, stack: ExitStack, latency_seconds: float) -> None:
        """End the processes with `stack`."""
        self._stack, self._latency_seconds = stack, latency_seconds
        self.address = cache(self._start)

    def _start(self, pages: int) -> str:
        """The address of a wiki of so many pages."""
        options = {"--pages": pages, "--characters": CHARACTERS, "--latency": self._latency_seconds}
        arguments = [str(part) for option in options.items() for part in option]
        process = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-m", "local_wiki.still", *arguments],
            cwd=FOLDER,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._stack.callback(process.wait)
        self._stack.callback(process.terminate)
        if process.stdout is None:
            raise RuntimeError("the wiki's output was not piped")
        self._stack.enter_context(process.stdout)
        return f"http://127.0.0.1:{int(process.stdout.readline())}"


def main() -> None:
    """Let them crawl in turns, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--full", action="store_true", help="10,000 pages, 5 rounds, 1, 4 and 8 in flight")
    parser.add_argument("--pages", type=int, help="pages of the wiki; 2,000 if not full")
    parser.add_argument("--rounds", type=int, help="how often each contender crawls it; once if not full")
    parser.add_argument("--latency", type=float, default=0.05, help="seconds from a request to its answer")
    options = parser.parse_args()
    pages = options.pages or (10_000 if options.full else 2_000)
    rounds = options.rounds or (5 if options.full else 1)
    numbers = IN_FLIGHT if options.full else USUAL_IN_FLIGHT
    entries = [(contender, in_flight) for in_flight in numbers for contender in CONTENDERS]
    outcomes: dict[tuple[Contender, int], list[Outcome]] = {entry: [] for entry in entries}
    with ExitStack() as stack:
        wikis = Wikis(stack, options.latency)
        for _ in range(rounds):
            for contender, in_flight in entries:
                most = int(SLOW_SECONDS * in_flight * contender.titles_in_request / options.latency)
                address = wikis.address(min(pages, most))
                outcomes[contender, in_flight].append(crawl(contender, in_flight, address))
    print_table(outcomes, options.latency)


def crawl(contender: Contender, in_flight: int, address: str) -> Outcome:
    """Let one contender crawl a wiki in a fresh process.

    Raises:
        RuntimeError: it failed.
    """
    counted = _counted(address)
    with tempfile.TemporaryDirectory() as name:
        arguments = [name, f"{address}{API_PATH}", str(in_flight), *contender.arguments]
        command = [sys.executable, "-m", f"contenders.{contender.module}", *arguments]
        process = subprocess.Popen(command, cwd=FOLDER)  # noqa: S603 - our own program
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"{contender.name} ended with {process.returncode}")
        return Outcome(read_report(Path(name)), _counted(address) - counted, usage.ru_maxrss / 1024)


def _counted(address: str) -> int:
    with urlopen(f"{address}{COUNT_PATH}") as answer:  # noqa: S310 - loopback
        return int(answer.read())


def print_table(outcomes: dict[tuple[Contender, int], list[Outcome]], latency_seconds: float) -> None:
    """Medians, and how many times Holocron's processor time at as many requests in flight each takes."""
    columns = [
        "contender",
        "in flight",
        "pages",
        "pages/s",
        "requests/page",
        "CPU ms/page",
        "ratio",
        "MiB",
        "stores",
    ]
    table = Table(*columns, title=f"{latency_seconds * 1000:g} ms latency, medians")
    for (contender, in_flight), several in outcomes.items():
        cpu, ours = _cpu_ms(several), _cpu_ms(outcomes[CONTENDERS[0], in_flight])
        table.add_row(
            contender.name,
            str(in_flight),
            f"{several[0].report.pages:,}",
            f"{median(one.report.pages / one.report.seconds for one in several):,.0f}",
            f"{median(one.requests / one.report.pages for one in several):.3f}",
            f"{cpu:.2f}",
            f"{cpu / ours:.1f}",
            f"{median(one.peak_mib for one in several):,.0f}",
            contender.stores,
            end_section=contender is CONTENDERS[-1],
        )
    Console(width=150).print(table)


def _cpu_ms(outcomes: Sequence[Outcome]) -> float:
    """Median of the processor time for a stored page, in milliseconds."""
    return median(one.report.cpu_seconds / one.report.pages * 1000 for one in outcomes)


if __name__ == "__main__":
    main()
