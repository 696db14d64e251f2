"""The work of an interrogation on one partition: which items wait, and the outcomes of the others.

Nothing is lost between two runs: the journal records an attempt before it begins, and its outcome before the
next is sent. Any process can make the partition's files from the journal at any time.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime
from time import monotonic
from typing import Any

from holocron_assets.classify.learned.answers import sure_pages
from holocron_assets.derive.engine.calls import Outcome
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.items.derived_rows import derived_rows
from holocron_assets.derive.items.items import Item, wanted_items
from holocron_assets.derive.items.recipe import recipe_of
from holocron_assets.derive.items.wanted import Superseded
from holocron_assets.derive.results.answer_tables import items_with_rows, write_answers
from holocron_assets.derive.results.answers_elsewhere import answers_elsewhere
from holocron_assets.derive.results.item_states import ItemState
from holocron_assets.derive.results.kept_answers import scope_of, state_of
from holocron_assets.derive.results.llm_rows import run_row, write_attempts, write_runs
from holocron_assets.derive.results.requeued import letter_key, requeue_times
from holocron_assets.derive.results.result_journals import (
    ExchangeJournal,
    Record,
    StateJournal,
    abandoned,
    begun,
    ended,
    exchanges_path,
    journal_path,
)
from holocron_assets.derive.results.settled import asked_of, runs_inputs, waiting_subjects
from holocron_assets.lake.attempts import is_waiting
from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.footers import Footer
from holocron_assets.lake.files.parquet import rows_there
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import LLM_RUNS
from holocron_assets.lake.tracebacks import keep_tracebacks

__all__ = ["PartitionWork", "journal_path"]

_SURE_SECONDS = 30.0
"""For how long what the learned model says is not read again."""


class PartitionWork:
    """An interrogation's items of one partition, each with its state.

    One thread may begin and record attempts while another asks what is ready, and a third writes the tables.
    A process that begins attempts or writes tables holds the partition's lock; reading needs none.

    Attributes:
        interrogation: what is asked.
        partition: the partition's name.
        scope: its partition of `llm_runs` and `llm_attempts`.
        items: every wanted item, in order; those that the learned model spares are left out.
        calls_saved: items that newly use an answer that another partition got.
    """

    def __init__(  # noqa: PLR0913 - three name the work, two the model
        self,
        lake: Lake,
        interrogation: Interrogation,
        partition: str,
        *,
        model: str,
        digest: str,
        superseded: Superseded = (),
    ) -> None:
        """Read the items and their states.

        Args:
            lake: where they are.
            interrogation: what is asked.
            partition: a batch; for pairs, an entity type.
            model: the model that is asked.
            digest: the model's.
            superseded: pages to leave out; see `superseded_pages`.

        Raises:
            MissingPartitionError: pages, signals, types or pairs of the partition do not exist yet.
        """
        self.interrogation = interrogation
        self.partition = partition
        self._lake, self._model, self._digest = lake, model, digest
        self.scope = scope_of(interrogation.name, partition)
        self._recipe = recipe_of(interrogation, digest)
        # Before the items are read: an input that is replaced meanwhile makes the table stale, not wrong.
        self._inputs = self._recipe.inputs(lake, partition) or {}
        self._asked_of = asked_of(lake, interrogation, partition, digest)
        waits_for = waiting_subjects(lake, interrogation, partition, superseded)
        wanted = wanted_items(lake, interrogation, partition, superseded=superseded, waits_for=waits_for)
        self.items = tuple(wanted)
        self._keys = {item.item_id: _key(item, digest) for item in self.items}
        self._journal = StateJournal(journal_path(lake, interrogation, partition))
        self._exchanges = ExchangeJournal(exchanges_path(lake, self.scope))
        self._states, self.calls_saved = self._read_states()
        self._sure: AbstractSet[int] = frozenset()
        self._sure_until = 0.0
        self.items = tuple(item for item in self.items if not self._is_spared(item))
        self._under_way: set[str] = set()
        self._rows_known: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {}
        self._calls: deque[Row] = deque()
        self._are_calls_read = False
        # A killed run may have left answers in the journal that the tables lack.
        self._has_news = any(state.status != "untried" for state in self._states.values())

    @property
    def answered(self) -> int:
        """Items with an answer."""
        return sum(self._state(item).status == "ok" for item in self.items)

    @property
    def dead(self) -> int:
        """Items given up, or that cannot be asked about."""
        return sum(self._is_dead(item) for item in self.items)

    @property
    def untried(self) -> int:
        """Items without any outcome that no process asks about now."""
        return sum(self._state(item).status == "untried" for item in self._open_items())

    @property
    def awaiting(self) -> int:
        """Items that are not asked about before their inputs are answered."""
        return sum(item.waits_for is not None for item in self.items)

    @property
    def is_behind(self) -> bool:
        """Whether the table lacks rows of answers that are known: a run was killed before it wrote them."""
        answers = [(item, answer) for item in self.items if (answer := self._state(item).answer) is not None]
        if not answers:
            return False
        there = items_with_rows(self._lake, self.interrogation.table, self.partition)
        return any(item.item_id not in there and self._rows(item, answer, "") for item, answer in answers)

    @property
    def dues(self) -> list[datetime]:
        """When each item that failed for now may be tried again, soonest first."""
        return sorted(due for item in self._open_items() if (due := self._state(item).due_at))

    @property
    def remaining(self) -> int:
        """Items that have no answer and are not given up, also those under way."""
        return sum(not _is_settled(item, self._state(item)) for item in self.items)

    @property
    def is_complete(self) -> bool:
        """Whether every item has an answer or is given up."""
        return not self.remaining

    def ready(self, now: datetime) -> list[Item]:
        """The items that may be asked about now, in order; of those with the same request, the first.

        Args:
            now: the moment.
        """
        by_key = {
            self._keys[item.item_id]: item
            for item in reversed(list(self._open_items()))
            if (due := self._state(item).due_at) is None or due <= now
        }
        return [item for item in self.items if by_key.get(self._keys[item.item_id]) is item]

    def is_open(self, item: Item) -> bool:
        """Whether an item can be asked about, has no outcome, and is not under way; it need not be due.

        The learned model may be trained while the others are asked about, and spare it then.
        """
        if item.waits_for or _is_settled(item, self._state(item)) or self._is_spared(item):
            return False
        return self._keys[item.item_id] not in self._under_way

    def answer_of(self, item: Item) -> dict[str, Any] | None:
        """The answer about an item; None if there is none."""
        return self._state(item).answer

    def catch_up(self) -> None:
        """Read what other processes recorded since; attempts of this process stay under way."""
        states, _ = self._read_states()
        self._states |= {key: state for key, state in states.items() if key not in self._under_way}
        self._has_news, self._are_calls_read = True, False

    def start(self, item: Item) -> int:
        """Record that an attempt at an item begins.

        Returns:
            Which attempt it is, from 1.
        """
        key = self._keys[item.item_id]
        self._under_way.add(key)
        self._take_in(begun(item.item_id, key))
        return self._states[key].attempts

    def start_together(self, items: Sequence[Item]) -> None:
        """Record at once that the first attempts at several items begin."""
        keys = [(item.item_id, self._keys[item.item_id]) for item in items]
        self._under_way.update(key for _, key in keys)
        self._take_in(*(begun(item_id, key, is_alone=False) for item_id, key in keys))

    def goes_alone(self, item: Item) -> bool:
        """Whether an item was tried before, and may be what ended the process."""
        state = self._state(item)
        return state.attempts > 0 or state.is_together

    def record(self, item: Item, outcome: Outcome) -> None:
        """Record the outcome of an attempt that was begun; returns when that is on disk."""
        self.record_all([(item, outcome)])

    def record_all(self, results: Sequence[tuple[Item, Outcome]]) -> None:
        """Record the outcomes of attempts that were begun at once; returns when they are on disk."""
        if not results:
            return
        records = []
        for item, outcome in results:
            self._exchanges.add(item, outcome)
            unsupported = sum(not row["supported"] for row in self._rows(item, outcome.answer, ""))
            key = self._keys[item.item_id]
            records.append(ended(item.item_id, key, outcome, unsupported=unsupported))
            self._calls.extend(outcome.calls if outcome.exchanges else ())
        self._keep_tracebacks(results)
        self._take_in(*records)
        self._under_way.difference_update(record["key"] for record in records)
        self._has_news = True

    def _keep_tracebacks(self, results: Sequence[tuple[Item, Outcome]]) -> None:
        found = {
            item.item_id: outcome.traceback
            for item, outcome in results
            if outcome.traceback and outcome.counts
        }
        keep_tracebacks(self._lake, self.scope, self.interrogation.name, found)

    def abandon(self, *items: Item) -> None:
        """Record that this process broke attempts off, if they are under way: they do not count."""
        keys = {item.item_id: self._keys[item.item_id] for item in items}
        records = [abandoned(item_id, key) for item_id, key in keys.items() if key in self._under_way]
        if records:
            self._take_in(*records)
        self._under_way.difference_update(record["key"] for record in records)

    def _take_in(self, *records: Record) -> None:
        self._journal.add(*records)
        for record in records:
            self._states[record["key"]] = self._states[record["key"]].after(record)

    def give_up_what_cannot_be_asked(self) -> None:
        """Record as given up each item that cannot be asked about, now or later."""
        hopeless = [item for item in self.items if _is_hopeless(item) and self._state(item).status != "dead"]
        self.record_all(
            [
                (item, Outcome(status="dead", error=item.problem, traceback=item.traceback))
                for item in hopeless
            ]
        )

    def publish(self, run_id: str) -> Footer | None:
        """Write the tables after the last request; see `publish_so_far`."""
        self.give_up_what_cannot_be_asked()
        self._has_news, self._are_calls_read = True, False
        footer = self.publish_so_far(run_id)
        self._journal.close()
        self._exchanges.close()
        return footer

    def publish_so_far(self, run_id: str) -> Footer | None:
        """Write the results so far: `llm_runs`, `llm_attempts` and the interrogation's table.

        A file with the same content is left as it is. Items may be asked about meanwhile.

        Args:
            run_id: the run that writes.

        Returns:
            The footer of the interrogation's table, if its file was replaced. It names as an input how many
            items are `unanswered`, if any are.
        """
        if not self._has_news:
            return None
        self._has_news = False
        write_attempts(self._lake, self.scope, self._new_calls())
        states = [(item, self._state(item)) for item in self.items]  # all as of one moment
        still_open = [item.item_id for item, state in states if not _is_settled(item, state)]
        answers = ((item, state.answer) for item, state in states if state.answer is not None)
        footer = write_answers(
            self._lake,
            self.interrogation.table,
            self.partition,
            {item.item_id: self._rows(item, answer, run_id) for item, answer in answers},
            items=[item.item_id for item in self.items],
            unanswered=len(still_open),
            code_version=self._recipe.derivation.code_version,
            inputs=self._inputs,
        )
        # Written last: the table has the answer of every item that these rows call settled.
        inputs = runs_inputs(self._asked_of, self._digest, still_open)
        write_runs(self._lake, self.scope, self._run_rows(states), inputs)
        return footer

    def _new_calls(self) -> Iterator[Row]:
        """The calls that `llm_attempts` may lack: first those of the journal, later those made since."""
        if not self._are_calls_read:
            self._are_calls_read = True
            yield from self._exchanges.calls()
        while self._calls:
            yield self._calls.popleft()

    def _read_states(self) -> tuple[dict[str, ItemState], int]:
        """The state of each wanted result key, and how many answers of other partitions are reused."""
        states = self._journal.states()
        # A journal may be lost; its results are in the lake.
        rows = reversed(rows_there(self._lake, LLM_RUNS, self.scope))
        published = {row["result_key"]: state_of(row, costs=True) for row in rows}
        requeues, now = self._requeues(), utc_now()
        found: dict[str, ItemState] = {}
        for item in reversed(self.items):  # of those with the same request, the first counts
            key = self._keys[item.item_id]
            state = states.get(key) or published.get(key) or ItemState(item.item_id)
            found[key] = _on_this_clock(state.settled().requeued(requeues.get(key)), now)
        unanswered = {key for key, state in found.items() if state.status != "ok"}
        # Code answers anew in less time than it takes to look for an answer.
        is_of_code = self.interrogation.is_of_code
        kept = {} if is_of_code else answers_elsewhere(self._lake, self.interrogation, unanswered)
        for key, answer in kept.items():
            own = found[key]
            found[key] = replace(answer, item_id=own.item_id, attempts=own.attempts, costs=own.costs)
        return found, len(kept)

    def _requeues(self) -> dict[str, datetime]:
        """When a result key was last requeued: by any of the items that have the same request."""
        times, found = requeue_times(self._lake), dict[str, datetime]()
        for item in self.items:
            key = self._keys[item.item_id]
            if decided_at := times.get(letter_key(item.item_id, item.source, item.subject)):
                found[key] = max(decided_at, found.get(key, decided_at))
        return found

    def _is_spared(self, item: Item) -> bool:
        """Whether an item was never asked about, and the learned model is sure of its type."""
        if not self.interrogation.wants.unpredicted or self._state(item).status != "untried":
            return False
        if monotonic() >= self._sure_until:
            self._sure = sure_pages(self._lake, self.partition)
            self._sure_until = monotonic() + _SURE_SECONDS
        return item.row["title_key"] in self._sure

    def _state(self, item: Item) -> ItemState:
        return self._states[self._keys[item.item_id]]

    def _is_dead(self, item: Item) -> bool:
        return _is_dead(item, self._state(item))

    def _open_items(self) -> Iterator[Item]:
        return filter(self.is_open, self.items)

    def _rows(self, item: Item, answer: dict[str, Any] | None, run_id: str) -> list[dict[str, Any]]:
        """The rows of an answer. Finding its quotes in the page takes a while, and is done once."""
        if answer is None:
            return []
        known = self._rows_known.get(item.item_id)
        if known is None or known[0] is not answer:
            rows = derived_rows(item, answer, model=self._model, digest=self._digest, run_id="")
            known = self._rows_known[item.item_id] = (answer, rows)
        return [{**row, "run_id": run_id} for row in known[1]]

    def _run_rows(self, states: Iterable[tuple[Item, ItemState]]) -> list[dict[str, Any]]:
        rows = []
        for item, state in states:
            key = self._keys[item.item_id]
            if state.status != "untried":
                row = run_row(item, state, self.scope, result_key=key)
                rows.append({**row, "model": self._model, "model_digest": self._digest})
        return rows


def _on_this_clock(state: ItemState, now: datetime) -> ItemState:
    """The state; due now if its due time came from a clock that was ahead."""
    is_ahead = state.due_at is not None and state.due_at > now and not is_waiting(state.due_at, now)
    return replace(state, due_at=now) if is_ahead else state


def _is_settled(item: Item, state: ItemState) -> bool:
    """Whether an item has an answer or is given up."""
    return state.status == "ok" or _is_dead(item, state)


def _is_dead(item: Item, state: ItemState) -> bool:
    return _is_hopeless(item) or state.status == "dead"


def _is_hopeless(item: Item) -> bool:
    """Whether an item cannot be asked about, now or later."""
    return item.problem is not None and not item.is_transient


def _key(item: Item, digest: str) -> str:
    """An item's result key; the item id where it cannot be asked about and so has no request."""
    key = item.result_key(digest)
    return content_hash(f"{key} {item.item_id}") if item.problem or item.waits_for else key
