"""Fetches the files of models before they are needed, with progress for a person."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from holocron_assets.derive.server.model_files.catalog import Model, shipped_catalog
from holocron_assets.derive.server.model_files.files import ModelFiles
from holocron_assets.derive.server.model_files.sources import Report, no_report
from holocron_assets.settings import given_model_files, models_folder
from holocron_assets.telemetry.long_work import SECONDS, progress_lines

_GB = 1e9


def own_model_files() -> ModelFiles:
    """The model files of this machine, as the environment says where they are."""
    return ModelFiles(models_folder(), given_model_files())


def fetch_models(
    names: Iterable[str], console: Console, files: ModelFiles | None = None, *, every: float = SECONDS
) -> None:
    """Fetch the files of models that are not here yet, with a progress bar where there is a terminal.

    Args:
        names: names of the models.
        console: shows the progress.
        files: the folders of model files.
        every: seconds between two lines about a fetch, where there is no terminal.

    Raises:
        UnknownModelError: a name that the catalog does not have.
        ModelFileError: a file cannot be fetched.
    """
    catalog, files = shipped_catalog(), files or own_model_files()
    for model in [catalog.find(name) for name in names]:
        with _in_lines(model, console, every) as report:
            if files.find(model) is None:
                with _watched(model, console, report) as shown:
                    files.fetch(model, shown)


@contextmanager
def _in_lines(model: Model, console: Console, every: float) -> Iterator[Report]:
    """Print the progress of a file every few seconds, without a terminal. Existing files are read whole."""
    if console.is_terminal:
        yield no_report
        return
    standing = f"Looking for the file of model {model.name}"

    def report(doing: str, done: int, total: int) -> None:
        nonlocal standing
        standing = f"Fetching the model {model.name}: {doing}, {_size(done)} of {_size(total)}"

    with progress_lines(lambda: standing, partial(_line, console), every=every):
        yield report


@contextmanager
def _watched(model: Model, console: Console, report: Report) -> Iterator[Report]:
    if not console.is_terminal:
        _line(console, f"Fetching the model {model.name}, {_size(model.size)}")
        yield report
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(model.name, total=model.size)
        yield lambda doing, done, total: progress.update(
            task, description=f"{model.name}: {doing}", completed=done, total=total
        )


def _line(console: Console, text: str) -> None:
    console.print(text, markup=False, soft_wrap=True)


def _size(number: int) -> str:
    return f"{number / 1e9:.1f} GB" if number >= _GB else f"{number / 1e6:.0f} MB"
