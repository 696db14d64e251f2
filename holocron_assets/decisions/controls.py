"""Work that people hold back or rank: an append-only log, of which the newest row of each scope counts.

Code that starts work asks `Controls.holds` before; long work asks `Controls.pauses` now and then. A hold of
everything and a hold of a source or interrogation are separate: work under both goes on when both are gone.
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
from holocron_assets.lake.place.pressure import pressure_on
from holocron_assets.lake.tables import CONTROLS

PAUSE, DRAIN, RESUME, PRIORITIZE = "pause", "drain", "resume", "prioritize"

MACHINE = "this machine"
"""The author of a hold because of a full or slow disk or store. Runs under way finish; none is started."""

_LOG = AppendLog(CONTROLS, "control_id", "said_at")
_DONE = {PAUSE: "paused", DRAIN: "drained"}


class HeldBackError(HolocronError):
    """The work is held back. The message says by whom, why, and what lets it go on. It is no failure."""


class Scope(NamedTuple):
    """The scope of a control.

    Attributes:
        kind: 'all', 'source' or 'interrogation'.
        name: name of the source or interrogation; None for 'all'.
    """

    kind: str
    name: str | None = None

    def __str__(self) -> str:
        """The scope in words."""
        return f"{self.kind} {self.name}" if self.name else "everything"

    @property
    def option(self) -> str:
        """The scope as an option of a command."""
        return f"--{self.kind} {self.name}" if self.name else "--all"


ALL = Scope("all")


@dataclass(frozen=True)
class Hold:
    """Work that is held back: by a person, or by a rule.

    Attributes:
        scope: which work.
        action: 'pause' or 'drain'.
        author: who or what holds it back.
        reason: why.
        since: since when; None if that is not known.
        ends: how a hold that no person set ends; None for a person's.
    """

    scope: Scope
    action: str
    author: str
    reason: str
    since: datetime | None
    ends: str | None = None

    @property
    def resume(self) -> str:
        """What lets it go on: a command, or how it ends."""
        return self.ends or f"holocron resume {self.scope.option} --reason WHY"

    def __str__(self) -> str:
        """The hold in words: what, since when, by whom and why, and what lets it go on."""
        since = f" since {self.since:%Y-%m-%d %H:%M} UTC" if self.since else ""
        end = self.ends or f"`{self.resume}` lets it go on"
        return f"{self.scope} is {_DONE[self.action]}{since} by {self.author}: {self.reason} ({end})"


@dataclass(frozen=True)
class Controls:
    """The holds and priorities that count now.

    Attributes:
        held: every hold that counts, by its scope.
        priorities: the priorities that people gave, by scope.
    """

    held: Mapping[Scope, Hold]
    priorities: Mapping[Scope, int]

    def holds(self, *, source: str | None = None, interrogation: str | None = None) -> Hold | None:
        """The hold that keeps new work of a source, an interrogation, or both from starting.

        If there are several, a pause comes before a drain. Without a name, only a hold of everything counts.
        """
        named = (("source", source), ("interrogation", interrogation))
        scopes = [ALL, *(Scope(kind, name) for kind, name in named if name)]
        found = [self.held[scope] for scope in scopes if scope in self.held]
        return min(found, key=lambda hold: hold.action != PAUSE, default=None)

    def pauses(self, *, source: str | None = None, interrogation: str | None = None) -> Hold | None:
        """The hold that also stops work under way: only a pause."""
        hold = self.holds(source=source, interrogation=interrogation)
        return hold if hold and hold.action == PAUSE else None

    def is_held(self, *, source: str | None = None, interrogation: str | None = None) -> bool:
        """Whether no new work may start: it is paused or drained."""
        return self.holds(source=source, interrogation=interrogation) is not None

    def priority(self, scope: Scope, declared: int = 0) -> int:
        """The priority of a source or interrogation: a person's, or else the declared one."""
        return self.priorities.get(scope, declared)


def standing_controls(lake: Lake) -> Controls:
    """The holds and priorities that count now; the log is read again only when it has changed.

    A full or slow disk or store holds everything back, unless a person paused everything anyway. It counts
    over a person's drain, which would let begun work be started again.

    Raises:
        DamagedPartitionError: a file of the log cannot be read. Then nothing is started, so that held work
            does not go on.
        SettingError: a bound of the disk or the store is no number.
    """
    said, pressure = _standing(lake, _LOG.mark(lake)), pressure_on(lake.root)
    people_s = said.held.get(ALL)
    if pressure is None or (people_s and people_s.action == PAUSE):
        return said
    ends = "when there is more room, or writes are faster"
    ends = f"{ends}, {people_s}" if people_s else f"it goes on by itself {ends}"
    hold = Hold(ALL, DRAIN, MACHINE, pressure.reason, pressure.since, ends)
    return Controls({**said.held, ALL: hold}, said.priorities)


def refuse_held(
    lake: Lake, *, source: str | None = None, interrogation: str | None = None, is_begun: bool = False
) -> None:
    """Raise HeldBackError if work may not start.

    Args:
        lake: the lake with the log.
        source: the source of the work.
        interrogation: the interrogation of the work.
        is_begun: whether it was under way before: a drain lets it finish.
    """
    hold = standing_controls(lake).holds(source=source, interrogation=interrogation)
    if hold and not (is_begun and hold.action == DRAIN):
        raise HeldBackError(str(hold))


def refuse_full(lake: Lake) -> None:
    """Raise HeldBackError if the machine's disk or store is too full or too slow for anything new."""
    hold = standing_controls(lake).holds()
    if hold and hold.author == MACHINE:
        raise HeldBackError(str(hold))


def safe_point(lake: Lake, *, source: str) -> Callable[[], None]:
    """A function for work to call where it can stop without a loss: it raises HeldBackError in a pause."""

    def stop_if_paused() -> None:
        if hold := standing_controls(lake).pauses(source=source):
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
    """Hold work back, let it go on, or rank it.

    Args:
        lake: where the log is.
        action: 'pause', 'drain', 'resume' or 'prioritize'.
        scope: which work.
        author: who decides it.
        reason: why.
        priority: for 'prioritize'; None if the declared priority should count again.

    Returns:
        The row that was added; None if this state already counts, and nothing was added.

    Raises:
        DecisionError: author or reason is missing or not readable.
    """
    refuse_unsaid("a control", author, reason)
    with lake.lock("controls"):
        if _stands(_standing(lake, _LOG.mark(lake)), action, scope, priority):
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
