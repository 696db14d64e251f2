"""`holocron run`: everything there is to do, in this process, until nothing is pending."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from time import sleep

import dagster as dg

from holocron_assets.crawl.batches import cut_batches
from holocron_assets.crawl.frontier import frontier_views
from holocron_assets.crawl.sources import Source
from holocron_assets.lake.clock import utc_now
from holocron_assets.lake.paths import Lake
from holocron_assets.lake.views import connect, publish, query
from holocron_assets.orchestration.names import QUALITY_JOB
from holocron_assets.orchestration.runs import FinishedRun, LocalRuns
from holocron_assets.orchestration.work import (
    Work,
    batches_to_fetch,
    batches_to_settle,
    seeds_to_list,
    types_to_resolve,
)

_NEXT_DUE = "select min(due_at) as due_at from frontier where status = 'waiting' and source = any($sources)"


@dataclass
class RunReport:
    """What one `holocron run` did.

    Attributes:
        finished: the runs, in order.
        failed_checks: quality checks that did not pass: name and why.
        seconds: time by asset.
    """

    finished: list[FinishedRun] = field(default_factory=list)
    failed_checks: list[tuple[str, str]] = field(default_factory=list)
    seconds: Counter[str] = field(default_factory=Counter)

    @property
    def errors(self) -> list[str]:
        """Everything that failed, a line each."""
        runs = [f"{run.work.job} of {run.work.partition}: {run.error}" for run in self.finished if run.error]
        return runs + [f"check {name}: {problem}" for name, problem in self.failed_checks]


@dataclass
class LocalRun:
    """One pass over all the work of some sources.

    Attributes:
        lake: the lake.
        sources: whose work; disabled ones too, since they were named.
        job: gives a job by name.
        instance: records the runs.
        planned: told the work before it is run.
        starting: told each run's work before it starts.
        ended: told each run after it ended.
        resting: told until when there is nothing to do.
    """

    lake: Lake
    sources: Sequence[Source]
    job: Callable[[str], dg.JobDefinition]
    instance: dg.DagsterInstance
    planned: Callable[[Sequence[Work]], None]
    starting: Callable[[Work], None]
    ended: Callable[[FinishedRun], None]
    resting: Callable[[datetime], None]
    report: RunReport = field(default_factory=RunReport)

    def finish(self) -> RunReport:
        """Work until nothing is pending: pages that failed for now are waited for.

        What failed as a whole is not tried again in this run; the report names it.
        """
        self.list_seeds()
        while self._fetch() or self._wait():
            pass
        self._run(batches_to_settle(self.lake, self.sources))
        self._run(types_to_resolve(self.lake))
        if self.report.finished:
            self._check()
        publish(self.lake, more_views=frontier_views(self.sources))
        return self.report

    def list_seeds(self) -> RunReport:
        """List the seeds of sources that were not listed as they are set now."""
        named = [source.model_copy(update={"enabled": True}) for source in self.sources]
        self._run(seeds_to_list(self.lake, named))
        return self.report

    def _fetch(self) -> bool:
        for source in self.sources:
            cut_batches(self.lake, source, now=utc_now())
        return self._run(batches_to_fetch(self.lake, self.sources))

    def _wait(self) -> bool:
        """Sleep until the first page that failed for now is due; say whether there was one."""
        with connect(self.lake, more_views=frontier_views(self.sources)) as connection:
            due = query(connection, _NEXT_DUE, {"sources": [source.name for source in self.sources]})[0][
                "due_at"
            ]
        if due is None:
            return False
        self.resting(due)
        sleep(max((due - utc_now()).total_seconds(), 0))
        return True

    def _run(self, work: Sequence[Work]) -> bool:
        """Run what did not fail before; say whether there was anything."""
        failed = {run.work.key for run in self.report.finished if run.error}
        work = [item for item in work if item.key not in failed]
        self.planned(work)
        for run in LocalRuns(self.instance, self.job, self.starting, self.ended).finish(work):
            self.report.finished.append(run)
            self.report.seconds.update(run.seconds)
        return bool(work)

    def _check(self) -> None:
        result = self.job(QUALITY_JOB).execute_in_process(
            instance=self.instance,
            run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
            raise_on_error=False,
        )
        self.report.failed_checks = [
            (check.check_name, check.description or "it failed")
            for check in result.get_asset_check_evaluations()
            if not check.passed
        ]
