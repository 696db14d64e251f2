"""Rows of what is known, for lakes that tests write."""

from typing import Any

import pyarrow as pa

from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import Table, type_time
from holocron_assets.lake.tables import ENTITIES, ENTITY_FACTS


def row_of(table: Table, **columns: Any) -> dict[str, Any]:
    """A row with something in every column that may not be empty."""
    somethings = {pa.string(): "any", pa.int64(): 1, pa.float64(): 0.5, pa.bool_(): True}
    row = {column.name: somethings.get(column.type, []) for column in table.columns if not column.nullable}
    times = {c.name: "2026-03-01T00:00:00+00:00" for c in table.columns if c.type == type_time}
    return {**row, **table.revive({name: times[name] for name in times if name in row}), **columns}


def entity(entity_id: str, title: str, **columns: Any) -> dict[str, Any]:
    page = {"source": "sample", "title": title, "title_key": title_key("sample", title), "name": title}
    columns = {"entity_type": "LocationPlace", "state": "promoted", **page, **columns}
    return row_of(ENTITIES, entity_id=entity_id, **columns)


def fact(fact_id: str, entity_id: str, value: str, status: str = "stated") -> dict[str, Any]:
    page = {"source": "sample", "title": "Varn", "title_key": title_key("sample", "Varn")}
    columns = {
        "fact_id": fact_id,
        "entity_id": entity_id,
        "value": value,
        "fact_key": "motto",
        "status": status,
    }
    return row_of(ENTITY_FACTS, **columns, **page)
