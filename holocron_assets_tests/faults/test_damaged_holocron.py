"""A whole Holocron one file of each table of which is damaged: it makes everything again by itself."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from whole_holocron import WholeHolocron, whole_holocron

from holocron_assets.decisions.log import new_decision, record
from holocron_assets.derive.opening import open_lake
from holocron_assets.lake.files.quarantine import all_set_aside
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import DECISIONS, ENTITIES, LLM_RUNS, PAGES

pytestmark = pytest.mark.full


def spoiled(content: bytes, number: int) -> bytes:
    """Damage of one kind after the other."""
    middle = len(content) // 3
    return [
        b"",
        content[:-1],
        content[: len(content) // 2],
        content[:middle] + bytes([content[middle] ^ 4]) + content[middle + 1 :],
        content[:-40] + bytes([content[-40] ^ 4]) + content[-39:],
    ][number % 5]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WholeHolocron]:
    folder = tmp_path_factory.mktemp("damaged")
    with whole_holocron(folder, pages=12, interrogations=("page_classification",)) as made:
        made.finish()
        yield made


def one_file_of_each_table(lake: Lake) -> list[Path]:
    return [
        lake.file(table, lake.partitions(table)[0])
        for table in lake.tables
        if table != DECISIONS and lake.partitions(table)
    ]


@pytest.mark.fault(3, "one Parquet file of every table damaged at once")
def test_damage_in_every_table_is_named_and_made_good_without_a_hand(whole: WholeHolocron) -> None:
    clean, asked = whole.hashes(), len(whole.ollama.chats)
    lake = open_lake(whole.lake.root)
    files = one_file_of_each_table(lake)
    assert len(files) > 20
    for number, file in enumerate(files):
        file.write_bytes(spoiled(file.read_bytes(), number))
    verified = whole.command("verify")
    assert verified.returncode == 1, "a script must learn of it"
    assert f"{len(files)} files found damaged" in verified.stderr
    assert {aside.file for aside in all_set_aside(lake)} == {
        str(file.relative_to(lake.root)) for file in files
    }
    whole.finish()
    assert whole.hashes()["tables"] == clean["tables"]
    assert len(whole.ollama.chats) == asked
    status = json.loads(whole.command("status", "--json").stdout)
    assert len(status["set_aside"]) == len(files)


@pytest.mark.fault(3, "damaged files that a run meets by itself")
@pytest.mark.parametrize("layers", ["crawl", "signals classify derive", "resolve tags"])
def test_a_run_that_meets_damage_sets_it_aside_and_goes_on(whole: WholeHolocron, layers: str) -> None:
    clean, asked = whole.hashes(), len(whole.ollama.chats)
    lake = open_lake(whole.lake.root)
    before = {aside.kept for aside in all_set_aside(lake)}
    files = [file for file in one_file_of_each_table(lake) if file.parents[2].name in layers.split()]
    for number, file in enumerate(files):
        file.write_bytes(spoiled(file.read_bytes(), 0 if number % 2 else 1))
    for _ in range(3):  # a timer's: what was met in one run may be made good in the next
        said = whole.command("run")
        if said.returncode == 0:
            break
    assert whole.hashes()["tables"] == clean["tables"], said.stdout
    assert len(whole.ollama.chats) == asked
    assert [aside for aside in all_set_aside(lake) if aside.kept not in before]


@pytest.mark.fault(3, "the published database damaged")
def test_the_published_database_is_made_again(whole: WholeHolocron) -> None:
    whole.lake.database.write_bytes(b"no database" * 1000)
    whole.finish()
    assert "entities" in whole.command("sql", "show tables").stdout
    assert whole.lake.database.read_bytes()[8:12] == b"DUCK"


@pytest.mark.fault(3, "a damaged file of people's decisions, in a whole Holocron")
def test_a_damaged_decision_stops_what_it_may_change_and_is_named(whole: WholeHolocron) -> None:
    lake = open_lake(whole.lake.root)
    entity = whole.rows(ENTITIES)[0]["entity_id"]
    row = new_decision("promote", author="Ann", reason="it is one", entity_id=entity)
    record(lake, [row])
    whole.finish()
    decided = whole.hashes()
    file = lake.file(DECISIONS, row["decision_id"])
    content = file.read_bytes()
    file.write_bytes(content[:-1])
    stopped = whole.command("run")
    assert stopped.returncode == 1
    assert str(file) in stopped.stdout + stopped.stderr
    assert "restore this file from a backup" in " ".join((stopped.stdout + stopped.stderr).split())
    file.write_bytes(content)
    whole.finish()
    assert whole.hashes() == decided


@pytest.mark.fault(3, "answers of models damaged, with their journal there")
def test_answers_come_back_from_their_journal_without_a_call(whole: WholeHolocron) -> None:
    asked, lake = len(whole.ollama.chats), open_lake(whole.lake.root)
    clean = whole.hashes()
    for file in (lake.file(LLM_RUNS, name) for name in lake.partitions(LLM_RUNS)):
        file.write_bytes(b"")
    for table in lake.derived_tables:
        for file in (lake.file(table, name) for name in lake.partitions(table)):
            file.write_bytes(b"")
    assert whole.command("verify").returncode == 1
    whole.finish()
    assert whole.command("verify").returncode == 0
    assert len(whole.ollama.chats) == asked
    assert whole.hashes() == clean
    assert all(lake.has(PAGES, name) for name in lake.partitions(PAGES))
