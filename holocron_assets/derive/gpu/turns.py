"""Which items come next: turns of the interrogations that ask one model, one partition after the other."""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from time import monotonic
from typing import Protocol

from holocron_assets.derive.code.kinds import CODE_KINDS
from holocron_assets.derive.dispatch.backlog import Counts, StalePartition, stale_partitions, waiting_of
from holocron_assets.derive.dispatch.choosing import Decision, Score, decide
from holocron_assets.derive.dispatch.pools import DispatchSettings
from holocron_assets.derive.dispatch.served import ServedModels
from holocron_assets.derive.dispatch.standing_controls import StandingControls
from holocron_assets.derive.dispatch.work_order import WorkOrder
from holocron_assets.derive.gpu.open_partitions import OpenPartition
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.items.items import Item
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.telemetry.logs import logger

_LOG = logger(__name__)
_OF_CODE = 1_000
LONGEST_SECONDS = 30 * 60.0
"""A run ends after so long, even if its model still has work: other runs may wait for its place."""


@dataclass(frozen=True)
class Share:
    """What one interrogation may do until the next decision.

    Attributes:
        interrogation: the interrogation that has the share.
        completions: partitions with every answer, but without a table.
        partitions: those that lack answers, or may lack some.
        items: items that it may take; None for all.
    """

    interrogation: Interrogation
    completions: Sequence[str]
    partitions: Sequence[str]
    items: int | None


Held = Mapping[tuple[str, str], int]
"""Items still to be handed out of each partition that was taken, by interrogation and partition."""


class Agenda(Protocol):
    """Decides what is done next.

    Attributes:
        stopped: why the work stops although more is left; None if nothing is left.
    """

    stopped: str | None

    def shares(self, held: Held) -> Sequence[Share]:
        """The next work, in order; empty when the work is to end."""
        ...


@dataclass
class Given:
    """Some partitions of one interrogation, to their end."""

    interrogation: Interrogation
    partitions: Sequence[str]
    stopped: str | None = None
    _is_given: bool = False

    def shares(self, held: Held) -> Sequence[Share]:
        """All of the partitions, once."""
        del held
        if self._is_given:
            return []
        self._is_given = True
        return [Share(self.interrogation, (), self.partitions, None)]


@dataclass
class Dispatched:
    """The work that the dispatcher chooses for one model, as long as it chooses that model.

    Attributes:
        lake: the lake.
        interrogations: those of all models that take turns with this one.
        served: the models that can be asked.
        settings: how work is dispatched.
        partitions: only these; all if None.
        model: the model that is asked; None while it is not chosen.
        own: names of the interrogations that are worked on; all if None. The others only count when the
            next turn is decided.
        deadline: on the clock `monotonic`; after it, no more is begun.
        stopped: why the work stops although there is more.
    """

    lake: Lake
    interrogations: Sequence[Interrogation]
    served: ServedModels
    settings: DispatchSettings
    partitions: frozenset[str] | None = None
    model: str | None = None
    own: frozenset[str] | None = None
    deadline: float = field(default_factory=lambda: monotonic() + LONGEST_SECONDS)
    stopped: str | None = None
    _stale: Sequence[StalePartition] = ()

    def decision(self, held: Held) -> Decision:
        """The next turn, as the dispatcher would decide if all items that were handed out were done.

        Only the model that works counts as loaded.
        """
        counts = {place: Counts(0, 0, untried=left, dues=()) for place, left in held.items()}
        found = stale_partitions(
            self.lake, self.interrogations, digests=self.served.digests, held=counts, only=self.partitions
        )
        self._stale = [
            one
            for one in StandingControls(self.lake).heeded(found)
            if held.get((one.interrogation.name, one.partition)) != 0
        ]
        now = utc_now()
        return decide(
            waiting_of(self._stale, now),
            {self.model} if self.model else self.served.loaded,
            now,
            ageing=self.settings.rules,
            items_a_turn=self._items_a_turn,
        )

    @property
    def _items_a_turn(self) -> int:
        """Items until the next decision. To decide takes longer than code takes for a hundred."""
        usual = self.settings.items_a_turn
        return max(usual, _OF_CODE) if self.model in CODE_KINDS else usual

    def shares(self, held: Held) -> Sequence[Share]:
        """The work until the next decision; empty if another model's turn has come."""
        if monotonic() > self.deadline:
            self.stopped = "the run's time is over; the dispatcher goes on"
            return []
        decision = self.decision(held)
        _LOG.debug("decided what is asked next", at_work=self.model, **decision.to_json())
        self.stopped = None
        if decision.model != self.model:
            self.stopped = decision.model and f"another model's turn: {decision.reasons[0]}"
            return []
        named = {one.name: one for one in self.interrogations if self.own is None or one.name in self.own}
        own = [turn for turn in decision.turns if turn.interrogation in named]
        if not own and any(score.waiting.is_due for score in decision.scores if _is_of(score, named)):
            self.stopped = f"the same model's turn with other work: {decision.reasons[0]}"
        return [_share(named[turn.interrogation], turn.items, self._stale, self._order) for turn in own]

    @cached_property
    def _order(self) -> WorkOrder:
        return WorkOrder(self.lake)


def _is_of(score: Score, named: Mapping[str, Interrogation]) -> bool:
    return score.waiting.interrogation in named


def _share(
    interrogation: Interrogation, items: int, stale: Sequence[StalePartition], order: WorkOrder
) -> Share:
    own = [part for part in stale if part.interrogation.name == interrogation.name]
    completions = [part.partition for part in own if part.is_to_write]
    # Begun partitions come first: a partition is of use when it is complete.
    begun = [part.partition for part in own if part.counts and not part.is_to_write]
    new = order.partitions(interrogation, [part.partition for part in own if part.counts is None])
    return Share(interrogation, completions, [*begun, *new], items)


OpenOne = Callable[[Interrogation, str], OpenPartition | None]
"""Opens a partition; returns None if another process works on it."""

Step = tuple[OpenPartition, Item | None]
"""An item to ask about; or None after the last item of the partition."""


@dataclass
class _Shelf:
    """The work that one interrogation has left: partitions to open, and the rest of the open one."""

    seen: set[str] = field(default_factory=set)
    closed: deque[str] = field(default_factory=deque)
    opened: OpenPartition | None = None
    items: deque[Item] = field(default_factory=deque)

    def add(self, partitions: Iterable[str]) -> None:
        new = [name for name in partitions if name not in self.seen]
        self.seen.update(new)
        self.closed.extend(new)


@dataclass(frozen=True)
class _Ended:
    """A partition whose work has ended, and the state in which its inputs' tables were read."""

    interrogation: Interrogation
    partition: str
    inputs: str


@dataclass
class Choice:
    """The items that a person wants to be asked about; by default all.

    Attributes:
        pages: title keys of the only pages.
        items: the most items of each interrogation.
    """

    pages: frozenset[int] | None = None
    items: int | None = None
    _taken: Counter[str] = field(default_factory=Counter)

    def takes(self, item: Item) -> bool:
        """Decide whether to ask about the next item."""
        name = item.interrogation.name
        if (self.pages is not None and item.row.get("title_key") not in self.pages) or self.is_used_up(name):
            return False
        self._taken[name] += 1
        return True

    def is_used_up(self, interrogation: str) -> bool:
        """Whether no further item of an interrogation is taken."""
        return self.items is not None and self._taken[interrogation] >= self.items


@dataclass
class Supply:
    """The items to ask about, in order. Making one may take a while, so a thread makes the next ones ahead.

    Attributes:
        agenda: decides whose turn it is.
        open_one: opens a partition.
        choice: which items are asked about at all.
        in_order: sorts the items of a partition.
        is_paused: whether to leave a partition for now; called with its interrogation and its name.
        inputs_of: the state of a partition's inputs now; see `inputs_mark`.
        problems: why partitions could not be opened, by interrogation and partition. The others go on.
        has_moved: whether the last `steps` gave any item. Its result may be what other items waited for.
    """

    agenda: Agenda
    open_one: OpenOne
    choice: Choice = field(default_factory=Choice)
    in_order: Callable[[Iterable[Item]], Sequence[Item]] = list
    is_paused: Callable[[Interrogation, str], bool] = lambda _interrogation, _partition: False
    inputs_of: Callable[[Interrogation, str], str] = lambda _interrogation, _partition: ""
    problems: dict[tuple[str, str], Exception] = field(default_factory=dict)
    has_moved: bool = True
    _shelves: dict[str, _Shelf] = field(default_factory=dict)
    _held: dict[tuple[str, str], int] = field(default_factory=dict)
    _opened: list[OpenPartition] = field(default_factory=list)
    _ended: list[_Ended] = field(default_factory=list)

    def steps(self) -> Iterator[Step]:
        """Every item until the agenda ends the work, or no work is left that this process can do."""
        self.has_moved = False
        while shares := self._shares():
            moved = False
            for share in shares:
                for step in self._steps_of(share):
                    moved = self.has_moved = True
                    yield step
            if not moved:
                break
        for shelf in self._shelves.values():
            if opened := shelf.opened:
                if shelf.items:
                    self._forget(opened.work.interrogation, opened.work.partition)
                shelf.opened = None
                shelf.items.clear()
                yield opened, None

    def _shares(self) -> Sequence[Share]:
        self._let_go_of_ended()
        for ended in [one for one in self._ended if self._has_grown(one)]:
            self._ended.remove(ended)
            self._forget(ended.interrogation, ended.partition)
        return self.agenda.shares(self._held)

    def _let_go_of_ended(self) -> None:
        """Keep no partition whose work has ended: it has its pages' texts, and a run may open thousands."""
        for opened in [one for one in self._opened if one.is_over]:
            self._opened.remove(opened)
            if opened.work.interrogation.upstream:
                ended = _Ended(opened.work.interrogation, opened.work.partition, opened.inputs)
                self._ended.append(ended)

    def _forget(self, interrogation: Interrogation, partition: str) -> None:
        """Let a partition be opened again."""
        self._held.pop((interrogation.name, partition), None)
        self._shelves[interrogation.name].seen.discard(partition)

    def _has_grown(self, ended: _Ended) -> bool:
        """Whether the inputs' answers of a partition changed since they were read."""
        return self.inputs_of(ended.interrogation, ended.partition) != ended.inputs

    def close(self) -> None:
        """Let other processes work on the partitions that this one opened."""
        for opened in self._opened:
            opened.lock.release()

    def _steps_of(self, share: Share) -> Iterator[Step]:
        shelf = self._shelves.setdefault(share.interrogation.name, _Shelf())
        for partition in share.completions:
            if partition not in shelf.seen and not self.is_paused(share.interrogation, partition):
                shelf.seen.add(partition)
                yield from self._completion(share.interrogation, partition, shelf)
        shelf.add(share.partitions)
        left = share.items
        while left != 0 and (opened := self._first_open(share.interrogation, shelf)):
            if self.is_paused(share.interrogation, opened.work.partition):
                shelf.opened = None
                shelf.items.clear()
                yield opened, None
            elif shelf.items:
                item = shelf.items.popleft()
                self._held[item.interrogation.name, item.partition] -= 1
                left = left and left - 1
                yield opened, item
            else:
                shelf.opened = None
                yield opened, None
        if self.choice.is_used_up(share.interrogation.name):  # others have their turn
            self._held.update(((share.interrogation.name, partition), 0) for partition in shelf.closed)
            shelf.closed.clear()

    def _completion(self, interrogation: Interrogation, partition: str, shelf: _Shelf) -> Iterator[Step]:
        opened = self._open(interrogation, partition)
        if opened is None:
            return
        if opened.work.ready(utc_now()):  # it has changed since it was counted
            opened.lock.release()
            self._opened.remove(opened)
            del self._held[interrogation.name, partition]
            shelf.closed.append(partition)
        else:
            yield opened, None

    def _first_open(self, interrogation: Interrogation, shelf: _Shelf) -> OpenPartition | None:
        """The open partition, or else the first that can be opened."""
        while shelf.opened is None and shelf.closed and not self.choice.is_used_up(interrogation.name):
            partition = shelf.closed.popleft()
            if self.is_paused(interrogation, partition):
                continue
            shelf.opened = self._open(interrogation, partition)
            if shelf.opened:
                work = shelf.opened.work
                shelf.items.extend(self.in_order(filter(self.choice.takes, work.ready(utc_now()))))
                self._held[interrogation.name, work.partition] = len(shelf.items)
        return shelf.opened

    def _open(self, interrogation: Interrogation, partition: str) -> OpenPartition | None:
        self._let_go_of_ended()
        self._held[interrogation.name, partition] = 0
        try:
            opened = self.open_one(interrogation, partition)
        except Exception as error:  # noqa: BLE001 - any error is reported when the others are done
            self.problems[interrogation.name, partition] = error
            return None
        if opened:
            self._opened.append(opened)
        return opened
