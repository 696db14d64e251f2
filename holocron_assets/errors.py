"""The errors that people read. Commands show them without a traceback, and runs end with their message."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # most processes import these classes, and pydantic takes a while
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails


class HolocronError(Exception):
    """An error whose message says what went wrong and what a person can do."""


class TransientError(HolocronError):
    """It failed for now; the same may work later."""


class PermanentError(HolocronError):
    """It failed, and would fail again unchanged: a person has to act."""


def details_of(error: "ValidationError") -> "list[ErrorDetails]":
    """What pydantic found wrong with a value. The error then holds no frames any more.

    Python's garbage collection does not see the errors of checks that an error of pydantic holds. Their
    frames, with all that these refer to, would never be freed: a daemon that reads a wrong file again and
    again would grow, and DuckDB's modules would complain when a process ends.
    """
    found = error.errors()
    for details in found:
        details["msg"] = details["msg"].removeprefix("Value error, ")
        cause = details.get("ctx", {}).get("error")  # a text, where pydantic itself reads the value
        while isinstance(cause, BaseException):
            cause.__traceback__, cause = None, cause.__cause__ or cause.__context__
    return found


def first_problem(error: "ValidationError") -> tuple[str, str]:
    """The first thing that pydantic found wrong with a value: its key, with dots, and what is wrong."""
    first = details_of(error)[0]
    return ".".join(map(str, first["loc"])), first["msg"]
