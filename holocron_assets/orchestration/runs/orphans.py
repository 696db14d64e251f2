"""Runs whose code server is gone end by themselves: nothing else can end them any more."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from multiprocessing.connection import wait
from time import sleep

_SECONDS_TO_END = 15
_COMMAND = f"""
import sys
from {__name__} import end_with
end_with(int(sys.argv.pop(1)))
from holocron_assets.cli.main import main
main()
"""


def has_code_server() -> bool:
    """Whether a code server started this process for one run. `holocron run` has no code server."""
    return multiprocessing.parent_process() is not None


@cache
def end_with_code_server() -> None:
    """Let a run end when the code server that started it is gone, for any reason.

    The run ends in order if it can, or else as if it were killed.
    """
    if parent := multiprocessing.parent_process():
        end_with(parent.sentinel)


def end_with(sentinel: int) -> None:
    """Let this process end when a descriptor shows that another one is gone, in order if it can."""
    threading.Thread(target=_end_after, args=(sentinel,), daemon=True).start()


@contextmanager
def command_that_ends_with_us(words: Sequence[str]) -> Iterator["subprocess.Popen[bytes]"]:
    """A `holocron` command in a process of its own, which ends when this one is gone, in order if it can.

    Args:
        words: of the command, without `holocron`.
    """
    theirs, ours = os.pipe()  # the system closes our end when we are gone
    command = [sys.executable, "-c", _COMMAND, str(theirs), *words]
    try:
        with subprocess.Popen(command, pass_fds=(theirs,)) as process:  # noqa: S603 - our own
            os.close(theirs)
            yield process
    finally:
        os.close(ours)


def _end_after(sentinel: int) -> None:
    wait([sentinel])
    os.kill(os.getpid(), signal.SIGTERM)
    sleep(_SECONDS_TO_END)
    os._exit(1)
