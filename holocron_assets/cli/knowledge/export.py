"""`holocron export` and `holocron hash`: the knowledge as files, and as one hash."""

import json
from pathlib import Path
from typing import Any, get_args

import click

from holocron_assets.cli.console import print_rows, terminal
from holocron_assets.cli.shared import (
    Folder,
    clear_errors,
    counted,
    fail,
    json_option,
    opened_lake,
    refuse_empty,
)
from holocron_assets.exports.content_hash import KnowledgeHash, TableHash, differing, hash_lake
from holocron_assets.exports.export import Format, Wanted, export_lake
from holocron_assets.exports.folders import ExportError
from holocron_assets.exports.linked_data import DEFAULT_BASE
from holocron_assets.settings import data_folder


@click.command()
@click.option(
    "--to",
    "folder",
    metavar="FOLDER",
    type=Folder(file_okay=False, path_type=Path),
    help="Where to write: a new or empty folder, or an export, which is replaced. Without it, `exports` in "
    "the data folder.",
)
@click.option(
    "--format",
    "file_format",
    type=click.Choice(get_args(Format)),
    default="parquet",
    show_default=True,
    help="Format of the files. JSON-LD is one file of entities with their facts and relations.",
)
@click.option(
    "--tables",
    metavar="NAME,...",
    callback=refuse_empty,
    help="Only these tables, separated by commas; docs/exports.md names them.",
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Also suppressed entities, and statements that are only proposed or were rejected.",
)
@click.option(
    "--base",
    metavar="IRI",
    default=DEFAULT_BASE,
    show_default=True,
    help="Address of entities and vocabulary in JSON-LD.",
)
@clear_errors
def export(
    folder: Path | None, file_format: Format, tables: str | None, base: str, *, everything: bool
) -> None:
    """Write the knowledge base as files, with a manifest of what is in them.

    The same knowledge gives the same bytes. docs/exports.md shows each format.
    """
    names = [name.strip() for name in tables.split(",")] if tables else []
    wanted = Wanted(file_format, names, everything, base)
    folder = folder or data_folder() / "exports"
    try:
        manifest = export_lake(opened_lake(), folder, wanted)
    except ExportError as error:
        fail(str(error))
    shown = [{name: one[name] for name in ("file", "rows", "bytes")} for one in manifest["files"]]
    print_rows(terminal(), f"Written to {folder}", shown)
    click.echo(f"content hash: {manifest['content_hash']}")
    if (proposed := manifest["proposed"]) and not everything:
        click.echo(f"{counted(proposed, 'proposed statement')} left out; --all exports them too")


@click.command("hash")
@json_option
@click.option(
    "--diff",
    "other",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="What --json printed for another lake. Exits with 1 if the two lakes differ.",
)
@clear_errors
def hash_command(other: Path | None, *, as_json: bool) -> None:
    """One hash of what is known: the same in every lake that knows the same.

    Run ids, times and batch numbers are left out; docs/guarantees.md says what is hashed.
    """
    found = hash_lake(opened_lake())
    if as_json:
        click.echo(json.dumps(_to_json(found), indent=2))
    elif other is None:
        click.echo(found.sha256)
    if other is not None:
        _compare(found, _read(other))


def _compare(found: KnowledgeHash, other: KnowledgeHash) -> None:
    names = differing(found, other)
    if not names:
        click.echo("both know the same", err=True)
        return
    fail(f"{counted(len(names), 'table')} not the same: {', '.join(names)}")


def _to_json(found: KnowledgeHash) -> dict[str, Any]:
    return {
        "sha256": found.sha256,
        "tables": {name: table._asdict() for name, table in found.tables.items()},
    }


def _read(file: Path) -> KnowledgeHash:
    try:
        read = json.loads(file.read_text(encoding="utf-8"))
        tables = {name: TableHash(table["rows"], table["sha256"]) for name, table in read["tables"].items()}
        return KnowledgeHash(read["sha256"], tables)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        fail(f"{file} is not what `holocron hash --json` prints: {error!r}")
