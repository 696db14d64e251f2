"""The patterns of a source, which say what of a wiki or a list is wanted."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


def fitting(names: Sequence[str], *, include: Sequence[str], exclude: Sequence[str]) -> list[bool]:
    """Which names fit a pattern to include, if there are any, and none to exclude.

    Arrow reads patterns with RE2, as DuckDB does for the frontier.
    """
    column = pa.array(names, pa.string())

    def fits(patterns: Sequence[str]) -> Any:
        found = pa.array([False] * len(names), pa.bool_())
        for pattern in patterns:
            found = pc.or_(found, pc.match_substring_regex(column, pattern))
        return found

    included = fits(include) if include else pa.array([True] * len(names), pa.bool_())
    wanted: list[bool] = pc.and_(included, pc.invert(fits(exclude))).to_pylist()
    return wanted
