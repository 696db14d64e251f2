"""Work on files, read from the lake: lists to make, and batches to fetch."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta

from holocron_assets.crawl.frontier.file_batches import cut_file_batches, unfinished_file_batches
from holocron_assets.crawl.sources.file_list import list_is_due, list_mark
from holocron_assets.crawl.sources.file_source import FileSource
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import FILE_LIST
from holocron_assets.planning.job_names import FILES_JOB, LIST_FILES_JOB
from holocron_assets.planning.work import Work


def files_to_list(
    lake: Lake, sources: Iterable[FileSource], *, now: datetime, rest: timedelta = timedelta(0)
) -> list[Work]:
    """Sources whose artifacts were not listed, or are to be listed again.

    Args:
        lake: the lake.
        sources: sources of files.
        now: the current time.
        rest: see `list_is_due`.
    """
    return [
        Work(LIST_FILES_JOB, source.name, list_mark(lake, source), source.host)
        for source in sources
        if list_is_due(lake, source, now, rest)
    ]


def files_to_fetch(lake: Lake, sources: Iterable[FileSource]) -> list[Work]:
    """Batches that were cut and have files without an outcome."""
    return [
        Work(FILES_JOB, batch, "fetch", source.host)
        for source in sources
        for batch in unfinished_file_batches(lake, source.name)
    ]


def has_list(lake: Lake, source: FileSource) -> bool:
    """Whether a source's artifacts were listed, so that batches can be cut."""
    return lake.has(FILE_LIST, source.name)


def files_step(
    lake: Lake,
    sources: Sequence[FileSource],
    run: Callable[[Sequence[Work]], bool],
    *,
    free: Sequence[FileSource],
) -> bool:
    """Do what comes next of the work on files; whether there was anything.

    Args:
        lake: what is missing is read from it.
        sources: whose work.
        run: runs the work.
        free: those of which new batches may be cut.
    """
    return run(files_to_list(lake, sources, now=utc_now())) or fetch_step(lake, sources, run, free=free)


def fetch_step(
    lake: Lake,
    sources: Sequence[FileSource],
    run: Callable[[Sequence[Work]], bool],
    *,
    free: Sequence[FileSource],
) -> bool:
    """Cut batches of what is listed and fetch them; whether there were any (arguments: see `files_step`)."""
    for source in free:
        if has_list(lake, source):
            cut_file_batches(lake, source, now=utc_now())
    return run(files_to_fetch(lake, sources))
