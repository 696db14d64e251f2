"""Answers to people's questions about a page, with the commands that they can give."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

Topics = Mapping[str, Sequence[Mapping[str, Any]]]
"""The known rows about a page, by topic; see `operations/why/page_report.py`."""

NOTHING_KNOWN = "Nothing is known of it: no seed names it and no fetched page links to it."


@dataclass(frozen=True)
class Answer:
    """The answer to one question about a page.

    Attributes:
        about: the question: 'fetched', 'type', 'entity', 'given up', or the interrogation's name.
        says: the answer, in sentences.
        because: the reasons, a line each, the strongest first.
        commands: commands that change it.
        traceback: Python's traceback of what failed; empty if none was kept.
    """

    about: str
    says: str
    because: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    traceback: str = ""

    def with_tracebacks(self, topics: Topics, stages: Sequence[str]) -> "Answer":
        """The same answer, with the last traceback of each of the stages that has one."""
        kept = {row["stage"]: row["traceback"] for row in topics.get("tracebacks", ())}
        return replace(self, traceback="\n".join(kept[stage] for stage in stages if stage in kept))


def at(moment: datetime) -> str:
    """A moment as text for people."""
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def not_served_yet(due_at: datetime) -> str:
    """What is said of a page whose reported change the wiki does not serve yet."""
    return f"The wiki reported a change and does not serve it yet. It is asked again at {at(due_at)}."


def named(title: str) -> str:
    """A title as a shell takes it."""
    return "'" + title.replace("'", "'\\''") + "'"
