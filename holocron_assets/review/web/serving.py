"""Serves a web application: to this machine only, or to requests that carry its token."""

import socket
from collections.abc import Callable
from contextlib import closing, suppress

import uvicorn
from starlette.types import ASGIApp

from holocron_assets.loopback_guard import OWN_NAMES


class CannotServeError(OSError):
    """The address cannot be used; the message says what to do."""


def serve(
    app: ASGIApp, host: str, port: int, report: Callable[[str], None], *, has_token: bool = False
) -> None:
    """Serve until stopped. Requests under way then have a second to end.

    Args:
        app: the application.
        host: an address of this machine; a loopback name, one of `loopback_guard.OWN_NAMES`, unless the
            application asks for a token.
        port: the port; 0 takes any free one.
        report: called with the address once the server answers there.
        has_token: whether the application asks each request for a token.

    Raises:
        CannotServeError: the address is not this machine's own, or is taken.
    """
    if host not in OWN_NAMES and not has_token:
        raise CannotServeError(
            f"{host!r} is none of {', '.join(sorted(OWN_NAMES))}. Everyone who reaches the page can decide. "
            "Use 127.0.0.1, and from another machine a tunnel: `ssh -L 8001:127.0.0.1:8001`."
        )
    with closing(_listening(host, port)) as listening:
        address = f"[{host}]" if ":" in host else host
        url = f"http://{address}:{listening.getsockname()[1]}/"
        # h11 keeps the target of a request as it came; the other implementation removes the host from it.
        config = uvicorn.Config(
            app, http="h11", log_level="warning", timeout_graceful_shutdown=1, server_header=False
        )
        with suppress(KeyboardInterrupt):  # uvicorn raises it again after it ended
            _Server(config, lambda: report(url)).run(sockets=[listening])


class _Server(uvicorn.Server):
    """A server that reports once it answers."""

    def __init__(self, config: uvicorn.Config, report: Callable[[], None]) -> None:
        super().__init__(config)
        self._report = report

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and report it."""
        await super().startup(sockets)
        self._report()


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen()
    except OSError as error:
        listening.close()
        raise CannotServeError(
            f"port {port} of {host} cannot be used ({error.strerror}): is it running already? "
            "Choose another with `--port`; 0 takes any free one."
        ) from error
    return listening
