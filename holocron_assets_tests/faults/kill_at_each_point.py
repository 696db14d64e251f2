"""Run as a program: WORK FOLDER PATTERN WHICH kills a work at commit points, all or some, and finishes it.

WHICH is JSON: pairs of a point's number and `before` or `after`; null for both at all points.

Each trial is a process of its own on a copy of what was prepared: it dies by SIGKILL before or after a point.
Another process does the work again, as a restarted Holocron would, and says what it came to. What the clean
work came to, its points, and each trial that came to something else are printed as JSON.
"""

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path

from commit_works import WORKS, Work
from dying_at_points import Points, watch


def in_another_process(act: Callable[[], None]) -> int:
    """Do something in a fork; give how it ended, as `waitpid` reports it."""
    child = os.fork()
    if not child:
        ended = 1
        try:
            act()
            ended = 0
        finally:
            os._exit(ended)
    return os.waitpid(child, 0)[1]


def result_of(work: Work, folder: Path) -> str:
    """Do a work to its end, and give what it came to."""
    answer = folder.with_suffix(".result")

    def act() -> None:
        work.work(folder)
        answer.write_text(work.result(folder))

    assert in_another_process(act) == 0, f"the work fails in {folder}"
    return answer.read_text()


def die(work: Work, folder: Path, pattern: str, at: int, when: str) -> tuple[bool, list[str]]:
    """Do a work up to a commit point; say whether it died, and what points it reached."""
    notes = folder.with_suffix(".points")
    notes.mkdir()

    def act() -> None:
        watch(Points(pattern, at, when, str(notes)))
        work.work(folder)

    ended = in_another_process(act)
    assert ended in {0, signal.SIGKILL}, f"the work fails in {folder}"
    reached = notes / "reached"
    return ended == signal.SIGKILL, reached.read_text().splitlines() if reached.exists() else []


def main(name: str, into: str, pattern: str, which: str) -> None:
    work, folder, number = WORKS[name], Path(into), 0
    prepared = folder / "prepared"
    prepared.mkdir()
    assert in_another_process(lambda: work.prepare(prepared)) == 0

    def another() -> Path:
        nonlocal number
        number += 1
        return Path(shutil.copytree(prepared, folder / str(number)))

    clean = result_of(work, another())
    points = die(work, another(), pattern, 0, "before")[1]
    each = product(range(1, len(points) + 1), ("before", "after"))
    chosen: list[tuple[int, str]] = json.loads(which) or list(each)
    wrong = []
    for at, when in chosen:
        copy = another()
        assert die(work, copy, pattern, at, when)[0], f"nothing died at point {at} of {len(points)}"
        if (came_to := result_of(work, copy)) != clean:
            wrong.append([at, when, points[at - 1], came_to])
        shutil.rmtree(copy)
    sys.stdout.write(json.dumps({"clean": clean, "points": points, "tried": chosen, "wrong": wrong}))


if __name__ == "__main__":
    main(*sys.argv[1:])
