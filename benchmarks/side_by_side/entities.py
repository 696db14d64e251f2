"""Entities after some new pages, beside all entities resolved anew."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from shutil import copytree

from entity_increment import Cost, Growing

from side_by_side.row import Row, Scale, compared

_PAGES: Mapping[Scale, int] = {"quick": 20_000, "full": 204_000}
"""With a quarter of them, what both do first would hide what they differ in."""
_NEW: Mapping[Scale, int] = {"quick": 200, "full": 1_000}
_TURNS: Mapping[Scale, int] = {"quick": 2, "full": 1}


def measure(scale: Scale) -> list[Row]:
    """The row of the increment."""
    turns = []
    with tempfile.TemporaryDirectory() as name:
        growing = Growing(Path(name) / "before", _PAGES[scale], _NEW[scale])
        growing.begin()
        for turn in range(_TURNS[scale]):
            copytree(growing.folder, copy := Path(name) / f"grown-{turn}")
            both = growing.grow(copy)
            turns.append((_seconds(both.increment), _seconds(both.anew)))
    return [compared("entities of new pages", "CPU s", "all entities anew", turns)]


def _seconds(cost: Cost) -> float:
    """Of the stages, without the start of the process."""
    return sum(cost.stages.values())
