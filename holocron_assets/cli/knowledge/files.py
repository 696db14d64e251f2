"""`holocron files`: lists, shows, opens and verifies what was fetched, and adds what is to be fetched."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import click

from holocron_assets.cli.console import print_records, print_rows, terminal, to_json
from holocron_assets.cli.shared import clear_errors, counted, fail, json_option, opened_lake, source_option
from holocron_assets.crawl.sources.added_files import ADDED, add_to_list, make_added_source
from holocron_assets.crawl.sources.file_source import FileSource
from holocron_assets.crawl.sources.files import load_file_source
from holocron_assets.crawl.sources.lists import Item, item_of, read_list_file
from holocron_assets.lake.files.store import FileStore
from holocron_assets.lake.files.verifying import faulty_files
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.views.database import connect, query
from holocron_assets.planning.repair import repair_all
from holocron_assets.settings import sources_folder

_STATES = ("ok", "pending", "in flight", "waiting", "missing", "refused", "dead", "unlisted")
_LIST = """
    select source, name, state, mime, size_bytes, reason, error
    from files
    where coalesce(source = $source, true) and coalesce(state = $state, true)
    order by source, name
    limit $limit
"""
_FOUND = """
    select * from files
    where list_contains(names, $name) or artifact_id = $name or sha256 = $name or url = $name
    order by source
"""
_TRIED = (
    "select * exclude (artifact_key) from file_attempts where artifact_key = $key order by started_at, place"
)
_USED = "select * from file_uses where list_contains($names, name) order by source, title, role"


@click.group()
def files() -> None:
    """List, show, open, verify and add files."""


@files.command("list")
@source_option
@click.option("--state", help="Only those in this state, such as ok, pending, waiting, missing or dead.")
@click.option("--limit", type=click.IntRange(min=1), default=100, show_default=True, help="At most so many.")
@json_option
@clear_errors
def list_files(source_name: str | None, state: str | None, limit: int, *, as_json: bool) -> None:
    """List files by source and name, with what became of them."""
    from holocron_assets.doors.narrowing import check_narrowing, check_word

    lake = opened_lake()
    check_narrowing(lake, {"source": source_name})
    if state is not None:
        check_word("state", state, _STATES)
    with connect(lake, relations=["files"]) as connection:
        rows = query(connection, _LIST, {"source": source_name, "state": state, "limit": limit})
    if as_json:
        click.echo(to_json(rows))
    else:
        print_rows(terminal(), "Files", rows)
        click.echo(counted(len(rows), "file"))


@files.command()
@click.argument("name")
@json_option
@clear_errors
def show(name: str, *, as_json: bool) -> None:
    """Show a file: its bytes, where they came from, each address that was tried, and which pages use it.

    NAME is a file's title, an address, an artifact's id or a SHA-256.
    """
    lake = opened_lake()
    report = [_report(lake, file) for file in _found(lake, name)]
    if as_json:
        click.echo(to_json(report))
        return
    console = terminal()
    for file in report:
        print_records(console, str(file["file"]["name"]), [file["file"]])
        print_rows(console, "Addresses tried", file["attempts"])
        print_rows(console, "Used by", file["uses"])


@files.command("open")
@click.argument("name")
@click.option("--print", "only_print", is_flag=True, help="Only print the path of the bytes.")
@clear_errors
def open_file(name: str, *, only_print: bool) -> None:
    """Open a file with the program that this machine has for it, or print where its bytes are."""
    lake = opened_lake()
    held = [file for file in _found(lake, name) if file["sha256"]]
    if not held:
        fail(f"{name!r} is listed, but not fetched: `holocron files show {name!r}` says why")
    try:
        path = FileStore(lake).bring(held[0]["sha256"])
    except FileNotFoundError as error:
        fail(str(error))
    click.echo(path)
    if not only_print:
        click.launch(str(path), wait=False)


@files.command()
@json_option
@clear_errors
def verify(*, as_json: bool) -> None:
    """Read all bytes of the store and compare their hashes; exit with 1 if any differ or are missing.

    Damaged ones are set aside, and fetched again if an enabled source lists them.
    """
    lake = opened_lake()
    with connect(lake, relations=["files"]) as connection:
        held = query(
            connection,
            "select source, name, sha256 from files where sha256 is not null order by sha256, name",
        )
    objects = _brought(FileStore(lake), {file["sha256"] for file in held})
    faults = list(faulty_files(sorted(objects.values())))
    wrongly: set[Path | None] = {None, *(fault.file for fault in faults)}
    wrong = [file for file in held if objects.get(file["sha256"]) in wrongly]
    for left in repair_all(faults, partial(click.echo, err=True)):
        click.echo(left, err=True)
    if as_json:
        click.echo(to_json(wrong))
    else:
        print_rows(terminal(), "Wrong or missing", wrong)
        click.echo(f"{counted(len(held), 'file')} verified, {len(wrong)} wrong")
    if wrong:
        raise SystemExit(1)


def _brought(store: FileStore, names: Iterable[str]) -> dict[str, Path]:
    """The paths of those objects that are here, or that the shared store gives, by name."""
    found = dict[str, Path]()
    for name in names:
        with suppress(FileNotFoundError):
            found[name] = store.bring(name)
    return found


@files.command()
@click.argument("urls", nargs=-1, metavar="URL...")
@click.option(
    "--from",
    "list_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A list of JSON lines or CSV, each with `url` or `id`.",
)
@click.option(
    "--source", "source_name", metavar="NAME", default=ADDED, show_default=True, help="To which source."
)
@click.option("--contact", help="For a new source: your e-mail or web address, sent with every request.")
@clear_errors
def add(urls: tuple[str, ...], list_file: Path | None, source_name: str, contact: str | None) -> None:
    """Add files to be fetched, each once. `holocron crawl --source NAME` or the sensors fetch them."""
    if not urls and list_file is None:
        raise click.UsageError("name an address, or a list with --from")
    lake, folder = opened_lake(), sources_folder()
    records = [*({"url": url} for url in urls), *(_records(list_file) if list_file else ())]
    for record in records:
        item_of(record)  # what names no file is refused before a source is made for it
    if not (folder / f"{source_name}.yaml").exists():
        if contact is None:
            fail(f"there is no source {source_name!r} yet: name your address with --contact, and it is made")
        click.echo(f"made {make_added_source(folder, source_name, contact)}")
    source = load_file_source(folder / f"{source_name}.yaml")
    _add(lake, source, records)


def add_listed_files(lake: Lake, source: FileSource, list_file: Path) -> None:
    """Add the files that a list names to a source, and print how many are new."""
    _add(lake, source, _records(list_file))


def _add(lake: Lake, source: FileSource, records: Iterable[dict[str, Any]]) -> None:
    new, known = add_to_list(lake, source, records)
    click.echo(f"added {counted(new, 'file')} to source {source.name}; {known} known before")


def _records(list_file: Path) -> Iterable[dict[str, Any]]:
    """The records of a list; a line that names no artifact is an error, so that nothing is added by half."""
    for found in read_list_file(list_file.resolve()):
        if not isinstance(found, Item):
            fail(f"{found}; nothing was added")
        stated = {name: value for name, value in found.stated.items() if value is not None}
        fields = stated.pop("fields", {})
        if size := stated.pop("size_bytes", None):
            stated["size"] = size
        yield {"id": found.artifact_id, "name": found.name, **stated, **fields}


def _found(lake: Lake, name: str) -> list[dict[str, Any]]:
    with connect(lake, relations=["files"]) as connection:
        found = query(connection, _FOUND, {"name": name})
    if not found:
        fail(f"no file is called {name!r}: `holocron files list` names those that are known")
    return found


def _report(lake: Lake, file: Mapping[str, Any]) -> dict[str, Any]:
    with connect(lake, relations=["file_attempts", "file_uses"]) as connection:
        attempts = query(connection, _TRIED, {"key": file["artifact_key"]})
        uses = query(connection, _USED, {"names": file["names"]})
    path = FileStore(lake).path(file["sha256"]) if file["sha256"] else None
    return {"file": {**file, "path": path}, "attempts": attempts, "uses": uses}
