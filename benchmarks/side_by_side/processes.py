"""Work in a process of its own, and what processes took."""

import os
import resource
import subprocess
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

from side_by_side.row import LeftOutError

Answer = TypeVar("Answer")


def in_a_process(work: Callable[..., Answer], *given: object) -> Answer:
    """Do some work in a fresh process, which no earlier work has warmed. What it prints is dropped.

    Raises:
        LeftOutError: the work raised it.
        RuntimeError: the work failed; says where.
    """
    with ProcessPoolExecutor(1, get_context("spawn"), initializer=_be_silent) as pool:
        return pool.submit(_told, work, *given).result()


def home_in(folder: Path) -> dict[str, str]:
    """The environment of a Holocron whose folders are all in one."""
    places = {"HOLOCRON_DATA": "data", "HOLOCRON_SOURCES": "sources", "HOLOCRON_STATE": "state"}
    return {name: str(folder / place) for name, place in {**places, "DAGSTER_HOME": "dagster"}.items()}


def cpu_of(command: Sequence[str], environment: Mapping[str, str]) -> float:
    """Seconds of the processor that a command takes, its own processes included.

    Raises:
        CalledProcessError: it failed.
    """
    before = _cpu_of_children()
    environment = {**os.environ, **environment}
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)  # noqa: S603 - our own
    return _cpu_of_children() - before


def _told(work: Callable[..., Answer], *given: object) -> Answer:
    """Do the work; its error comes as text, since not every error can go from one process to another."""
    try:
        return work(*given)
    except LeftOutError:
        raise
    except Exception:  # noqa: BLE001 - whatever it is, it is told whole
        raise RuntimeError(traceback.format_exc()) from None


def _be_silent() -> None:
    """Print nothing from now on, and let no process do so that is begun from here: the table is elsewhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
