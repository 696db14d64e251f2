"""What is being worked on: the run, partition, page and request that every line and span is about.

It is held by Python's own context variables. Tasks of an event loop take it along by themselves, and threads
that `asyncio.to_thread` starts; what is given to another thread takes it along as `carried`.
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
    """Say, for as long as the block lasts, what is worked on; what is None is not said."""
    return bound_contextvars(**{name: value for name, value in what.items() if value is not None})


def request_id() -> str | None:
    """The id of the request that is under way here, if there is one."""
    known: str | None = get_contextvars().get("request_id")
    return known


def carried(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """The function, for another thread, with what is worked on here and now. For one call."""
    return partial(copy_context().run, function)
