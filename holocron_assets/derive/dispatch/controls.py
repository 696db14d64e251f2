"""What people wish of the order in which models work: what is held back for now, and what comes first."""

from collections.abc import Sequence
from typing import Protocol

from holocron_assets.derive.dispatch.backlog import StalePartition


class WorkControls(Protocol):
    """What people wish. It is asked anew each time: they may say something else meanwhile."""

    def heeded(self, stale: Sequence[StalePartition]) -> Sequence[StalePartition]:
        """Those of some partitions that may be worked on, with the priorities that count."""
        ...

    def pause_of(self, interrogation: str, partition: str) -> str | None:
        """Why nothing is to be asked about a partition any more, though it is under way; None if it is."""
        ...


class NoControls:
    """Nobody said anything."""

    def heeded(self, stale: Sequence[StalePartition]) -> Sequence[StalePartition]:
        """All of them (see `WorkControls.heeded`)."""
        return stale

    def pause_of(self, interrogation: str, partition: str) -> str | None:
        """Nothing (see `WorkControls.pause_of`)."""
        del interrogation, partition
        return None


NO_CONTROLS = NoControls()
"""Everything may be done, in the order that files declare."""
