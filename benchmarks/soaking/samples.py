"""What is measured of a Holocron every few seconds, from outside."""

import os
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dagster import DagsterRunStatus, RunsFilter
from dagster._core.scheduler.instigation import TickStatus
from simulation.comparison import compare

from holocron_assets.lake.files.listing import JOURNAL_FILE
from soaking.processes import processes_of
from soaking.world import SOURCE, World


@dataclass(frozen=True)
class Sample:
    """One sample.

    Attributes:
        at: seconds since the soak began.
        memory: bytes held, by role.
        files: open, by role.
        lives: a process number by role.
        dagster: bytes of Dagster's storage, by kind.
        data: bytes of the data folder, by kind.
        data_files: files in the data folder.
        runs: how many there are, by status; None where Dagster's storage could not be read just then.
        behind: pages that the lake lacks, has in an old version, or has though they are gone; None where the
            lake could not be read just then.
        calls: of the model so far.
        questions: that were answered so far, each counted once.
    """

    at: float
    memory: Mapping[str, int]
    files: Mapping[str, int]
    lives: Mapping[str, int]
    dagster: Mapping[str, int]
    data: Mapping[str, int]
    data_files: int
    runs: Mapping[str, int] | None
    behind: int | None
    calls: int
    questions: int


@dataclass(frozen=True)
class Tick:
    """One evaluation of a sensor or schedule.

    Attributes:
        sensor: its name.
        at: seconds since the soak began.
        seconds: that it took.
        status: how it ended.
    """

    sensor: str
    at: float
    seconds: float
    status: str


def sample(world: World, at: float) -> Sample:
    """Take a sample now."""
    memory, files, lives = Counter[str](), Counter[str](), dict[str, int]()
    for process in processes_of(world.data):
        memory[process.role] += process.memory
        files[process.role] += process.files
        lives[process.role] = process.pid
    home, kept = Path(world.whole.holocron.environment["DAGSTER_HOME"]), _files(world.data)
    return Sample(
        at=at,
        memory=dict(memory),
        files=dict(files),
        lives=lives,
        dagster=_bytes(_files(home), lambda path: path.relative_to(home).parts[0]),
        data=_bytes(kept, lambda path: _kind(path.relative_to(world.data))),
        data_files=len(kept),
        runs=_unless_broken(lambda: runs_by_status(world)),
        behind=_unless_broken(lambda: behind(world)),
        calls=len(world.ollama.chats),
        questions=len(world.answered),
    )


def behind(world: World) -> int:
    """How many pages of the lake are not as they are in the wiki."""
    found = compare(world.whole.lake, SOURCE, world.texts())
    return len(found.outdated) + len(found.absent) + len(found.ghosts)


def runs_by_status(world: World) -> Mapping[str, int]:
    """How many runs there are of each status."""
    with world.whole.instance() as instance:
        counts = {one.value: instance.get_runs_count(RunsFilter(statuses=[one])) for one in DagsterRunStatus}
    return {status: count for status, count in counts.items() if count}


def ticks(world: World, began_at: float) -> list[Tick]:
    """All ticks of sensors and schedules that ended."""
    with world.whole.instance() as instance:
        return [
            Tick(
                state.name, tick.timestamp - began_at, tick.end_timestamp - tick.timestamp, tick.status.value
            )
            for state in instance.all_instigator_state()
            for tick in instance.get_ticks(state.instigator_origin_id, state.selector_id)
            if tick.end_timestamp and tick.status != TickStatus.STARTED
        ]


def _unless_broken(find: Callable[[], Any]) -> Any:
    """What a function finds, or None where it meets something that was broken on purpose."""
    try:
        return find()
    except Exception:  # noqa: BLE001 - whatever a damaged file or a locked database makes of it
        return None


def _files(top: Path) -> Mapping[Path, int]:
    """Sizes of all files; what goes away meanwhile is left out."""
    sizes = {}
    for folder, _, names in os.walk(top):
        for name in names:
            with suppress(FileNotFoundError):
                sizes[Path(folder, name)] = Path(folder, name).stat().st_size
    return sizes


def _bytes(sizes: Mapping[Path, int], kind: Callable[[Path], str]) -> Mapping[str, int]:
    counted = Counter[str]()
    for path, size in sizes.items():
        counted[kind(path)] += size
    return dict(counted)


def _kind(path: Path) -> str:
    if path.name.startswith(JOURNAL_FILE):
        return "journals"
    if path.parts[0] == "locks":
        return "locks"
    if any("quarantine" in part for part in path.parts):
        return "quarantine"
    return "lake" if path.parts[0] == "lake" else "other"
