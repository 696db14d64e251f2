"""Serving a web face, to this machine only."""

import socket
from collections.abc import Callable
from contextlib import closing, suppress

import uvicorn
from starlette.types import ASGIApp

from holocron_assets.loopback_guard import OWN_NAMES


class CannotServeError(OSError):
    """The address cannot be had; the message says what to do."""


def serve(app: ASGIApp, host: str, port: int, tell: Callable[[str], None]) -> None:
    """Serve until told to stop; what is under way then gets a second to end.

    Args:
        app: the application.
        host: a name of this machine for itself, of `own_machine.OWN_NAMES`.
        port: where; 0 for any that is free.
        tell: told the address, once it answers there.

    Raises:
        CannotServeError: the address is not this machine's own, or is taken.
    """
    with closing(_listening(host, port)) as listening:
        address = f"[{host}]" if ":" in host else host
        url = f"http://{address}:{listening.getsockname()[1]}/"
        # h11 gives a request's target as it came; the other implementation takes the host out of it.
        config = uvicorn.Config(
            app, http="h11", log_level="warning", timeout_graceful_shutdown=1, server_header=False
        )
        with suppress(KeyboardInterrupt):  # uvicorn ends, and then tells of it
            _Server(config, lambda: tell(url)).run(sockets=[listening])


class _Server(uvicorn.Server):
    """Tells when it answers, and would end at once."""

    def __init__(self, config: uvicorn.Config, tell: Callable[[], None]) -> None:
        super().__init__(config)
        self._tell = tell

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and tell."""
        await super().startup(sockets)
        self._tell()


def _listening(host: str, port: int) -> socket.socket:
    if host not in OWN_NAMES:
        raise CannotServeError(
            f"{host!r} is none of {', '.join(sorted(OWN_NAMES))}: whoever reaches the page can decide. Use "
            "127.0.0.1; to get there from elsewhere, tunnel to it, as with `ssh -L 8001:127.0.0.1:8001`."
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen()
    except OSError as error:
        listening.close()
        raise CannotServeError(
            f"port {port} of {host} cannot be had ({error.strerror}): is it running already? "
            "`--port` takes another, and 0 any that is free."
        ) from error
    return listening
