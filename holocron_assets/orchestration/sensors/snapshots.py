"""Snapshots of the status that outlast a sensor's tick: one tick begins a snapshot, and a later one uses it.

Dagster gives a tick up after a minute, and a snapshot of a large lake that is not packed takes longer. When
the process ends, or is replaced because the code is reloaded, only the snapshot is lost: the next tick begins
another.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from threading import Lock
from time import monotonic

import dagster as dg

from holocron_assets.crawl.sources.files import AnySource
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.operations.state.kept_snapshot import in_background
from holocron_assets.operations.state.status import Status
from holocron_assets.orchestration.internals.storage import reopening
from holocron_assets.orchestration.resources.status_snapshot import snapshot_now
from holocron_assets.planning.repair import repairing
from holocron_assets.telemetry.masking import without_secrets

_FRESH_SECONDS = 600.0
"""A snapshot that ended longer ago, while no tick came, is too old."""


@dataclass(frozen=True)
class Sight:
    """A tick's view of the snapshot that it or an earlier tick began.

    Attributes:
        since: when it began.
        status: the status; None if it failed, or is under way.
        problem: why it failed; None if it did not.
        repaired: a message about each damaged file that it met, and its repair.
    """

    since: datetime
    status: Status | None = None
    problem: str | None = None
    repaired: Sequence[str] = ()

    @property
    def is_under_way(self) -> bool:
        """Whether it is under way."""
        return self.status is None and self.problem is None


@dataclass
class _Begun:
    """A snapshot in the background."""

    future: Future[Status]
    repaired: list[str]
    since: datetime = field(default_factory=utc_now)
    ended_at: float | None = None

    def __post_init__(self) -> None:
        self.future.add_done_callback(self._note_end)

    @property
    def is_too_old(self) -> bool:
        return self.ended_at is not None and monotonic() - self.ended_at > _FRESH_SECONDS

    def _note_end(self, _: object) -> None:
        self.ended_at = monotonic()


class LastingSnapshot:
    """The snapshots of this process, one at a time for each lake."""

    def __init__(self) -> None:
        """Take no snapshot yet."""
        self._lock, self._begun = Lock(), dict[Path, _Begun]()

    def see(self, place: Path, take: Callable[[], Status], *, patience_seconds: float) -> Sight:
        """Begin a snapshot unless one is under way or waits to be used, and wait for it for a while.

        Args:
            place: the lake.
            take: takes the snapshot. It goes on in a thread, and uses nothing that is closed with the tick.
            patience_seconds: for how long to wait.
        """
        with self._lock:
            begun = self._begun.get(place)
            if begun is None or begun.is_too_old:
                repaired: list[str] = []
                taking = in_background(lambda: repairing(take, repaired.append))
                begun = self._begun[place] = _Begun(taking, repaired)
        wait_for([begun.future], timeout=patience_seconds)
        if not begun.future.done():
            return Sight(begun.since)
        if error := begun.future.exception():
            problem = without_secrets(f"{type(error).__name__}: {error}")
            return Sight(begun.since, problem=problem, repaired=begun.repaired)
        return Sight(begun.since, begun.future.result(), repaired=begun.repaired)

    def judged(self, place: Path, sight: Sight) -> None:
        """Let the next tick begin another snapshot, if this one is over.

        Args:
            place: the lake.
            sight: the snapshot that was used.
        """
        with self._lock:
            begun = self._begun.get(place)
            if begun and begun.since == sight.since and not sight.is_under_way:
                del self._begun[place]


def lasting_snapshot(
    lake: Lake, sources: Sequence[AnySource], politeness_folder: Path, instance: dg.DagsterInstance
) -> Callable[[], Status]:
    """A snapshot that may outlast the tick: the tick's own instance is closed at its end.

    Args:
        lake: as for `snapshot_now`.
        sources: as for `snapshot_now`.
        politeness_folder: as for `snapshot_now`.
        instance: the tick's instance.
    """
    again = reopening(instance)

    def take() -> Status:
        with ExitStack() as stack:

            def own() -> dg.DagsterInstance:
                return stack.enter_context(again()) if again else instance

            return snapshot_now(lake, sources, politeness_folder, own)

    return take
