"""Digests of the rows that an interrogation's queries give, one a partition, computed for all at once.

Each is kept in the footer of the partition's table. When the lake grows, only those partitions become stale
for which the queries give other rows. The digests that were computed last are kept in the state folder too:
no process computes those of the same tables again.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import duckdb

from holocron_assets.derive.evidence.item_queries import ITEMS, NotAtOnceError, item_query
from holocron_assets.derive.evidence.queries import interrupted_after, relations_to_open
from holocron_assets.derive.interrogations.derived_tables import Over
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.items.values import row_names
from holocron_assets.derive.items.wanted_sql import WANTED_TABLES, wanted_relations, wanted_sql
from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.declaration.versions import code_version
from holocron_assets.lake.files.damage import DamagedPartitionError
from holocron_assets.lake.files.kept import keep
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.views.database import connect, query
from holocron_assets.lake.views.spilling import lock_database
from holocron_assets.settings import state_folder
from holocron_assets.telemetry.logs import logger

Digests = Mapping[str, str]
"""Digests by partition; a partition has none if the queries give no rows for its items."""

_LOG = logger(__name__)
_UNKNOWN = "cannot find out which partitions a query makes stale"
_KNOWN: dict[tuple[Path, str], "_Known"] = {}

_TRANSIENT = (
    *(duckdb.IOException, duckdb.OutOfMemoryException, duckdb.InterruptException),
    DamagedPartitionError,
)
"""Errors that are not of a query: of files that are replaced or repaired, of memory, and of time."""

_MOST_FILES = 64
"""Files of digests that are kept, the newest: one for each interrogation of a lake."""

LONGEST_SECONDS = 30.0
"""What a query may take about all items together. A tick of a sensor has 60 s for all interrogations."""

REST = 10.0
"""The shortest pause between computing digests, as a multiple of the time that it takes.

However often the tables change, a process spends at most a tenth of its time on digests. With an older
digest, a partition is found stale later, and perhaps once too often, but it is always found.
"""


class _Known(NamedTuple):
    """The digests of an interrogation as they were computed.

    Attributes:
        asked: what the interrogation asks for.
        mark: the state of the tables that it reads; empty if the digests could not be computed for now.
        until: on the clock `monotonic`, when they may be computed again.
        digests: the digests.
    """

    asked: str
    mark: str
    until: float
    digests: Digests


_ITEMS = """
    create or replace temp table {items} as
    select
        row_number() over () - 1 as holocron_item,
        wanted.partition as holocron_partition,
        wanted.item as holocron_key,
        {values}
    from ({wanted}) as wanted
    join {joined}
"""
_JOINED: Mapping[Over, str] = {
    "pages": """(
        from lake.pages
        where status = 'ok'
        qualify row_number() over (partition by batch, title_key order by position) = 1
    ) as known on known.batch = wanted.partition and known.title_key = wanted.item::bigint""",
    "entities": """(
        from lake.entities
        where valid_to is null
    ) as known on known.entity_type = wanted.partition and known.entity_id = wanted.item""",
}
"""The relations that have the values of the wanted items."""

_CHOSEN = """
    select holocron_partition, md5(string_agg(holocron_key, ' ' order by holocron_key)) as digest
    from {items}
    group by holocron_partition
"""
_DIGESTS = """
    select holocron_partition, md5(string_agg(holocron_key || row_json, '\n' order by holocron_key)) as digest
    from (
        select holocron_item, string_agg(row_json, '\n' order by {order}) as row_json
        from ({answers})
        group by holocron_item
    ) join {items} using (holocron_item)
    group by holocron_partition
"""


def query_digests(lake: Lake, interrogation: Interrogation) -> Digests:
    """Digests of the rows that the queries give now about the pages or entities that are wanted.

    A query that cannot be asked about many items at once is not counted, and neither are those about pairs.

    Args:
        lake: where it would be asked.
        interrogation: one that was linked.
    """
    if interrogation.over not in _JOINED:
        return {}
    asked = interrogation.prompt_version + interrogation.wants.model_dump_json()
    place, started = (lake.root, interrogation.name), monotonic()
    known = _KNOWN.get(place)
    if known and known.asked == asked and started < known.until:
        return known.digests
    mark = lake.mark(dict.fromkeys((*WANTED_TABLES, *interrogation.tables_read)))
    if known and (known.asked, known.mark) == (asked, mark):
        return known.digests
    digests, is_of_now = _digests(lake, interrogation, asked, mark)
    until = monotonic() + REST * (monotonic() - started)
    _KNOWN[place] = _Known(asked, mark if is_of_now else "", until, digests)
    return digests


def _digests(lake: Lake, interrogation: Interrogation, asked: str, mark: str) -> tuple[Digests, bool]:
    """The digests of a state of the tables, as a process kept them, or else computed and kept now.

    If they cannot be computed for now, those of an earlier state, in every process: these find a partition
    stale later; none would find all of them stale.

    Returns:
        The digests, and whether they are those of this state.
    """
    name = content_hash(f"{lake.root.resolve()}\n{interrogation.name}")
    file = state_folder() / "digests" / f"{name}.json"
    state, kept = content_hash(f"{asked}\n{mark}\n{_computed_by()}"), dict[str, Any]()
    with suppress(OSError, ValueError):
        kept = json.loads(file.read_text(encoding="utf-8"))
    if kept.get("state") == state:
        return dict(kept["digests"]), True
    try:
        digests, is_whole = _computed(lake, interrogation)
    except (duckdb.Error, DamagedPartitionError) as error:
        # An error of the query shows, with its page, when a partition is opened.
        is_slow = isinstance(error, duckdb.InterruptException)
        problem = f"one takes longer than {LONGEST_SECONDS:g} s about all items" if is_slow else str(error)
        _LOG.warning(_UNKNOWN, interrogation=interrogation.name, error=problem)
        if isinstance(error, _TRANSIENT):
            return dict(kept["digests"]) if kept.get("asked") == asked else {}, False
        return {}, True
    if is_whole:  # a query may fail for now
        content = {"state": state, "asked": asked, "digests": digests}
        keep(file, json.dumps(content).encode(), most=_MOST_FILES)
    return digests, True


@cache
def _computed_by() -> str:
    return f"{code_version(__name__)} duckdb {duckdb.__version__}"


def _computed(lake: Lake, interrogation: Interrogation) -> tuple[Digests, bool]:
    """The digests, and whether no query failed."""
    parts: dict[str, list[str]] = defaultdict(list)
    is_whole = True
    with connect(lake, relations=_relations(lake, interrogation), kind="own") as connection:
        wanted = wanted_sql([interrogation], "superseded_pages")
        values = ", ".join(f"known.{name}" for name in row_names(interrogation.over))
        joined = _JOINED[interrogation.over]
        with interrupted_after(connection, LONGEST_SECONDS):
            query(connection, _ITEMS.format(items=ITEMS, values=values, wanted=wanted, joined=joined))
        if not query(connection, f"from {ITEMS} limit 1"):
            return {}, True
        lock_database(connection, lake)  # so far, only our own SQL and a checked condition were asked
        for number, digests in enumerate(_of_queries(connection, interrogation)):
            is_whole = is_whole and digests is not None
            for partition, digest in (digests or {}).items():
                parts[partition].append(f"{number} {digest}")
    return {partition: content_hash(json.dumps(own)) for partition, own in parts.items()}, is_whole


def _relations(lake: Lake, interrogation: Interrogation) -> Collection[str] | None:
    """What is read to compute digests: of a lake's many views a few. None if that is not known."""
    return relations_to_open(lake, wanted_relations([interrogation]) | interrogation.relations_of_queries)


def _of_queries(
    connection: duckdb.DuckDBPyConnection, interrogation: Interrogation
) -> Iterator[Digests | None]:
    """The digests of each query: the one that chooses the items, if there is one, and those about them.

    None for a query that fails by itself. Transient errors are raised.
    """
    if interrogation.relations_of_condition:
        yield _by_partition(query(connection, _CHOSEN.format(items=ITEMS)))
    for sql in interrogation.queries:
        try:
            with interrupted_after(connection, LONGEST_SECONDS):
                digests = _of_query(connection, sql)
            yield digests
        except _TRANSIENT:
            raise
        except (NotAtOnceError, duckdb.Error) as error:
            _LOG.warning(_UNKNOWN, interrogation=interrogation.name, error=str(error))
            yield None


def _of_query(connection: duckdb.DuckDBPyConnection, sql: str) -> Digests:
    asked = item_query(connection, sql)
    order = "holocron_row" if asked.order else "row_json"
    return _by_partition(query(connection, _DIGESTS.format(order=order, answers=asked.as_json, items=ITEMS)))


def _by_partition(rows: Iterable[Row]) -> Digests:
    return {row["holocron_partition"]: row["digest"] for row in rows}
