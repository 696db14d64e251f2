"""`holocron hash`: what two lakes must share to have the same hash, and what they need not."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import time_machine
from asked_lake import ask_lake
from sample_holocron import SAMPLE_EXPORT, Holocron, derive, fetch, list_seeds_and_cut

from holocron_assets.decisions.files import export_decisions, import_decisions
from holocron_assets.decisions.log import new_decision, record, undo
from holocron_assets.exports.content_hash import KnowledgeHash, differing, hash_knowledge, hash_lake
from holocron_assets.exports.contents import contents, reading
from holocron_assets.lake.files.parquet import read_partition, write_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import ENTITIES, TAGS
from holocron_assets.lake.views.database import query

pytestmark = pytest.mark.system

A_YEAR_LATER = datetime(2028, 2, 29, 12, tzinfo=UTC)
LEAD_BEFORE = "is a reference book with maps of [[the Drift]]"
LEAD_AFTER = "is a reference book of 90 pages with maps of [[the Drift]]"


def sample_of(folder: Path, export: Path, *, batch_size: int) -> Holocron:
    holocron = Holocron(folder)
    holocron.add_source("sample", export, more=f"batch_size: {batch_size}\n")
    return holocron


def built_again(folder: Path, export: Path = SAMPLE_EXPORT, decisions: Path | None = None) -> Holocron:
    """The sample in small batches, the last first, resolved after each, by a clock of another year."""
    holocron = sample_of(folder, export, batch_size=97)
    with time_machine.travel(A_YEAR_LATER):
        if decisions:
            import_decisions(holocron.lake, decisions, types=())
        for batch in reversed(list_seeds_and_cut(holocron)):
            fetch(holocron, [batch])
            derive(holocron, [batch])
    return holocron


def hash_of(holocron: Holocron) -> KnowledgeHash:
    return hash_lake(holocron.lake)


def tag(name: str, **changes: Any) -> dict[str, Any]:
    row = {
        "source": "sample",
        "tag_id": f"topic:{name}",
        "name": name,
        "type": "topic",
        "visibility": "public",
    }
    return {**row, **changes}


def lake_with_tags(folder: Path, *partitions: Sequence[dict[str, Any]]) -> Lake:
    lake = Lake(folder)
    for number, rows in enumerate(partitions):
        write_partition(lake, TAGS, f"source-{number}", rows)
    return lake


@pytest.mark.full
def test_the_sample_built_in_another_order_by_another_clock_has_the_same_hash(
    finished_sample: Holocron, tmp_path: Path
) -> None:
    one, other = hash_of(finished_sample), hash_of(built_again(tmp_path))
    assert differing(one, other) == []
    assert one == other
    assert one.tables["entities"].rows > 100


@pytest.mark.full
def test_building_it_once_more_changes_nothing(finished_sample: Holocron, tmp_path: Path) -> None:
    again = finished_sample.copy_to(tmp_path)
    with time_machine.travel(A_YEAR_LATER):
        derive(again, again.lake.partitions(next(t for t in again.lake.tables if t.name == "pages")))
    assert hash_of(again) == hash_of(finished_sample)


@pytest.mark.full
def test_a_changed_page_changes_the_tables_that_name_it_and_no_others(
    finished_sample: Holocron, tmp_path: Path
) -> None:
    text = SAMPLE_EXPORT.read_text(encoding="utf-8")
    assert text.count(LEAD_BEFORE) == 1
    export = tmp_path / "wiki.xml"
    export.write_text(text.replace(LEAD_BEFORE, LEAD_AFTER), encoding="utf-8")
    changed = differing(hash_of(finished_sample), hash_of(built_again(tmp_path, export)))
    assert changed == ["page_signals", "pages"]


def test_decisions_that_are_brought_to_an_empty_lake_give_the_same_hash(
    finished_sample: Holocron, tmp_path: Path
) -> None:
    decided = finished_sample.copy_to(tmp_path / "decided")
    standing = ask_lake(decided.lake, "select entity_id, title from entities order by title limit 3")
    first, second, third = standing
    rows = [
        new_decision("suppress", author="ann", reason="no", entity_id=first["entity_id"]),
        new_decision("promote", author="ann", reason="yes", entity_id=second["entity_id"]),
        new_decision("suppress", author="ann", reason="a slip", entity_id=third["entity_id"]),
    ]
    record(decided.lake, rows)
    undo(decided.lake, rows[2]["decision_id"], author="ann", reason="it was a slip")
    derive(decided, [])
    wanted = hash_of(decided)
    assert {"entities", "decisions"} <= set(differing(wanted, hash_of(finished_sample)))
    file = tmp_path / "decisions.jsonl"
    export_decisions(decided.lake, file)
    replayed = built_again(tmp_path / "replayed", decisions=file)
    assert differing(wanted, hash_of(replayed)) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows[:-1],
        lambda rows: [*rows, tag("Trade")],
        lambda rows: [tag("Wars", description="Open fighting"), *rows[1:]],
        lambda rows: [tag("Wars", visibility="hidden"), *rows[1:]],
    ],
    ids=["a row less", "a row more", "a value instead of none", "another value"],
)
def test_any_other_row_gives_another_hash(
    tmp_path: Path, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]
) -> None:
    rows = [tag("Wars"), tag("Ships")]
    one = hash_lake(lake_with_tags(tmp_path / "one", rows))
    other = hash_lake(lake_with_tags(tmp_path / "other", change(rows)))
    assert differing(one, other) == ["tags"]
    assert one.sha256 != other.sha256


def test_a_row_that_is_there_twice_is_not_there_once_or_not_at_all(tmp_path: Path) -> None:
    rows = [tag("Wars"), tag("Ships")]
    lakes = {
        "none": lake_with_tags(tmp_path / "0"),
        "once": lake_with_tags(tmp_path / "1", rows),
        "twice": lake_with_tags(tmp_path / "2", rows, rows),
        "thrice": lake_with_tags(tmp_path / "3", rows, rows, rows),
    }
    assert len({hash_lake(lake).sha256 for lake in lakes.values()}) == len(lakes)


def test_rows_may_lie_in_any_order_in_any_partitions(tmp_path: Path) -> None:
    rows = [tag(f"Topic {number}") for number in range(20)]
    together = lake_with_tags(tmp_path / "together", rows)
    apart = lake_with_tags(tmp_path / "apart", rows[:7:-1], rows[:8])
    assert hash_lake(together) == hash_lake(apart)


def test_what_neighbours_hold_is_not_mixed_up(tmp_path: Path) -> None:
    one = lake_with_tags(tmp_path / "one", [tag("a", description="b")])
    other = lake_with_tags(tmp_path / "other", [tag("a", description='b", "name": "a')])
    assert hash_lake(one) != hash_lake(other)


def test_a_suppressed_entity_is_not_knowledge(finished_sample: Holocron, tmp_path: Path) -> None:
    changed = finished_sample.copy_to(tmp_path)
    rows = read_partition(changed.lake, ENTITIES, "Species")
    more = {**rows[0], "entity_id": "another", "state": "suppressed", "state_reason": "its page is gone"}
    write_partition(changed.lake, ENTITIES, "Species", [*rows, more])
    assert hash_of(changed) == hash_of(finished_sample)


def test_every_left_out_column_and_every_key_is_a_column(finished_sample: Holocron) -> None:
    with reading(finished_sample.lake) as connection:
        for name, content in contents().items():
            described = query(connection, f'describe "{content.of or name}"')
            columns = {row["column_name"] for row in described}
            assert {*content.left_out, *content.key} <= columns, name
        assert set(hash_knowledge(connection).tables) < set(contents())
