"""Packing while others read, write and kill: nobody sees a batch twice, nor half, nor not at all."""

import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import duckdb
import pytest

from holocron_assets.lake.files.parquet import read_partition, write_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGE_LINKS
from holocron_assets.lake.views.database import connect, publish, query

HERE = Path(__file__).parent
BATCHES = 60
KILLS = 12
_FAULTS = """
    select batch, count(*) as rows, list(distinct position) as versions
    from page_links
    group by batch
    having count(distinct position) > 1 or count(*) <> any_value(position) % 50 + 1
"""


@contextmanager
def running(script: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """A process of its own, at work; killed in the end."""
    command = [sys.executable, str(HERE / script), *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own program
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


def lake_of(folder: Path) -> Lake:
    lake = Lake(folder)
    for number in range(1, BATCHES + 1):
        name = f"wiki-{number:06}"
        row = {
            "source": "wiki",
            "batch": name,
            "from_key": 0,
            "from_title": "Varn",
            "kind": "link",
            "target": "Gort",
            "target_key": number,
            "target_namespace": 0,
            "position": 0,
        }
        write_partition(lake, PAGE_LINKS, name, [row])
    return lake


def faults_seen(lake: Lake) -> list[dict[str, Any]]:
    with connect(lake, tables=[PAGE_LINKS]) as connection:
        return _faults_seen(connection)


def faults_seen_by_a_client(lake: Lake) -> list[dict[str, Any]]:
    with duckdb.connect(lake.database, read_only=True) as client:
        return _faults_seen(client)


def _faults_seen(connection: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    """What is wrong with what is seen; nothing, if every batch is there once and whole."""
    batches = query(connection, "select count(distinct batch) as batches from page_links")
    missing = [] if batches == [{"batches": BATCHES}] else batches
    return [*missing, *query(connection, _FAULTS)]


@pytest.mark.system
def test_kills_at_any_moment_lose_nothing_and_leave_nothing_behind(tmp_path: Path) -> None:
    lake = lake_of(tmp_path)
    publish(lake)  # or a process that is always killed before it publishes leaves nothing to open
    chosen = random.Random(7)  # noqa: S311 - no secret
    expected = {name: read_partition(lake, PAGE_LINKS, name) for name in lake.partitions(PAGE_LINKS)}
    for _ in range(KILLS):
        with running("pack_again_and_again.py", tmp_path, 0.2):
            sleep(chosen.uniform(0, 0.7))
        assert {name: read_partition(lake, PAGE_LINKS, name) for name in expected} == expected
        assert faults_seen(lake) == []
        name = chosen.choice(sorted(expected))
        write_partition(lake, PAGE_LINKS, name, expected[name])
    with running("pack_again_and_again.py", tmp_path, 0.2):
        wait_until(lambda: len(lake.listing(PAGE_LINKS).own) < 5 and len(packs(lake)) < 5)
    assert {name: read_partition(lake, PAGE_LINKS, name) for name in expected} == expected
    assert faults_seen(lake) == []
    assert faults_seen_by_a_client(lake) == []


def packs(lake: Lake) -> list[str]:
    return sorted(path.name for path in (lake.folder(PAGE_LINKS) / ".packs").glob("[0-9]*"))


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = monotonic() + 60
    while not is_so():
        assert monotonic() < deadline
        sleep(0.1)


@pytest.mark.full
@pytest.mark.parametrize("faults_of", [faults_seen, faults_seen_by_a_client], ids=["connection", "client"])
def test_readers_next_to_a_packer_and_a_writer_see_every_batch_once_and_complete(
    tmp_path: Path, faults_of: Callable[[Lake], list[dict[str, Any]]]
) -> None:
    lake = lake_of(tmp_path)
    publish(lake)
    reads = 0
    with (
        running("write_again_and_again.py", tmp_path, BATCHES),
        running("pack_again_and_again.py", tmp_path, 10),
    ):
        deadline = monotonic() + 60
        while monotonic() < deadline:
            assert faults_of(lake) == []
            reads += 1
    assert reads > 20
    assert packs(lake)[-1] > "00000005", "nothing was packed meanwhile"
    assert packs(lake)[0] > "00000002", "nothing was removed meanwhile"
