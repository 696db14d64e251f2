"""What the fuzzer starts from, and all that it ever found, through the same checks: without the fuzzer."""

from pathlib import Path
from time import process_time

import pytest
from fuzz_targets import SECONDS_AN_INPUT, TARGETS, inputs_of

INPUTS = [pytest.param(name, path, id=f"{name}-{path.name}") for name in TARGETS for path in inputs_of(name)]


@pytest.mark.parametrize(("name", "path"), INPUTS)
def test_every_input_that_was_kept_is_read_as_promised(name: str, path: Path) -> None:
    began = process_time()
    TARGETS[name].check(path.read_bytes())
    assert process_time() - began < SECONDS_AN_INPUT


def test_every_target_has_something_to_start_from() -> None:
    assert all(inputs_of(name) for name in TARGETS)
