"""Asks a code server whether it answers, and to reload its code. Also the module of the daemon.

Waits for: public calls that ask a code server whether it lives, why its code cannot be loaded, and to load
its code again; and a public module of the daemon, such as `python -m dagster daemon run`.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import grpc

DAEMON_MODULE = "dagster._daemon"
"""What Python runs as the daemon. The script `dagster-daemon` is public, but a module needs no PATH."""

_API = "/api.DagsterApi"


def code_server_answers(socket: Path, *, seconds: float) -> bool:
    """Whether the process that holds the code answers; the code server passes the question on to it.

    Dagster has no public call to ask a code server whether it lives.

    Args:
        socket: the code server's.
        seconds: how long to wait for the answer.
    """
    with grpc.insecure_channel(f"unix:{socket}") as channel:
        ping = channel.unary_unary(f"{_API}/Ping")
        with suppress(grpc.RpcError):
            ping(b"", timeout=seconds)
            return True
    return False


def code_problem(socket: Path, *, seconds: float) -> str | None:
    """Why the code cannot be loaded; None if it could. Its server answers all the same.

    Dagster has no public call that gives the error of a code location.

    Args:
        socket: the code server's.
        seconds: how long to wait for the answer.
    """
    with grpc.insecure_channel(f"unix:{socket}") as channel, suppress(grpc.RpcError):
        listing = channel.unary_unary(f"{_API}/ListRepositories")
        answer: bytes = listing(b"", timeout=seconds)
        error = json.loads(answer[answer.index(b"{") :])  # the one field of the message
        if error["__class__"] == "SerializableErrorInfo":
            while error["cause"] and str(error["cls_name"]).startswith("Dagster"):
                error = error["cause"]  # our error names the file; Dagster's does not
            return str(error["message"]).strip()
    return None


def reload_code(socket: Path, pause: Callable[[], None], *, seconds: float) -> bool:
    """Ask a code server to load its code again; returns whether it did.

    Dagster has no public call that reloads a code location without its web server.

    Args:
        socket: the code server's.
        pause: called repeatedly meanwhile; if it raises, the wait ends.
        seconds: how long to wait.
    """
    with grpc.insecure_channel(f"unix:{socket}") as channel:
        loading = channel.unary_unary(f"{_API}/ReloadCode").future(b"", timeout=seconds)
        while not loading.done():
            pause()
        return not loading.exception()
