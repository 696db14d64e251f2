"""Versions of code, taken from the code itself: nobody has to remember to raise one."""

from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from holocron_assets.lake.keys import content_hash

_SUFFIXES = (".py", ".yaml", ".sql")


@cache
def room_version(package: str) -> str:
    """A hash of a package's code, rules and vocabularies.

    Any edit makes another version, and what the room derived is derived again: that fetches nothing, and
    costs less than a lake that keeps what an older rule said.

    Args:
        package: its import name.
    """
    sources = sorted(_sources(files(package)), key=str)
    return content_hash("\n".join(file.read_text(encoding="utf-8") for file in sources))[:12]


def _sources(folder: Traversable) -> list[Traversable]:
    found: list[Traversable] = []
    for entry in folder.iterdir():
        if entry.is_dir():
            found += _sources(entry)
        elif entry.name.endswith(_SUFFIXES):
            found.append(entry)
    return found
