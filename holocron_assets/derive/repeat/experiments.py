"""Experiments: questions that are no work, to learn how repeatable answers are or what a new question gives.

The answers are rows of `repeat_answers`, the calls rows of `llm_attempts` with the experiment's tag. They are
kept apart from work: they answer no item, and items with an answer are asked about all the same.
"""

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Any

from filelock import Timeout

from holocron_assets.derive.code.answering import CodeAnswerer
from holocron_assets.derive.dispatch.pools import DispatchSettings
from holocron_assets.derive.dispatch.served import served_by_code
from holocron_assets.derive.engine.call_times import calls_at_once
from holocron_assets.derive.engine.calls import ChosenModel, Outcome
from holocron_assets.derive.engine.engine import Engine, open_client
from holocron_assets.derive.engine.official_client import ollama
from holocron_assets.derive.gpu.gpu_log import GpuRun, Tally, write_gpu_run
from holocron_assets.derive.gpu.request_turns import RequestTurns
from holocron_assets.derive.gpu.slots import GpuLock, place_of
from holocron_assets.derive.gpu.working import Answerer
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.items.items import Item
from holocron_assets.derive.server.process.connection import fetch_command
from holocron_assets.errors import PermanentError, TransientError
from holocron_assets.lake.files.parquet import rows_there, write_partition
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import GPU_RUNS, LLM_ATTEMPTS, REPEAT_ANSWERS
from holocron_assets.lake.views.database import connect, query

# No interrogation's name has capitals, so that no work is ever kept in such a partition
_SCOPE = "REPEAT-{tag}"
WRITE_SECONDS = 30.0
"""How often answers are written while items are asked about; what a kill loses is asked again."""

_LOADED = "select sum(load_seconds) as seconds from lake.gpu_runs where run_id = $run"


class RepeatError(PermanentError):
    """An experiment cannot be made or compared as requested."""


@dataclass(frozen=True)
class Experiment:
    """A question, and how often it is asked.

    Attributes:
        tag: its name.
        interrogation: what is asked.
        items: the items to ask about.
        times: how often.
        models: models to ask: the first of these that the server has.
        settings: say which models share a place.
        command: the command that asks: 'repeat' or 'try'.
    """

    tag: str
    interrogation: Interrogation
    items: Sequence[Item]
    times: int
    models: Sequence[str]
    settings: DispatchSettings
    command: str = "repeat"

    @property
    def scope(self) -> str:
        """The partition of `llm_attempts` that its calls are in."""
        return _SCOPE.format(tag=self.tag)


def calls_of(lake: Lake, tag: str) -> list[dict[str, Any]]:
    """The calls of an experiment: rows of `llm_attempts`; none if code answered."""
    return rows_there(lake, LLM_ATTEMPTS, _SCOPE.format(tag=tag))


def answers_of(lake: Lake, tag: str) -> list[dict[str, Any]]:
    """The answers of an experiment: rows of `repeat_answers`; none if there was no such experiment."""
    return rows_there(lake, REPEAT_ANSWERS, tag)


def load_seconds(lake: Lake, tag: str) -> float:
    """Seconds for which the model of an experiment was loaded; 0 if it was loaded before, or code answers."""
    with connect(lake, tables=[GPU_RUNS]) as connection:
        [row] = query(connection, _LOADED, {"run": _SCOPE.format(tag=tag)})
    return float(row["seconds"] or 0)


def run_experiment(
    lake: Lake, experiment: Experiment, server: str | None, report: Callable[[int, int], None]
) -> list[dict[str, Any]]:
    """Ask about every item, as often as the experiment says.

    Answers are written during each time and after it, so that an interrupted experiment goes on where it
    stopped.

    Args:
        lake: where answers go.
        experiment: what to ask.
        server: address of the model server; None where code answers.
        report: called with the number of each time that ended, and of its answers.

    Returns:
        All answers: rows of `repeat_answers`.

    Raises:
        RepeatError: the tag is another experiment's, or another process asks it.
        ModelMissingError: the server has none of the models.
        ModelServerUnavailable: the server does not answer.
        SlotTakenError: another process asks models, and does not stop.
    """
    with _alone(lake, experiment.tag):
        asking = _Asking(lake, experiment)
        return asyncio.run(asking.call(report) if server is None else asking.ask(server, report))


@contextmanager
def _alone(lake: Lake, tag: str) -> Iterator[None]:
    """Keep other processes from asking for a tag: each would replace what the other wrote."""
    with ExitStack() as held:
        try:
            held.enter_context(lake.lock(f"repeat-{tag}", blocking=False))
        except Timeout as error:
            raise RepeatError(
                f"another process asks for tag {tag!r}: wait for its end, or choose another tag"
            ) from error
        yield


class _Asking:
    """One experiment under way."""

    def __init__(self, lake: Lake, experiment: Experiment) -> None:
        self._lake = lake
        self._experiment = experiment
        self._answers = answers_of(lake, experiment.tag)
        self._calls = calls_of(lake, experiment.tag)
        self._written_at = monotonic()
        self._tally = Tally()
        # Functions are called one after the other, so that each one's time is its own.
        self._at_once = asyncio.Semaphore(1 if experiment.interrogation.is_of_code else len(experiment.items))

    async def ask(self, server: str, report: Callable[[int, int], None]) -> list[dict[str, Any]]:
        async with open_client(server) as client:
            engine = Engine(client, fetch_command=fetch_command())
            model = await engine.digest(self._experiment.models)
            self._refuse_another(model)
            outcome, reason = "stopped", "it was interrupted"
            try:
                await self._ask_all(client, model, report)
                outcome, reason = "complete", "everything was asked"
            finally:
                log = GpuRun(self._experiment.scope, *model, self._experiment.command, outcome, reason)
                write_gpu_run(self._lake, log, self._tally)
        return self._answers

    async def call(self, report: Callable[[int, int], None]) -> list[dict[str, Any]]:
        """Let code answer."""
        asked = self._experiment.interrogation
        code = ChosenModel(asked.kind, served_by_code([asked]).digests[asked.kind])
        self._refuse_another(code)
        await self._ask_every_time(CodeAnswerer(self._experiment.scope), code, report)
        return self._answers

    def _refuse_another(self, model: ChosenModel) -> None:
        """Refuse to mix in answers to another question or of another model."""
        interrogation = self._experiment.interrogation
        known = {(row["interrogation"], row["prompt_version"], row["model_digest"]) for row in self._answers}
        if known - {(interrogation.name, interrogation.prompt_version, model.digest)}:
            raise RepeatError(
                f"tag {self._experiment.tag!r} holds answers of another prompt or model: choose another tag"
            )

    async def _ask_all(
        self, client: ollama.AsyncClient, model: ChosenModel, report: Callable[[int, int], None]
    ) -> None:
        experiment = self._experiment
        loader = Engine(client, fetch_command=fetch_command())

        async def load() -> None:
            started = utc_now()
            seconds = await loader.warm_up(model.name, experiment.interrogation.options.num_ctx)
            self._tally.count_load(started, seconds)

        place = place_of(experiment.settings.pool_of(model.name), model.name)
        gpu = GpuLock(self._lake, f"holocron {experiment.command} {experiment.tag}", pool=place)
        turns = RequestTurns(gpu, calls_at_once(), prepare=load)
        engine = Engine(client, run_id=experiment.scope, tag=experiment.tag, around_call=turns.turn)
        try:
            await self._ask_every_time(engine, model, report)
        finally:
            turns.close()

    async def _ask_every_time(
        self, engine: Answerer, model: ChosenModel, report: Callable[[int, int], None]
    ) -> None:
        self._drop_outdated(model)
        for time in range(1, self._experiment.times + 1):
            report(time, await self._ask_once(engine, model, time))

    async def _ask_once(self, engine: Answerer, model: ChosenModel, time: int) -> int:
        """Ask about every item without an outcome for this time, and count those with an answer."""
        done = {(row["partition"], row["item_id"]) for row in self._answers if row["time"] == time}
        waiting = [item for item in self._experiment.items if (item.partition, item.item_id) not in done]
        try:
            async with asyncio.TaskGroup() as tasks:
                for item in waiting:
                    tasks.create_task(self._ask_about(item, engine, model, time))
        except* (PermanentError, TransientError) as errors:
            raise _first(errors) from None
        finally:
            self._write()
        return sum(row["time"] == time and row["output"] is not None for row in self._answers)

    def _write(self) -> None:
        write_partition(self._lake, REPEAT_ANSWERS, self._experiment.tag, self._answers)
        if self._calls:
            write_partition(self._lake, LLM_ATTEMPTS, self._experiment.scope, self._calls)
        self._written_at = monotonic()

    def _drop_outdated(self, model: ChosenModel) -> None:
        """Forget answers to what would be asked in another way now: a page or an option has changed."""
        keys = {
            (item.partition, item.item_id): item.result_key(model.digest) for item in self._experiment.items
        }
        self._answers[:] = [
            row
            for row in self._answers
            if keys.get((row["partition"], row["item_id"]), row["result_key"]) == row["result_key"]
        ]

    async def _ask_about(self, item: Item, engine: Answerer, model: ChosenModel, time: int) -> None:
        async with self._at_once:
            started = monotonic()
            outcome = await engine.answer(item, model=model.name, digest=model.digest, attempt=1)
            passed = monotonic() - started
        for call in outcome.calls:
            self._tally.count_call(call)
            self._calls.append({**call, "scope": self._experiment.scope})
        if outcome.problem:
            raise outcome.problem
        self._tally.items[item.interrogation.name] += 1
        self._tally.failed_items += outcome.status != "ok"
        row = self._row(item, outcome, model, time)
        self._answers.append({**row, "seconds": _seconds_of(item, outcome, passed)})
        if monotonic() - self._written_at >= WRITE_SECONDS:
            self._write()

    def _row(self, item: Item, outcome: Outcome, model: ChosenModel, time: int) -> dict[str, Any]:
        return {
            "tag": self._experiment.tag,
            "interrogation": item.interrogation.name,
            "version": item.interrogation.version,
            "prompt_version": item.interrogation.prompt_version,
            "partition": item.partition,
            "item_id": item.item_id,
            "subject": item.subject,
            "time": time,
            "model": model.name,
            "model_digest": model.digest,
            "result_key": item.result_key(model.digest),
            "output": None if outcome.answer is None else json.dumps(outcome.answer, ensure_ascii=False),
            "error": outcome.error,
            "answered_at": utc_now(),
        }


def _seconds_of(item: Item, outcome: Outcome, passed: float) -> float | None:
    """Seconds of an item's calls, without waiting between them; or of its function."""
    if item.interrogation.kind == "model":
        return float(sum(call["total_ms"] for call in outcome.calls)) / 1000
    return passed if item.interrogation.kind == "python" else None


def _first(errors: BaseExceptionGroup[Exception]) -> Exception:
    """The first of a group of errors."""
    first = errors.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
