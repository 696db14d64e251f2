"""Writes statements about entities: tables `entity_facts` and `entity_relations`, one type at a time.

Rows are made by SQL from one reading of the lake, however many types there are: see `reading`.
"""

from collections.abc import Sequence

import pyarrow as pa

from holocron_assets.entities.facts.reading import put_statements, statement_inputs, statements_of_type
from holocron_assets.entities.snapshot import Snapshot
from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.declaration.versions import code_version
from holocron_assets.lake.files.parquet import Footer, read_footer, write_table
from holocron_assets.lake.tables import ENTITIES, ENTITY_FACTS, ENTITY_RELATIONS

FACTS_VERSION = code_version(__name__, "holocron_assets.languages.language")


def stale_facts(snapshot: Snapshot, entity_types: Sequence[str]) -> list[str]:
    """Types whose facts are stale: pages, models and people would give others today."""
    return _stale(snapshot, ENTITY_FACTS, entity_types)


def stale_relations(snapshot: Snapshot, entity_types: Sequence[str]) -> list[str]:
    """Types whose relations are stale: pages, models and people would give others today."""
    return _stale(snapshot, ENTITY_RELATIONS, entity_types)


def store_facts(snapshot: Snapshot, entity_type: str, run_id: str) -> tuple[Footer, pa.Table]:
    """Write table `entity_facts` for one type.

    Args:
        snapshot: of the lake where everything is and facts go.
        entity_type: the type; it names the partition.
        run_id: the run that makes them.

    Returns:
        The new file's footer, and its rows.
    """
    return _store(snapshot, ENTITY_FACTS, entity_type, run_id)


def store_relations(snapshot: Snapshot, entity_type: str, run_id: str) -> tuple[Footer, pa.Table]:
    """Write table `entity_relations` for one type; otherwise like `store_facts`."""
    return _store(snapshot, ENTITY_RELATIONS, entity_type, run_id)


def _stale(snapshot: Snapshot, table: Table, entity_types: Sequence[str]) -> list[str]:
    resolved = [name for name in entity_types if snapshot.lake.has(ENTITIES, name)]
    return [name for name in resolved if _differs(snapshot, table, name)]


def _differs(snapshot: Snapshot, table: Table, entity_type: str) -> bool:
    footer = read_footer(snapshot.lake, table, entity_type)
    inputs = statement_inputs(snapshot, table, entity_type)
    return footer is None or not footer.is_of(FACTS_VERSION, inputs)


def _store(snapshot: Snapshot, table: Table, entity_type: str, run_id: str) -> tuple[Footer, pa.Table]:

    def find_next() -> list[str]:
        return _stale(snapshot, table, snapshot.lake.partitions(ENTITIES))

    rows = statements_of_type(snapshot, table, entity_type, run_id, find_next)
    put_statements(snapshot, table, entity_type, rows.column(table.key[0]).to_pylist())
    inputs = statement_inputs(snapshot, table, entity_type)
    footer = write_table(snapshot.lake, table, entity_type, rows, code_version=FACTS_VERSION, inputs=inputs)
    return footer, rows
