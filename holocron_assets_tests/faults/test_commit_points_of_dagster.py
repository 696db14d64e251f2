"""Whole Holocrons that die between what they wrote and what Dagster knows of it; a restart comes to the same.

Which of many such moments is tried is drawn by chance. The seed is printed when a test fails; set
HOLOCRON_TEST_SEED to try the same again.
"""

import os
import random
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from commit_points import CommitPoints
from held import page_requests, processes_of
from small_and_open import expect_nothing_lost_or_doubled, small_and_open
from whole_holocron import UNFINISHED, WholeHolocron, kill_group, until

from holocron_assets.lake.tables import ENTITIES

pytestmark = pytest.mark.full

SEED = int(os.environ.get("HOLOCRON_TEST_SEED") or random.SystemRandom().randrange(1_000_000))

EVENT = r"/[0-9a-f-]{36}\.db INSERT INTO event_logs ASSET_MATERIALIZATION$"
INDEX = r"/index\.db INSERT INTO event_logs ASSET_MATERIALIZATION, "
SUCCESS = r"/[0-9a-f-]{36}\.db INSERT INTO event_logs PIPELINE_SUCCESS$"
STATUS = r"/runs\.db UPDATE runs SUCCESS"
"""What a run commits, in this order: that data was written, for itself and for all; its end, likewise."""

EVALUATED = r"/schedules\.db UPDATE job_ticks STARTED"
REQUESTED = r"/runs\.db INSERT INTO runs "
TICKED = r"/schedules\.db UPDATE job_ticks SUCCESS"
"""What the daemon commits of a sensor's tick that asks for runs, in this order; the cursor is the last."""
AT_LEAST = 3
"""So many such ticks there are in this Holocron, whatever the clock."""


class Clean(NamedTuple):
    """What a Holocron that nothing happened to came to, and the commits of `holocron run` on the way."""

    hashes: dict[str, Any]
    points: list[str]


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clean]:
    folder = tmp_path_factory.mktemp("clean")
    with small_and_open(folder) as whole:
        points = CommitPoints(folder / "points", match="^commit ")
        whole.environment.update(points.listed())
        whole.finish()
        reached = points.reached()
        assert max(page_requests(whole.wiki).values()) == 1
        yield Clean(whole.hashes(), reached)


@pytest.mark.parametrize(
    ("commit", "when"),
    [
        pytest.param(
            commit, when, marks=pytest.mark.fault(3, f"SIGKILL of `holocron run` {moment}"), id=moment
        )
        for commit, when, moment in (
            (EVENT, "before", "with data written and no event of it"),
            (EVENT, "after", "with an event of data that Dagster's index does not know"),
            (INDEX, "after", "after the event of data"),
            (SUCCESS, "before", "after a run's last step, with no event of its success"),
            (STATUS, "before", "between the event of a run's success and its status"),
            (STATUS, "after", "after a run's success"),
        )
    ],
)
def test_a_run_that_dies_between_data_and_events_is_finished_by_the_next(
    tmp_path: Path, clean: Clean, commit: str, when: str
) -> None:
    count = sum(bool(re.search(commit, point)) for point in clean.points)
    assert count
    at = drawn(commit + when, count)
    with small_and_open(tmp_path) as whole:
        points = CommitPoints(tmp_path / "points", match=commit)
        whole.environment.update(points.deadly(at, when))
        whole.command("run")
        assert points.died()
        whole.finish()
        expect_one_more_request_at_most(whole, clean)


@pytest.mark.parametrize(
    ("commit", "when"),
    [
        pytest.param(commit, when, marks=pytest.mark.fault(3, f"SIGKILL of the daemon {moment}"), id=moment)
        for commit, when, moment in (
            (EVALUATED, "before", "with a sensor's tick evaluated and nothing of it written"),
            (REQUESTED, "after", "between a run that a sensor asks for and its tick"),
            (TICKED, "before", "with all that a tick asks for made, and the tick unfinished"),
            (TICKED, "after", "between a sensor's tick and its cursor"),
        )
    ],
)
def test_a_daemon_that_dies_between_a_sensors_work_and_its_cursor_goes_on(
    tmp_path: Path, clean: Clean, commit: str, when: str
) -> None:
    at = drawn(commit + when, AT_LEAST)
    with small_and_open(tmp_path) as whole:
        points = CommitPoints(tmp_path / "points", match=commit)
        whole.environment.update(points.deadly(at, when))
        daemon = whole.start_daemon()
        until(points.died, f"a death {when} point {at}", seconds=400)
        assert daemon.wait(60) == -signal.SIGKILL
        end_all(whole)
        whole.start_daemon()
        until(
            lambda: whole.lake.partitions(ENTITIES) and not whole.runs(*UNFINISHED),
            "all is done without a hand",
            seconds=400,
            every=1,
        )
        end_all(whole)
        whole.finish()
        expect_one_more_request_at_most(whole, clean)


def drawn(what: str, count: int) -> int:
    """Which of some points is tried: by the seed, whatever other tests run."""
    print(f"HOLOCRON_TEST_SEED={SEED}")  # noqa: T201 - shown when the test fails
    return random.Random(f"{SEED} {what}").randint(1, count)  # noqa: S311 - no secret


def end_all(whole: WholeHolocron) -> None:
    """Kill what is left of a daemon and of all that it started, as a machine does that loses its power."""
    kill_group(whole.started[-1])
    until(lambda: not processes_of(whole.holocron.folder), "all is gone", seconds=60)


def expect_one_more_request_at_most(whole: WholeHolocron, clean: Clean) -> None:
    expect_nothing_lost_or_doubled(whole, clean.hashes, kills=1)
    assert max(page_requests(whole.wiki).values()) <= 2, "a page was asked for a third time"
