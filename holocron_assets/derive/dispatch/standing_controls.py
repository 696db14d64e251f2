"""What people hold back and rank, as those see it who ask models."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from holocron_assets.crawl.frontier.batches import source_of
from holocron_assets.decisions.controls import DRAIN, Controls, Scope, standing_controls
from holocron_assets.derive.dispatch.backlog import StalePartition
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.results.partition_work import journal_path
from holocron_assets.lake.journals.journal import Journal
from holocron_assets.lake.place.paths import Lake


@dataclass(frozen=True)
class StandingControls:
    """The controls that stand when it is asked (see `derive.dispatch.wishes.WorkControls`).

    Attributes:
        lake: knows them.
    """

    lake: Lake

    def heeded(self, stale: Sequence[StalePartition]) -> Sequence[StalePartition]:
        """What is not held back; of what is drained, only what was begun."""
        controls = standing_controls(self.lake)
        return [_ranked(part, controls) for part in stale if _is_free(part, controls)]

    def hold_of(self, interrogation: Interrogation, partition: str) -> str | None:
        """Why nobody is to ask about a partition, if so. A drain lets be finished what was begun."""
        controls = standing_controls(self.lake)
        hold = controls.holds(source=source_of(partition), interrogation=interrogation.name)
        if hold is None or (hold.action == DRAIN and _is_begun(self.lake, interrogation, partition)):
            return None
        return str(hold)

    def pause_of(self, interrogation: str, partition: str) -> str | None:
        """Why a partition that is under way is to be left, if it is."""
        controls = standing_controls(self.lake)
        hold = controls.pauses(source=source_of(partition), interrogation=interrogation)
        return str(hold) if hold else None


def _is_begun(lake: Lake, interrogation: Interrogation, partition: str) -> bool:
    return bool(Journal(journal_path(lake, interrogation, partition)).marks())


def _is_free(part: StalePartition, controls: Controls) -> bool:
    source, name = source_of(part.partition), part.interrogation.name
    hold = controls.holds(source=source, interrogation=name)
    return hold is None or (hold.action == DRAIN and part.counts is not None)


def _ranked(part: StalePartition, controls: Controls) -> StalePartition:
    """A partition, with the priority that its interrogation has."""
    declared = part.interrogation.priority
    priority = controls.priority(Scope("interrogation", part.interrogation.name), declared)
    if priority == declared:
        return part
    return replace(part, interrogation=part.interrogation.model_copy(update={"priority": priority}))
