"""The present work: the run, partition, page and request that each log line and span names.

Python's context variables hold it. Tasks of an event loop and threads of `asyncio.to_thread` inherit it. A
function for another thread takes it along with `carried`.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import copy_context
from functools import partial
from typing import Any, ParamSpec, TypeVar

from structlog.contextvars import bound_contextvars, get_contextvars

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def about(**what: Any) -> AbstractContextManager[None]:
    """Name the present work until the block ends; values that are None are left out."""
    return bound_contextvars(**{name: value for name, value in what.items() if value is not None})


def request_id() -> str | None:
    """The id of the present request, if there is one."""
    known: str | None = get_contextvars().get("request_id")
    return known


def carried(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """The function, to be called once in another thread, with the present work of this thread."""
    return partial(copy_context().run, function)
