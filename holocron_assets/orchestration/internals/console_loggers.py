"""The logger that writes the lines of runs and ticks to the terminal, replaced by one of our own.

Waits for: a setting of `dagster.yaml` that chooses the format of the lines of runs and ticks.
"""

from collections.abc import Callable
from logging import Logger
from typing import Any

from dagster import _loggers as dagster_loggers
from dagster._core.definitions import instigation_logger
from structlog.types import EventDict


def replace_console_loggers(make: Callable[[str, str | int], Logger]) -> None:
    """Let runs and ticks write through loggers that `make` returns for a name and a level.

    Dagster has no public setting for them: a run whose config names no logger gets Dagster's own, in colours,
    and so does a tick.
    """
    for module in (dagster_loggers, instigation_logger):
        module.create_console_logger = make  # type: ignore[attr-defined]


def line_of_run(line: EventDict) -> dict[str, Any]:
    """What Dagster attaches to a line of a run, under our own names; unknown values are None.

    Dagster has no public name for the attribute that holds it.
    """
    known: dict[str, Any] = getattr(line.get("_record"), "dagster_meta", None) or {}
    event = known.get("dagster_event")
    details = getattr(event and event.event_specific_data, "error", None)
    return {
        "event": known.get("orig_message"),
        "run_id": known.get("run_id"),
        "job": known.get("job_name"),
        "step": known.get("step_key"),
        "dagster_event": event and event.event_type_value,
        "partition": event and event.partition,
        "error": details and details.to_string(),
    }
