"""What is told of a page: answers to questions that a person has, with what they can do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

Topics = Mapping[str, Sequence[Mapping[str, Any]]]
"""What is known of a page, rows by topic; see `reports.page_report`."""


@dataclass(frozen=True)
class Answer:
    """The answer to one question about a page.

    Attributes:
        about: what it is about: 'fetched', 'type', 'entity', 'given up', or the interrogation's name.
        says: the answer, in sentences.
        because: what speaks for it, a line each, the strongest first.
        commands: what a person can do about it, as commands to give.
    """

    about: str
    says: str
    because: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()


def at(moment: datetime) -> str:
    """A moment, for people."""
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def named(title: str) -> str:
    """A title as a shell takes it."""
    return "'" + title.replace("'", "'\\''") + "'"
