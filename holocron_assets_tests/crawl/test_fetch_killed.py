"""Fetching a batch while its process is killed for real."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from crawl_rows import put_manifest

from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGES

pytestmark = pytest.mark.system

BATCH = "wiki-000001"
PROGRAM = Path(__file__).with_name("deadly_reader.py")
SIGKILLED = -9


def fetch_until_done(folder: Path, groups_at_once: int) -> int:
    """Fetch again and again, as automation would; say how often the process was killed."""
    for kills in range(20):
        command = [sys.executable, str(PROGRAM), str(folder), BATCH, str(groups_at_once)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603 - our own program
        if done.returncode == 0:
            return kills
        assert done.returncode == SIGKILLED, done.stderr
    pytest.fail("the batch is not done after 20 kills")


def rows_of(folder: Path) -> dict[str, Row]:
    return {row["requested_title"]: row for row in read_partition(Lake(folder), PAGES, BATCH)}


@pytest.mark.fault(10, "a page ends the process that fetches it, each time")
@pytest.mark.parametrize("groups_at_once", [1, 4])
def test_a_page_that_kills_the_process_is_dead_after_four_and_takes_no_other_with_it(
    tmp_path: Path, groups_at_once: int
) -> None:
    innocent = [f"Page {number}" for number in range(230)]
    put_manifest(Lake(tmp_path), BATCH, *innocent[:70], "Poison", *innocent[70:])
    assert fetch_until_done(tmp_path, groups_at_once) == 4
    rows = rows_of(tmp_path)
    assert list(rows) == [*innocent[:70], "Poison", *innocent[70:]]
    assert {title for title, row in rows.items() if row["status"] != "ok"} == {"Poison"}
    poison = rows["Poison"]
    assert (poison["status"], poison["attempts"], poison["due_at"]) == ("dead", 4, None)
    assert poison["error"] == "Poison: the process was killed while reading it, in 4 of 4 attempts"
    read = Counter((tmp_path / "log").read_text().splitlines())
    assert read["read Poison"] == 4
    assert not [line for line in read if line.startswith("again")]
    # with 4 groups of 50, 10 and 1 at once, 200, 40 and 4 pages at most may be caught by a kill
    assert sum(read.values()) <= len(innocent) + groups_at_once * (50 + 10 + 1) + 4
    assert max(row["attempts"] for title, row in rows.items() if title != "Poison") <= 4


@pytest.mark.fault(10, "two pages end the process that fetches them")
def test_two_such_pages_die_and_the_rest_is_read(tmp_path: Path) -> None:
    innocent = [f"Page {number}" for number in range(60)]
    put_manifest(Lake(tmp_path), BATCH, "Poison 1", *innocent, "Poison 2")
    assert fetch_until_done(tmp_path, 2) <= 8
    rows = rows_of(tmp_path)
    dead = {title: row["attempts"] for title, row in rows.items() if row["status"] == "dead"}
    assert dead == {"Poison 1": 4, "Poison 2": 4}
    assert sum(row["status"] == "ok" for row in rows.values()) == len(innocent)


def test_failures_of_earlier_batches_count_and_a_page_on_its_last_attempt_is_read_alone(
    tmp_path: Path,
) -> None:
    lake = Lake(tmp_path)
    put_manifest(lake, BATCH, "Page 1", "Poison", "Page 2", failures=3)
    assert fetch_until_done(tmp_path, 4) == 1
    rows = rows_of(tmp_path)
    assert {title: (row["status"], row["attempts"]) for title, row in rows.items()} == {
        "Page 1": ("ok", 4),
        "Poison": ("dead", 4),
        "Page 2": ("ok", 4),
    }
    assert rows["Poison"]["error"].endswith("in 1 of 4 attempts")
