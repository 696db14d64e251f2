"""What `holocron run`, `crawl` and `import` do: all the work in this process, with a progress bar."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import cache, partial
from pathlib import Path
from typing import TypeVar

import dagster as dg
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress

from holocron_assets.cli.console import print_paths, print_rows, print_summary
from holocron_assets.cli.knowledge.reports import files_summary, gpu_summary, run_summary
from holocron_assets.cli.operation.status_console import print_interrogations
from holocron_assets.cli.shared import counted
from holocron_assets.cli.work.bars import WorkBars
from holocron_assets.crawl.changes.revision_check import refuse_dump, start_pass
from holocron_assets.crawl.frontier.batches import cut_given_titles, cut_new_titles
from holocron_assets.crawl.leftovers import clear_leftovers
from holocron_assets.crawl.sources.file_source import FileSource
from holocron_assets.crawl.sources.files import AnySource, read_sources
from holocron_assets.crawl.sources.seeds import load_site
from holocron_assets.crawl.sources.source import Source
from holocron_assets.crawl.sources.title_lists import read_title_list
from holocron_assets.derive.dispatch.served import is_switched_off
from holocron_assets.interrupts import ending_by_signal
from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.files.quarantine import all_set_aside
from holocron_assets.lake.journals.packing import journals_are_due, pack_journals
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGES, SITES
from holocron_assets.operations.state.snapshot import how_far
from holocron_assets.orchestration.assets.change_readings import read_to_the_end
from holocron_assets.orchestration.internals.instance import open_instance
from holocron_assets.orchestration.internals.retention import forget_old_runs, old_runs_are_due
from holocron_assets.orchestration.local.models import ModelStage
from holocron_assets.orchestration.local.run import LocalRun, RunReport
from holocron_assets.orchestration.runs.reaper import reaping
from holocron_assets.planning.repair import repairing
from holocron_assets.settings import politeness_folder, processes, run_retention, sources_folder
from holocron_assets.telemetry.long_work import progress_lines

_Summary = TypeVar("_Summary")


def run_everything(
    console: Console,
    lake: Lake,
    sources: Sequence[AnySource],
    *,
    few: int | None = None,
    tags: Mapping[str, str] | None = None,
) -> bool:
    """Do all there is to do for some sources, and print what it came to.

    Args:
        console: to print to.
        lake: the lake.
        sources: whose work.
        few: pages that interrogations are asked about that no page type waits for; None to ask no model.
        tags: a person's tags of its runs.

    Returns:
        Whether everything went well.
    """
    if not sources:
        console.print(
            "No source is enabled. `holocron sources list` shows them, `sources enable` starts one."
        )
        if not lake.partitions(PAGES):
            return True
    of_pages = [source for source in sources if isinstance(source, Source)]
    of_files = [source for source in sources if isinstance(source, FileSource)]
    models = None if few is None or is_switched_off() else ModelStage(lake, of_pages, few, console)
    report = _run(console, lake, sources, LocalRun.finish, models=models, tags=tags)
    print_summary(console, _read(lambda: run_summary(lake, of_pages)), report.seconds)
    if of_files:
        print_rows(console, "Files", _read(lambda: files_summary(lake, of_files)))
    if models:
        asked = _read(lambda: gpu_summary(lake, [run.run_id for run in report.finished]))
        print_rows(console, "Asked of models", asked)
        _print_interrogations(console, lake, models)
    return _print_outcome(console, lake, report)


def recheck_source(console: Console, lake: Lake, source: Source) -> bool:
    """Compare every page of a source with its wiki, and do what follows; see `run_everything`.

    Raises:
        PermanentError: the source is a dump.
    """
    refuse_dump(source)
    start_pass(lake, source.name, "person", utc_now())
    return run_everything(console, lake, [source])


def crawl_titles(
    console: Console,
    lake: Lake,
    source: Source,
    titles: Sequence[str],
    *,
    tags: Mapping[str, str] | None = None,
) -> bool:
    """Fetch given pages now, whatever was fetched before, and what follows from them; nothing else.

    Raises:
        PermanentError: the source is a dump, or a text is no title; nothing is fetched.
    """

    def crawl(run: LocalRun) -> RunReport:
        if not run.ask_sites():
            return run.report
        site = load_site(lake, source.name)
        batches = cut_given_titles(lake, source, site, titles, now=utc_now())
        console.print(f"cut {', '.join(batches)}")
        return run.finish_given(batches)

    return _print_outcome(console, lake, _run(console, lake, [source], crawl, tags=tags))


def crawl_list(
    console: Console, lake: Lake, source: Source, path: Path, *, tags: Mapping[str, str] | None = None
) -> bool:
    """Fetch the pages of a list that were never asked for, and what follows from them.

    Raises:
        PermanentError: the source is a dump, or the list cannot be used; nothing is fetched.
    """

    def crawl(run: LocalRun) -> RunReport:
        batches = _cut_list(console, run, source, path)
        return run.finish_given(batches) if batches else run.report

    return _print_outcome(console, lake, _run(console, lake, [source], crawl, tags=tags))


def add_list(console: Console, lake: Lake, source: Source, path: Path) -> bool:
    """Cut batches of the pages of a list that were never asked for; see `crawl_list`, which fetches them."""

    def add(run: LocalRun) -> RunReport:
        _cut_list(console, run, source, path)
        return run.report

    failed = _run(console, lake, [source], add).failed_runs
    for error in failed:
        console.print(f"[red]failed[/red] {escape(error)}", soft_wrap=True)
    return not failed


def _cut_list(console: Console, run: LocalRun, source: Source, path: Path) -> Sequence[str]:
    """The batches of a list's pages that are to be fetched; none if the wiki does not answer."""
    if not run.ask_sites():
        return ()
    (site,) = read_partition(run.lake, SITES, source.name)
    listed = cut_new_titles(run.lake, source, read_title_list(path, source, site), now=utc_now())
    console.print(f"added {counted(listed.new, 'page')} to source {source.name}; {listed.known} known before")
    return listed.batches


def _run(  # noqa: PLR0913 - what is worked on, and what is known of it
    console: Console,
    lake: Lake,
    sources: Sequence[AnySource],
    work_on: Callable[[LocalRun], RunReport],
    *,
    models: ModelStage | None = None,
    tags: Mapping[str, str] | None = None,
) -> RunReport:
    """Do work with bars, in an instance of Dagster, and at last what a daemon's schedules would do."""
    progress = WorkBars(console)
    task = progress.work
    with ending_by_signal(), ExitStack() as stack:
        instance = stack.enter_context(open_instance())
        stack.enter_context(progress)
        stack.enter_context(_in_lines(progress))

        run = LocalRun(
            lake=lake,
            sources=[source for source in sources if isinstance(source, Source)],
            file_sources=[source for source in sources if isinstance(source, FileSource)],
            all_sources=list(read_sources(sources_folder())[0].values()),
            job=_job_finder(),
            instance=instance,
            read_changes=lambda source: read_to_the_end(lake, source, politeness_folder(), instance),
            planned=progress.planned,
            starting=progress.starting,
            ended=progress.ended,
            resting=progress.resting,
            answered=progress.answered,
            fetched=progress.show_files,
            models=models,
            tags=tags or {},
            processes=processes(),
        )
        try:
            with reaping(instance, lake):
                report = work_on(run)
        except KeyboardInterrupt:
            progress.update(task, description="stopped")
            progress.console.print("Stopped. What was done is kept; the same command goes on from there.")
            raise
        _keep_up(instance, lake)
        progress.update(task, description="done")
    return report


def _keep_up(instance: dg.DagsterInstance, lake: Lake) -> None:
    """Do the upkeep that is due. A daemon does it by schedule, but here there may be none."""
    if old_runs_are_due(instance, kept := run_retention(), now=utc_now()):
        forget_old_runs(instance, kept, now=utc_now())
    clear_leftovers(lake)
    if journals_are_due(lake, now=utc_now()):
        repairing(lambda: pack_journals(lake, now=utc_now()), lambda _: None)  # reported at the end


def _in_lines(progress: Progress) -> AbstractContextManager[None]:
    """Without a terminal, which shows no bar: print every few seconds what is done, and how far it is."""
    console, task = progress.console, progress.tasks[0]
    if console.is_terminal:
        return nullcontext()

    def doing() -> str:
        return f"{task.description}: {task.completed:.0f} of {task.total or 0:.0f} done"

    return progress_lines(doing, partial(console.print, markup=False, soft_wrap=True))


@cache
def definitions() -> dg.Definitions:
    """All of Dagster's definitions, which take two seconds to make: a run with nothing to do needs none."""
    from holocron_assets.definitions import defs

    return defs


def _job_finder() -> Callable[[str], dg.JobDefinition]:
    return cache(lambda name: definitions().resolve_job_def(name))


def _read(summary: Callable[[], _Summary]) -> _Summary:
    """Read what is printed. A file that only this finds damaged is set aside, and named at the end."""
    return repairing(summary, lambda _: None)


def _print_interrogations(console: Console, lake: Lake, models: ModelStage) -> None:
    """Print how far models were asked, and what a run leaves to the sensors."""
    interrogations, problem = _read(lambda: how_far(lake))
    print_interrogations(console, interrogations, problem)
    due = sum(one.due for one in interrogations)
    if due and not problem:
        console.print(
            f"{due:,} more questions are due. A run asks each interrogation about {models.few} of the most "
            "linked pages: `holocron run --llm-pages N` asks about more, and `holocron ui` about all.",
            end="\n\n",
        )


def _print_outcome(console: Console, lake: Lake, report: RunReport) -> bool:
    if not (report.finished or report.held or report.errors):
        console.print("[green]Nothing to do: pages, types and entities are up to date.[/green]")
    for aside in all_set_aside(lake):
        if aside.at >= report.started:
            console.print(f"[yellow]set aside[/yellow] {escape(str(aside))}", soft_wrap=True)
    for hold in report.held:
        console.print(f"[yellow]held back[/yellow] {escape(hold)}", soft_wrap=True)
    for error in report.errors:
        console.print(f"[red]failed[/red] {escape(error)}", soft_wrap=True)
    print_paths(console, [("search and read it", "holocron web"), ("or here", "holocron search TEXT")])
    print_paths(console, [("ask it in SQL", 'holocron sql "from entities"'), ("or open", lake.database)])
    print_paths(console, [("see it in Dagster's UI", "make ui, then http://127.0.0.1:3000")])
    return not report.errors
