"""What a soak counts with: processes distinguished, growth, and faults that a seed repeats."""

import os
import subprocess
import sys
from itertools import islice
from pathlib import Path
from random import Random

import pytest
from soaking.faults import FAULTS, deck_of
from soaking.measures import Measure, growth_of, last_life
from soaking.processes import processes_of
from soaking.samples import Sample

_MONTH = 30 * 86_400


def sample_at(at: float, pid: int, memory: int) -> Sample:
    return Sample(
        at=at,
        memory={"daemon": memory},
        files={},
        lives={"daemon": pid},
        dagster={},
        data={},
        data_files=0,
        runs=None,
        behind=None,
        calls=0,
        questions=0,
    )


def deck(seed: int, *, may_restart: bool, rounds: int) -> list[str]:
    chance = Random(seed)  # noqa: S311 - repeats, guards nothing
    drawn = islice(deck_of(chance, may_restart=lambda: may_restart), rounds * len(FAULTS))
    return [fault.name for fault in drawn]


def test_a_seed_repeats_its_faults_and_each_kind_comes_before_any_comes_again() -> None:
    one, same, other = (deck(seed, may_restart=True, rounds=2) for seed in (1, 1, 2))
    assert one == same != other
    assert sorted(one[: len(FAULTS)]) == sorted(one[len(FAULTS) :]) == sorted(fault.name for fault in FAULTS)


def test_towards_the_end_nothing_that_lives_long_is_ended() -> None:
    ending = {fault.name for fault in FAULTS if fault.restarts}
    assert ending
    assert not ending & set(deck(1, may_restart=False, rounds=3))


def test_growth_is_that_of_a_straight_line() -> None:
    growth = growth_of([(at, 100 + 2 * at) for at in range(40)])
    assert growth
    assert (growth.first, growth.last) == (109, 169)
    assert growth.a_month == pytest.approx(2 * _MONTH)
    assert growth.uncertainty == pytest.approx(0, abs=1)
    assert growth_of([(0, 1), (1, 2)]) is None


def test_what_grows_beyond_its_bound_is_noticed() -> None:
    steady = [(at, 100.0 + at % 2) for at in range(40)]
    grown = [(at, 100.0 + 2 * at) for at in range(40)]
    assert Measure("memory", steady, most=1.1).is_bounded
    assert not Measure("memory", grown, most=1.1).is_bounded
    assert Measure("memory", grown, most=1.1, slack=100).is_bounded
    assert Measure("lake", grown).is_bounded, "shown, not judged"


def test_memory_counts_from_when_the_last_process_was_warm() -> None:
    samples = [
        sample_at(0, 1, 50),
        sample_at(600, 1, 90),
        *(sample_at(at, 2, at) for at in (700, 800, 900, 1000)),
    ]
    counted = last_life(samples, "daemon", lambda one, role: one.memory[role])
    assert counted == [(900, 900), (1000, 1000)]


def test_processes_are_known_by_the_folder_that_they_work_on(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "print(flush=True); input()", "dagster._daemon", "run"]
    started = [
        subprocess.Popen(  # noqa: S603 - our own command
            command,
            env={**os.environ, "HOLOCRON_DATA": str(folder)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for folder in (tmp_path / "data", tmp_path / "data2")
    ]
    try:
        for process in started:
            assert process.stdout
            process.stdout.readline()  # until then it may hold next to nothing
        [found] = processes_of(tmp_path / "data")
        assert (found.pid, found.role) == (started[0].pid, "daemon")
        assert found.memory > 1_000_000
        assert found.files >= 3
    finally:
        for process in started:
            process.communicate(b"\n", timeout=60)
