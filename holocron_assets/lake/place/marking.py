"""Giving a folder the marker that distinguishes it from another at its place; `presence.py` says why."""

import os
import uuid
from pathlib import Path

from holocron_assets.lake.files.durable import holding, make_folder, published, sync_folder, trouble_named
from holocron_assets.lake.place.presence import MARKER, refuse_another
from holocron_assets.lake.shared.places import mirror_of


def mark(folder: Path) -> None:
    """Make a folder with a marker, or give a marker to a folder without one.

    Raises:
        FolderGoneError: this process has used a folder at that place, and it is not there any more.
    """
    refuse_another(folder)
    mirror = mirror_of(folder)
    if mirror:
        mirror.recognise()
    if (folder / MARKER).exists():
        return
    make_folder(folder)
    # If several processes do this at once, one of them writes the marker.
    with trouble_named(folder / MARKER), holding(folder):
        if mirror:
            mirror.recognise()  # another machine may have made the marker first
        if not (folder / MARKER).exists():
            aside = folder / f"{MARKER}.tmp"
            with aside.open("w", encoding="utf-8") as written:
                written.write(uuid.uuid4().hex)
                written.flush()
                os.fsync(written.fileno())
            with published(aside, folder / MARKER):
                aside.replace(folder / MARKER)
            sync_folder(folder)
    refuse_another(folder)
