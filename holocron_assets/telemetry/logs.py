"""Log lines on standard error: JSON for machines or text for people, with the work that they are about.

`HOLOCRON_LOG` is 'json' or 'text'; the default is text. `HOLOCRON_LOG_LEVEL` is the lowest level that is
written. The default is 'info' as JSON, and 'warning' as text, since commands show people their own progress.
"""

import logging
import os
import sys
from collections.abc import Mapping
from typing import Any, Literal

import structlog
from structlog.stdlib import BoundLogger, ProcessorFormatter
from structlog.types import EventDict, Processor, WrappedLogger

from holocron_assets.telemetry.errors import ObserveError
from holocron_assets.telemetry.masking import without_secrets
from holocron_assets.telemetry.spans import open_span_ids

ROOT = "holocron_assets"
_FORMATS = ("text", "json")
_LEVELS = ("debug", "info", "warning", "error")
_OF_DAGSTER = ("dagster", "dagit", "dagster-webserver")
"""Loggers to which Dagster adds handlers, in the processes that its commands start."""


def logger(name: str) -> BoundLogger:
    """The logger of a module. Before `configure_logs` it writes only warnings, like Python's own loggers.

    Args:
        name: the module's `__name__`.
    """
    made: BoundLogger = structlog.wrap_logger(
        logging.getLogger(name),
        processors=[
            structlog.stdlib.filter_by_level,  # first, so that a line below the level costs little
            *_shared(),
            structlog.processors.format_exc_info,
            ProcessorFormatter.wrap_for_formatter,
        ],
        wrapper_class=BoundLogger,
    )
    return made


def log_format(environment: Mapping[str, str] = os.environ) -> Literal["text", "json"]:
    """The format of log lines.

    Raises:
        ObserveError: HOLOCRON_LOG has another value.
    """
    said = environment.get("HOLOCRON_LOG") or "text"
    if said not in _FORMATS:
        raise ObserveError(f"HOLOCRON_LOG must be 'json' or 'text', not {said!r}")
    return "json" if said == "json" else "text"


def configure_logs(environment: Mapping[str, str] = os.environ) -> None:
    """Let this process write its lines as the environment says. It may be called again.

    If it says JSON, all lines of this process are JSON, also those of Dagster and other libraries.

    Raises:
        ObserveError: HOLOCRON_LOG or HOLOCRON_LOG_LEVEL cannot be used.
    """
    is_json = log_format(environment) == "json"
    level = (environment.get("HOLOCRON_LOG_LEVEL") or ("info" if is_json else "warning")).lower()
    if level not in _LEVELS:
        raise ObserveError(f"HOLOCRON_LOG_LEVEL must be one of {', '.join(_LEVELS)}, not {level!r}")
    own, everything = logging.getLogger(ROOT), logging.getLogger()
    for one in (own, everything):
        for handler in [*one.handlers]:
            if isinstance(handler, _Handler):
                one.removeHandler(handler)
    own.setLevel(level.upper())
    own.propagate = is_json
    (everything if is_json else own).addHandler(_Handler(json_formatter() if is_json else _text_formatter()))
    if is_json:
        for name in _OF_DAGSTER:
            for handler in logging.getLogger(name).handlers:
                handler.setFormatter(json_formatter())
                logging.getLogger(name).propagate = False  # otherwise each line would be written twice


def say(what: str) -> None:
    """Write a message for people: a sentence on standard error, or a line of JSON."""
    if log_format() == "json":
        logger(ROOT).warning(what)
    else:
        sys.stderr.write(f"{what}\n")
        sys.stderr.flush()


def json_formatter(*more: Processor) -> logging.Formatter:
    """A formatter that writes any record as one line of JSON.

    Args:
        more: processors that come first.
    """
    return ProcessorFormatter(
        foreign_pre_chain=_shared(),
        processors=[
            *more,
            ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(ensure_ascii=False, default=str),
            _masked,
        ],
    )


class _Handler(logging.Handler):
    """Our handler, found again by its class. It writes to the standard error of the time of writing."""

    def __init__(self, formatter: logging.Formatter) -> None:
        super().__init__()
        self.setFormatter(formatter)

    def emit(self, record: logging.LogRecord) -> None:
        try:
            sys.stderr.write(f"{self.format(record)}\n")
            sys.stderr.flush()
        except Exception:  # noqa: BLE001 - like Python's handlers: a failed line ends nothing
            self.handleError(record)


def _text_formatter() -> logging.Formatter:
    renderer = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    return ProcessorFormatter(
        foreign_pre_chain=_shared(),
        processors=[ProcessorFormatter.remove_processors_meta, renderer, _masked],
    )


def _shared() -> list[Processor]:
    return [
        structlog.contextvars.merge_contextvars,
        _with_span,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]


def _with_span(_logger: WrappedLogger, _name: str, line: EventDict) -> EventDict:
    return {**line, **open_span_ids()}


def _masked(_logger: WrappedLogger, _name: str, line: EventDict) -> Any:
    """The line, which is a text here, without secrets."""
    return without_secrets(str(line))
