"""Small disks in memory, to be filled, made read-only and taken away."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, *, size: str) -> Iterator[None]:
    """Mount an empty disk over a folder; the test is skipped where that is not allowed."""
    folder.mkdir(parents=True, exist_ok=True)
    mounted = _mount("-t", "tmpfs", "-o", f"size={size}", "disk", str(folder))
    if mounted.returncode:
        pytest.skip(f"mounting a disk of its own takes root: {mounted.stderr.strip()}")
    try:
        yield
    finally:
        # Lazily: a process with an open file on it keeps only that file.
        subprocess.run(["umount", "--lazy", str(folder)], check=True)  # noqa: S603, S607 - of the system


def remount(folder: Path, options: str) -> None:
    """Change what a mounted disk allows: `ro`, `rw`, or another `size=`."""
    done = _mount("-o", f"remount,{options}", str(folder))
    assert done.returncode == 0, done.stderr


def fill(folder: Path) -> Path:
    """Write until the disk is full, and give the file that fills it."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            for size in (1 << 20, 1 << 12, 1):
                while True:
                    try:
                        file.write(bytes(size))
                    except OSError:
                        break
        finally:
            file.close()
    return ballast


def _mount(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)  # noqa: S603, S607 - the same
