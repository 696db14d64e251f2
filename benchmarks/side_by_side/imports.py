"""`holocron import` of a dump of short pages, beside the functions that read those pages, alone.

Then `holocron status` for the first time: real pages share templates and categories, as made-up ones do not.
"""

import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from time import process_time

from dagster_overhead import write_export
from import_dump import INFOBOX_PAGES, SOURCE, run_import, write_dump

from holocron_assets.lake.declaration.schema import Row as LakeRow
from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGES, SITES
from holocron_assets.planning.batch_steps import BATCH_STEPS
from holocron_assets.planning.page_by_page import PageByPage
from side_by_side.processes import cpu_of, home_in
from side_by_side.row import Row, Scale, compared, in_turns

_PAGES: Mapping[Scale, int] = {"quick": 3_000, "full": 61_329}
_TURNS: Mapping[Scale, int] = {"quick": 2, "full": 1}


class _JustRead(PageByPage):
    """Reads pages, and keeps no note of the one that it reads."""

    def __init__(self) -> None:
        """Give nothing up."""
        self.given_up: dict[int, LakeRow] = {}

    def rows(
        self,
        pages: Iterable[LakeRow],
        read: Callable[[LakeRow], Iterable[LakeRow]],
        unread: Callable[[LakeRow], Sequence[LakeRow]] = lambda _: (),  # noqa: ARG002 - every page is read
    ) -> list[LakeRow]:
        """The rows of all pages."""
        return [row for page in pages for row in read(page)]


def measure(scale: Scale) -> list[Row]:
    """The rows of the import and of the status. Pages of the sample are another row: they are shorter."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if INFOBOX_PAGES.exists():
            label = "import"
            dump, pages = write_dump(folder / "dump.xml", _PAGES[scale])
        else:
            label, pages = "import of the sample's pages", _PAGES[scale]
            dump = write_export(folder / "dump.xml", pages)

        seconds: dict[int, float] = {}

        def ours(turn: int) -> float:
            seconds[turn] = run_import(folder / f"import-{turn}", dump, []).processor_seconds
            return seconds[turn] / pages * 1000

        def parts(turn: int) -> float:
            return _parts_seconds(Lake(folder / f"import-{turn}" / "data")) / pages * 1000

        turns = in_turns(ours, parts, _TURNS[scale])
        first = in_turns(
            lambda turn: _status_seconds(folder / f"import-{turn}"), lambda turn: seconds[turn], _TURNS[scale]
        )
    return [
        compared(label, "CPU ms a page", "its parts alone", turns),
        compared(f"first status after {label}", "CPU s", "the import", first),
    ]


def _status_seconds(folder: Path) -> float:
    return cpu_of([str(Path(sys.executable).with_name("holocron")), "status"], home_in(folder))


def _parts_seconds(lake: Lake) -> float:
    """What the functions of a batch's steps take, of the processor, over all pages that were imported."""
    taken = 0.0
    for batch in lake.partitions(PAGES):
        rows: dict[str, Sequence[LakeRow]] = {
            PAGES.name: read_partition(lake, PAGES, batch),
            SITES.name: read_partition(lake, SITES, SOURCE),
        }
        started = process_time()
        for step in BATCH_STEPS:
            rows[step.table.name] = step.make(rows, "bench", _JustRead())
        taken += process_time() - started
    return taken
