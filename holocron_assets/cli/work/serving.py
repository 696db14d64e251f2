"""`holocron ui`, `daemon` and `webserver`: unattended work, with daemon and web UI together or apart."""

import sys

import click

from holocron_assets.cli.shared import clear_errors, opened_lake

_PORT_OPTION = click.option(
    "--port",
    type=click.IntRange(1, 65535),
    default=3000,
    show_default=True,
    help="Port of the web UI, on loopback.",
)


@click.command()
@_PORT_OPTION
@clear_errors
def ui(port: int) -> None:
    """Start Dagster's web UI and daemon, with the sensors on."""
    _serve(daemon=True, port=port)


@click.command()
@clear_errors
def daemon() -> None:
    """Start Dagster's daemon alone, with the sensors on, until stopped.

    For service managers: `holocron webserver` is its web UI, and may be started and ended beside it without
    a run noticing. A lake has one daemon, of this command or of `holocron ui`.
    """
    _serve(daemon=True, port=None)


@click.command()
@_PORT_OPTION
@clear_errors
def webserver(port: int) -> None:
    """Start Dagster's web UI alone, until stopped.

    What is launched, ended and switched in it is done by the daemon of `holocron daemon` or `holocron ui` on
    the same data folder; without one, runs stay queued.
    """
    _serve(daemon=False, port=port)


def _serve(*, daemon: bool, port: int | None) -> None:
    from holocron_assets.orchestration.runtime.process_group import Duties
    from holocron_assets.orchestration.runtime.services import serve

    sys.exit(serve(opened_lake(), Duties(daemon=daemon, port=port)))
