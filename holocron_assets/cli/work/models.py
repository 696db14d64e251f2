"""`holocron models`: model files, and the embedded server run by hand."""

from contextlib import suppress
from functools import partial

import click

from holocron_assets.cli.console import print_records, terminal, to_json
from holocron_assets.cli.shared import clear_errors, fail, json_option, waiting_reported
from holocron_assets.derive.server.model_files.catalog import shipped_catalog
from holocron_assets.derive.server.model_files.fetching import fetch_models, own_model_files
from holocron_assets.derive.server.settings import server_settings

_PORT = 11434
"""Ollama's default port, so that its clients find the server without any setting."""


@click.group()
def models() -> None:
    """Model files and the embedded model server, for those who have no Ollama.

    Files are kept in HOLOCRON_MODELS; HOLOCRON_MODEL_FILES names files that you have elsewhere.
    """


@models.command(name="list")
@json_option
@clear_errors
def list_models(*, as_json: bool) -> None:
    """List the known models, and whether their files are on this machine."""
    catalog, files = shipped_catalog(), own_model_files()
    rows = [
        {
            "name": model.name,
            "parameters": model.parameter_size,
            "quantization": model.quantization,
            "size": f"{model.size / 1e6:,.0f} MB",
            "licence": model.licence,
            "used": {catalog.default: "by default", catalog.small: "to be small"}.get(model.name, ""),
            "file": str(files.find(model) or "not fetched"),
        }
        for model in catalog.models
    ]
    if as_json:
        click.echo(to_json(rows))
    else:
        print_records(terminal(), "", rows)


@models.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@clear_errors
def fetch(names: tuple[str, ...]) -> None:
    """Fetch the files of models, by default the file of the default model."""
    wanted = names or (shipped_catalog().default,)
    fetch_models(wanted, terminal(stderr=True))
    for name in wanted:
        click.echo(f"{name}: {own_model_files().find(shipped_catalog().find(name))}")


@models.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@clear_errors
def verify(names: tuple[str, ...]) -> None:
    """Read model files completely and compare their sha256, by default all on this machine."""
    catalog, files = shipped_catalog(), own_model_files()
    for model in [catalog.find(name) for name in names] or catalog.models:
        with waiting_reported(partial(str, f"Reading the file of {model.name}")):
            path = files.verify(model)
        if path is None and names:
            fail(f"{model.name} is not here; `holocron models fetch {model.name}` fetches it")
        if path:
            click.echo(f"{model.name}: {path} is whole")


@models.command()
@click.argument("name")
@clear_errors
def remove(name: str) -> None:
    """Remove a model's file from HOLOCRON_MODELS. Files in HOLOCRON_MODEL_FILES stay."""
    model = shipped_catalog().find(name)
    if not own_model_files().remove(model):
        fail(f"HOLOCRON_MODELS has no file of {model.name}: `holocron models list` shows where files are")
    click.echo(f"Removed {model.name}")


@models.command()
@click.option(
    "--port", type=click.IntRange(0, 65535), default=_PORT, show_default=True, help="0 takes any free port."
)
@clear_errors
def serve(port: int) -> None:
    """Run the model server by hand, on this machine only, until Ctrl-C.

    It speaks the part of Ollama's HTTP API that Holocron uses. OLLAMA_NUM_PARALLEL,
    OLLAMA_MAX_LOADED_MODELS, OLLAMA_MAX_QUEUE, OLLAMA_CONTEXT_LENGTH and OLLAMA_KEEP_ALIVE set the same as
    they do for Ollama.
    """
    from holocron_assets.derive.server.serving import serve as serve_models

    try:
        settings = server_settings()
    except ValueError as error:
        fail(str(error))
    try:
        with suppress(KeyboardInterrupt):
            serve_models(port, settings)
    except SystemExit as ended:  # uvicorn has logged why
        if ended.code:
            fail(
                f"port {port} cannot be used. If an Ollama or another Holocron has it, use that, or --port 0"
            )
