"""Dagster's instance at a home, opened from a process that has no DAGSTER_HOME, or another one."""

import os
from pathlib import Path
from unittest.mock import patch

import dagster as dg


def dagster_at(home: str | Path) -> dg.DagsterInstance:
    """The instance at a home, as its own processes open it. Nothing is reaped. Close it by `with`."""
    with patch.dict(os.environ, {"DAGSTER_HOME": str(home)}):
        return dg.DagsterInstance.from_config(str(home))
