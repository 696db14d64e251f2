"""How long commands take over the sample, each as a process of its own, and the seconds that they may take.

    python benchmarks/commands.py [--runs 7] [--before FOLDER]

FOLDER is another state of the code, such as a worktree of an older commit. Its commands are run in turns with
those of this one, so that both meet the same load. Each state of the code makes a sample of its own. What
Python compiles is there when the time is taken, as after an installation.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import NamedTuple

from holocron_assets.settings import PROJECT_FOLDER

COMMANDS: Mapping[tuple[str, ...], float] = {
    ("--help",): 0.3,
    ("page", "Issa Dorrane"): 0.8,
    ("sql", "from entities limit 10"): 0.8,
    ("status",): 1.5,
    ("run", "--source", "sample"): 4.0,
}
"""Commands, with the seconds that each may take."""

_MAKE = ("run", "--source", "sample")
_NOTHING = "Nothing to do"
_PROGRAM = """
try:
    from holocron_assets.cli.main import main
except ModuleNotFoundError:  # older code had a module in place of the package
    from holocron_assets.cli import main
main()
"""


class Taken(NamedTuple):
    """What a process took, in seconds."""

    wall: float
    cpu: float


class Code(NamedTuple):
    """A state of the code, with the folder of its sample."""

    root: Path
    folder: Path

    def environment(self) -> dict[str, str]:
        """An environment without other settings, and without a terminal's width."""
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        own = {"HOLOCRON_DATA": "data", "HOLOCRON_STATE": "state", "PYTHONPYCACHEPREFIX": "compiled"}
        places = {name: str(self.folder / place) for name, place in own.items()}
        return {**kept, **places, "HOLOCRON_LLM": "off", "PYTHONPATH": str(self.root)}

    def holocron(self, words: Sequence[str]) -> tuple[Taken, str]:
        """Run a command; what it took and printed."""
        before, started = _cpu_of_children(), perf_counter()
        done = subprocess.run(  # noqa: S603 - our own
            [sys.executable, "-c", _PROGRAM, *words],
            check=True,
            env=self.environment(),
            cwd=self.folder,
            capture_output=True,
            text=True,
        )
        return Taken(perf_counter() - started, _cpu_of_children() - before), done.stdout


def main() -> None:
    arguments = _arguments()
    with tempfile.TemporaryDirectory() as folder:
        codes = [Code(PROJECT_FOLDER, Path(folder) / "now")]
        if arguments.before:
            codes.append(Code(arguments.before.resolve(), Path(folder) / "before"))
        for code in codes:
            code.folder.mkdir()
            code.holocron(_MAKE)
        measure_commands(codes, arguments.runs)


def measure_commands(codes: Sequence[Code], runs: int) -> None:
    """Measure every command, and print the table."""
    names = ["now", "before"][: len(codes)]
    columns = [f"{name}: {what}" for name in names for what in ("least", "median", "CPU")]
    print(f"seconds of {runs} runs each; load {os.getloadavg()[0]:.1f}")
    print(f"| command | target | {' | '.join(columns)} |")
    print(f"| --- {'| ---: ' * (1 + len(columns))}|")
    for words, target in COMMANDS.items():
        taken = _measured(codes, words, runs)
        cells = [f"{value:.2f}" for one in taken for value in _figures(one)]
        print(f"| `holocron {' '.join(words)}` | {target} | {' | '.join(cells)} |", flush=True)


def _measured(codes: Sequence[Code], words: Sequence[str], runs: int) -> list[list[Taken]]:
    """What each run took, by code. The first of each compiles, and does not count."""
    taken: list[list[Taken]] = [[] for _ in codes]
    for number in range(runs + 1):
        for code, own in zip(codes, taken, strict=True):
            one, said = code.holocron(words)
            if words == _MAKE and _NOTHING not in said:
                raise RuntimeError(f"{code.root}: there was something to do:\n{said}")
            if number:
                own.append(one)
    return taken


def _figures(taken: Sequence[Taken]) -> Sequence[float]:
    walls = [one.wall for one in taken]
    return min(walls), median(walls), min(one.cpu for one in taken)


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=7, help="of each command")
    parser.add_argument("--before", type=Path, metavar="FOLDER", help="another state of the code")
    return parser.parse_args()


if __name__ == "__main__":
    main()
