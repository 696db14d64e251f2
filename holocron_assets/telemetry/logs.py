"""Log lines on standard error: JSON for machines or text for people, with the work that they are about.

`HOLOCRON_LOG` is 'json' or 'text'; the default is text. `HOLOCRON_LOG_LEVEL` is the lowest level that is
written. The default is 'info' as JSON, and 'warning' as text, since commands show people their own progress.
"""

import logging
import os
import sys
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, cast

from holocron_assets.telemetry.errors import ObserveError
from holocron_assets.telemetry.masking import without_secrets
from holocron_assets.telemetry.spans import open_span_ids

if TYPE_CHECKING:
    from structlog.stdlib import BoundLogger
    from structlog.types import EventDict, Processor, WrappedLogger

# structlog imports what it may print tracebacks with, which takes a tenth of a second, and commands that go
# well write no line. So it is imported for the first line.

ROOT = "holocron_assets"
_FORMATS = ("text", "json")
_MOST_SHOWN = 2_000
_LEVELS = ("debug", "info", "warning", "error")
_OF_DAGSTER = ("dagster", "dagit", "dagster-webserver")
"""Loggers to which Dagster adds handlers, in the processes that its commands start."""


def logger(name: str) -> "BoundLogger":
    """The logger of a module. Until `configure_logs` it says only warnings, as Python's own loggers do.

    Args:
        name: the module's `__name__`.
    """
    return cast("BoundLogger", _Logger(name))


class _Logger:
    """A logger that is made for its first line."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self._made, attribute)

    def info(self, event: str, **what: Any) -> None:
        # Asked first: every request has such a line, which commands do not want.
        if logging.getLogger(self._name).isEnabledFor(logging.INFO):
            self._made.info(event, **what)

    def debug(self, event: str, **what: Any) -> None:
        if logging.getLogger(self._name).isEnabledFor(logging.DEBUG):
            self._made.debug(event, **what)

    @cached_property
    def _made(self) -> "BoundLogger":
        import structlog  # noqa: PLC0415 - see above

        made: BoundLogger = structlog.wrap_logger(
            logging.getLogger(self._name),
            processors=[
                structlog.stdlib.filter_by_level,  # first: a line that nobody wants costs next to nothing
                *_shared(),
                structlog.processors.format_exc_info,
                structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
            ],
            wrapper_class=structlog.stdlib.BoundLogger,
        )
        return made


def shown(payload: str | bytes) -> str:
    """A payload as a debug line shows it: its first 2,000 characters without secrets, and its length."""
    start = payload[: _MOST_SHOWN * 4]  # more than is shown, so that no secret is cut before it is masked
    text = without_secrets(start if isinstance(start, str) else start.decode(errors="replace"))
    if len(text) <= _MOST_SHOWN:
        return text
    return (
        f"{text[:_MOST_SHOWN]} ... ({len(payload):,} {'characters' if isinstance(payload, str) else 'bytes'})"
    )


def log_format(environment: Mapping[str, str] = os.environ) -> Literal["text", "json"]:
    """The format of log lines.

    Raises:
        ObserveError: HOLOCRON_LOG has another value.
    """
    wanted = environment.get("HOLOCRON_LOG") or "text"
    if wanted not in _FORMATS:
        raise ObserveError(f"HOLOCRON_LOG must be 'json' or 'text', not {wanted!r}")
    return "json" if wanted == "json" else "text"


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
    (everything if is_json else own).addHandler(_Handler(json_formatter if is_json else _text_formatter))
    if is_json:
        for name in _OF_DAGSTER:
            for handler in logging.getLogger(name).handlers:
                handler.setFormatter(json_formatter())
                logging.getLogger(name).propagate = False  # otherwise each line would be written twice


def say(what: str, level: Literal["warning", "error"] = "warning") -> None:
    """Write a message for people: a sentence on standard error, or a line of JSON.

    Args:
        what: the message.
        level: the level of the line; `error` where something failed.
    """
    if log_format() == "json":
        getattr(logger(ROOT), level)(what)
    else:
        sys.stderr.write(f"{what}\n")
        sys.stderr.flush()


def json_formatter(*more: "Processor") -> logging.Formatter:
    """A formatter that writes any record as one line of JSON.

    Args:
        more: processors that come first.
    """
    import structlog  # noqa: PLC0415 - see above

    formatter = structlog.stdlib.ProcessorFormatter
    return formatter(
        foreign_pre_chain=_shared(),
        processors=[
            *more,
            formatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(ensure_ascii=False, default=str),
            _masked,
        ],
    )


class _Handler(logging.Handler):
    """Our handler, found again by its class. It writes to the standard error of the time of writing."""

    def __init__(self, formatter: Callable[[], logging.Formatter]) -> None:
        super().__init__()
        self._make_formatter = formatter

    def emit(self, record: logging.LogRecord) -> None:
        try:
            if self.formatter is None:
                self.setFormatter(self._make_formatter())
            sys.stderr.write(f"{self.format(record)}\n")
            sys.stderr.flush()
        except Exception:  # noqa: BLE001 - like Python's handlers: a failed line ends nothing
            self.handleError(record)


def _text_formatter() -> logging.Formatter:
    import structlog  # noqa: PLC0415 - see above

    renderer = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    formatter = structlog.stdlib.ProcessorFormatter
    return formatter(
        foreign_pre_chain=_shared(),
        processors=[formatter.remove_processors_meta, renderer, _masked],
    )


def _shared() -> "list[Processor]":
    import structlog  # noqa: PLC0415 - see above

    return [
        structlog.contextvars.merge_contextvars,
        _with_span,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]


def _with_span(_logger: "WrappedLogger", _name: str, line: "EventDict") -> "EventDict":
    return {**line, **open_span_ids()}


def _masked(_logger: "WrappedLogger", _name: str, line: "EventDict") -> Any:
    """The line, which is text by now, without secrets."""
    return without_secrets(str(line))
