"""`holocron run`: all work, in this process, until nothing is pending."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from time import sleep
from typing import TypeVar

import dagster as dg

from holocron_assets.crawl.frontier.batches import batches_of, restore_manifests
from holocron_assets.crawl.frontier.pending import outlook
from holocron_assets.crawl.sources.file_source import FileSource
from holocron_assets.crawl.sources.source import Source
from holocron_assets.decisions.controls import Scope, standing_controls
from holocron_assets.derive.engine.problems import ModelServerUnavailable
from holocron_assets.derive.interrogations.loading import broken_interrogations
from holocron_assets.derive.server.errors import ModelFileError, ModelServerError, UnknownModelError
from holocron_assets.lake.attempts import MAX_ATTEMPTS
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import LLM_RUNS, SITES
from holocron_assets.lake.views.database import connect, query
from holocron_assets.orchestration.checks.quality import concerns
from holocron_assets.orchestration.local.helpers import CRAWLERS_OF_HOST, Helpers, finished_together
from holocron_assets.orchestration.local.models import ModelStage
from holocron_assets.orchestration.local.progress import FilesFetched, answers_counted, files_counted
from holocron_assets.orchestration.model_runs.what_to_ask import WhatToAsk
from holocron_assets.orchestration.runs.failures import failure_of
from holocron_assets.orchestration.runs.requesting import priority_of
from holocron_assets.orchestration.runs.waiting import QUIET, FinishedRun, LocalRuns, run_of_ours
from holocron_assets.planning.file_work import files_step, files_to_fetch, files_to_list
from holocron_assets.planning.holding import hold_on
from holocron_assets.planning.job_names import (
    BATCH_JOB,
    FILES_JOB,
    LINKS_JOB,
    OUTCOME_TAG,
    QUALITY_JOB,
    SETTLE_JOB,
)
from holocron_assets.planning.loop import as_if_enabled, crawl_step, knowledge_step, learning_step
from holocron_assets.planning.repair import repairing
from holocron_assets.planning.work import (
    Work,
    batches_to_fetch,
    checks_to_run,
    seeds_to_list,
    sites_to_ask,
    views_to_publish,
)

_AnySource = TypeVar("_AnySource", Source, FileSource)

_ENOUGH = 8
"""Batches or partitions of work before another process is started for them, which takes three seconds."""

_NEXT_FILE_DUE = (
    "select min(due_at) as due_at from file_frontier where status = 'waiting' and source = any($sources)"
)


@dataclass
class RunReport:
    """The results of one `holocron run`.

    Attributes:
        finished: the runs, in order.
        unseen: wikis that did not report their changes: which and why.
        held: holds that left work undone: who set each, and why.
        failed_checks: quality checks that did not pass: name and why.
        no_model: why no model could be asked, if one should have been.
        seconds: time by asset.
        started: when it began; the lake names files that were set aside since.
    """

    finished: list[FinishedRun] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)
    held: list[str] = field(default_factory=list)
    failed_checks: list[tuple[str, str]] = field(default_factory=list)
    seconds: Counter[str] = field(default_factory=Counter)
    no_model: str | None = None
    started: datetime = field(default_factory=utc_now)

    @property
    def errors(self) -> list[str]:
        """All failures that no later run made good, a line each."""
        models = [f"models: {self.no_model}"] if self.no_model else []
        broken = [f"not asked: {problem}" for problem in broken_interrogations().values()]
        checks = [f"check {name}: {problem}" for name, problem in self.failed_checks]
        return [*self.unseen, *broken, *self.failed_runs, *models, *checks]

    @property
    def failed_runs(self) -> list[str]:
        """The runs that failed, and whose work no later run did, a line each.

        Versions of the same work are one. Processes share some work by its partitions.
        """
        last: defaultdict[str, dict[str | None, FinishedRun]] = defaultdict(dict)
        for run in self.finished:
            of_work = last[str(run.work)]
            of_work.pop(None, None)
            if not run.work.partitions:
                of_work.clear()
            of_work.update(dict.fromkeys(run.work.partitions or [None], run))
        failed = {run.run_id: run for runs in last.values() for run in runs.values() if run.error}
        return [f"{run.work}: {run.error}" for run in failed.values()]


@dataclass
class LocalRun:
    """One pass over all the work of some sources.

    Attributes:
        lake: the lake.
        sources: whose pages; disabled ones too, since they were named.
        file_sources: whose files, likewise.
        all_sources: those in the published views.
        job: gives a job by name.
        instance: records the runs.
        read_changes: asks a source's wiki for its changes; returns why it did not give them.
        planned: called with the work before it is run.
        starting: called with each run's work before it starts.
        ended: called with each run after it ended.
        resting: called with the time until which there is nothing to do.
        answered: called with the number of items with an outcome, while a run asks a model.
        fetched: called with how far a batch of files is, while a run fetches it.
        models: asks models when nothing else is pending; None if none is to be asked.
        tags: a person's tags of its runs.
        processes: how many work on batches, and on what code answers; at most two on those of one wiki.
    """

    lake: Lake
    sources: Sequence[Source]
    file_sources: Sequence[FileSource]
    all_sources: Sequence[Source]
    job: Callable[[str], dg.JobDefinition]
    instance: dg.DagsterInstance
    read_changes: Callable[[Source], str | None]
    planned: Callable[[Sequence[Work]], None]
    starting: Callable[[Work], None]
    ended: Callable[[FinishedRun], None]
    resting: Callable[[datetime], None]
    answered: Callable[[Work, int], None]
    fetched: Callable[[Work, FilesFetched], None]
    models: ModelStage | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    processes: int = 1
    report: RunReport = field(default_factory=RunReport)
    _by_key: defaultdict[str, list[FinishedRun]] = field(default_factory=lambda: defaultdict(list))
    _helpers: Helpers = field(init=False)

    def __post_init__(self) -> None:
        """Have no helpers yet."""
        self._helpers = Helpers(self.tags)

    def finish(self) -> RunReport:
        """Work until nothing is pending; it waits for pages that failed for now.

        A batch that failed as a whole is not tried again in this run, and the report names it. But it is
        tried again if its wiki answered before, and only asks for a pause. Work that a person holds back is
        left as it is, also if the hold is set meanwhile, and the report names it.
        """
        with closing(self._helpers):
            return repairing(self._finish, _not_reported)

    def _finish(self) -> RunReport:
        free = self._free(self.sources)
        # A wiki without manifests or site information is not asked for changes. Damaged ones were set aside.
        for source in free:
            restore_manifests(self.lake, source)
        self._run(sites_to_ask(self.lake, [source for source in free if batches_of(self.lake, source.name)]))
        for source in free:
            if problem := self.read_changes(source):
                self.report.unseen.append(f"changes of {source.name}: {problem}")
        while self._work_on():
            pass
        if self.models and not standing_controls(self.lake).is_held():
            try:
                self._ask_models(self.models)
            except (ModelFileError, ModelServerError, ModelServerUnavailable, UnknownModelError) as error:
                self.report.no_model = str(error)
        return self._conclude()

    def finish_given(self, batches: Sequence[str]) -> RunReport:
        """Work on given batches of the first source, and on all that follows. Nothing else is fetched."""
        host = self.sources[0].host
        with closing(self._helpers):
            self._run([Work(BATCH_JOB, batch, "added", host) for batch in batches])
            return repairing(self._conclude, _not_reported)

    def ask_sites(self) -> bool:
        """Ask new wikis for their site information; whether that of all is known now."""
        self._run(sites_to_ask(self.lake, self.sources))
        return all(self.lake.has(SITES, source.name) for source in self.sources)

    def _work_on(self) -> bool:
        """Do what can be done now, or sleep until something can be; say whether there was either."""
        free = self._free(self.sources)
        return crawl_step(self.lake, self.sources, self._run, free=free) or self._wait(free)

    def _ask_models(self, models: ModelStage) -> None:
        with models.server() as start:
            self.report.no_model = models.lacking()
            self._ask_unsure(models, start)
            while due := models.unsure_due():
                self._rest(due)
                self._ask_unsure(models, start)
            while self._work_on():  # page types take in the model's answers
                pass
            self._ask(models, models.most_linked(), start)
            while self._work_on():  # tags of pages read answers too
                pass
            self._make_knowledge()
            self._ask(models, models.of_entities(), start)

    def _ask_unsure(self, models: ModelStage, start: Callable[[], object]) -> None:
        """Ask about pages that rules left open, in rounds: what is learned in between spares others."""
        asked = True
        while asked:
            while learning_step(self.lake, self.all_sources, self._run):
                pass
            before = self.lake.mark([LLM_RUNS])
            self._ask(models, models.unsure(), start)
            asked = self.lake.mark([LLM_RUNS]) != before

    def _ask(self, models: ModelStage, asked: Sequence[WhatToAsk], start: Callable[[], object]) -> None:
        """Ask models, in as many runs as it takes. Items that failed for now stay pending."""
        for what in asked:
            start()
            outcome = "stopped"
            while outcome == "stopped":
                if holders := models.at_work(self.instance, what):
                    models.report_waiting(holders)
                work = models.work(what)
                with answers_counted(self.lake, what, partial(self.answered, work)):
                    if not self._run([work]):
                        return
                run = self.instance.get_run_by_id(self.report.finished[-1].run_id)
                outcome = run.tags.get(OUTCOME_TAG, "") if run else ""

    def _free(self, sources: Sequence[_AnySource]) -> list[_AnySource]:
        """The sources that no person holds back, the highest rank first; holds are recorded."""
        controls = standing_controls(self.lake)
        for source in sources:
            self._note(str(controls.holds(source=source.name) or ""))
        free = [source for source in sources if not controls.is_held(source=source.name)]
        return sorted(free, key=lambda source: -controls.priority(Scope("source", source.name)))

    def _wait(self, free: Sequence[Source]) -> bool:
        """Sleep until the first page or batch that failed for now is due; return whether there was one."""
        pages = [due for source in free if (due := outlook(self.lake, source).next_due)]
        undone = [
            *seeds_to_list(self.lake, as_if_enabled(self.sources)),
            *batches_to_fetch(self.lake, self.sources),
            *checks_to_run(self.lake, self.sources),
        ]
        return self._rest_until(pages, undone)

    def _rest_until(self, items: Sequence[datetime], undone: Sequence[Work]) -> bool:
        """Sleep until the first of some items or failed works is due; return whether there was any."""
        due = self._due()
        runs = [
            due[item.key] for item in self._startable(undone) if item.key in due and not self._is_over(item)
        ]
        if not items and not runs:
            return False
        self._rest(min([*items, *runs]))
        return True

    def _rest(self, until: datetime) -> None:
        self.resting(until)
        sleep(max((until - utc_now()).total_seconds(), 0))

    def _conclude(self) -> RunReport:
        """Resolve entities, tag, review and index, check the quality and publish the views."""
        self._make_knowledge()
        self._fetch_files()  # which ones may depend on the entities
        if self.report.finished:
            self._check()
        self._run(views_to_publish(self.lake, self.all_sources))
        return self.report

    def _make_knowledge(self) -> None:
        """Have code answer what it can, resolve entities, tag, review and index, until nothing is stale."""

        def run(work: Sequence[Work]) -> bool:
            return self._run(work) and not any(last.error for last in self.report.finished[-1:])

        # Answers that cannot be read are named by the report.
        while knowledge_step(self.lake, self.all_sources, run):
            pass

    def _fetch_files(self) -> None:
        """List and fetch files until nothing is pending; wait for those that failed for now."""
        while (
            files_step(self.lake, self.file_sources, self._run, free=self._free(self.file_sources))
            or self._wait_for_files()
        ):
            pass

    def _wait_for_files(self) -> bool:
        """Sleep until the first file or batch that failed for now is due; return whether there was one."""
        if not self.file_sources:
            return False
        names = {"sources": [source.name for source in self._free(self.file_sources)]}
        with connect(self.lake, relations=["file_frontier"]) as connection:
            files = [row["due_at"] for row in query(connection, _NEXT_FILE_DUE, names) if row["due_at"]]
        undone = [
            *files_to_list(self.lake, self.file_sources, now=utc_now()),
            *files_to_fetch(self.lake, self.file_sources),
        ]
        return self._rest_until(files, undone)

    def _due(self) -> dict[str, datetime]:
        """By key, when work that failed for now may be tried again."""
        return {run.work.key: run.due_at for run in self.report.finished if run.due_at}

    def _run(self, work: Sequence[Work]) -> bool:
        """Run work that was not given up and is due; return whether there was any."""
        due, now = self._due(), utc_now()
        work = [share for item in work for share in _shares(item, self.processes)]
        work = self._startable(
            [item for item in work if not self._is_over(item) and due.get(item.key, now) <= now]
        )
        self.planned(work)
        runs = LocalRuns(self.instance, self.lake, self.job, self.starting, self.ended, tags=self.tags)
        shared = [item for item in work if _is_shared(item)]
        if self.processes > 1 and (len(shared) >= _ENOUGH or any(item.partitions for item in shared)):
            self._take_in(self._finished_together(runs, shared))
            work = [item for item in work if not _is_shared(item)]
        for item in work:
            if item.job != LINKS_JOB:  # which takes a second, between batches and what code answers of them
                self._helpers.close()  # this run may take hours, or need the memory that they hold
            with self._watched(item):
                self._take_in(runs.finish(self._startable([item])))  # a person may hold it back by now
        return bool(work or shared)

    def _finished_together(self, runs: LocalRuns, work: Sequence[Work]) -> Iterator[FinishedRun]:
        """Do runs in several processes; give each that ended."""
        startable = lambda item: bool(self._startable([item]))  # noqa: E731 - a person may hold it back by now
        return finished_together(
            runs, work, startable, self._helpers, min(self.processes, _most_at_once(work)) - 1
        )

    def _take_in(self, finished: Iterable[FinishedRun]) -> None:
        for run in finished:
            self._note(run.held)
            self.report.finished.append(run)
            self._by_key[run.work.key].append(run)
            self.report.seconds.update(run.seconds)

    def _watched(self, item: Work) -> AbstractContextManager[None]:
        """While the block lasts, the progress of a batch of files is reported."""
        if item.job != FILES_JOB or item.partition is None:
            return nullcontext()
        return files_counted(self.lake, item.partition, partial(self.fetched, item))

    def _startable(self, work: Sequence[Work]) -> list[Work]:
        """The work that no person holds back, the highest rank first; holds are recorded."""
        controls = standing_controls(self.lake)
        free = []
        for item in sorted(work, key=lambda item: -priority_of(controls, item)):
            hold = hold_on(self.lake, item)
            if hold is None:
                free.append(item)
            else:
                self._note(str(hold))
        return free

    def _note(self, hold: str | None) -> None:
        if hold and hold not in self.report.held:
            self.report.held.append(hold)

    def _is_over(self, item: Work) -> bool:
        """Whether this run did the work, with any outcome, or it failed for good."""
        runs = [run for run in self._by_key[item.key] if not run.held]
        failures = [run for run in runs if run.error]
        if len(failures) < len(runs):
            return True
        if not failures:
            return False
        answered = any(run.work.host == item.host for run in self.report.finished if not run.error)
        return failures[-1].due_at is None or not answered or len(failures) >= MAX_ATTEMPTS

    def _check(self) -> None:
        with run_of_ours(self.instance, self.lake) as run_id:
            result = self.job(QUALITY_JOB).execute_in_process(
                instance=self.instance, run_id=run_id, run_config=QUIET, raise_on_error=False
            )
        names = {source.name for source in self.sources}
        evaluations = result.get_asset_check_evaluations()
        self.report.failed_checks = [
            (check.check_name, check.description or "it failed")
            for check in evaluations
            if not check.passed and concerns(check, names)
        ]
        if not result.success and all(check.passed for check in evaluations):
            self.report.failed_checks.append((QUALITY_JOB, failure_of(self.instance, result.run_id).reason))


def _is_shared(item: Work) -> bool:
    """Whether some work may be done while other processes do other work of its kind."""
    return item.job in {BATCH_JOB, SETTLE_JOB} or len(item.partitions) > 0


def _most_at_once(work: Sequence[Work]) -> int:
    """How many processes some work is for: of a wiki's batches, one is fetched while another is computed."""
    numbers = Counter(item.host for item in work)
    return sum(min(number, CRAWLERS_OF_HOST) if host else number for host, number in numbers.items())


def _shares(item: Work, processes: int) -> list[Work]:
    """Some work in as many parts as there are processes, if it has enough partitions for that."""
    if processes == 1 or len(item.partitions) < _ENOUGH:
        return [replace(item, partitions=())]
    parts = [item.partitions[number::processes] for number in range(processes)]
    return [
        replace(
            item,
            version=f"{item.version}\n{number} of {processes}",
            config=WhatToAsk(partitions=list(part)).run_config(),
            partitions=part,
        )
        for number, part in enumerate(parts, 1)
    ]


def _not_reported(_message: str) -> None:
    """A file that is set aside has a note in the lake; see `quarantine.all_set_aside`."""
