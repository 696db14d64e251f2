"""`holocron backup` and `holocron restore`: copy the data folder to another place and bring it back."""

from importlib.metadata import version
from pathlib import Path

import click

from holocron_assets.cli.shared import Folder, bare_lake, clear_errors, counted, fail, faults_counted
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.operations.backups.backup import make_backup
from holocron_assets.operations.backups.places import Places
from holocron_assets.operations.backups.restore import restore_backup
from holocron_assets.settings import dagster_home, data_folder, database_address, written_by_people

_MB = 1_000_000


@click.command()
@click.argument("folder", type=Folder(file_okay=False, path_type=Path))
@click.option(
    "--keep",
    type=click.IntRange(1),
    metavar="N",
    help="Keep the newest N backups of this lake in FOLDER and remove older ones. Default: keep all.",
)
@clear_errors
def backup(folder: Path, keep: int | None) -> None:
    """Back up the lake, Dagster's history and the settings into FOLDER, while anything runs.

    The backup is a new folder in FOLDER, named by the time. Files that the last backup holds already take
    no more room. docs/deploy.md shows how to do it each night.
    """
    made = make_backup(
        _places(bare_lake()),
        folder.resolve(),
        now=utc_now(),
        version=version("holocron-assets"),
        keep=keep,
    )
    new = made.files - made.linked
    click.echo(f"{made.folder}: {counted(made.files, 'file')}, {made.bytes / _MB:.1f} MB, {new} of them new")
    for one in made.removed:
        click.echo(f"removed {one}")


@click.command()
@click.argument("folder", type=Folder(exists=True, file_okay=False, path_type=Path))
@clear_errors
def restore(folder: Path) -> None:
    """Bring the backup in FOLDER back into a data folder that is empty, and verify every file of it.

    Names each file that is damaged or cannot be read, and then exits with 1: give `holocron verify`, which
    sets damaged files aside so that they are made again. Settings that exist stay as they are; those that
    differ from the backup are named. If this user may not write a setting, all else is restored, the setting
    and its copy in the backup are named, and this exits with 1.
    """
    # Dagster takes seconds to load, and `backup` does not need it.
    from holocron_assets.orchestration.internals.instance import reap_without_daemon

    restored = restore_backup(_places(Lake(data_folder())), folder.resolve())
    click.echo(f"restored what there was on {restored.manifest['at']} to {data_folder()}")
    for there, kept in restored.kept.items():
        click.echo(f"left alone: {there} is not as in the backup; compare it with {kept}")
    for there, (kept, why) in restored.unwritten.items():
        click.echo(f"not put back: {there} ({why}); as a user who may write it, copy {kept}", err=True)
    reap_without_daemon()
    if restored.faulty:
        fail("\n".join([*map(str, restored.faulty), faults_counted(restored.faulty)]))
    if restored.unwritten:
        fail(
            f"{counted(len(restored.unwritten), 'file')} of settings not put back: see above. All else is "
            "restored, and every file of the lake is whole."
        )
    click.echo("Every file is whole. `holocron run` or `holocron ui` goes on from there.")


def _places(lake: Lake) -> Places:
    return Places(lake, dagster_home(), database_address(), written_by_people())
