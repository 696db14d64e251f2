"""Runs whose code server is gone end by themselves: nothing else can end them any more."""

import multiprocessing
import os
import signal
import threading
from functools import cache
from multiprocessing.connection import wait
from time import sleep

_SECONDS_TO_END = 15


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


def _end_after(sentinel: int) -> None:
    wait([sentinel])
    os.kill(os.getpid(), signal.SIGTERM)
    sleep(_SECONDS_TO_END)
    os._exit(1)
