"""`holocron web`: the review page, on this machine, or with a token for others."""

import os
from functools import cache
from typing import TYPE_CHECKING

import click

from holocron_assets.classify.taxonomy import load_taxonomy
from holocron_assets.cli.shared import clear_errors, opened_lake, user_name
from holocron_assets.loopback_guard import OWN_NAMES, Shared, own_origin
from holocron_assets.settings import web_token

if TYPE_CHECKING:
    from holocron_assets.review.web.endpoints import Endpoints

_PORT = 8001
_UI = "http://127.0.0.1:3000/"
"""Where `holocron ui` is, unless `--port` says otherwise."""


def _own_origins(_context: click.Context, _option: click.Parameter, given: tuple[str, ...]) -> frozenset[str]:
    try:
        return frozenset(map(own_origin, given))
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


@click.command()
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="An address of this machine. One that other machines reach needs HOLOCRON_WEB_TOKEN.",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=_PORT, show_default=True, help="0 takes any free port."
)
@click.option(
    "--author", default=user_name, help="Who decides, unless the page says otherwise; by default you."
)
@click.option(
    "--allow-origin",
    "origins",
    multiple=True,
    metavar="ORIGIN",
    callback=_own_origins,
    help="A program of this machine, such as http://127.0.0.1:3333 (OpenRefine), whose pages may reconcile; "
    "may be repeated.",
)
@clear_errors
def web(host: str, port: int, author: str, origins: frozenset[str]) -> None:
    """Review in the browser, until Ctrl-C: the queue, each item with its evidence, and every entity.

    Nobody but this machine can open the page, unless --host names an address that others reach. Then, and
    wherever HOLOCRON_WEB_TOKEN is set, each request must carry this token, which a browser asks for as a
    password. What is decided there counts from the next `holocron run`, or at once while `holocron ui` runs.
    """
    from holocron_assets.doors.control import control_routes
    from holocron_assets.doors.reconciliation import PATH, reconciliation_routes
    from holocron_assets.retrieval.asking import server_in_background
    from holocron_assets.review.web.app import make_app
    from holocron_assets.review.web.desk import Desk
    from holocron_assets.review.web.endpoints import endpoint_routes
    from holocron_assets.review.web.serving import serve

    desk = Desk(opened_lake(), author, tuple(load_taxonomy().types))
    more = [*endpoint_routes(_endpoints), *reconciliation_routes(desk.lake), *control_routes(desk.lake)]
    # A token that is set is asked for everywhere: a proxy on this machine may pass requests of others on.
    token = None if host in OWN_NAMES and not os.environ.get("HOLOCRON_WEB_TOKEN") else web_token()
    if token is not None and origins:
        raise click.UsageError(
            "--allow-origin needs a server that asks for no token: pages of other programs cannot send one"
        )
    app = make_app(desk, more, Shared(PATH, origins), token)
    report = lambda url: click.echo(f"Review on {url} - Ctrl-C stops it.")  # noqa: E731
    with server_in_background():
        serve(app, host, port, report, has_token=token is not None)


@cache
def _endpoints() -> "Endpoints":
    """The endpoints for machines. They load Dagster when first asked, so that a reviewer does not wait."""
    from holocron_assets.orchestration.runtime.endpoints import instance_to_read, make_endpoints

    return make_endpoints(instance_to_read, _UI)
