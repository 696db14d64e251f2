"""How a soak compares two Holocrons: entities of moved pages keep their ids, and nothing else may differ."""

from pathlib import Path

from knowledge_rows import entity, fact
from soaking.same_but_ids import same_but_ids

from holocron_assets.lake.files.parquet import write_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import ENTITIES, ENTITY_FACTS

VARN, GORT, MOVED = (f"00000000-0000-5000-8000-00000000000{number}" for number in range(1, 4))


def lake_with(folder: Path, gort: str, motto: str) -> Lake:
    lake = Lake(folder)
    write_partition(lake, ENTITIES, "LocationPlace", [entity(VARN, "Varn"), entity(gort, "Gort")])
    facts = [fact("f1", VARN, motto), fact("f2", gort, "On")]
    write_partition(lake, ENTITY_FACTS, "LocationPlace", facts)
    return lake


def test_another_id_of_a_moved_page_is_reported_and_another_fact_is_not_excused(tmp_path: Path) -> None:
    lake = lake_with(tmp_path / "lake", GORT, "Ever")
    same = lake_with(tmp_path / "same", MOVED, "Ever")
    other = lake_with(tmp_path / "other", MOVED, "Never")
    tables = ["entities", "entity_facts"]
    assert same_but_ids(lake, same, tables, tmp_path / "1") == {"entities": 1, "entity_facts": 1}
    assert same_but_ids(lake, other, tables, tmp_path / "2") == {"entities": 1}
