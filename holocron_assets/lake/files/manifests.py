"""A folder made for others says in a manifest what it is: what lacks one was not finished, or is not ours."""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

MANIFEST = "manifest.json"


def write_mark(folder: Path, made_by: str, about: Mapping[str, Any]) -> None:
    """Write the manifest of a folder.

    Args:
        folder: with everything in it already.
        made_by: the command, by which the folder is known.
        about: what else is said of it.
    """
    text = json.dumps({"made_by": made_by, **about}, ensure_ascii=False, indent=2)
    (folder / MANIFEST).write_text(f"{text}\n", encoding="utf-8")


def read_mark(folder: Path, made_by: str) -> dict[str, Any] | None:
    """The manifest of a folder that a command made; None if it made or finished none there."""
    with suppress(OSError, ValueError):
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        if isinstance(manifest, dict) and manifest.get("made_by") == made_by:
            return manifest
    return None
