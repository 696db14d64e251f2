"""People's controls over the work of models: what is held back, and what comes first."""

from collections.abc import Sequence
from typing import Protocol

from holocron_assets.derive.dispatch.backlog import StalePartition
from holocron_assets.derive.interrogations.interrogation import Interrogation


class WorkControls(Protocol):
    """People's controls. They are read again each time, since people may change them meanwhile."""

    def heeded(self, stale: Sequence[StalePartition]) -> Sequence[StalePartition]:
        """The partitions that may be worked on, with the priorities that count."""
        ...

    def pause_of(self, interrogation: Interrogation, partition: str) -> str | None:
        """Why the work on a partition under way is to stop; None if it may go on."""
        ...


class NoControls:
    """The controls where no person set any."""

    def heeded(self, stale: Sequence[StalePartition]) -> Sequence[StalePartition]:
        """All of them (see `WorkControls.heeded`)."""
        return stale

    def pause_of(self, interrogation: Interrogation, partition: str) -> str | None:
        """Always None (see `WorkControls.pause_of`)."""
        del interrogation, partition
        return None


NO_CONTROLS = NoControls()
"""Everything may be done, in the order that files declare."""
