"""A whole export: the tables' files, their manifest, and their folder."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import duckdb

from holocron_assets.exports.content_hash import hash_knowledge
from holocron_assets.exports.contents import contents, reading, tables_read
from holocron_assets.exports.folders import ExportError, read_manifest, replaced_folder, write_manifest
from holocron_assets.exports.formats import WRITERS, Selection, select_rows
from holocron_assets.exports.linked_data import DEFAULT_BASE, Addresses, write_linked_data
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.views.database import damaged_files_named, query

Format = Literal["parquet", "jsonl", "csv", "jsonld"]

FORMAT_VERSION = 1
"""Raised whenever the files would differ although the knowledge is the same."""

_TRIES = 3
_STATEMENTS = ("entity_facts", "entity_relations")
_ABSOLUTE_IRI = re.compile(r"""[A-Za-z][A-Za-z0-9+.-]*:[^\s\x00-\x1f<>"{}|\\^`]*""")


class Wanted(NamedTuple):
    """What to export.

    Attributes:
        format: format of the files.
        tables: which tables, each once; if there are none, those that `contents.yaml` exports by default.
        everything: whether to include rows that do not count: suppressed entities, and statements that are
            proposed, rejected, in words that the vocabulary lacks, or not supported by their page.
        base: the absolute IRI that entities and vocabulary of JSON-LD begin with; it ends in '/', '#' or ':'.
    """

    format: Format = "parquet"
    tables: Sequence[str] = ()
    everything: bool = False
    base: str = DEFAULT_BASE


def export_lake(lake: Lake, target: Path, wanted: Wanted) -> dict[str, Any]:
    """Write an export. The same knowledge gives the same bytes, in every file.

    Args:
        lake: the lake with the knowledge.
        target: the folder. It must not exist yet, or be empty, or be an export, which is replaced.
        wanted: what to export and how.

    Returns:
        The manifest.

    Raises:
        ExportError: the folder holds other files, there is no such table, the base is no IRI, or the lake was
            written to during each attempt.
        DamagedPartitionError: a file of the lake cannot be read.
    """
    _refuse_unknown(wanted)
    with replaced_folder(target) as folder:
        about, files = _written(lake, folder, wanted)
        write_manifest(folder, about, files)
        return read_manifest(folder) or {}


def _written(lake: Lake, folder: Path, wanted: Wanted) -> tuple[Mapping[str, Any], list[Mapping[str, Any]]]:
    """Write the files from one state of the lake; say what they are together, and each."""
    read = tables_read(lake)
    for _ in range(_TRIES):
        before = lake.mark(read)
        try:
            with reading(lake) as connection, damaged_files_named(connection):
                files = _write_files(connection, folder, wanted)
                about = _about(connection, wanted)
        except (duckdb.Error, UnicodeDecodeError):  # also of a file that was replaced while it was read
            if lake.mark(read) == before:
                raise
        else:
            if lake.mark(read) == before:
                return about, files
    raise ExportError("the lake was written to while it was exported; export when no run is under way")


def _about(connection: duckdb.DuckDBPyConnection, wanted: Wanted) -> Mapping[str, Any]:
    return {
        "format": wanted.format,
        "format_version": FORMAT_VERSION,
        "content_hash": hash_knowledge(connection).sha256,
        "everything": wanted.everything,
        "proposed": _proposed(connection, wanted),
    }


def _proposed(connection: duckdb.DuckDBPyConnection, wanted: Wanted) -> int:
    """How many statements of the exported tables are proposed: only `everything` exports them."""
    found = 0
    for name in _STATEMENTS:
        if not wanted.tables or name in wanted.tables:
            sql = f"select count(*) as number from all_{name} where status = 'proposed'"  # noqa: S608 - ours
            found += query(connection, sql)[0]["number"]
    return found


def _write_files(
    connection: duckdb.DuckDBPyConnection, folder: Path, wanted: Wanted
) -> list[Mapping[str, Any]]:
    if wanted.format == "jsonld":
        file, addresses = folder / "entities.jsonld", Addresses(wanted.base)
        nodes = write_linked_data(connection, addresses, file, everything=wanted.everything)
        return [{"file": file.name, "rows": nodes}]
    tables = wanted.tables or [name for name, content in contents().items() if content.exported]
    return [_write_table(connection, folder, name, wanted) for name in dict.fromkeys(tables)]


def _write_table(
    connection: duckdb.DuckDBPyConnection, folder: Path, name: str, wanted: Wanted
) -> Mapping[str, Any]:
    selection = select_rows(connection, name, everything=wanted.everything)
    file = folder / f"{name}.{wanted.format}"
    rows = WRITERS[wanted.format](connection, selection, file)
    return {"table": name, "file": file.name, "rows": rows, "columns": _columns(selection)}


def _columns(selection: Selection) -> list[Mapping[str, str]]:
    return [{"name": name, "type": kind} for name, kind in selection.columns.items()]


def _refuse_unknown(wanted: Wanted) -> None:
    if wanted.format == "jsonld" and wanted.tables:
        raise ExportError("JSON-LD has all statements about entities in one file; name no tables")
    if not _ABSOLUTE_IRI.fullmatch(wanted.base):
        raise ExportError(
            f"base {wanted.base!r} must be an absolute IRI, such as 'https://kb.example/': it begins with a "
            'scheme, and has no white space and none of < > " { } | \\ ^ `'
        )
    if not wanted.base.endswith(("/", "#", ":")):
        raise ExportError(f"base {wanted.base!r} must end in '/', '#' or ':', for names to be added to it")
    if unknown := sorted(set(wanted.tables) - contents().keys()):
        raise ExportError(f"there is no table {unknown[0]!r}; the tables are {', '.join(contents())}")
