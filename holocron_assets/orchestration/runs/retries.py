"""How often a step is tried again, by what it waits for: the table of `docs/retries.md`.

These retries are for short faults: a disk that is full until a log is rotated, a database that restarts. A
step that waits holds its slots, and jitter at most doubles a delay. So all waits of a step together last at
most 10 s. A longer fault ends the run with the time when it is due: a wiki that wants a pause, a model server
that is gone. A fault that waiting does not solve ends it at once.
"""

import dagster as dg

from holocron_assets.errors import TransientError
from holocron_assets.settings import database_address, shared_lake

NETWORK = dg.RetryPolicy(
    max_retries=2, delay=1.5, backoff=dg.Backoff.EXPONENTIAL, jitter=dg.Jitter.PLUS_MINUS
)
"""For steps that ask a wiki. Requests have retries of their own; this is for faults around them."""

MODEL_SERVER = dg.RetryPolicy(max_retries=1, delay=2, jitter=dg.Jitter.PLUS_MINUS)
"""For steps that ask a model. Items have attempts of their own, and a step that waits holds the GPU."""

_LOCAL_LAKE = dg.RetryPolicy(
    max_retries=2, delay=1, backoff=dg.Backoff.EXPONENTIAL, jitter=dg.Jitter.PLUS_MINUS
)
_SHARED_LAKE = dg.RetryPolicy(
    max_retries=3, delay=0.7, backoff=dg.Backoff.EXPONENTIAL, jitter=dg.Jitter.PLUS_MINUS
)
LAKE = _SHARED_LAKE if shared_lake() or database_address() else _LOCAL_LAKE
"""For steps that read and write the lake: more retries where a store or database is on a network."""

PUBLISHING = dg.RetryPolicy(max_retries=2, delay=1, backoff=dg.Backoff.LINEAR, jitter=dg.Jitter.PLUS_MINUS)
"""For steps that replace files that readers open: another program may hold a file for a moment."""

_COMPUTATION = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NameError,
    NotImplementedError,
    RecursionError,
    TypeError,
    ValueError,
)


def is_computation(error: BaseException) -> bool:
    """Whether an error is one of pure computation: the same input gives it again, so a retry does not help.

    Errors of the system and of the network are not, although some are also a `ValueError`.
    """
    return isinstance(error, _COMPUTATION) and not isinstance(error, OSError | TransientError)
