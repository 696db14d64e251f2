"""`holocron verify`: every file of the lake against its checksums, now."""

import click

from holocron_assets.cli.shared import clear_errors, counted, fail, opened_lake
from holocron_assets.lake.files.verifying import damaged_files, files_to_verify
from holocron_assets.planning.repair import repair_all


@click.command()
@clear_errors
def verify() -> None:
    """Read every file of the lake against its checksums, and set aside what is damaged.

    Exits with 1 if any is. What was set aside is kept in the data folder, in quarantine/, and is made
    again by the sensors or by `holocron run`. What people decided cannot be made again: a damaged file of
    it stays, and is named.
    """
    files = files_to_verify(opened_lake())
    damaged = list(damaged_files(files))
    left = repair_all(damaged, click.echo)
    click.echo(f"{counted(len(files), 'file')} verified")
    if damaged:
        fail("\n".join([*left, f"{counted(len(damaged), 'file')} found damaged"]))
