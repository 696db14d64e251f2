"""What a contender reports of its crawl, counted from the moment that its libraries are loaded."""

import json
import resource
import time
from dataclasses import asdict, dataclass
from pathlib import Path

REPORT_FILE = "report.json"


@dataclass(frozen=True)
class Report:
    """Time from the first request to the last page stored.

    Attributes:
        seconds: by the clock on the wall.
        cpu_seconds: of the processor, by all of the process's threads, user and system.
        pages: how many were stored.
    """

    seconds: float
    cpu_seconds: float
    pages: int


class Stopwatch:
    """Runs from when it is made."""

    def __init__(self) -> None:
        """Start."""
        self._started, self._cpu_started = time.perf_counter(), _cpu_seconds()

    def report(self, folder: Path, *, pages: int) -> None:
        """Write the report of what took until now into a folder."""
        seconds, cpu_seconds = time.perf_counter() - self._started, _cpu_seconds() - self._cpu_started
        (folder / REPORT_FILE).write_text(json.dumps(asdict(Report(seconds, cpu_seconds, pages))))


def read_report(folder: Path) -> Report:
    """What a contender wrote."""
    return Report(**json.loads((folder / REPORT_FILE).read_text()))


def _cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
