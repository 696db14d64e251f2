"""A lake that holds some entities and statements about them, written as they stand."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from holocron_assets.entities.identity.identity import entity_id
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import Row, Table
from holocron_assets.lake.files.parquet import write_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import ENTITIES, ENTITY_FACTS, ENTITY_RELATIONS

FACT, RELATION = "f" * 32, "0123456789abcdef" * 2


def known_as(title: str, source: str = "sample") -> str:
    return entity_id(source, title)


def entity(title: str, **changed: Any) -> Row:
    row = {column.name: None for column in ENTITIES.columns}
    source = changed.get("source", "sample")
    columns: dict[str, Any] = {
        "entity_id": known_as(title, source),
        "entity_type": "Species",
        "source": "sample",
        "name": title.removesuffix("/Legends"),
        "continuity": "legends" if title.endswith("/Legends") else "canon",
        "title": title,
        "title_key": title_key(source, title),
        "revision_id": 1,
        "batch": "sample-000001",
        "confidence": 0.95,
        "method": "rules",
        "rule_ids": [],
        "origin": "page",
        "state": "merged" if changed.get("merged_into") else "promoted",
        "state_by": "policy:1",
        "state_reason": "a test says so",
        "state_at": datetime(2026, 3, 1, tzinfo=UTC),
        "valid_from": datetime(2026, 3, 1, tzinfo=UTC),
        "run_id": "run",
    }
    return {**row, **columns, **changed}


def statement(table: Table, **said: Any) -> Row:
    row: dict[str, Any] = {column.name: None for column in table.columns}
    shared = {
        "entity_type": "Species",
        "source": "sample",
        "title": "Varn",
        "title_key": title_key("sample", "Varn"),
        "batch": "sample-000001",
        "revision_id": 1,
        "evidence": "x",
        "supported": True,
        "method": "infobox",
        "confidence": 0.9,
        "status": "stated",
        "run_id": "run",
    }
    return {**row, **shared, **said}


def lake_of_entities(folder: Path) -> Lake:
    """Species that are alike, one of them merged, two of one title; a droid; a fact and a relation."""
    lake = Lake(folder)
    rows = [
        entity("Varn"),
        entity("Varn/Legends"),
        entity("Gort"),
        entity("Gorts", merged_into=known_as("Gort"), origin="mention"),
        entity("Élan"),
        entity("Osk"),
        entity("Osk", source="other"),
    ]
    write_partition(lake, ENTITIES, "Species", rows)
    write_partition(lake, ENTITIES, "Droid", [entity("Unit 4", entity_type="Droid")])
    fact = {"fact_id": FACT, "entity_id": known_as("Varn"), "fact_key": "homeworld", "value": "Tal"}
    write_partition(lake, ENTITY_FACTS, "Species", [statement(ENTITY_FACTS, **fact, is_disputed=False)])
    relation = {
        "relation_id": RELATION,
        "from_id": known_as("Varn"),
        "relation": "lives_on",
        "to_name": "Tal",
    }
    write_partition(lake, ENTITY_RELATIONS, "Species", [statement(ENTITY_RELATIONS, **relation)])
    return lake
