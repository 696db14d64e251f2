"""docs/guarantees.md names tests and commands that exist."""

import re

from holocron_assets.settings import PROJECT_FOLDER

_TEXT = (PROJECT_FOLDER / "docs" / "guarantees.md").read_text(encoding="utf-8")
_TESTS = PROJECT_FOLDER / "holocron_assets_tests"


def test_every_test_that_a_guarantee_names_exists() -> None:
    named = set(re.findall(r"`((?:\w+/)?test_\w+\.py)`", _TEXT))
    assert len(named) > 40
    assert {name for name in named if not (_TESTS / name).is_file()} == set()


def test_every_command_that_a_guarantee_names_is_one_of_ours() -> None:
    makefile = (PROJECT_FOLDER / "Makefile").read_text(encoding="utf-8")
    named = set(re.findall(r"(?:`|    )make (\w+)", _TEXT))
    assert named >= {"faults", "fuzz", "soak", "audit"}
    assert {name for name in named if f"\n{name}:" not in makefile} == set()
