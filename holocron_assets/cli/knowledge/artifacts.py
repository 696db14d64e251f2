"""`holocron artifacts`: what a model was asked and what it answered, as files."""

import unicodedata
from pathlib import Path

import click

from holocron_assets.cli.shared import Folder, clear_errors, fail, opened_lake
from holocron_assets.derive.interrogations.loading import load_interrogations
from holocron_assets.derive.interrogations.unread import refuse_broken
from holocron_assets.derive.results.artifacts import (
    NoArtifactsError,
    names_asked,
    write_artifacts,
    write_run_folders,
)
from holocron_assets.lake.place.paths import Lake


@click.command()
@click.argument("interrogation", required=False)
@click.argument("title", required=False)
@click.option(
    "--to",
    "folder",
    metavar="FOLDER",
    default="artifacts",
    show_default=True,
    type=Folder(file_okay=False, path_type=Path),
    help="Folder to write to; it is created if it is missing.",
)
@clear_errors
def artifacts(interrogation: str | None, title: str | None, folder: Path) -> None:
    """Write out what a model was asked about a page the last time, and what it answered.

    The files are request.json, response.json, call.json, evidence.json, prompt.txt and output.json; after a
    failure error_manifest.json and invalid_json_response.txt. For a pair, TITLE is both names: "A and B".

    Without TITLE, everything that is kept is written, of the interrogation or of all, by day and run: to
    llm_runs/YYYY/MM/DD/RUN/INTERROGATION/.
    """
    if any(given is not None and not given.strip() for given in (interrogation, title)):
        raise click.UsageError("a name is empty; leave it out if all are meant")
    lake = opened_lake()
    try:
        if interrogation and title:
            subject = unicodedata.normalize("NFC", title)  # as MediaWiki stores titles
            files = write_artifacts(lake, interrogation, subject, folder / interrogation)
        else:
            files = _write_all(lake, interrogation, folder)
    except NoArtifactsError as error:
        fail(_why_none(lake, interrogation) or str(error))
    for path in files:
        click.echo(path)


def _why_none(lake: Lake, interrogation: str | None) -> str | None:
    """Why nothing is kept of any call of an interrogation; None if there is no such reason.

    Raises:
        click.UsageError: there is no such interrogation.
    """
    known = {one.name: one for one in load_interrogations()}
    if interrogation is None or interrogation in names_asked(lake):
        return None
    if interrogation not in known:
        refuse_broken(interrogation)
        names = ", ".join(sorted(known))
        raise click.UsageError(f"no interrogation is called {interrogation!r}; there are {names}")
    by_code = known[interrogation].is_of_code
    return f"{interrogation} is answered by code, so no call was made" if by_code else None


def _write_all(lake: Lake, interrogation: str | None, folder: Path) -> list[Path]:
    files = list(write_run_folders(lake, interrogation, folder))
    if not files:
        whose = f"of interrogation {interrogation!r}" if interrogation else "of any interrogation"
        raise NoArtifactsError(f"no call {whose} is kept; `holocron status` lists the interrogations")
    return files
