"""`holocron verify`: checks every file of the lake against its checksums."""

import click

from holocron_assets.cli.shared import clear_errors, counted, fail, faults_counted, opened_lake
from holocron_assets.lake.files.verifying import faulty_files, files_to_verify
from holocron_assets.planning.repair import repair_all


@click.command()
@clear_errors
def verify() -> None:
    """Read every file of the lake against its checksums, and set aside what is damaged.

    Exits with 1 if any file is damaged or cannot be read. Files that were set aside are kept in quarantine/
    of the data folder, and sensors or `holocron run` make them again. Decisions of people cannot be made
    again: a damaged file of decisions stays where it is, and is named. So does a file that the system cannot
    read, which may be whole.
    """
    files = files_to_verify(opened_lake())
    faults = list(faulty_files(files))
    left = repair_all(faults, click.echo)
    click.echo(f"{counted(len(files), 'file')} verified")
    if faults:
        fail("\n".join([*left, faults_counted(faults)]))
