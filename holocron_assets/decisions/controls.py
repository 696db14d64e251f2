"""What people hold back, and how they rank work: an append-only log, of which the newest row a scope counts.

Whatever starts work asks `Controls.holds` before; what works for long asks `Controls.pauses` now and then. A
hold of everything and one of a source or interrogation are apart: what both hold goes on when both are gone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from holocron_assets.decisions.append_log import AppendLog, id_at
from holocron_assets.decisions.log import refuse_unsaid
from holocron_assets.errors import HolocronError
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import CONTROLS

PAUSE, DRAIN, RESUME, PRIORITIZE = "pause", "drain", "resume", "prioritize"

_LOG = AppendLog(CONTROLS, "control_id", "said_at")
_DONE = {PAUSE: "paused", DRAIN: "drained"}


class HeldBackError(HolocronError):
    """A person holds back what was to be done: who, why, and what lets it go on. Nothing went wrong."""


class Scope(NamedTuple):
    """What a control is about.

    Attributes:
        kind: 'all', 'source' or 'interrogation'.
        name: of the source or interrogation; None for 'all'.
    """

    kind: str
    name: str | None = None

    def __str__(self) -> str:
        """What it is, for people."""
        return f"{self.kind} {self.name}" if self.name else "everything"

    @property
    def option(self) -> str:
        """How a command names it."""
        return f"--{self.kind} {self.name}" if self.name else "--all"


ALL = Scope("all")


@dataclass(frozen=True)
class Hold:
    """Something that a person holds back.

    Attributes:
        scope: what.
        action: 'pause' or 'drain'.
        author: who holds it back.
        reason: why.
        since: from when on.
    """

    scope: Scope
    action: str
    author: str
    reason: str
    since: datetime

    @property
    def resume_command(self) -> str:
        """What lets it go on."""
        return f"holocron resume {self.scope.option} --reason WHY"

    def __str__(self) -> str:
        """What is held back since when, by whom and why, and what lets it go on."""
        return (
            f"{self.scope} is {_DONE[self.action]} since {self.since:%Y-%m-%d %H:%M} UTC by {self.author}: "
            f"{self.reason} (`{self.resume_command}` lets it go on)"
        )


@dataclass(frozen=True)
class Controls:
    """What people hold back and rank, as it stands.

    Attributes:
        held: every hold that stands, by its scope.
        priorities: the priorities that people gave, by scope.
    """

    held: Mapping[Scope, Hold]
    priorities: Mapping[Scope, int]

    def holds(self, *, source: str | None = None, interrogation: str | None = None) -> Hold | None:
        """What keeps new work of a source, an interrogation, or of one about the other, from being started.

        Of several holds a pause is given before a drain. Without a name, only a hold of everything counts.
        """
        named = (("source", source), ("interrogation", interrogation))
        scopes = [ALL, *(Scope(kind, name) for kind, name in named if name)]
        found = [self.held[scope] for scope in scopes if scope in self.held]
        return min(found, key=lambda hold: hold.action != PAUSE, default=None)

    def pauses(self, *, source: str | None = None, interrogation: str | None = None) -> Hold | None:
        """The same, but only what stops work that is under way as well."""
        hold = self.holds(source=source, interrogation=interrogation)
        return hold if hold and hold.action == PAUSE else None

    def is_held(self, *, source: str | None = None, interrogation: str | None = None) -> bool:
        """Whether nothing new of it is started: it is paused or drained."""
        return self.holds(source=source, interrogation=interrogation) is not None

    def is_paused(self, *, source: str | None = None, interrogation: str | None = None) -> bool:
        """Whether work of it that is under way stops, too."""
        return self.pauses(source=source, interrogation=interrogation) is not None

    def priority(self, scope: Scope, declared: int = 0) -> int:
        """The priority of a source or interrogation: a person's, or else what is declared."""
        return self.priorities.get(scope, declared)


def standing_controls(lake: Lake) -> Controls:
    """What is held back and ranked now; read again only when somebody said something since.

    Raises:
        DamagedPartitionError: a file of the log cannot be read. Nothing is started then, lest what is held
            back goes on.
    """
    return _standing(lake, _LOG.mark(lake))


def refuse_held(
    lake: Lake, *, source: str | None = None, interrogation: str | None = None, is_begun: bool = False
) -> None:
    """Raise HeldBackError if something may not be started, whoever wants it to be.

    Args:
        lake: knows what is held back.
        source: whose pages are worked on.
        interrogation: what is asked about them.
        is_begun: whether it was under way before: a drain lets it be finished.
    """
    hold = standing_controls(lake).holds(source=source, interrogation=interrogation)
    if hold and not (is_begun and hold.action == DRAIN):
        raise HeldBackError(str(hold))


def safe_point(
    lake: Lake, *, source: str | None = None, interrogation: str | None = None
) -> Callable[[], None]:
    """What work under way calls where it can stop and lose nothing: raises HeldBackError in a pause."""

    def stop_if_paused() -> None:
        if hold := standing_controls(lake).pauses(source=source, interrogation=interrogation):
            raise HeldBackError(str(hold))

    return stop_if_paused


def all_controls(lake: Lake) -> Sequence[Row]:
    """Every row of table `controls`, the oldest first.

    Raises:
        DamagedPartitionError: a file of the log cannot be read.
    """
    return _LOG.rows(lake)


def control(  # noqa: PLR0913 - each is a column
    lake: Lake, action: str, scope: Scope, *, author: str, reason: str, priority: int | None = None
) -> Row | None:
    """Hold something back, let it go on, or rank it.

    Args:
        lake: where the log is.
        action: 'pause', 'drain', 'resume' or 'prioritize'.
        scope: what it is about.
        author: who says so.
        reason: why.
        priority: of 'prioritize'; None where what is declared shall count again.

    Returns:
        The row that was added; None if that is how it stands already, and nothing was.

    Raises:
        DecisionError: it does not say who or why, or not readably.
    """
    refuse_unsaid("a control", author, reason)
    with lake.lock("controls"):
        if _stands(standing_controls(lake), action, scope, priority):
            return None
        now = _LOG.next_moment(lake)
        row: Row = {
            "control_id": id_at(now),
            "action": action,
            "scope": scope.kind,
            "name": scope.name,
            "priority": priority,
            "author": author,
            "reason": reason,
            "said_at": now,
        }
        _LOG.append(lake, [row])
    return row


def _stands(controls: Controls, action: str, scope: Scope, priority: int | None) -> bool:
    if action == PRIORITIZE:
        return controls.priorities.get(scope) == priority
    hold = controls.held.get(scope)
    return hold is None if action == RESUME else hold is not None and hold.action == action


@lru_cache(maxsize=4)
def _standing(lake: Lake, mark: str) -> Controls:
    held: dict[Scope, Hold] = {}
    priorities: dict[Scope, int] = {}
    for row in _LOG.rows_at(lake, mark):
        scope = Scope(row["scope"], row["name"])
        if row["action"] == PRIORITIZE:
            priorities.pop(scope, None)
            if row["priority"] is not None:
                priorities[scope] = row["priority"]
        elif row["action"] == RESUME:
            held.pop(scope, None)
        else:
            held[scope] = Hold(scope, row["action"], row["author"], row["reason"], row["said_at"])
    return Controls(held, priorities)
