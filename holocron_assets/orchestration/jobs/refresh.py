"""Jobs for CI and for people that start other runs: `refresh` and `add_pages`."""

from collections.abc import Callable, Sequence
from functools import partial

import dagster as dg

from holocron_assets.crawl.frontier.batches import cut_given_titles
from holocron_assets.crawl.sources.file_source import FileSource
from holocron_assets.crawl.sources.files import AnySource
from holocron_assets.crawl.sources.seeds import load_site, seeds_are_usable
from holocron_assets.crawl.sources.source import Source
from holocron_assets.decisions.controls import HeldBackError, Scope, refuse_held, standing_controls
from holocron_assets.derive.interrogations.interrogation import InterrogationError
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.orchestration.assets.change_readings import read_to_the_end
from holocron_assets.orchestration.internals.run_queue import came_from_queue, job_of_same_code
from holocron_assets.orchestration.resources.resources import LakeResource, SourcesResource
from holocron_assets.orchestration.runs.failures import clear_failures
from holocron_assets.orchestration.runs.held import ended_when_held
from holocron_assets.orchestration.runs.retries import LAKE
from holocron_assets.orchestration.runs.waiting import LocalRuns, QueuedRuns, Runs
from holocron_assets.planning.file_work import fetch_step, files_to_list
from holocron_assets.planning.job_names import ADD_PAGES_JOB, BATCH_JOB, REFRESH_JOB, SEEDS_JOB, WAITING_TAGS
from holocron_assets.planning.loop import crawl_step, knowledge_step
from holocron_assets.planning.work import (
    Work,
    batches_to_settle,
    sites_to_ask,
    views_to_publish,
)


class RefreshConfig(dg.Config):
    """The config of `refresh`: one source, or every enabled one; and the most batches of pages of each."""

    source: str | None = None
    maximum_batches: int = 1000


class AddPagesConfig(dg.Config):
    """The config of `add_pages`."""

    source: str
    titles: list[str]


@dg.op(
    description="List seeds again, cut batches, submit their runs, wait for them, resolve entities.",
    out=dg.Out(dg.Nothing),
    retry_policy=LAKE,
)
def refresh_sources(
    context: dg.OpExecutionContext, config: RefreshConfig, lake: LakeResource, sources: SourcesResource
) -> None:
    """Bring sources up to date with runs of their own, and wait for them."""
    opened = lake.open()
    with (
        ended_when_held(context),
        clear_failures(),
    ):  # around everything: a run that was asked to stop is not tried again
        refuse_held(opened, source=config.source)
        chosen = _chosen(context, opened, config.source, sources)
        runs = _runs(context, opened)
        problems = [] if config.source else [str(error) for error in sources.broken()]
        for source in (one for one in chosen if isinstance(one, Source)):
            steps = (
                partial(_read_changes, context, opened, source, sources),
                partial(_finish, runs, [Work(SEEDS_JOB, source.name, context.run.run_id, source.host)]),
                partial(_fetch, opened, source, runs, config.maximum_batches),
            )
            problems += _done(context, source, steps)
        for of_files in (one for one in chosen if isinstance(one, FileSource)):  # pages say which are used
            problems += _done(context, of_files, [partial(_fetch_files, opened, of_files, runs)])
        problems += _knowledge_made(opened, sources.all(), runs)
        problems += _failures(runs, views_to_publish(opened, sources.all()))
    names = ", ".join(source.name for source in chosen)
    if problems:
        raise dg.Failure("; ".join(problems), allow_retries=False)
    context.log.info(f"refreshed {names}" if names else "no source is enabled: nothing to refresh")


@dg.op(
    description="Cut a batch of given pages, submit its run and wait for it.",
    out=dg.Out(dg.Nothing),
    retry_policy=LAKE,
)
def add_given_pages(
    context: dg.OpExecutionContext, config: AddPagesConfig, lake: LakeResource, sources: SourcesResource
) -> None:
    """Fetch pages that a person names, even if they were fetched before."""
    opened = lake.open()
    runs = _runs(context, opened)
    with ended_when_held(context), clear_failures():
        source = sources.get(config.source)
        refuse_held(opened, source=source.name)
        _finish(runs, sites_to_ask(opened, [source]))
        batches = cut_given_titles(
            opened, source, load_site(opened, source.name), config.titles, now=utc_now()
        )
        _finish(runs, [Work(BATCH_JOB, batch, "added", source.host) for batch in batches])
        if problems := _knowledge_made(opened, sources.all(), runs):
            raise dg.Failure("; ".join(problems), allow_retries=False)


@dg.job(
    name=REFRESH_JOB,
    description="Bring one source, or all enabled ones, up to date; fail if any run fails. For CI.",
    executor_def=dg.in_process_executor,
    tags=WAITING_TAGS,
)
def refresh() -> None:
    """See `refresh_sources`."""
    refresh_sources()


@dg.job(
    name=ADD_PAGES_JOB,
    description="Fetch given pages of a source now, and all that follows from them.",
    executor_def=dg.in_process_executor,
    tags=WAITING_TAGS,
)
def add_pages() -> None:
    """See `add_given_pages`."""
    add_given_pages()


def _chosen(
    context: dg.OpExecutionContext, lake: Lake, name: str | None, sources: SourcesResource
) -> list[AnySource]:
    """One source of pages or files; or all enabled ones that no person holds back, the highest rank first.

    The log names those that are held back.
    """
    if name is not None:
        return [sources.get_any(name)]
    controls = standing_controls(lake)
    enabled: list[AnySource] = [*sources.enabled(), *sources.enabled_files()]
    for source in enabled:
        if hold := controls.holds(source=source.name):
            context.log.info(f"{source.name} is left out: {hold}")
    free = [source for source in enabled if not controls.is_held(source=source.name)]
    return sorted(free, key=lambda source: -controls.priority(Scope("source", source.name)))


def _done(
    context: dg.OpExecutionContext, source: AnySource, steps: Sequence[Callable[[], None]]
) -> list[str]:
    """Do the steps as far as possible, also for the pages of a dump before it breaks off; return failures."""
    problems = []
    for step in steps:
        try:
            step()
        except HeldBackError as held:
            context.log.info(f"{source.name} is left: {held}")
            break
        except dg.Failure as failure:
            problems.append(f"{source.name}: {failure.description}")
    return problems


def _read_changes(
    context: dg.OpExecutionContext, lake: Lake, source: Source, sources: SourcesResource
) -> None:
    """Ask a source's wiki for its changes."""
    if problem := read_to_the_end(lake, source, sources.shared_folder, context.instance):
        raise dg.Failure(f"its changes were not read: {problem}", allow_retries=False)


def _fetch(lake: Lake, source: Source, runs: Runs, most: int) -> None:
    """Do the work on one source until nothing is left, or the most batches were fetched."""
    left = most

    def run(work: Sequence[Work]) -> bool:
        nonlocal left
        left -= sum(item.job == BATCH_JOB for item in work)
        _finish(runs, work)
        return bool(work)

    while left > 0 and seeds_are_usable(lake, source):
        refuse_held(lake, source=source.name)
        if not crawl_step(lake, [source], run, free=[source], lists_seeds=False, most=left):
            _refuse_unsettled(lake, source)
            return


def _fetch_files(lake: Lake, source: FileSource, runs: Runs) -> None:
    """List a source's files once, and fetch them until nothing is left that can be done now."""

    def run(work: Sequence[Work]) -> bool:
        _finish(runs, work)
        return bool(work)

    run(files_to_list(lake, [source], now=utc_now()))
    while fetch_step(lake, [source], run, free=[source]):
        refuse_held(lake, source=source.name)


def _knowledge_made(lake: Lake, sources: Sequence[Source], runs: Runs) -> list[str]:
    """Make all that follows from the pages, even if parts fail; returns the failures."""
    problems: dict[str, None] = {}
    tried: set[str] = set()

    def run(work: Sequence[Work]) -> bool:
        untried = [item for item in work if item.key not in tried]
        tried.update(item.key for item in untried)
        failures = _failures(runs, untried)
        problems.update(dict.fromkeys(failures))
        return bool(untried) and not failures

    while knowledge_step(lake, sources, run, problems.setdefault):
        pass
    return list(problems)


def _failures(runs: Runs, work: Sequence[Work]) -> list[str]:
    """Do some work as `_finish` does; returns why it failed, if it did."""
    try:
        _finish(runs, work)
    except dg.Failure as failure:
        return [str(failure.description)]
    return []


def _refuse_unsettled(lake: Lake, source: Source) -> None:
    """Fail if it is unknown which batches must be settled, since answers cannot be read.

    Raises:
        dagster.Failure: it is unknown.
    """
    try:
        batches_to_settle(lake, [source])
    except InterrogationError as error:
        raise dg.Failure(str(error), allow_retries=False) from error


def _runs(context: dg.OpExecutionContext, lake: Lake) -> Runs:
    """Where runs go: into the run queue if this run came from it; else into this process."""
    if came_from_queue(context.run):
        return QueuedRuns(context, lake)
    return LocalRuns(context.instance, lake, partial(job_of_same_code, context))


def _finish(runs: Runs, work: Sequence[Work]) -> None:
    """Run all of the work, then fail if any of it failed.

    Raises:
        dagster.Failure: some of it did.
        HeldBackError: a person holds some of it back.
    """
    finished = runs.finish(work)
    failed = [run for run in finished if run.error]
    if failed:
        named = "; ".join(f"{run.work}: {run.error}" for run in failed)
        raise dg.Failure(f"{len(failed)} of {len(work)} runs failed: {named}", allow_retries=False)
    if held := [run.held for run in finished if run.held]:
        raise HeldBackError(held[0])
