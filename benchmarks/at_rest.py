"""What `holocron ui` takes while nothing is to be done: time of the processor and memory, by process.

    python benchmarks/at_rest.py [--pages 10000] [--seconds 150]

Pages of ../shared are imported first. Then web UI, daemon and sensors run on that lake. Counting begins after
90 seconds, when each sensor has ticked and the first snapshot is taken. Memory is the proportional share
(PSS): what processes share is counted once.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from time import perf_counter, sleep
from typing import NamedTuple

from import_dump import INFOBOX_PAGES, run_import, write_dump
from rich.console import Console
from rich.table import Table
from side_by_side.processes import home_in

START_SECONDS = 90
PORT = 8379
TICKS = os.sysconf("SC_CLK_TCK")
LONGEST_COMMAND = 60


class Used(NamedTuple):
    """What a process has used.

    Attributes:
        command: its command line.
        cpu: seconds of the processor so far.
        mebibytes: its share of memory.
    """

    command: str
    cpu: float
    mebibytes: float


def main() -> None:
    """Print the table."""
    options = arguments()
    if not INFOBOX_PAGES.exists():
        sys.exit(f"needs {INFOBOX_PAGES}, which is not next to this checkout")
    os.environ["HOLOCRON_LLM"] = "off"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        dump, _ = write_dump(folder / "dump.xml", options.pages)
        run_import(folder / "home", dump, [])
        Console(width=120, highlight=False).print(table_of(*at_rest(folder / "home", options.seconds)))


def at_rest(home: Path, seconds: float) -> tuple[dict[int, Used], dict[int, Used], float]:
    """What the processes had used before and after some seconds, and how many those were."""
    environment = {**os.environ, **home_in(home)}
    command = [str(Path(sys.executable).with_name("holocron")), "ui", "--port", str(PORT)]
    with (home / "ui.log").open("wb") as log:
        process = subprocess.Popen(  # noqa: S603 - our own command
            command, env=environment, stdout=log, stderr=log, start_new_session=True
        )
    try:
        sleep(START_SECONDS)
        before, started = used_below(process.pid), perf_counter()
        sleep(seconds)
        after, took = used_below(process.pid), perf_counter() - started
        if (code := process.poll()) is not None:
            sys.exit(f"`holocron ui` ended with {code}: {(home / 'ui.log').read_text(encoding='utf-8')}")
        return before, after, took
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def used_below(first: int) -> dict[int, Used]:
    """What a process and all that it started have used, by number."""
    parents = dict(_parents())
    found = {first}
    while more := {one for one, parent in parents.items() if parent in found} - found:
        found |= more
    return {number: used for number in sorted(found) if (used := _used(number))}


def _parents() -> Iterator[tuple[int, int]]:
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            yield int(folder.name), int(_numbers(folder)[1])
        except OSError:
            continue  # it ended in between


def _used(number: int) -> Used | None:
    folder = Path("/proc", str(number))
    try:
        numbers = _numbers(folder)
        command = (folder / "cmdline").read_text(encoding="utf-8").replace("\0", " ").strip()
        memory = dict(line.split(":", 1) for line in (folder / "smaps_rollup").read_text().splitlines()[1:])
    except OSError:
        return None
    seconds = (int(numbers[11]) + int(numbers[12])) / TICKS
    return Used(command, seconds, int(memory["Pss"].split()[0]) / 1024)


def _numbers(folder: Path) -> list[str]:
    """The fields of a process's `stat` after its name, which may have spaces."""
    return (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()


def table_of(before: Mapping[int, Used], after: Mapping[int, Used], seconds: float) -> Table:
    """A line for each process, and their sum."""
    table = Table(title=f"at rest, over {seconds:.0f} s")
    for column in ("process", "share of a core", "MiB"):
        table.add_column(column, justify="left" if column == "process" else "right")
    shares = {
        number: (used.cpu - (before[number].cpu if number in before else 0)) / seconds
        for number, used in after.items()
    }
    for number, used in after.items():
        words = used.command.split(" ", 1)[-1][:LONGEST_COMMAND]
        table.add_row(words, f"{shares[number]:.1%}", f"{used.mebibytes:,.0f}")
    memory = sum(used.mebibytes for used in after.values())
    table.add_row("together", f"{sum(shares.values()):.1%}", f"{memory:,.0f}")
    return table


def arguments() -> argparse.Namespace:
    """The command line's."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=10_000, help="how many pages to import")
    parser.add_argument("--seconds", type=float, default=150, help="for how long to count")
    return parser.parse_args()


if __name__ == "__main__":
    main()
