"""`holocron run` is killed, or asked to stop, in the middle of a request, of a model call and of a write."""

import signal
from pathlib import Path
from typing import Any

import pytest
from commit_points import CommitPoints
from dagster import DagsterRunStatus
from held import Gate, hold_chats, hold_pages, processes_of
from small_and_open import expect_nothing_lost_or_doubled, small_and_open
from whole_holocron import UNFINISHED, WholeHolocron, kill_group, until

pytestmark = pytest.mark.full


@pytest.mark.fault(1, "`holocron run` stopped in the middle of a request and a model call")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda one: one.name)
def test_what_a_stopped_run_had_not_done_is_done_by_the_next_and_nothing_twice(
    tmp_path: Path, clean: dict[str, Any], number: signal.Signals
) -> None:
    with small_and_open(tmp_path) as whole:
        stop_in_the_middle(whole, hold_pages(whole.wiki), number)
        stop_in_the_middle(whole, hold_chats(whole.ollama), number)
        whole.finish()
        expect_nothing_lost_or_doubled(whole, clean, kills=2)


@pytest.mark.fault(1, "SIGKILL of `holocron run` in the middle of a write")
def test_a_run_killed_in_the_middle_of_a_write_leaves_the_old_file_or_the_new(
    tmp_path: Path, clean: dict[str, Any]
) -> None:
    with small_and_open(tmp_path) as whole:
        points = CommitPoints(tmp_path / "points", match=r"rename .*/page_types/.*data\.parquet")
        calm = dict(whole.environment)
        whole.environment |= points.deadly(1, "before")
        assert whole.start("run").wait(240) == -signal.SIGKILL
        assert points.died(), "it was not killed in the middle of a write"
        whole.environment = calm
        whole.finish()
        expect_nothing_lost_or_doubled(whole, clean, kills=1)


def stop_in_the_middle(whole: WholeHolocron, gate: Gate, number: signal.Signals) -> None:
    """Send a signal to `holocron run` while it waits at a gate, to its whole group as a terminal does."""
    process = whole.start("run")
    gate.somebody_waits()
    kill_group(process, number)
    gate.opened.set()
    until(lambda: not processes_of(whole.holocron.folder), "nothing of it lives")
    if number == signal.SIGKILL:
        assert process.returncode == -signal.SIGKILL
        return
    assert process.returncode == 128 + number
    assert "Stopped. What was done is kept" in whole.log.read_text()
    assert not whole.runs(*UNFINISHED), "no later start has to find out that it ended"
    assert whole.runs(DagsterRunStatus.FAILURE)
