"""The bars of work and of files."""

from io import StringIO
from time import sleep

from rich.console import Console

from holocron_assets.cli.work.bars import WorkBars
from holocron_assets.orchestration.local.progress import FilesFetched
from holocron_assets.planning.work import Work

WORK = Work("fetch_files", "papers-000001", "fetch", "files.example.org")


def shown(bars: WorkBars) -> str:
    console = Console(file=StringIO(), width=150)
    for one in bars.get_renderables():
        console.print(one)
    text = console.file
    assert isinstance(text, StringIO)
    return text.getvalue()


def bars(*, terminal: bool) -> WorkBars:
    return WorkBars(Console(file=StringIO(), force_terminal=terminal, width=150))


def test_at_a_terminal_the_bytes_of_a_batch_have_a_bar_with_their_rate() -> None:
    shows = bars(terminal=True)
    for size in (1_000_000, 2_000_000, 3_000_000):
        shows.show_files(WORK, FilesFetched(3, 8, size, 1e6, 9_000_000))
        sleep(0.01)
    text = shown(shows)
    assert "3 of 8 files" in text
    assert "3.0/9.0 MB" in text
    assert "B/s" in text
    shows.end_files()
    assert "MB" not in shown(shows)


def test_a_batch_whose_bytes_are_not_stated_shows_what_came() -> None:
    shows = bars(terminal=True)
    shows.show_files(WORK, FilesFetched(3, 8, 2_000_000, 1e6, None))
    assert "2.0/? MB" in shown(shows)


def test_without_a_terminal_the_line_of_the_work_names_files_bytes_and_rate() -> None:
    shows = bars(terminal=False)
    shows.show_files(WORK, FilesFetched(3, 8, 2_000_000, 1e6, None))
    assert shows.tasks[0].description.endswith(": 3 of 8 files, 2.0 MB, 1.0 MB/s")
    assert len(shows.tasks) == 1
