"""Dagster's web UI behind our own guard: `dagster-webserver` answers every client, under any host name.

Its API launches and ends runs. Without the guard, any web page that is open on this machine could do the
same: by a form, by the address of a picture, or as a site whose name resolves to 127.0.0.1.
"""

import argparse
import signal
from collections.abc import Sequence
from http import HTTPStatus
from pathlib import Path

import dagster as dg
from starlette.datastructures import QueryParams
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from holocron_assets.loopback_guard import OwnMachineOnly
from holocron_assets.orchestration.internals.instance import prepare_home
from holocron_assets.orchestration.internals.web_app import dagster_web_app
from holocron_assets.orchestration.runtime.endpoints import WithEndpoints, make_endpoints
from holocron_assets.review.web.serving import serve
from holocron_assets.telemetry.logs import log_format, logger
from holocron_assets.telemetry.setup import observe_process


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until a signal asks to stop."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0], add_help=False)
    parser.add_argument("-h", "--host", default="127.0.0.1")
    parser.add_argument("-p", "--port", type=int, default=3000)
    parser.add_argument("-w", "--workspace", required=True)
    options = parser.parse_args(arguments)
    observe_process()
    # A web server ends by the signal that it got; open things are to be closed first.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    prepare_home()
    workspace = Path(options.workspace)
    with dg.DagsterInstance.get() as instance, dagster_web_app(instance, workspace) as web_app:
        app = WithEndpoints(web_app, make_endpoints(lambda: instance))
        serve(guarded(app), options.host, options.port, _print_address)


def guarded(app: ASGIApp) -> ASGIApp:
    """Dagster's web application, for this machine's own pages alone."""
    return OwnMachineOnly(_NothingDoneByLinks(app))


class _NothingDoneByLinks:
    """Refuses GraphQL in an address: Dagster would execute it, also changes.

    If a browser does not name the site of a request, nothing else shows that it is for a picture.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if _is_query_in_address(scope):
            message = "GraphQL is sent as a POST's JSON here, never in an address.\n"
            await PlainTextResponse(message, HTTPStatus.METHOD_NOT_ALLOWED)(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _is_query_in_address(scope: Scope) -> bool:
    if scope["type"] != "http" or not scope["path"].rstrip("/").endswith("/graphql"):
        return False
    return "query" in QueryParams(scope["query_string"])


def _print_address(address: str) -> None:
    if log_format() == "json":
        logger("holocron_assets.orchestration.runtime.web_ui").info(
            "serves Dagster's web UI", address=address
        )
    else:
        print(f"Dagster's web UI: {address}", flush=True)  # noqa: T201 - for the person who started it


if __name__ == "__main__":
    main()
