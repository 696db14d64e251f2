"""From the calls of one attempt at an item to its outcome: an answer, another attempt, or a dead letter."""

import platform

from holocron_assets.derive.engine.calls import Exchange, Outcome
from holocron_assets.derive.engine.problems import Failure
from holocron_assets.derive.engine.tries import Try
from holocron_assets.derive.interrogations.follow_ups import FollowUpDecision
from holocron_assets.derive.items.items import Item
from holocron_assets.lake.attempts import MAX_ATTEMPTS, delay_after
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.place.clock import utc_now


class Attempt:
    """One attempt at an item, and the calls made so far."""

    def __init__(  # noqa: PLR0913 - four say what is asked, two name the run
        self, item: Item, model: str, digest: str, number: int, *, run_id: str, tag: str | None
    ) -> None:
        """Begin an attempt; the arguments are as in `Engine.answer`."""
        self._subject = item.subject
        self._number = number
        name = item.interrogation.name
        self._common = {
            "scope": f"{name}-{item.partition}",
            "interrogation": name,
            "partition": item.partition,
            "item_id": item.item_id,
            "subject": item.subject,
            "result_key": item.result_key(digest),
            "model": model,
            "model_digest": digest,
            "attempt": number,
            "tag": tag,
            "run_id": run_id,
            "machine": platform.node(),
        }
        self._rows: list[Row] = []
        self._exchanges: list[Exchange] = []
        self._bundle = item.bundle

    def add(self, trying: Try, exchange: Exchange, decision: FollowUpDecision | None) -> None:
        """Note a call, and the decision after it, if there was one."""
        estimated = trying.tokens_estimated
        row = exchange.row(**self._common, turn=trying.turn, tokens_estimated=estimated)
        decided = decision.to_json() if decision else None
        self._rows.append({**row, "try": trying.number, "decision": decided})
        self._exchanges.append(exchange)
        self._bundle = trying.item.bundle

    def answered(self, exchange: Exchange) -> Outcome:
        """The outcome of an attempt whose last call gave the answer."""
        return Outcome(
            status="ok",
            answer=exchange.answer,
            parse_strategy=exchange.parse_strategy,
            calls=tuple(self._rows),
            exchanges=tuple(self._exchanges),
            bundle=self._bundle,
        )

    def failed(self, failure: Failure, problem: Exception | None, *, counts: bool) -> Outcome:
        """The outcome of an attempt that gave no answer.

        Args:
            failure: the failure of its last call.
            problem: why the run has to stop, if it has to.
            counts: whether this was one of the item's attempts.
        """
        # A prompt that still does not fit will not fit next time.
        is_dead = counts and (failure.outcome == "overflow" or self._number >= MAX_ATTEMPTS)
        is_due_later = counts and not is_dead
        return Outcome(
            status="dead" if is_dead else "failed",
            error=f"{self._subject}: {failure.reason}",
            traceback=failure.traceback,
            due_at=utc_now() + delay_after(self._number) if is_due_later else None,
            calls=tuple(self._rows),
            exchanges=tuple(self._exchanges),
            bundle=self._bundle,
            counts=counts,
            problem=problem,
        )

    def refused(self, item: Item) -> Outcome:
        """The outcome of an item that cannot be asked about, now or later."""
        is_due_later = item.is_transient and self._number < MAX_ATTEMPTS
        return Outcome(
            status="failed" if is_due_later else "dead",
            error=item.problem,
            traceback=item.traceback,
            due_at=utc_now() + delay_after(self._number) if is_due_later else None,
        )
