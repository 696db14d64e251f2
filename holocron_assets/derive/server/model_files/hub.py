"""Model files from the model hub: the usual case."""

import os
from pathlib import Path
from typing import Any

from holocron_assets.derive.server.model_files.catalog import HubFile, Model
from holocron_assets.derive.server.model_files.sources import ModelSourceError, Report
from holocron_assets.telemetry.masking import without_secrets

_SECONDS_TO_ANSWER = 10


def fetch_from_hub(model: Model, folder: Path, report: Report) -> Path:
    """Download a model's file from the hub; an interrupted download goes on where it stopped.

    Raises:
        ModelSourceError: the hub cannot be reached, or has another file under the name.
    """
    if model.hub is None:
        raise ModelSourceError("the model hub does not have it")
    return download(model.hub, model, folder, report, sha256=model.sha256)


def download(file: HubFile, model: Model, folder: Path, report: Report, *, sha256: str | None) -> Path:
    """Download one file of a model from the hub into a folder.

    Args:
        file: which.
        model: the model that it is for.
        folder: where it goes.
        report: takes the progress.
        sha256: what the hub must say of it; None for a small file, of which it says nothing.

    Raises:
        ModelSourceError: the hub cannot be reached, or has another file under the name.
    """
    from huggingface_hub import hf_hub_download  # noqa: PLC0415 - takes half a second to import

    _check(file, sha256)
    try:
        return Path(
            hf_hub_download(
                file.repository,
                file.file,
                local_dir=folder,
                endpoint=os.environ.get("HF_ENDPOINT"),
                tqdm_class=_reporting(model, report),
            )
        )
    except Exception as error:  # the library's errors have no common class
        raise ModelSourceError(f"the model hub stopped: {_first_line(error)}") from error


def _check(file: HubFile, sha256: str | None) -> None:
    """Ask the hub once, briefly: without a network, the download itself would try for half a minute."""
    from huggingface_hub import get_hf_file_metadata, hf_hub_url  # noqa: PLC0415 - as above

    url = hf_hub_url(file.repository, file.file, endpoint=os.environ.get("HF_ENDPOINT"))
    try:
        etag = get_hf_file_metadata(url, timeout=_SECONDS_TO_ANSWER).etag
    except Exception as error:
        raise ModelSourceError(
            f"the model hub cannot be reached ({_first_line(error)}). It needs a network; "
            "HTTPS_PROXY and HF_ENDPOINT are obeyed"
        ) from error
    if sha256 is not None and etag != sha256:  # the hub's mark of a large file is its sha256
        raise ModelSourceError(f"the model hub has another file as {file.repository}/{file.file}")


def _reporting(model: Model, report: Report) -> type[Any]:
    # It comes with the hub's library, and ships no types.
    from tqdm import tqdm  # type: ignore[import-untyped] # noqa: PLC0415 - imported only when needed

    class Reporting(tqdm):  # type: ignore[misc] # as above
        """The library's own progress bar, which draws nothing and reports to us."""

        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **{**options, "disable": False, "file": _Nowhere()})

        def update(self, n: float | None = 1) -> bool | None:
            updated: bool | None = super().update(n)
            report("downloading from the model hub", int(self.n), model.size)
            return updated

    return Reporting


class _Nowhere:
    """A file that keeps nothing."""

    def write(self, _: str) -> None:
        """Drop what is written."""

    def flush(self) -> None:
        """Do nothing."""


def _first_line(error: Exception) -> str:
    return without_secrets(next(iter(str(error).splitlines()), type(error).__name__))
