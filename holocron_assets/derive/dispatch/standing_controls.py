"""People's holds and priorities, as runs that ask models read them."""

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
    """The controls that count at the moment of each call (see `derive.dispatch.controls.WorkControls`).

    Attributes:
        lake: the lake that holds them.
    """

    lake: Lake

    def heeded(self, stale: Sequence[StalePartition]) -> Sequence[StalePartition]:
        """The partitions that are not held back; of drained interrogations, only those begun."""
        controls = standing_controls(self.lake)
        return [_ranked(part, controls) for part in stale if _is_free(part, controls)]

    def hold_of(self, interrogation: Interrogation, partition: str) -> str | None:
        """Why a partition must not be asked about; None if it may. A drain lets begun ones be finished."""
        controls = standing_controls(self.lake)
        hold = controls.holds(source=source_of(partition), interrogation=interrogation.name)
        if hold is None or (hold.action == DRAIN and _is_begun(self.lake, interrogation, partition)):
            return None
        return str(hold)

    def pause_of(self, interrogation: str, partition: str) -> str | None:
        """Why the work on a partition under way is to stop; None if it may go on."""
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
