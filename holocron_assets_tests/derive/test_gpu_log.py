"""What a session of calls came to: busy share, loads, and its row."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from holocron_assets.derive.gpu.gpu_log import GpuRun, Tally, write_gpu_run
from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import GPU_RUNS

START = datetime(2026, 11, 21, 12, tzinfo=UTC)


def call(at: float, seconds: float, *, load: float = 0) -> dict[str, Any]:
    """A call that was sent `at` seconds after the start."""
    return {
        "started_at": START + timedelta(seconds=at),
        "total_ms": seconds * 1000,
        "load_ms": load * 1000,
        "tokens_in": 100,
        "tokens_out": 10,
    }


def tally_of(*calls: dict[str, Any]) -> Tally:
    tally = Tally()
    for one in calls:
        tally.count_call(one)
    return tally


def test_time_in_which_calls_overlap_counts_once() -> None:
    tally = tally_of(call(0, 4), call(2, 4), call(8, 2))
    assert tally.busy_share == pytest.approx(8 / 10)


def test_the_order_in_which_calls_end_changes_nothing() -> None:
    assert tally_of(call(8, 2), call(2, 4), call(0, 4)).busy_share == pytest.approx(8 / 10)


def test_calls_that_waited_for_the_same_loading_are_one_load() -> None:
    tally = tally_of(call(0, 5, load=3), call(0.1, 6, load=2.9), call(7, 1, load=0.05), call(20, 4, load=1))
    assert tally.loads == 2


def test_milliseconds_of_loading_are_no_load() -> None:
    assert tally_of(call(0, 1, load=0.02)).loads == 0


def test_loading_before_the_first_question_is_busy_time_and_a_load_but_no_call() -> None:
    tally = Tally()
    tally.count_load(START, 3)
    tally.count_call(call(3, 1))
    assert (tally.loads, tally.calls, tally.busy_share) == (1, 1, 1.0)


def test_nothing_asked_is_nothing_busy_and_no_row(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    assert Tally().busy_share == 0
    assert write_gpu_run(lake, GpuRun("run", "small", "5", "person", "complete", "nothing"), Tally()) is None
    assert lake.partitions(GPU_RUNS) == []


def test_a_row_has_the_result_of_a_session(tmp_path: Path) -> None:
    lake, tally = Lake(tmp_path), tally_of(call(0, 4, load=1), call(5, 5))
    tally.items.update({"facts": 1, "extraction": 1})
    tally.failed_items, tally.calls_saved, tally.partitions_completed = 1, 7, 2
    run = GpuRun("run-1", "small:1b", "5" * 64, "dispatch", "partial", "1 of 2 remain")
    gpu_run_id = write_gpu_run(lake, run, tally)
    assert gpu_run_id is not None
    assert gpu_run_id.startswith("20261121T120000-")
    (row,) = read_partition(lake, GPU_RUNS, gpu_run_id)
    assert (row["started_at"], row["ended_at"]) == (START, START + timedelta(seconds=10))
    assert (row["loads"], row["load_seconds"], row["busy_seconds"], row["busy_share"]) == (1, 1, 9, 0.9)
    assert (row["items"], row["failed_items"], row["calls"], row["calls_saved"]) == (2, 1, 2, 7)
    assert (row["tokens_in"], row["tokens_out"], row["partitions_completed"]) == (200, 20, 2)
    assert (row["interrogations"], row["outcome"]) == ('{"extraction": 1, "facts": 1}', "partial")
