"""Folders that vanish below a process: they are missed, and known again when they are back."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from holocron_assets.lake.files.parquet import write_partition
from holocron_assets.lake.journals.journal import Journal
from holocron_assets.lake.place.marking import mark
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.place.presence import FolderGoneError
from holocron_assets.lake.tables import PAGES

ASKED: dict[str, Callable[[Lake], object]] = {
    "listing": lambda lake: lake.partitions(PAGES),
    "checking": lambda lake: lake.has(PAGES, "tiny-000001"),
    "finding files": lambda lake: lake.files(),
    "writing": lambda lake: write_partition(lake, PAGES, "tiny-000002", []),
}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = Lake(tmp_path / "data")
    mark(lake.layers)
    write_partition(lake, PAGES, "tiny-000001", [])
    return lake


@pytest.mark.fault(7, "data/ or lake/ gone below a process, and put back")
@pytest.mark.parametrize("what", ASKED)
@pytest.mark.parametrize("gone", ["data", "data/lake"])
def test_a_lake_that_is_gone_is_neither_empty_nor_begun_anew(
    lake: Lake, tmp_path: Path, gone: str, what: str
) -> None:
    (tmp_path / gone).rename(tmp_path / "aside")
    with pytest.raises(FolderGoneError, match=f"{lake.root}/lake is gone.*mount its disk again"):
        ASKED[what](lake)
    assert not (tmp_path / gone).exists()
    (tmp_path / "aside").rename(tmp_path / gone)
    assert lake.partitions(PAGES) == ["tiny-000001"]


@pytest.mark.fault(7, "lake/ put back from a copy, or replaced by another")
def test_a_lake_is_known_by_its_marker_not_by_its_disk(lake: Lake, tmp_path: Path) -> None:
    shutil.copytree(lake.root, tmp_path / "copy")
    shutil.rmtree(lake.root)
    shutil.copytree(tmp_path / "copy", lake.root)
    assert lake.partitions(PAGES) == ["tiny-000001"]
    shutil.rmtree(lake.root)
    another = (
        "from pathlib import Path; from holocron_assets.lake.place.marking import mark; mark(Path({!r}))"
    )
    subprocess.run([sys.executable, "-c", another.format(str(lake.root / "lake"))], check=True)  # noqa: S603 - our own
    with pytest.raises(FolderGoneError, match="was replaced by another"):
        lake.partitions(PAGES)


@pytest.mark.fault(7, "locks/ removed below a process that may hold some")
def test_locks_that_are_gone_are_not_made_anew_by_a_process_that_used_them(lake: Lake) -> None:
    shutil.rmtree(lake.locks)
    with pytest.raises(FolderGoneError, match="locks is gone"):
        _ = lake.locks
    assert not (lake.root / "locks").exists()


@pytest.mark.fault(7, "a journal removed while it is written to")
def test_a_record_is_not_acknowledged_that_goes_to_a_removed_file(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal.jsonl") as journal:
        journal.append({"number": 1})
        journal.path.unlink()
        with pytest.raises(FolderGoneError, match=r"journal\.jsonl was removed"):
            journal.append({"number": 2})
        journal.append({"number": 3})
        assert list(journal.records()) == [{"number": 3}]


@pytest.mark.fault(7, "lake/ gone below a journal that is written to, or is about to be")
@pytest.mark.parametrize("records", [0, 1])
def test_a_journal_begins_no_other_lake_when_its_own_is_gone(lake: Lake, records: int) -> None:
    path = lake.journal(PAGES, "tiny-000002")
    with Journal(path) as journal:
        for _ in range(records):
            journal.append({"number": 1})
        (lake.root / "lake").rename(lake.root / "aside")
        for _ in range(2):
            with pytest.raises(FolderGoneError):
                journal.append({"number": 2})
        assert not (lake.root / "lake").exists()
        (lake.root / "aside").rename(lake.root / "lake")
        journal.append({"number": 3})
    assert [record["number"] for record in Journal(path).records()] == [1] * records + [3]
