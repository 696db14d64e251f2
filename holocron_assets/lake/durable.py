"""Folders that are still there after the power went, with what was put into them."""

import os
from pathlib import Path


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, so that a file synced inside cannot vanish with its folder."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Write to disk which files a folder holds; a new or renamed file is only then sure to be found again."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
