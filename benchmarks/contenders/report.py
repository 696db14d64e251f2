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
        self.start()

    def start(self) -> None:
        """Let the time count from now."""
        self._started = _now()
        self._stopped: tuple[float, float] | None = None

    def stop(self) -> None:
        """Let the time until now count; a later call counts in place of this one."""
        self._stopped = _now()

    def report(self, folder: Path, *, pages: int) -> None:
        """Write into a folder what took until the last stop, or until now without one."""
        stopped = self._stopped or _now()
        seconds, cpu_seconds = (end - start for end, start in zip(stopped, self._started, strict=True))
        (folder / REPORT_FILE).write_text(json.dumps(asdict(Report(seconds, cpu_seconds, pages))))


def read_report(folder: Path) -> Report:
    """What a contender wrote."""
    return Report(**json.loads((folder / REPORT_FILE).read_text()))


def _now() -> tuple[float, float]:
    """The time by the clock on the wall, and by the process's processor."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return time.perf_counter(), usage.ru_utime + usage.ru_stime
