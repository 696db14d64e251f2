"""The state of an item, by the records of its journal. Nothing else keeps a state.

An attempt is recorded before it begins. One that began and never ended was a crash, and counts as a failure:
an item that kills its process four times is given up.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from holocron_assets.lake.attempts import MAX_ATTEMPTS, delay_after
from holocron_assets.lake.declaration.schema import Row

SUMMED = ("tokens_in", "tokens_out", "load_ms", "prompt_ms", "generation_ms", "total_ms")
"""Columns of `llm_runs` that are sums over calls."""

_COSTS = ("calls", *SUMMED)

Status = Literal["untried", "failed", "ok", "dead"]


@dataclass(frozen=True, slots=True)
class ItemState:
    """The state of one result key.

    Attributes:
        item_id: the item that was asked about.
        status: 'untried', 'failed' (it is due again), 'ok' or 'dead'.
        attempts: attempts that count, since a person last requeued it.
        began_at: when an attempt began that has not ended; None if there is none.
        is_together: whether the last attempt began together with others, and counts only when it ends. If the
            process ended before, nobody knows which item did it: then each of them is tried alone.
        due_at: when a failed item may be tried again.
        answer: the answer as data.
        parse_strategy: how the reply was read.
        unsupported: rows whose quotes are not in the page's text.
        error: what went wrong the last time.
        finished_at: when the last outcome came.
        run_id: the run of the last outcome.
        costs: calls and sums over them, of all attempts.
    """

    item_id: str
    status: Status = "untried"
    attempts: int = 0
    began_at: datetime | None = None
    is_together: bool = False
    due_at: datetime | None = None
    answer: dict[str, Any] | None = None
    parse_strategy: str | None = None
    unsupported: int = 0
    error: str | None = None
    finished_at: datetime | None = None
    run_id: str = ""
    costs: Mapping[str, float] = field(default_factory=lambda: dict.fromkeys(_COSTS, 0))

    def after(self, record: Row) -> "ItemState":
        """The state after one more record of the journal."""
        match record["what"]:
            case "begun":
                before = self._before_attempt()
                return replace(
                    before, attempts=before.attempts + 1, began_at=_time(record["at"]), is_together=False
                )
            case "begun together":
                return replace(self._before_attempt(), began_at=_time(record["at"]), is_together=True)
            case "abandoned":
                return self._uncounted()
            case _:
                return self._ended(record)

    def settled(self) -> "ItemState":
        """The state after the process of an attempt is gone, so that the attempt will never end."""
        if self.began_at is None:
            return self
        if self.is_together or self.status == "ok":
            return replace(self, began_at=None)
        times = f"{self.attempts} times" if self.attempts > 1 else "once"
        error = f"the process that asked about it ended {times} without an outcome"
        is_dead = self.attempts >= MAX_ATTEMPTS
        return replace(
            self,
            status="dead" if is_dead else "failed",
            began_at=None,
            due_at=None if is_dead else self.began_at + delay_after(self.attempts),
            error=error,
            finished_at=self.began_at,
        )

    def requeued(self, decided_at: datetime | None) -> "ItemState":
        """The state after a person requeued the item; unchanged if no person did since it failed.

        A dead item gets all its attempts again. A failed one is due by then, and its count goes on.
        """
        if decided_at is None or self.finished_at is None or decided_at < self.finished_at:
            return self
        if self.status == "failed":
            return replace(self, due_at=self.due_at and min(self.due_at, decided_at))
        return ItemState(self.item_id, costs=self.costs) if self.status == "dead" else self

    def _before_attempt(self) -> "ItemState":
        before = self.settled()
        is_requeued = before.status == "dead"
        return ItemState(self.item_id, costs=self.costs) if is_requeued else before

    def _uncounted(self) -> "ItemState":
        counted = 0 if self.is_together else 1
        return replace(self, attempts=self.attempts - counted, began_at=None, is_together=False)

    def _ended(self, record: Row) -> "ItemState":
        costs = {name: self.costs[name] + record["costs"].get(name, 0) for name in _COSTS}
        if not record["counts"]:
            return replace(self._uncounted(), costs=costs)
        if self.status == "ok" and record["status"] != "ok":
            # Another process got the answer while this attempt was under way.
            return replace(self, began_at=None, is_together=False, costs=costs)
        return replace(
            self,
            status=record["status"],
            attempts=self.attempts + self.is_together,
            began_at=None,
            is_together=False,
            due_at=_time(record["due_at"]),
            answer=record["answer"],
            parse_strategy=record["parse_strategy"],
            unsupported=record["unsupported"],
            error=record["error"],
            finished_at=_time(record["at"]),
            run_id=record["run_id"],
            costs=costs,
        )


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
