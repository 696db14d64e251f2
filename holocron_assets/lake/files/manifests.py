"""Manifests of folders made for others. A folder without a manifest is not finished, or is not ours."""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

MANIFEST = "manifest.json"


def write_mark(folder: Path, made_by: str, about: Mapping[str, Any]) -> None:
    """Write the manifest of a folder.

    Args:
        folder: the folder, with all its files.
        made_by: the command that made it, by which it is recognized.
        about: other values of the manifest.
    """
    text = json.dumps({"made_by": made_by, **about}, ensure_ascii=False, indent=2)
    (folder / MANIFEST).write_text(f"{text}\n", encoding="utf-8")


def read_mark(folder: Path, made_by: str) -> dict[str, Any] | None:
    """The manifest of a folder that a command made; None if the command did not make or finish it."""
    with suppress(OSError, ValueError):
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        if isinstance(manifest, dict) and manifest.get("made_by") == made_by:
            return manifest
    return None
