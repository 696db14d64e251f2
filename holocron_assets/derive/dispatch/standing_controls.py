"""What holds questions back, and what ranks them: people, and the files of interrogations."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from holocron_assets.decisions.controls import (
    DRAIN,
    PAUSE,
    Controls,
    HeldBackError,
    Hold,
    Scope,
    standing_controls,
)
from holocron_assets.derive.dispatch.backlog import StalePartition
from holocron_assets.derive.dispatch.scale import Reached, reached_limit
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.results.partition_work import journal_path
from holocron_assets.lake.journals.journal import Journal
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake, source_of

_ITS_FILE = "its file"


@dataclass(frozen=True)
class StandingControls:
    """The controls that count at the moment of each call, since people may change them during the work.

    Attributes:
        lake: the lake that holds them.
    """

    lake: Lake

    def heeded(self, stale: Sequence[StalePartition]) -> Sequence[StalePartition]:
        """The partitions that are not held back; of drained interrogations, only those begun.

        Where a limit is reached, they are not due before it ends.
        """
        controls, now = standing_controls(self.lake), utc_now()
        free = [part for part in stale if part.interrogation.enabled and _is_free(self.lake, part, controls)]
        asked = {part.interrogation.name: part.interrogation for part in free}
        limits = {name: reached_limit(self.lake, one, now) for name, one in asked.items()}
        return [_not_before(_ranked(part, controls), limits[part.interrogation.name]) for part in free]

    def holds_of_files(self, interrogations: Iterable[Interrogation]) -> list[Hold]:
        """What the files of interrogations hold back now."""
        return [hold for one in interrogations if (hold := self.hold_of_file(one))]

    def hold_of_file(self, interrogation: Interrogation, partition: str | None = None) -> Hold | None:
        """Why an interrogation's own file lets nothing new be asked now; None if it does.

        Args:
            interrogation: which.
            partition: the one that the caller works on, if any.
        """
        scope = Scope("interrogation", interrogation.name)
        if not interrogation.enabled:
            return Hold(
                *(scope, PAUSE, _ITS_FILE, "`enabled: false`", None),
                ends="`enabled: true` there lets it go on",
            )
        reached = reached_limit(self.lake, interrogation, utc_now(), partition)
        if reached is None:
            return None
        return Hold(
            *(scope, PAUSE, _ITS_FILE, f"{reached} is reached", reached.since),
            ends=f"it goes on by itself at {reached.until:%Y-%m-%d %H:%M} UTC",
        )

    def hold_of(self, interrogation: Interrogation, partition: str) -> str | None:
        """Why a partition must not be asked about; None if it may. A drain lets begun ones be finished."""
        if own := self.hold_of_file(interrogation, partition):
            return str(own)
        controls = standing_controls(self.lake)
        hold = controls.holds(source=source_of(partition), interrogation=interrogation.name)
        if hold is None or (hold.action == DRAIN and _is_begun(self.lake, interrogation, partition)):
            return None
        return str(hold)

    def pause_of(self, interrogation: Interrogation, partition: str) -> str | None:
        """Why the work on a partition under way is to stop; None if it may go on."""
        controls = standing_controls(self.lake)
        hold = controls.pauses(source=source_of(partition), interrogation=interrogation.name)
        hold = hold or self.hold_of_file(interrogation, partition)
        return str(hold) if hold else None

    def is_free(self, interrogation: Interrogation) -> bool:
        """Whether anything new of an interrogation may be asked now."""
        held = standing_controls(self.lake).is_held(interrogation=interrogation.name)
        return not held and self.hold_of_file(interrogation) is None


def refuse_disabled(interrogation: Interrogation) -> None:
    """Raise HeldBackError if nothing of an interrogation is to be asked, not even by a person."""
    if not interrogation.enabled:
        raise HeldBackError(
            f"nothing new of {interrogation.name} is asked: its file says `enabled: false`. "
            "Write `enabled: true` there to ask it"
        )


def _is_begun(lake: Lake, interrogation: Interrogation, partition: str) -> bool:
    return bool(Journal(journal_path(lake, interrogation, partition)).marks())


def _is_free(lake: Lake, part: StalePartition, controls: Controls) -> bool:
    source, name = source_of(part.partition), part.interrogation.name
    hold = controls.holds(source=source, interrogation=name)
    return hold is None or (hold.action == DRAIN and _is_begun(lake, part.interrogation, part.partition))


def _not_before(part: StalePartition, limit: Reached | None) -> StalePartition:
    return replace(part, not_before=limit.until) if limit else part


def _ranked(part: StalePartition, controls: Controls) -> StalePartition:
    """A partition, with the priority that its interrogation has."""
    declared = part.interrogation.priority
    priority = controls.priority(Scope("interrogation", part.interrogation.name), declared)
    if priority == declared:
        return part
    return replace(part, interrogation=part.interrogation.model_copy(update={"priority": priority}))
