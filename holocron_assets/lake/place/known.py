"""The lakes that Dagster has worked on, noted in its home: one of them that is gone is not a new one.

Dagster notes the same in its database. Opening that takes seconds, and most commands do not need Dagster.
"""

from pathlib import Path

from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.files.durable import make_folder
from holocron_assets.lake.place.presence import FolderGoneError
from holocron_assets.lake.shared.places import mirror_of


def name_of_lake(root: Path) -> str:
    """The name that the lake of a data folder is known by: the address of its store, or the folder."""
    mirror = mirror_of(root)
    return mirror.url if mirror else str(root)


def remember_lake(root: Path, home: Path) -> None:
    """Note that Dagster works on the lake of a data folder.

    Args:
        root: the data folder.
        home: Dagster's home.
    """
    note = _note(root, home)
    if not note.exists():
        make_folder(note.parent)
        note.touch()


def refuse_gone(root: Path, home: Path) -> None:
    """Raise FolderGoneError if Dagster has worked on the lake of a data folder, and there is none now.

    Args:
        root: the data folder.
        home: Dagster's home.
    """
    folder = root / "lake"
    if folder.exists():
        return
    if mirror := mirror_of(root):
        mirror.recognise()  # a new machine has its marker then
    if not folder.exists() and _note(root, home).exists():
        raise lake_gone(folder)


def lake_gone(folder: Path) -> FolderGoneError:
    """The error for a lake that Dagster has worked on, and that is gone."""
    return FolderGoneError(
        f"{folder} is gone, and Dagster has worked on it. Mount its disk, or put it back. To begin "
        "with an empty lake, make an empty folder there"
    )


def _note(root: Path, home: Path) -> Path:
    return home / "lakes" / content_hash(name_of_lake(root))[:16]
