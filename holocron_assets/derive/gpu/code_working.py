"""Work on items that code answers. Most take a millisecond, so many share a sync of the journal.

Each attempt is recorded before it begins, all the same. If the process is killed, nobody knows which item of
the group did it. So the next process tries each of them alone.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from time import monotonic

from holocron_assets.derive.code.answering import CodeAnswerer
from holocron_assets.derive.engine.calls import Outcome
from holocron_assets.derive.gpu.gpu_log import Tally
from holocron_assets.derive.gpu.open_partitions import OpenPartition
from holocron_assets.derive.gpu.turns import Step
from holocron_assets.derive.gpu.working import WRITE_SECONDS, Written, written
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.items.items import Item

GROUP_SECONDS = 1.0
"""The time that a group should take: the most that a kill undoes."""

_LARGEST = 500
_FASTEST_GROWTH = 8


@dataclass
class CodeWorking:
    """The work on items that code answers, one at a time: a function need not be thread-safe.

    Attributes:
        run_id: the id of the run.
        is_paused: whether to leave a partition for now; called with its interrogation and its name.
        tally: its figures so far.
    """

    run_id: str
    is_paused: Callable[[Interrogation, str], bool]
    tally: Tally
    _size: int = 1
    _written_at: float = field(default_factory=monotonic)

    def __post_init__(self) -> None:
        """Make what answers."""
        self._answerer = CodeAnswerer(self.run_id)

    def work(self, steps: Iterator[Step]) -> Iterator[Written]:
        """Answer every item that `steps` gives.

        Yields:
            Each partition when its table's file was replaced, and when its work is over.
        """
        group: list[Item] = []
        opened: OpenPartition | None = None
        for following, item in steps:
            is_full = len(group) >= self._most(following) or (item and following.work.goes_alone(item))
            if opened and group and (opened is not following or item is None or is_full):
                self._answer(opened, group)
                group = []
                yield from self._written_so_far(opened)
            opened = following
            if item is None:
                yield self._written(opened)
            elif opened.work.goes_alone(item):
                self._answer(opened, [item])
            else:
                group.append(item)
        if opened and group:
            self._answer(opened, group)

    def _most(self, opened: OpenPartition) -> int:
        """The size of a group. Where the number of items is limited, each is begun by itself."""
        return 1 if opened.work.interrogation.scale_limit else self._size

    def _answer(self, opened: OpenPartition, items: Sequence[Item]) -> None:
        work, started = opened.work, monotonic()
        if self.is_paused(work.interrogation, work.partition):
            return
        items = [item for item in items if work.is_open(item)]
        if not items:
            return
        if len(items) == 1:
            attempt = work.start(items[0])
        else:
            attempt = 1
            work.start_together(items)
        results: list[tuple[Item, Outcome]] = []
        try:
            for item in items:
                results.append((item, self._answerer.answer_now(item, attempt)))  # noqa: PERF401 - see below
        finally:  # those before an interruption count
            work.record_all(results)
            work.abandon(*items[len(results) :])
        for _, outcome in results:
            self.tally.count(work.interrogation.name, outcome)
        share = GROUP_SECONDS / max(monotonic() - started, 1e-3)
        self._size = max(1, min(_LARGEST, int(len(items) * min(share, _FASTEST_GROWTH))))

    def _written_so_far(self, opened: OpenPartition) -> Iterator[Written]:
        """Write the new results of a partition now and then."""
        if monotonic() - self._written_at < WRITE_SECONDS:
            return
        self._written_at = monotonic()
        if footer := opened.work.publish_so_far(self.run_id):
            yield written(opened, footer, is_over=False)

    def _written(self, opened: OpenPartition) -> Written:
        footer = opened.work.publish(self.run_id)
        opened.lock.release()
        opened.is_over = True
        self.tally.calls_saved += opened.work.calls_saved
        return written(opened, footer, is_over=True)
