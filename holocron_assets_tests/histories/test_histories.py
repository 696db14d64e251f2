"""Random histories against a model of what Holocron promises; `make histories` runs a thousand."""

import os
import secrets
import sys
from pathlib import Path

import pytest
from driving import driven
from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import run_state_machine_as_test
from machine import Histories, Tally

pytestmark = pytest.mark.system

FEW, FEW_STEPS, STEPS = 2, 8, 50


def test_a_lake_is_as_the_model_says_after_every_step_of_random_histories(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = os.environ.get("HOLOCRON_HISTORIES")
    number = int(os.environ.get("HOLOCRON_HISTORIES_SEED") or (secrets.randbelow(10**9) if asked else 1))
    tally = Tally()
    with driven(tmp_path) as holocron:
        Histories.driven, Histories.tally = holocron, tally
        try:
            run_state_machine_as_test(
                seed(number)(Histories),
                settings=settings(
                    max_examples=int(asked or FEW),
                    stateful_step_count=STEPS if asked else FEW_STEPS,
                    deadline=None,
                    database=None,
                    derandomize=False,
                    print_blob=True,
                    suppress_health_check=list(HealthCheck),
                ),
            )
        finally:
            with capsys.disabled():
                sys.stdout.write("\n".join(["", f"HOLOCRON_HISTORIES_SEED={number}", *tally.table(), ""]))
