"""A week of a wiki that changes every few minutes, lived through in far less: what is done, and what grows.

Run: python benchmarks/week.py [--full] [--days N] [--pages N] [--folder FOLDER]

One day of a wiki of 500 pages by default, in a few minutes; `--full` is the week that docs/measurements.md
describes. The process's clock is moved; the wiki, the lake, Dagster's instance and its daemon's loops are
real (see `simulation/daemon.py`). After a turn of the daemon that started runs the clock goes on by 15 s, as
the sensors' interval is, and else to the next reading of the wiki's changes: what happens in between, in
reality, is that sensors find nothing. So fewer ticks are recorded than would be; the table of a year counts
all of them.
"""

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, redirect_stderr
from datetime import timedelta
from pathlib import Path

from rich.console import Console
from simulation.comparison import compare, lags
from simulation.diary import Diary, done_table, left_table, ticks_table, year_table
from simulation.life import BORN_AT, SOURCE, Life, begun

FIRST_CRAWL = timedelta(hours=1)
LAST_HOURS = timedelta(hours=3)
MOST_NAMED = 5


def main() -> None:
    """Live, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--full", action="store_true", help="seven days of a wiki of 2,000 pages")
    parser.add_argument("--days", type=int, help="days to live; 7 if full, else 1")
    parser.add_argument("--pages", type=int, help="pages of the wiki at first; 2,000 if full, else 500")
    parser.add_argument("--minutes-between-changes", type=float, default=3.0, help="on average")
    parser.add_argument("--minutes-between-readings", type=int, default=10, help="of the wiki's changes")
    parser.add_argument("--folder", type=Path, help="a new folder that keeps everything; else it is removed")
    options = parser.parse_args()
    console = Console(width=170)
    with ExitStack() as stack:
        folder = options.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        # Runs print everything on the terminal, as in a process of their own.
        stack.enter_context(redirect_stderr(stack.enter_context((folder / "daemon.log").open("w"))))
        life = stack.enter_context(
            begun(
                folder,
                pages=options.pages or (2_000 if options.full else 500),
                between_readings=timedelta(minutes=options.minutes_between_readings),
                minutes_between_changes=options.minutes_between_changes,
            )
        )
        live(console, life, options.days or (7 if options.full else 1))


def live(console: Console, life: Life, days: int) -> None:
    """The first crawl, then the days, then some hours in which the wiki rests."""
    diary = Diary(life)
    life.go_on(FIRST_CRAWL)
    console.print(diary.write("first crawl"))
    life.let_change(lively=True)
    for number in range(1, days + 1):
        life.go_on(timedelta(days=1))
        console.print(diary.write(f"day {number}"))
    life.let_change(lively=False)
    life.go_on(LAST_HOURS)
    console.print(diary.write("rest"))
    first_crawl, first_day, last_day = diary.sessions[0], diary.sessions[1], diary.sessions[days]
    console.print(done_table(diary.sessions), left_table(diary.sessions))
    console.print(ticks_table(first_day, last_day))
    console.print(year_table(first_crawl, last_day, days, life.daemon.sensor_intervals()))
    for line in outcome(life):
        console.print(line, markup=False, highlight=False)


def outcome(life: Life) -> Iterator[str]:
    """Whether the lake holds what the wiki has, how late it learnt of changes, and what failed."""
    found = compare(life.lake, SOURCE, {title: page.newest.text for title, page in life.wiki.pages.items()})
    yield f"{found.equal:,} of {len(life.wiki.pages):,} pages of the wiki are in the lake as they are now"
    for name, titles in (("outdated", found.outdated), ("absent", found.absent), ("ghosts", found.ghosts)):
        yield f"{name}: {len(titles)} {titles[:MOST_NAMED]}"
    late = lags(life.lake, SOURCE, BORN_AT)
    if late:
        half, most = late[len(late) // 2], late[len(late) * 95 // 100]
        yield f"half of the revisions were fetched within {half}, 95 of 100 within {most}"
    failures = life.failures()
    yield f"failures: {len(failures)}"
    yield from failures[:MOST_NAMED]


if __name__ == "__main__":
    main()
