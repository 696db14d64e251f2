"""Log lines and spans of Dagster's processes and runs, with the run that they belong to."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg
from structlog.types import EventDict, WrappedLogger

from holocron_assets.orchestration.internals.console_loggers import line_of_run, replace_console_loggers
from holocron_assets.planning.job_names import PARTITION_TAG, SOURCE_TAG, TRACE_TAG
from holocron_assets.telemetry.context import about
from holocron_assets.telemetry.logs import json_formatter, log_format
from holocron_assets.telemetry.setup import observe_process
from holocron_assets.telemetry.spans import flush_traces, span


def observe_runs() -> None:
    """Set up logs and traces of a process that works on runs.

    Raises:
        ObserveError: a variable of the environment has an unknown value; the message names it.
    """
    observe_process()
    if log_format() == "json":
        replace_console_loggers(_json_console_logger)


@contextmanager
def run_observed(run: dg.DagsterRun) -> Iterator[None]:
    """Give every line and span of this process the run's id, until the block ends; then send its spans."""
    partition, source = run.tags.get(PARTITION_TAG), run.tags.get(SOURCE_TAG)
    attributes = {
        "holocron.run_id": run.run_id,
        "holocron.job": run.job_name,
        "holocron.partition": partition,
        "holocron.source": source,
    }
    try:
        with (
            about(run_id=run.run_id, job=run.job_name, partition=partition),
            span(f"run {run.job_name}", "consumer", attributes, parent=run.tags.get(TRACE_TAG)),
        ):
            yield
    finally:
        flush_traces()


def _json_console_logger(name: str, level: str | int) -> logging.Logger:
    made = logging.getLoggerClass()(name, level=level)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(json_formatter(_of_run))
    made.addHandler(handler)
    return made


def _of_run(_logger: WrappedLogger, _name: str, line: EventDict) -> EventDict:
    """A line of a run, with what Dagster knows about it under our own keys."""
    return {**line, **{key: value for key, value in line_of_run(line).items() if value}}
