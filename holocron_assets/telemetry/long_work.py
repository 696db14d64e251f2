"""Lines about the progress of long work where there is no terminal: they show in logs that it goes on."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic

SECONDS = 8.0
"""Seconds between two lines. With the time to write one, a line comes at least every 10 s."""

_UNDER_WAY: list[object] = []
"""The work under way that reports its progress, the innermost last: only the innermost writes lines."""


@contextmanager
def progress_lines(
    doing: Callable[[], str], print_line: Callable[[str], None], *, every: float = SECONDS
) -> Iterator[None]:
    """While the block lasts, write a line about its progress every few seconds.

    An outer block of the same kind is silent as long as this one lasts.

    Args:
        doing: returns what is done and how far it is; called from another thread.
        print_line: writes a line, from that thread.
        every: seconds between two lines.
    """
    started, own = monotonic(), object()

    def say() -> None:
        if _UNDER_WAY[-1:] == [own]:
            print_line(f"{doing()}, {_duration(monotonic() - started)}")

    _UNDER_WAY.append(own)
    try:
        with repeated(say, every):
            yield
    finally:
        _UNDER_WAY.remove(own)


@contextmanager
def repeated(doing: Callable[[], None], every: float) -> Iterator[None]:
    """While the block lasts, do something every so many seconds in another thread."""
    ended = Event()

    def repeat() -> None:
        while not ended.wait(every):
            doing()

    thread = Thread(target=repeat, name="repeated", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
