"""Processes that die before and after commit points, of each kind of work; a restart comes to the same.

Which points of long works are tried is drawn by chance. The seed is printed when a test fails; set
HOLOCRON_TEST_SEED to try the same again.
"""

import json
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.system

PROGRAM = Path(__file__).parent / "kill_at_each_point.py"
SEED = int(os.environ.get("HOLOCRON_TEST_SEED") or random.SystemRandom().randrange(1_000_000))


def killed_everywhere(
    work: str, folder: Path, *, pattern: str = "", points: Sequence[tuple[int, str]] | None = None
) -> dict[str, Any]:
    path = os.pathsep.join(sys.path)
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, str(PROGRAM), work, str(folder), pattern, json.dumps(points)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    report: dict[str, Any] = json.loads(done.stdout)
    return report


@pytest.mark.fault(3, "a crash before and after every commit point")
@pytest.mark.parametrize(
    ("work", "fewest"),
    [
        ("fetch a batch", 10),
        pytest.param("pack journals", 5, marks=pytest.mark.full),
        pytest.param("ask a model", 10, marks=pytest.mark.full),
        pytest.param("decide", 9, marks=pytest.mark.full),
    ],
)
def test_a_death_at_any_commit_point_changes_nothing_after_a_restart(
    tmp_path: Path, work: str, fewest: int
) -> None:
    report = killed_everywhere(work, tmp_path)
    assert len(report["points"]) >= fewest
    assert len(report["tried"]) == 2 * len(report["points"])
    assert report["wrong"] == []


@pytest.mark.full
@pytest.mark.fault(3, "a crash before and after commit points, drawn by chance")
@pytest.mark.parametrize(("work", "trials"), [("compact", 40), ("make knowledge", 15)])
def test_a_death_at_a_commit_point_drawn_by_chance_changes_nothing(
    tmp_path: Path, work: str, trials: int
) -> None:
    (tmp_path / "list").mkdir()
    (tmp_path / "kill").mkdir()
    print(f"HOLOCRON_TEST_SEED={SEED}")  # noqa: T201 - shown when the test fails
    chance = random.Random(SEED)  # noqa: S311 - no secret
    count = len(killed_everywhere(work, tmp_path / "list", points=[(1, "before")])["points"])
    drawn = [
        (at, chance.choice(["before", "after"]))
        for at in chance.sample(range(1, count + 1), min(trials, count))
    ]
    assert killed_everywhere(work, tmp_path / "kill", points=drawn)["wrong"] == []
