"""Runs that were recorded, by commit, and how a run compares with them."""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from holocron_assets.lake.place.clock import utc_now
from holocron_assets.settings import PROJECT_FOLDER
from side_by_side.row import Row, Scale

RESULTS = PROJECT_FOLDER / "benchmarks" / "results.json"
WORSE = 1.25
"""A ratio that is more than so many times the recorded one is worse; less is what two runs may differ by."""


@dataclass(frozen=True)
class Machine:
    """What a run was measured on, as far as it explains figures.

    Attributes:
        processor: its model.
        cores: how many.
        load: how many processes wanted to work at the end of the run, on average of a minute.
    """

    processor: str
    cores: int
    load: float


@dataclass(frozen=True)
class Run:
    """The rows that were recorded at once.

    Attributes:
        commit: the code's; with a plus if it had changes that were not committed.
        date: the day, in UTC.
        machine: what it ran on.
        scale: how much work the rows did.
        rows: what was measured.
    """

    commit: str
    date: str
    machine: Machine
    scale: Scale
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Judged:
    """A row, and the ratio that was recorded of it last.

    Attributes:
        row: as it was measured now.
        recorded: the ratio; None if no run has the row with this peer.
    """

    row: Row
    recorded: float | None

    @property
    def change(self) -> float | None:
        """How many times the recorded ratio the present one is."""
        return None if self.recorded is None else self.row.ratio / self.recorded

    @property
    def is_worse(self) -> bool:
        """Whether the ratio is more than a quarter worse than the recorded one, on any machine."""
        return self.change is not None and self.change > WORSE and not self.row.of_the_clock


def run_of(rows: Sequence[Row], scale: Scale) -> Run:
    """A run of now, on this machine, at the present commit."""
    machine = Machine(_processor(), os.cpu_count() or 1, round(os.getloadavg()[0], 1))
    return Run(_commit(), utc_now().date().isoformat(), machine, scale, tuple(rows))


def read_runs(file: Path = RESULTS) -> list[Run]:
    """The recorded runs, the newest last; none without the file."""
    if not file.exists():
        return []
    return [_revived(run) for run in json.loads(file.read_text(encoding="utf-8"))]


def record(run: Run, file: Path = RESULTS) -> None:
    """Add a run to those that are recorded. One of the same commit and scale gets its rows, and stays one."""
    earlier = read_runs(file)
    if earlier and (earlier[-1].commit, earlier[-1].scale) == (run.commit, run.scale):
        run = replace(run, rows=_merged(earlier.pop().rows, run.rows))
    text = json.dumps([asdict(one) for one in (*earlier, run)], indent=1)
    file.write_text(f"{text}\n", encoding="utf-8")


def judged(rows: Sequence[Row], runs: Sequence[Run], scale: Scale) -> list[Judged]:
    """Each row beside the ratio of the newest run of this scale that has it, with the same peer."""
    recorded = {(row.name, row.peer): row.ratio for run in runs if run.scale == scale for row in run.rows}
    return [Judged(row, recorded.get((row.name, row.peer))) for row in rows]


def better_of(first: Sequence[Row], second: Sequence[Row]) -> list[Row]:
    """Of rows that were measured twice, the lower ratio of each: what was busy beside it differed."""
    again = {row.name: row for row in second}
    return [min(row, again.get(row.name, row), key=lambda one: one.ratio) for row in first]


def _merged(before: Sequence[Row], now: Sequence[Row]) -> tuple[Row, ...]:
    rows = {row.name: row for row in (*before, *now)}
    return tuple(rows.values())


def _revived(run: Mapping[str, object]) -> Run:
    known = dict(run)
    known["machine"] = Machine(**known["machine"])  # type: ignore[arg-type] # as `record` wrote it
    known["rows"] = tuple(Row(**row) for row in known["rows"])  # type: ignore[attr-defined] # the same
    return Run(**known)  # type: ignore[arg-type] # the same


def _commit() -> str:
    """The commit's short name; `unknown` where this is no checkout."""
    command = ["git", "describe", "--always", "--exclude=*", "--dirty=+"]
    done = subprocess.run(  # noqa: S603 - git, as anybody would ask it
        command, cwd=PROJECT_FOLDER, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "unknown"


def _processor() -> str:
    """The processor's model, as the system names it."""
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return "unknown"
