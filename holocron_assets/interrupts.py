"""Long commands: after a signal to end they end in order, and their exit code shows which signal it was."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_ASKING_TO_END = (signal.SIGINT, signal.SIGTERM)


class _Asked:
    """The signals that asked this process to end.

    There is one such object, because signals belong to the process.
    """

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self._noted: int | None = None

    def listen(self, noted: int | None) -> None:
        """Take signals from a pipe that Python notes them in, or from none."""
        self.numbers, self._noted = [], noted

    def asked(self) -> list[int]:
        """The numbers of those that came, oldest first."""
        with suppress(BlockingIOError):
            while self._noted is not None and (received := os.read(self._noted, 64)):
                self.numbers += [number for number in received if number in _ASKING_TO_END]
        return self.numbers


_ASKED = _Asked()


@contextmanager
def ending_by_signal() -> Iterator[None]:
    """Turn SIGTERM into what Ctrl+C is, a KeyboardInterrupt, and either into the usual exit code.

    Raises:
        SystemExit: with 130 after Ctrl+C and 143 after SIGTERM, as shells know them.
    """
    # What runs here may put handlers in place of ours, and forget a signal; Python notes each one before.
    noted, noting = os.pipe()
    os.set_blocking(noted, False)
    os.set_blocking(noting, False)
    wakeup = signal.set_wakeup_fd(noting)
    _ASKED.listen(noted)
    # A shell's background job ignores interrupts, and goes on doing so.
    asking = [number for number in _ASKING_TO_END if signal.getsignal(number) != signal.SIG_IGN]
    handlers = {number: signal.signal(number, _interrupt) for number in asking}
    try:
        yield
    except KeyboardInterrupt:
        sys.exit(128 + next(iter(_ASKED.asked()), signal.SIGINT))
    except RuntimeError:
        # What DuckDB makes of a KeyboardInterrupt that comes while it answers.
        if asked := _ASKED.asked():
            sys.exit(128 + asked[0])
        raise
    finally:
        signal.set_wakeup_fd(wakeup)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        _ASKED.listen(None)
        os.close(noted)
        os.close(noting)


def end_if_asked() -> None:
    """Raise KeyboardInterrupt if a signal asked for an end since `ending_by_signal` began."""
    if _ASKED.asked():
        raise KeyboardInterrupt


def _interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt
