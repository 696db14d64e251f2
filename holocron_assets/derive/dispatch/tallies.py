"""The progress of each interrogation, for people: what it wants, what was answered, and what is left."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import duckdb

from holocron_assets.derive.dispatch.backlog import (
    Counts,
    StalePartition,
    by_interrogation,
    count,
    stale_partitions,
)
from holocron_assets.derive.evidence.queries import relations_to_open
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.items.recipe import NOT_THERE
from holocron_assets.derive.items.wanted_sql import wanted_relations, wanted_sql
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables.derive import LLM_RUNS
from holocron_assets.lake.views.database import connect, query

Place = tuple[str, str]
"""An interrogation and one of its partitions, by their names."""

_OUTCOMES = """
    select interrogation, partition, status, count(*) as items
    from lake.llm_runs
    group by all
"""
_ANSWERED = """
    select count(*) as items
    from lake.llm_runs as asked
    semi join ({wanted}) as wanted
        on wanted.partition = asked.partition and wanted.item = split_part(asked.item_id, '#', 1)
    where asked.interrogation = $name and asked.status = 'ok'
"""


def wanted_counts(lake: Lake, interrogations: Sequence[Interrogation]) -> dict[Place, int]:
    """How many pages or pairs of each partition each interrogation wants; one query counts them all."""
    sql = wanted_sql(interrogations, "superseded_pages")
    relations = relations_to_open(lake, wanted_relations(interrogations))
    with connect(lake, relations=relations) as connection:
        return counted_places(connection, f"({sql})")


def counted_places(connection: duckdb.DuckDBPyConnection, wanted: str) -> dict[Place, int]:
    """The number of items by interrogation and partition, in a relation with the columns of `wanted_sql`."""
    sql = f"select interrogation, partition, count(*) as items from {wanted} group by all"  # noqa: S608 - our own
    return {(row["interrogation"], row["partition"]): row["items"] for row in query(connection, sql)}


def answered_count(lake: Lake, interrogation: Interrogation) -> int:
    """How many of the items that an interrogation wants have an answer; the chunks of a page count each.

    Answers about items that it wanted before are kept, too, and do not count.
    """
    sql = _ANSWERED.format(wanted=wanted_sql([interrogation], "superseded_pages"))
    named = {*wanted_relations([interrogation]), ("lake", LLM_RUNS.name)}
    with connect(lake, relations=relations_to_open(lake, named)) as connection:
        [row] = query(connection, sql, {"name": interrogation.name})
    return int(row["items"])


def interrogation_rows(
    lake: Lake,
    interrogations: Sequence[Interrogation],
    digests: Mapping[str, str],
    now: datetime,
    wanted: Mapping[Place, int] | None = None,
) -> list[dict[str, Any]]:
    """The progress of each interrogation.

    Args:
        lake: where pages and answers are.
        interrogations: which.
        digests: of the models that can be asked, by name. Where its model is missing, an interrogation's
            partitions count as they were made.
        now: the moment.
        wanted: see `wanted_counts`; counted here, unless it is given.

    Returns:
        A row each: partitions `done` and `to_do`; the items wanted (of a batch that was not begun: its pages,
        not their chunks), answered, due now, waiting until `next_due`, and dead.
    """
    found = stale_partitions(lake, interrogations, digests=digests, most_opened=None, without_models=True)
    stale = by_interrogation(found)
    if wanted is None:
        wanted = wanted_counts(lake, interrogations)
    outcomes: dict[Place, Counter[str]] = defaultdict(Counter)
    with connect(lake, tables=[LLM_RUNS]) as connection:
        for row in query(connection, _OUTCOMES):
            what = "answered" if row["status"] == "ok" else "dead"
            outcomes[row["interrogation"], row["partition"]][what] += row["items"]
    tallied = _Tallied(now, outcomes, wanted)
    return [_row(one, lake.partitions(one.table), stale.get(one.name, []), tallied) for one in interrogations]


def stale_rows(
    lake: Lake, interrogations: Sequence[Interrogation], digests: Mapping[str, str]
) -> list[dict[str, Any]]:
    """What is to be done, and why: a row for each partition that was made or begun, and one for all others.

    Each of the former is opened, and its items are compared with the answers, which takes about a second.

    Args:
        lake: where pages and answers are.
        interrogations: which.
        digests: of the models that can be asked, by name.

    Returns:
        Interrogation, partition, model, why (see `Recipe.differences`), and the items to ask about, those
        whose answers are kept, and those given up. Of partitions never begun, only the number is known. Of
        one that cannot be opened, the items are not known.
    """
    found = by_interrogation(stale_partitions(lake, interrogations, digests=digests, most_opened=None))
    return [row for stale in found.values() for row in _stale_rows(lake, stale)]


def _stale_rows(lake: Lake, stale: Sequence[StalePartition]) -> list[dict[str, Any]]:
    untouched = [part for part in stale if not _is_begun(part)]
    rows = []
    for part in stale:
        if _is_begun(part):
            items = _items(part.counts or count(lake, part))
            rows.append({**_named(part), "partition": part.partition, "partitions": 1, **items})
    if untouched:
        rows.append({**_named(untouched[0]), "partition": None, "partitions": len(untouched), **_items(None)})
    return rows


def _items(counts: Counts | None) -> dict[str, int | None]:
    """The known counts of a partition's items."""
    if counts is None:
        return dict.fromkeys(("to_ask", "kept", "dead"))
    return {"to_ask": counts.left + counts.awaiting, "kept": counts.answered, "dead": counts.dead}


def _is_begun(part: StalePartition) -> bool:
    return part.counts is not None or part.differences != NOT_THERE


def _named(part: StalePartition) -> dict[str, Any]:
    return {"interrogation": part.interrogation.name, "model": part.model, "why": list(part.differences)}


class _Tallied(NamedTuple):
    """Counts over all interrogations.

    Attributes:
        now: the moment.
        outcomes: items of partitions that were asked about, by outcome.
        wanted: see `wanted_counts`.
    """

    now: datetime
    outcomes: Mapping[Place, Counter[str]]
    wanted: Mapping[Place, int]

    def of_made(self, interrogation: Interrogation, partition: str) -> Counter[str]:
        """The items of a partition whose items are all answered or given up.

        Answers about items that were wanted before are kept. They are left out by the number of those wanted,
        which is not known of chunks.
        """
        place = (interrogation.name, partition)
        items = Counter(self.outcomes.get(place, {}))
        if not interrogation.chunk_characters:
            wanted = max(self.wanted.get(place, 0) - items["dead"], 0)
            items["answered"] = min(items["answered"], wanted)
        return items


def _row(
    interrogation: Interrogation, there: Iterable[str], stale: Sequence[StalePartition], tallied: _Tallied
) -> dict[str, Any]:
    name, now = interrogation.name, tallied.now
    counts = {part.partition: part.counts for part in stale if part.counts}
    undone = {part.partition for part in stale}
    made = set(there) - undone
    items: Counter[str] = Counter()
    for partition in made:
        items.update(tallied.of_made(interrogation, partition))
    for each in counts.values():
        items.update(answered=each.answered, dead=each.dead, due=each.ready(now))
        items["waiting"] += each.waiting(now) + each.awaiting
    not_begun = sum(tallied.wanted.get((name, partition), 0) for partition in undone - counts.keys())
    dues = [due for each in counts.values() if (due := each.next_due(now))]
    return {
        "interrogation": name,
        "domain": interrogation.domain,
        "model": next((part.model for part in stale if part.model), interrogation.models[0]),
        "done": len(made),
        "to_do": len(undone),
        "wanted": items.total() + not_begun,
        "answered": items["answered"],
        "due": items["due"] + not_begun,
        "waiting": items["waiting"],
        "dead": items["dead"],
        "next_due": min(dues, default=None),
    }
