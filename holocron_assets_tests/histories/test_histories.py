"""Random histories against a model of what Holocron promises; `make histories` runs a thousand."""

import os
import secrets
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import pytest
from machine import Tally, lived

pytestmark = [pytest.mark.system, pytest.mark.long]

FEW, FEW_STEPS, STEPS = 2, 8, 50
OF_A_SEED = 9
"""Histories that one seed gives; see `lived`."""


def test_a_lake_is_as_the_model_says_after_every_step_of_random_histories(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = os.environ.get("HOLOCRON_HISTORIES")
    workers = int(os.environ.get("HOLOCRON_HISTORIES_WORKERS") or 1)
    first = int(os.environ.get("HOLOCRON_HISTORIES_SEED") or (secrets.randbelow(10**9) if asked else 1))
    histories = int(asked or FEW)
    seeds = range(first, first + -(-histories // OF_A_SEED))
    live = partial(lived, histories=min(histories, OF_A_SEED), steps=STEPS if asked else FEW_STEPS)
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        shares = [seeds[number::workers] for number in range(workers)]
        results = list(pool.map(live, shares, [tmp_path / f"{number}" for number in range(workers)]))
    tally = Tally()
    for done, _ in results:
        tally.add(done)
    with capsys.disabled():
        sys.stdout.write("\n".join(["", f"HOLOCRON_HISTORIES_SEED={first}", *tally.table(), ""]))
    failures = [wrong for _, wrong in results if wrong]
    assert not failures, "\n".join(failures)
