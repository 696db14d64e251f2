"""The tool that other tests of this folder use: processes that die at a commit point, once."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from commit_points import CommitPoints, point_class

WRITES_THREE_FILES = """
import os, sqlite3, sys
from pathlib import Path
for name in ("one", "two", "three"):
    aside = Path(sys.argv[1], name + ".tmp")
    with aside.open("w") as file:
        file.write(name)
        os.fsync(file.fileno())
    aside.replace(Path(sys.argv[1], name))
database = sqlite3.connect(sys.argv[1] + "/some.db")
database.execute("create table runs (status text)")
database.execute("insert into runs values ('STARTED')")
database.commit()
"""


def write_three_files(folder: Path, environment: dict[str, str]) -> int:
    command = [sys.executable, "-c", WRITES_THREE_FILES, str(folder)]
    return subprocess.run(command, env={**os.environ, **environment}, check=False).returncode  # noqa: S603 - our own


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.is_file() and path.suffix != ".db"}


def test_commit_points_are_listed_by_what_they_make_durable(tmp_path: Path) -> None:
    points = CommitPoints(tmp_path / "points")
    assert write_three_files(tmp_path, points.listed()) == 0
    assert points.reached() == [
        *(
            f"{step} {tmp_path}/{name}"
            for file in ("one", "two", "three")
            for step, name in (("sync", f"{file}.tmp"), ("rename", file))
        ),
        f"commit {tmp_path}/some.db insert into runs STARTED",
    ]
    assert points.died() is None


@pytest.mark.parametrize(
    ("when", "left"), [("before", {"one", "two.tmp"}), ("after", {"one", "two"})], ids=["before", "after"]
)
def test_a_process_dies_at_the_point_chosen_and_only_once(tmp_path: Path, when: str, left: set[str]) -> None:
    points = CommitPoints(tmp_path / "points", match="^rename ")
    environment = points.deadly(2, when)
    assert write_three_files(tmp_path, environment) == -9
    assert files(tmp_path) == left
    assert points.died() == f"{when} rename {tmp_path}/two"
    assert write_three_files(tmp_path, environment) == 0
    assert files(tmp_path) == {"one", "two", "three"}


def test_points_of_two_processes_are_counted_together(tmp_path: Path) -> None:
    points = CommitPoints(tmp_path / "points", match="^rename ")
    environment = points.deadly(4, "before")
    assert write_three_files(tmp_path, environment) == 0
    assert write_three_files(tmp_path, environment) == -9


def test_points_that_differ_by_chance_only_are_of_one_class() -> None:
    one, two = (f"sync /data/.data.parquet.{chance * 32}.tmp" for chance in "ab")
    assert point_class(one) == point_class(two) != point_class("sync /data/other.parquet")
