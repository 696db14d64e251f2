"""Lines about long work where no terminal shows a bar: a log or a service manager sees that it goes on."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic

SECONDS = 8.0
"""Between two lines. With what it takes to write one, a line comes at least every 10 s."""

_UNDER_WAY: list[object] = []
"""The work that tells of itself, the innermost last: only that one writes lines."""


@contextmanager
def told_in_lines(
    doing: Callable[[], str], tell: Callable[[str], None], *, every: float = SECONDS
) -> Iterator[None]:
    """While the block lasts, tell in a line what is done, again and again.

    Within another such block, that one is silent as long as this one lasts.

    Args:
        doing: what is done and how far it is; asked from another thread.
        tell: writes a line, from that thread.
        every: seconds between two lines.
    """
    ended, started, own = Event(), monotonic(), object()

    def watch() -> None:
        while not ended.wait(every):
            if _UNDER_WAY[-1:] == [own]:
                tell(f"{doing()}, {_duration(monotonic() - started)}")

    watcher = Thread(target=watch, name="told-in-lines", daemon=True)
    _UNDER_WAY.append(own)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
        _UNDER_WAY.remove(own)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
