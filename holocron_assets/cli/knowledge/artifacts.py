"""`holocron artifacts`: what a model was asked and what it answered, as files."""

import unicodedata
from pathlib import Path

import click

from holocron_assets.cli.shared import clear_errors, fail, opened_lake
from holocron_assets.derive.results.artifacts import NoArtifactsError, write_artifacts


@click.command()
@click.argument("interrogation")
@click.argument("title")
@click.option(
    "--to",
    "folder",
    metavar="FOLDER",
    default="artifacts",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder to write to; it is created if it is missing.",
)
@clear_errors
def artifacts(interrogation: str, title: str, folder: Path) -> None:
    """Write out what a model was told about a page the last time, and what it answered.

    The files are request.json, response.json, evidence.json, prompt.txt and output.json; after a failure
    error_manifest.json and invalid_json_response.txt. For a pair, TITLE is both names: "ONE and OTHER".
    """
    try:
        subject = unicodedata.normalize("NFC", title)  # as MediaWiki stores titles
        for path in write_artifacts(opened_lake(), interrogation, subject, folder / interrogation):
            click.echo(path)
    except NoArtifactsError as error:
        fail(str(error))
