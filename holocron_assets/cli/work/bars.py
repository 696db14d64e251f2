"""The bars that a person at a terminal sees: work by its number, and the files of a batch by their bytes."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from rich.console import Console, RenderableType
from rich.filesize import decimal
from rich.markup import escape
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TransferSpeedColumn,
)

from holocron_assets.orchestration.local.progress import FilesFetched
from holocron_assets.orchestration.runs.waiting import FinishedRun
from holocron_assets.planning.work import Work

_WHAT = TextColumn("{task.description:<42}")
_WORK: tuple[ProgressColumn, ...] = (_WHAT, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
_BYTES: tuple[ProgressColumn, ...] = (_WHAT, BarColumn(), DownloadColumn(), TransferSpeedColumn())


class WorkBars(Progress):
    """A bar of the work, and one of the bytes while a batch of files is fetched.

    Attributes:
        work: the bar of the work.
    """

    def __init__(self, console: Console) -> None:
        """Show the bars on a console; without a terminal only the text of the work counts."""
        super().__init__(console=console)
        self.work = self.add_task("looking for work", total=0)
        self._files: TaskID | None = None

    def get_renderables(self) -> Iterable[RenderableType]:
        """Each bar with its own columns (see `Progress`)."""
        for task in self.tasks:
            self.columns = _WORK if task.id == self.work else _BYTES
            yield self.make_tasks_table([task])

    def planned(self, work: Sequence[Work]) -> None:
        """Count more work."""
        self.update(self.work, total=(self.tasks[0].total or 0) + len(work))

    def starting(self, work: Work) -> None:
        """Show which work begins."""
        self.update(self.work, description=str(work))

    def ended(self, run: FinishedRun) -> None:
        """Count a run that ended, and print why it failed."""
        self.end_files()
        self.advance(self.work)
        if run.error:
            self.console.print(f"[red]failed[/red] {run.work}: {escape(run.error)}")

    def resting(self, due: datetime) -> None:
        """Show until when the run sleeps."""
        self.update(self.work, description=f"waiting for what is due {due:%H:%M:%S} UTC")

    def answered(self, work: Work, items: int) -> None:
        """Show how many items a model answered."""
        self.update(self.work, description=f"{work}: {items} answered")

    def show_files(self, work: Work, far: FilesFetched) -> None:
        """Show how far a batch of files is."""
        files = f"{far.done} of {far.wanted} files"
        if not self.console.is_terminal:
            rate = f"{decimal(far.total_bytes)}, {decimal(int(far.bytes_per_second))}/s"
            self.update(self.work, description=f"{work}: {files}, {rate}")
            return
        if self._files is None:  # what came before it was shown is no part of the rate
            self._files = self.add_task(files, total=far.stated_bytes, completed=far.total_bytes)
        self.update(self._files, description=files, completed=far.total_bytes)

    def end_files(self) -> None:
        """Take the bar of bytes away."""
        if self._files is not None:
            self.remove_task(self._files)
            self._files = None
