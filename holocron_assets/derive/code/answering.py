"""Answers by code, in the place of a model server: the same items, outcomes and attempts, and no GPU."""

import asyncio
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from holocron_assets.derive.code.answers import answer_of_rows
from holocron_assets.derive.code.functions import load_function
from holocron_assets.derive.code.given import CodeItem, FoundRows
from holocron_assets.derive.engine.calls import Outcome
from holocron_assets.derive.engine.replies import InvalidAnswerError
from holocron_assets.derive.items.items import Item
from holocron_assets.errors import PermanentError
from holocron_assets.lake.attempts import MAX_ATTEMPTS, delay_after
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.tracebacks import traceback_of
from holocron_assets.telemetry.context import about, carried


class CodeAnswerer:
    """Answers items by their interrogation's code, one at a time: a function need not be thread-safe."""

    def __init__(self, run_id: str = "") -> None:
        """Answer for a run."""
        self._run_id = run_id
        self._thread = ThreadPoolExecutor(1, "code")

    async def answer(self, item: Item, *, model: str, digest: str, attempt: int) -> Outcome:
        """Answer an item.

        Args:
            item: what to answer about.
            model: the kind of code.
            digest: digest of the program that runs the code.
            attempt: which attempt at the item it is, from 1.

        Returns:
            The outcome; see `answer_now`.
        """
        del model, digest
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, carried(self.answer_now), item, attempt)

    def answer_now(self, item: Item, attempt: int) -> Outcome:
        """Answer an item in this thread, at its attempt of a number from 1.

        Returns:
            The outcome. An error in the code is part of it, and is not raised.
        """
        named = {"interrogation": item.interrogation.name, "partition": item.partition}
        with about(page=item.subject, **named):
            return self._outcome(item, attempt)

    def _outcome(self, item: Item, attempt: int) -> Outcome:
        if item.problem:
            refused = self._failed(item.problem, attempt, is_transient=item.is_transient)
            return replace(refused, traceback=item.traceback)
        try:
            answer = _answer(item)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - any error is a failure of this item
            is_known = isinstance(error, PermanentError | InvalidAnswerError)
            reason = f"{item.subject}: {error if is_known else _in_words(error)}"
            outcome = self._failed(reason, attempt, is_transient=not is_known)
            return replace(outcome, traceback=traceback_of(error))
        return Outcome(status="ok", answer=answer, run_id=self._run_id)

    def _failed(self, reason: str, attempt: int, *, is_transient: bool) -> Outcome:
        if is_transient and attempt < MAX_ATTEMPTS:
            due_at = utc_now() + delay_after(attempt)
            return Outcome(status="failed", error=reason, due_at=due_at, run_id=self._run_id)
        return Outcome(status="dead", error=reason, run_id=self._run_id)


def _answer(item: Item) -> dict[str, Any]:
    interrogation, given = item.interrogation, item.given
    match given:
        case FoundRows():
            rows: Iterable[Row] = given.rows
        case CodeItem():
            rows = load_function(interrogation.function or "")(given)
        case _:
            raise PermanentError("nothing was read for it")
    return answer_of_rows(rows, interrogation.answer_schema, interrogation.rows.each)


def _in_words(error: BaseException) -> str:
    """An error in one line, with the place in the code that raised it."""
    frames = error.__traceback__
    while frames and frames.tb_next:
        frames = frames.tb_next
    place = f" (line {frames.tb_lineno} of {frames.tb_frame.f_code.co_name})" if frames else ""
    return " ".join(f"{type(error).__name__}: {error}".split())[:500] + place
