"""Runs whose code server is gone: nothing can terminate them any more, so they end by themselves."""

import multiprocessing
import os
import signal
import threading
from functools import cache
from multiprocessing.connection import wait
from time import sleep

_SECONDS_TO_END = 15


def has_code_server() -> bool:
    """Whether a code server started this process for one run. `holocron run` has none: it is left alone."""
    return multiprocessing.parent_process() is not None


@cache
def end_with_code_server() -> None:
    """Have a run that a code server started end when that one is gone, however it went.

    It ends in order if it can, else as if it were killed.
    """
    if parent := multiprocessing.parent_process():
        threading.Thread(target=_end_after, args=(parent.sentinel,), daemon=True).start()


def _end_after(sentinel: int) -> None:
    wait([sentinel])
    os.kill(os.getpid(), signal.SIGTERM)
    sleep(_SECONDS_TO_END)
    os._exit(1)
