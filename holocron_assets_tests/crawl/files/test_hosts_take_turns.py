"""Hosts of a batch take turns: a slow one does not keep the files of others waiting."""

from pathlib import Path
from time import sleep

import pytest
from file_server import Asked, Behaviour, FileServer, Wire, file
from reading_rig import BATCH, a_list, reading, wanted

from holocron_assets.crawl.fetch import fetch_batch
from holocron_assets.crawl.frontier.file_batches import FILES_OF_A_BATCH
from holocron_assets.crawl.waiting import Waiting
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.parquet import write_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import FILE_BATCHES

PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)


def slowly(behaviour: Behaviour) -> Behaviour:
    def behave(wire: Wire, asked: Asked) -> None:
        sleep(0.5)
        behaviour(wire, asked)

    return behave


def of(host: str, number: int) -> Row:
    return {"host": host, "number": number}


def taken(waiting: Waiting, times: int) -> list[str]:
    groups = [waiting.take() for _ in range(times)]
    return [f"{item['host']}{item['number']}" for group in groups if group for item in group]


@pytest.mark.system
def test_files_of_a_fast_host_do_not_wait_for_those_of_a_slow_one(tmp_path: Path) -> None:
    with FileServer() as slow, FileServer() as fast:
        names = [(slow, f"/{number}.png") for number in range(40)]
        names += [(fast, f"/{number}.png") for number in range(40)]
        rows = []
        for position, (server, path) in enumerate(names):
            url = server.serve(path, slowly(file(PNG)) if server is slow else file(PNG))
            rows.append({**wanted(path, url), "position": position})
        lake, source = Lake(tmp_path / "data"), a_list()
        write_partition(lake, FILE_BATCHES, BATCH, rows)
        with reading(tmp_path, source) as reader:
            made = fetch_batch(lake, BATCH, reader, "a-run", FILES_OF_A_BATCH)
    assert {row["status"] for row in made} == {"ok"}
    of_slow, of_fast = (sorted(row["fetched_at"] for row in part) for part in (made[:40], made[40:]))
    assert of_fast[-1] < of_slow[20]


def test_the_next_item_is_of_the_host_of_which_the_fewest_are_being_read() -> None:
    waiting = Waiting(lambda item: str(item["host"]))
    for number in range(4):
        waiting.add(of("a", number), 1)
    for number in range(2):
        waiting.add(of("b", number), 1)
    assert taken(waiting, 3) == ["a0", "b0", "a1"]
    waiting.note_read([of("a", 0)])
    waiting.note_read([of("a", 1)])
    assert taken(waiting, 4) == ["a2", "b1", "a3"]


def test_hosts_of_which_as_many_are_being_read_come_in_turn() -> None:
    waiting = Waiting(lambda item: str(item["host"]))
    for number in range(2):
        for host in "abc":
            waiting.add(of(host, number), 1)
    found = []
    while (group := waiting.take()) is not None:
        found += [item["host"] for item in group]
        waiting.note_read(group)
    assert found == ["a", "b", "c", "a", "b", "c"]


def test_larger_groups_come_first_and_hold_items_of_one_host() -> None:
    waiting = Waiting(lambda item: str(item["host"]))
    waiting.add(of("a", 0), 1)
    for number in range(3):
        waiting.add(of("b", number), 2)
    assert waiting.take() == [of("b", 0), of("b", 1)]
    assert waiting.take() == [of("b", 2)]
    assert waiting.take() == [of("a", 0)]
    assert waiting.take() is None
