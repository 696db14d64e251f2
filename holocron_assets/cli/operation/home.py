"""`holocron home`: prepares Dagster's home."""

import click

from holocron_assets.cli.shared import clear_errors


@click.command()
@clear_errors
def home() -> None:
    """Prepare Dagster's home and print it, for `export DAGSTER_HOME=$(holocron home)`."""
    from holocron_assets.orchestration.internals.instance import open_instance, prepare_home

    with open_instance():
        click.echo(prepare_home())
