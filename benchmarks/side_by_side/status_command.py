"""`holocron status` of a lake of many batches, beside Python, DuckDB and one look at the lake's tables.

That is a limit: whatever reads these tables from Python with DuckDB takes about as much. It counts the values
of all columns, in every table but the links, whose place in the status `known_links` takes.
"""

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from large_wiki import SOURCE, arguments_of, write_wiki

from holocron_assets.crawl.frontier.known_links import make_known_links
from holocron_assets.crawl.sources.files import load_source
from holocron_assets.derive.opening import open_lake
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGE_LINKS
from side_by_side.processes import cpu_of, home_in
from side_by_side.row import Row, Scale, compared, in_turns

_PAGES: Mapping[Scale, int] = {"quick": 10_000, "full": 200_000}
_LINKS_OF_A_PAGE = 60
_TURNS: Mapping[Scale, int] = {"quick": 7, "full": 3}
_LOOK = """
import sys
import duckdb, pyarrow
for folder in sys.argv[1:]:
    duckdb.sql(f"select count(columns(*)) from read_parquet('{folder}/**/*.parquet')").fetchall()
"""


def measure(scale: Scale) -> list[Row]:
    """The row of the status."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        lake = _lake(folder, _PAGES[scale])
        environment = home_in(folder)
        status = [str(Path(sys.executable).with_name("holocron")), "status"]
        look = [sys.executable, "-c", _LOOK, *_folders(lake)]
        cpu_of(status, environment)  # the first one checks interrogations, and keeps what it found
        turns = in_turns(
            lambda _: cpu_of(status, environment), lambda _: cpu_of(look, environment), _TURNS[scale]
        )
    return [compared("status", "CPU s", "Python, DuckDB and one look at the tables", turns)]


def _lake(folder: Path, pages: int) -> Lake:
    links = ["--links", str(pages * _LINKS_OF_A_PAGE)]
    write_wiki(folder, arguments_of(["--derived", "--pages", str(pages), *links]))
    lake = open_lake(folder / "data")
    make_known_links(lake, load_source(folder / "sources" / f"{SOURCE}.yaml"))
    return lake


def _folders(lake: Lake) -> list[str]:
    """The folders of all tables but the links."""
    folders = {file.parent.parent for file in lake.files()} - {lake.folder(PAGE_LINKS)}
    return sorted(map(str, folders))
