"""Dagster's instance at a home, opened from a process that has no DAGSTER_HOME, or another one."""

import os
from pathlib import Path
from unittest.mock import patch

import dagster as dg


def dagster_at(home: str | Path) -> dg.DagsterInstance:
    """The instance at a home, as its own processes open it. Nothing is reaped. Close it by `with`."""
    with patch.dict(os.environ, {"DAGSTER_HOME": str(home)}):
        instance = dg.DagsterInstance.from_config(str(home))
        _ = instance.compute_log_manager  # which Dagster makes, by its configuration, when it is first used
        return instance
