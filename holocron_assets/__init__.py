"""Holocron: a Dagster asset graph that turns a wiki into a knowledge base that people can trust."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holocron_assets.doors.frames import Holocron

__all__ = ["Holocron"]


def __getattr__(name: str) -> object:
    """Import the door for notebooks when it is asked for: pandas takes half a second."""
    if name == "Holocron":
        from holocron_assets.doors.frames import Holocron  # noqa: PLC0415

        return Holocron
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
