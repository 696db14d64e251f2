"""Fetches the files of models before they are needed, with progress for a person."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from holocron_assets.derive.server.model_files.catalog import Model, shipped_catalog
from holocron_assets.derive.server.model_files.files import ModelFiles
from holocron_assets.derive.server.model_files.sources import Report
from holocron_assets.settings import given_model_files, models_folder


def own_model_files() -> ModelFiles:
    """The model files of this machine, as the environment says where they are."""
    return ModelFiles(models_folder(), given_model_files())


def fetch_models(names: Iterable[str], console: Console, files: ModelFiles | None = None) -> None:
    """Fetch the files of models that are not here yet, with a progress bar where there is a terminal.

    Raises:
        UnknownModelError: a name that the catalog does not have.
        ModelFileError: a file cannot be had.
    """
    catalog, files = shipped_catalog(), files or own_model_files()
    models = [catalog.find(name) for name in names]
    for model in models:
        if files.find(model) is None:
            with _watched(model, console) as report:
                files.fetch(model, report)


@contextmanager
def _watched(model: Model, console: Console) -> Iterator[Report]:
    size = f"{model.size / 1e9:.1f} GB" if model.size >= 1e9 else f"{model.size / 1e6:.0f} MB"  # noqa: PLR2004 - a GB
    if not console.is_terminal:
        console.print(f"Fetching the model {model.name}, {size}")
        yield lambda *_: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(model.name, total=model.size)
        yield lambda doing, done, total: progress.update(
            task, description=f"{model.name}: {doing}", completed=done, total=total
        )
