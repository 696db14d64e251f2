"""Files fetched by Holocron and by others: 2,000 of 50 KB, one large file, and that one killed in the middle.

Run: python benchmarks/file_transfer.py [--files N] [--large 512M] [--in-flight N] [--rounds N]

Contenders take turns, each in a fresh process, with one local server. Time and processor time count from the
first request to the last byte stored, without the loading of libraries; for aria2c, which is a program of its
own, with it. Pooch and aria2c take part where they are installed.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from time import perf_counter, sleep
from urllib.request import urlopen

from contenders.report import REPORT_FILE, Report, read_report
from local_files.server import LARGE_PATH, SENT_PATH, SMALL_PATH
from rich.console import Console
from rich.table import Table

FOLDER = Path(__file__).parent
UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}


@dataclass(frozen=True)
class Contender:
    """A way to fetch files.

    Attributes:
        name: for the table.
        command: gives its command for a folder, a number of requests in flight and a file of addresses.
        is_installed: whether it can take part.
        stores: what is on disk at the end.
    """

    name: str
    command: Callable[[Path, int, Path], list[str]]
    is_installed: bool
    stores: str


@dataclass(frozen=True)
class Outcome:
    """One run: its report, and the peak of its memory in MiB."""

    report: Report
    peak_mib: float


def _module(name: str) -> Callable[[Path, int, Path], list[str]]:
    return lambda folder, in_flight, urls: [
        *(sys.executable, "-m", f"contenders.{name}", str(folder), str(in_flight), str(urls))
    ]


def _aria2c(folder: Path, in_flight: int, urls: Path) -> list[str]:
    options = ["--quiet", f"--dir={folder}/files", f"--input-file={urls}", "--continue=true"]
    return ["aria2c", *options, f"--max-concurrent-downloads={in_flight}", "--split=1"]


CONTENDERS = [
    Contender(
        "Holocron, FileReader",
        _module("holocron_files"),
        is_installed=True,
        stores="by content, checked, synced; request log",
    ),
    Contender(
        "Holocron, runs of fetch_files",
        _module("holocron_file_runs"),
        is_installed=True,
        stores="the same, with rows and Dagster's events",
    ),
    Contender("Scrapy, FilesPipeline", _module("scrapy_files"), is_installed=True, stores="by address"),
    Contender("pooch", _module("pooch_files"), find_spec("pooch") is not None, "by address"),
    Contender("aria2c", _aria2c, shutil.which("aria2c") is not None, "by name"),
]


def main() -> None:
    """Let them fetch in turns, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", type=int, default=2_000, help="small files")
    parser.add_argument("--large", type=_bytes, default="512M", help="size of the large file, such as 2G")
    parser.add_argument("--in-flight", type=int, default=8, help="files at once")
    parser.add_argument("--rounds", type=int, default=1, help="how often each contender fetches all")
    options = parser.parse_args()
    present = [contender for contender in CONTENDERS if contender.is_installed]
    small: dict[str, list[Outcome]] = {one.name: [] for one in present}
    large: dict[str, list[Outcome]] = {one.name: [] for one in present}
    again: dict[str, int] = {}
    with serving(options.large) as address:
        names = [f"{address}{SMALL_PATH}{number}" for number in range(options.files)]
        for _ in range(options.rounds):
            for contender in present:
                small[contender.name].append(fetch(contender, names, options.in_flight))
                large[contender.name].append(fetch(contender, [f"{address}{LARGE_PATH}"], 1))
        for contender in present:
            again[contender.name] = asked_again(contender, address, options.large)
    print_table(present, small, large, again, options.large)


@contextmanager
def serving(large_bytes: int) -> Iterator[str]:
    """The address of a local server, in a process of its own."""
    command = [sys.executable, "-m", "local_files.server", str(large_bytes)]
    with subprocess.Popen(command, cwd=FOLDER, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - ours
        try:
            if process.stdout is None:
                raise RuntimeError("the server's output was not piped")
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.terminate()


def fetch(contender: Contender, urls: Sequence[str], in_flight: int) -> Outcome:
    """Let one contender fetch addresses in a fresh process.

    Raises:
        RuntimeError: it failed, or did not fetch all.
    """
    with tempfile.TemporaryDirectory() as name:
        started = perf_counter()
        process = start(contender, Path(name), urls, in_flight)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"{contender.name} ended with {process.returncode}")
        if (Path(name) / REPORT_FILE).exists():
            report = read_report(Path(name))
        else:  # a program that knows nothing of reports
            report = Report(perf_counter() - started, usage.ru_utime + usage.ru_stime, len(urls))
        if report.pages != len(urls):
            raise RuntimeError(f"{contender.name} fetched {report.pages} of {len(urls)} files")
        return Outcome(report, usage.ru_maxrss / 1024)


def start(contender: Contender, folder: Path, urls: Sequence[str], in_flight: int) -> subprocess.Popen[bytes]:
    """Start a contender on some addresses."""
    names = folder / "urls.txt"
    names.write_text("\n".join(urls))
    return subprocess.Popen(contender.command(folder, in_flight, names), cwd=FOLDER)  # noqa: S603 - ours


def asked_again(contender: Contender, address: str, large_bytes: int) -> int:
    """Bytes of the large file that are sent more than once if the contender is killed in the middle.

    Raises:
        RuntimeError: it failed when it was started again.
    """
    before = _sent(address)
    with tempfile.TemporaryDirectory() as name:
        for is_killed in (True, False):
            process = start(contender, Path(name), [f"{address}{LARGE_PATH}"], 1)
            while is_killed and process.poll() is None and _sent(address) - before < large_bytes // 2:
                sleep(0.005)
            if is_killed:
                process.send_signal(signal.SIGKILL)
            if process.wait() and not is_killed:
                raise RuntimeError(f"{contender.name} ended with {process.returncode} after it was killed")
    return max(_sent(address) - before - large_bytes, 0)


def print_table(
    present: Sequence[Contender],
    small: dict[str, list[Outcome]],
    large: dict[str, list[Outcome]],
    again: dict[str, int],
    large_bytes: int,
) -> None:
    """Medians of all rounds."""
    mib = large_bytes / 2**20
    files = len(small) and small[present[0].name][0].report.pages
    table = Table(
        *("contender", "files/s", "CPU s", "MiB", "large MiB/s", "CPU s", "MiB", "MiB asked again", "stores"),
        title=f"{files:,} files of 50 KB, and one of {mib:,.0f} MiB that is killed at half",
    )
    for contender in present:
        few, one = small[contender.name], large[contender.name]
        table.add_row(
            contender.name,
            f"{median(o.report.pages / o.report.seconds for o in few):,.0f}",
            *_costs(few),
            f"{median(mib / o.report.seconds for o in one):,.0f}",
            *_costs(one),
            f"{again[contender.name] / 2**20:,.0f}",
            contender.stores,
        )
    Console(width=150).print(table)
    for contender in CONTENDERS:
        if not contender.is_installed:
            print(f"{contender.name} is not installed, and took no part")


def _costs(outcomes: Sequence[Outcome]) -> tuple[str, str]:
    cpu = median(outcome.report.cpu_seconds for outcome in outcomes)
    return f"{cpu:.2f}", f"{median(outcome.peak_mib for outcome in outcomes):,.0f}"


def _sent(address: str) -> int:
    with urlopen(f"{address}{SENT_PATH}") as answer:  # noqa: S310 - loopback
        return int(answer.read())


def _bytes(text: str) -> int:
    return int(text[:-1]) * UNITS[text[-1]] if text[-1:] in UNITS else int(text)


if __name__ == "__main__":
    main()
