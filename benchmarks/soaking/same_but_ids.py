"""Whether two Holocrons know the same, but for the ids of entities of moved pages: these keep theirs."""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holocron_assets.exports.export import Wanted, export_lake
from holocron_assets.lake.place.paths import Lake


def same_but_ids(one: Lake, other: Lake, tables: list[str], folder: Path) -> dict[str, int]:
    """Tables that say the same in two lakes if each entity is called by its name in place of its id.

    A page that was moved keeps the id of its first title, which a lake that starts from nothing never knew.
    Two entities of one type and name in one lake keep their ids here.

    Args:
        one: a lake.
        other: another.
        tables: which tables to compare.
        folder: for exports of both, to be made.

    Returns:
        How many entities have another id, for each of the tables that say the same.
    """
    rows = {}
    for name, lake in (("one", one), ("other", other)):
        exported = sorted({"entities", *tables})
        export_lake(lake, folder / name, Wanted("jsonl", exported, everything=True))
        rows[name] = {table: _rows(folder / name, table) for table in exported}
    names = {name: _names(exported_rows["entities"]) for name, exported_rows in rows.items()}
    moved = len(names["one"].keys() - names["other"].keys())
    return {
        table: moved
        for table in tables
        if _called(rows["one"][table], names["one"]) == _called(rows["other"][table], names["other"])
    }


def _rows(folder: Path, table: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / f"{table}.jsonl").read_text(encoding="utf-8").splitlines()]


def _names(entities: list[dict[str, Any]]) -> dict[str, str]:
    """What each entity is called, of those that are alone in it."""
    called = {row["entity_id"]: f"{row['entity_type']} {row['source']} {row['name']}" for row in entities}
    times = Counter(called.values())
    return {identifier: name for identifier, name in called.items() if times[name] == 1}


def _called(rows: list[dict[str, Any]], names: Mapping[str, str]) -> list[str]:
    return sorted(
        json.dumps({key: names.get(str(value), value) for key, value in row.items()}, sort_keys=True)
        for row in rows
    )
