"""A session of work with one model: from its first item to its figures, with its row of `gpu_runs`."""

from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from holocron_assets.derive.dispatch.backlog import Counts
from holocron_assets.derive.dispatch.pools import CODE_POOL
from holocron_assets.derive.dispatch.standing_controls import StandingControls
from holocron_assets.derive.dispatch.work_order import WorkOrder
from holocron_assets.derive.engine.call_times import calls_at_once
from holocron_assets.derive.engine.embedding import EmbeddingEngine
from holocron_assets.derive.engine.engine import Engine, open_client
from holocron_assets.derive.gpu.background import reports_of
from holocron_assets.derive.gpu.code_working import CodeWorking
from holocron_assets.derive.gpu.gpu_log import GpuRun, Tally, write_gpu_run
from holocron_assets.derive.gpu.open_partitions import inputs_mark, open_partition
from holocron_assets.derive.gpu.request_turns import RequestTurns
from holocron_assets.derive.gpu.slots import GpuLock, place_of
from holocron_assets.derive.gpu.turns import Agenda, Choice, Supply
from holocron_assets.derive.gpu.working import Working, Written
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.server.process.connection import fetch_command
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake


@dataclass(frozen=True)
class ModelRun:
    """A run and the model that it asks.

    Attributes:
        lake: where pages are and answers go.
        server: address of the model server; not used for code.
        pool: the pool of models that share what serves them.
        model: the model's name.
        digest: its digest.
        num_ctx: tokens that it is loaded with.
        is_of_space: whether it embeds passages, and writes nothing.
        run_id: the run that asks.
        started_by: as in table `gpu_runs`.
    """

    lake: Lake
    server: str
    pool: str
    model: str
    digest: str
    num_ctx: int
    run_id: str
    started_by: str
    is_of_space: bool = False


@dataclass
class Session:
    """The results of a session of work.

    Attributes:
        tally: its counts.
        outcome: 'complete', 'partial', 'stopped' or 'paused'.
        reason: why it ended, in a sentence.
        paused: why partitions were left, if a person held them back.
        problems: why partitions could not be worked on, by interrogation and partition.
        problem: the server's problem, if the session ended because of it.
    """

    tally: Tally = field(default_factory=Tally)
    outcome: str = "stopped"
    reason: str = "it was interrupted"
    paused: str | None = None
    problems: dict[tuple[str, str], Exception] = field(default_factory=dict)
    problem: Exception | None = None

    _counts: dict[tuple[str, str], Counts] = field(default_factory=dict)

    def count(self, written: Written) -> None:
        """Count a partition that was written; if it is written again, the newer counts replace the older."""
        work = written.opened.work
        place = (work.interrogation.name, work.partition)
        dues = tuple(work.dues)
        self._counts[place] = Counts(work.answered, work.dead, work.untried, dues, work.awaiting)

    @property
    def items(self) -> int:
        """Items of the partitions of this session."""
        return self.remaining + self.dead + sum(counts.answered for counts in self._counts.values())

    @property
    def remaining(self) -> int:
        """Items of this session without an answer that are not given up."""
        return sum(counts.left + counts.awaiting for counts in self._counts.values())

    @property
    def dead(self) -> int:
        """Items of this session that were given up."""
        return sum(counts.dead for counts in self._counts.values())

    @property
    def due_at(self) -> datetime | None:
        """When the first that failed may be tried again; None if none failed."""
        return min((due for counts in self._counts.values() for due in counts.dues), default=None)

    def conclude(self, stopped: str | None) -> None:
        """Set how the session ended, and why."""
        if self.problem:
            self.outcome, self.reason = "partial", str(self.problem)
        elif self.paused:
            self.outcome, self.reason = "paused", self.paused
        elif stopped:
            self.outcome, self.reason = "stopped", stopped
        elif self.remaining or self.problems:
            self.outcome, self.reason = "partial", self.left_in_words()
        else:
            self.outcome, self.reason = "complete", "everything is answered"

    def left_in_words(self) -> str:
        """The number of items that remain, for people."""
        due = f", due {self.due_at:%H:%M} UTC" if self.due_at else ""
        awaiting = sum(counts.awaiting for counts in self._counts.values())
        inputs = f", {awaiting} of them until their inputs are answered" if awaiting else ""
        return f"{self.remaining} of {self.items} remain{inputs}{due}"


def work_on(
    run: ModelRun, agenda: Agenda, session: Session, choice: Choice | None = None
) -> Generator[Written, None, None]:
    """Do what the agenda says, with the model loaded once.

    Whatever interrupts it, outcomes are kept, locks are given back, and a row of `gpu_runs` is written. Close
    the generator if it is not read to its end.

    Args:
        run: the run and the model.
        agenda: what to do.
        session: filled with the results.
        choice: which items are asked about; by default all.

    Yields:
        Each partition whose outcomes were written, when they are; see `Working.report`.
    """
    open_one = partial(open_partition, run.lake, model=run.model, digest=run.digest)
    controls = StandingControls(run.lake)

    def is_paused(interrogation: Interrogation, partition: str) -> bool:
        pause = controls.pause_of(interrogation, partition)
        session.paused = session.paused or pause
        return pause is not None

    in_order, inputs_of = WorkOrder(run.lake).items, partial(inputs_mark, run.lake)
    supply = Supply(agenda, open_one, choice or Choice(), in_order, is_paused, inputs_of)
    try:
        with closing(supply):
            for one in _written(run, supply, session):
                session.count(one)
                if one.is_over and not one.is_complete:
                    is_paused(one.opened.work.interrogation, one.opened.work.partition)
                yield one
        session.problems = supply.problems
        session.conclude(agenda.stopped)
    finally:
        log = GpuRun(run.run_id, run.model, run.digest, run.started_by, session.outcome, session.reason)
        write_gpu_run(run.lake, log, session.tally)


def _written(run: ModelRun, supply: Supply, session: Session) -> Generator[Written, None, None]:
    if run.pool == CODE_POOL:
        yield from CodeWorking(run.run_id, supply.is_paused, session.tally).work(supply.steps())
    else:
        yield from reports_of(partial(_work, run, supply, session))


async def _work(run: ModelRun, supply: Supply, session: Session, report: Callable[[Written], None]) -> None:
    """Work until the supply ends, or the server does."""

    async def load() -> None:
        started = utc_now()
        seconds = await engine.warm_up(run.model, run.num_ctx)
        session.tally.count_load(started, seconds)

    async with open_client(run.server) as client:
        gpu = GpuLock(run.lake, f"{run.started_by} asking {run.model}", pool=place_of(run.pool, run.model))
        turns = RequestTurns(gpu, calls_at_once(), prepare=load)
        asking = EmbeddingEngine if run.is_of_space else Engine
        engine = asking(client, run_id=run.run_id, fetch_command=fetch_command(), around_call=turns.turn)
        asked = (run.model, run.digest, run.run_id)
        working = Working(engine, turns, *asked, report, supply.is_paused, session.tally)
        try:
            while supply.has_moved and not working.problem:
                await working.work(supply.steps())
        finally:
            turns.close()
        session.problem = working.problem
