"""How long the content hash and an export of a large knowledge base take, and how much memory.

    python benchmarks/exports.py [--entities 200000] [--facts 10]

The knowledge base is made up: entities, each with so many facts, two names, two relations and three tags.
Each measure is taken by a process of its own.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter, process_time
from typing import get_args

import duckdb
import pyarrow as pa

from holocron_assets.exports.content_hash import hash_lake
from holocron_assets.exports.export import Format, Wanted, export_lake
from holocron_assets.lake.declaration.schema import Table, type_time
from holocron_assets.lake.files.parquet import write_table
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import (
    ENTITIES,
    ENTITY_ALIASES,
    ENTITY_FACTS,
    ENTITY_RELATIONS,
    ENTITY_TAGS,
    TAGS,
)

PARTITION = "LocationPlace"
FORMATS: tuple[Format, ...] = get_args(Format)
_ANYTHING = {
    pa.string(): "'some words of a page that say it'",
    pa.int64(): "i",
    pa.float64(): "0.9",
    pa.bool_(): "true",
    type_time: "timestamptz '2026-03-01 00:00:00+00'",
    pa.list_(pa.string()): "['rule.one', 'rule.two']",
}


def main() -> None:
    arguments = _arguments()
    if arguments.measure:
        print(json.dumps(_measured(arguments.folder, arguments.measure)))
        return
    with tempfile.TemporaryDirectory() as made:
        _write_knowledge(Lake(Path(made) / "data"), arguments.entities, arguments.facts)
        print(f"{arguments.entities:,} entities with {arguments.facts} facts each")
        print("| what | seconds | CPU seconds | peak memory, MB | files, MB |")
        print("| --- | ---: | ---: | ---: | ---: |")
        for what in ("hash", *FORMATS):
            _print_row(Path(made), what)


def _print_row(folder: Path, what: str) -> None:
    command = [sys.executable, __file__, "--folder", str(folder), "--measure", what]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 - ourselves
    cost = json.loads(done.stdout)
    print(
        f"| {what} | {cost['seconds']:.1f} | {cost['cpu']:.1f} | {cost['peak']:,.0f} | {cost['files']:,.0f} |"
    )


def _measured(folder: Path, what: str) -> Mapping[str, float]:
    lake, out = Lake(folder / "data"), folder / "out" / what
    started, cpu = perf_counter(), process_time()
    if what == "hash":
        hash_lake(lake)
    else:
        export_lake(lake, out, Wanted(next(known for known in FORMATS if known == what)))
    return {
        "seconds": perf_counter() - started,
        "cpu": process_time() - cpu,
        "peak": _peak_memory(),
        "files": sum(file.stat().st_size for file in out.glob("*")) / 1e6,
    }


def _peak_memory() -> float:
    """Of this process alone, in MB: the figure of getrusage counts the process that started it too."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1024  # type: ignore[index] # Linux has it


def _write_knowledge(lake: Lake, entities: int, facts: int) -> None:
    entity, of_it = "md5(i::varchar)::uuid::varchar", "md5((i % $entities)::varchar)::uuid::varchar"
    stated = {"entity_id": of_it, "status": "'stated'", "value": "'value ' || i"}
    related = {"from_id": of_it, "to_id": "md5((i * 7 % $entities)::varchar)::uuid::varchar"}
    named = {"name": "'Place ' || i", "title": "'Place ' || i", "state": "'promoted'"}
    _write(lake, ENTITIES, entities, entities, {"entity_id": entity, **named})
    _write(lake, ENTITY_ALIASES, 2 * entities, entities, {"entity_id": of_it, "alias": "'Name ' || i"})
    _write(lake, ENTITY_FACTS, facts * entities, entities, {"fact_id": "md5('f' || i)", **stated})
    relation = {"relation_id": "md5('r' || i)", "status": "'stated'", **related}
    _write(lake, ENTITY_RELATIONS, 2 * entities, entities, relation)
    _write(
        lake,
        ENTITY_TAGS,
        3 * entities,
        entities,
        {"entity_id": of_it, "tag_id": "'topic:' || i * 7919 // 13 % 5000"},
    )
    tag = {"tag_id": "'topic:' || i", "name": "'Topic ' || i", "visibility": "'public'"}
    _write(lake, TAGS, 5000, entities, tag)


def _write(lake: Lake, table: Table, rows: int, entities: int, expressions: Mapping[str, str]) -> None:
    """Write so many rows, each made from its number `i`."""
    values = {c.name: "null" if c.nullable else _ANYTHING[c.type] for c in table.columns} | dict(expressions)
    columns = ", ".join(f'{sql} as "{name}"' for name, sql in values.items())
    with duckdb.connect() as connection:
        sql = f"select {columns} from range({rows}) as numbers (i)".replace("$entities", str(entities))  # noqa: S608 - our own
        arrow = connection.sql(sql).to_arrow_table()
    write_table(lake, table, PARTITION, arrow.cast(_with_own_types(arrow, table)))


def _with_own_types(arrow: pa.Table, table: Table) -> pa.Schema:
    return pa.schema([pa.field(name, table.arrow_schema.field(name).type) for name in arrow.column_names])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--entities", type=int, default=200_000)
    parser.add_argument("--facts", type=int, default=10, help="of each entity")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
