"""How far each interrogation is, for people: what it wants, what was answered, and what is still to come."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from holocron_assets.derive.dispatch.backlog import Counts, StalePartition, count, stale_partitions
from holocron_assets.derive.interrogations.conditions import TYPE_TABLES
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.interrogations.items import derivation_of
from holocron_assets.derive.interrogations.recipe import NOT_THERE
from holocron_assets.derive.interrogations.wanted import conditions_of
from holocron_assets.lake.paths import Lake
from holocron_assets.lake.tables import ENTITY_PAIRS, PAGE_SIGNALS, PAGES
from holocron_assets.lake.tables.derive import LLM_RUNS
from holocron_assets.lake.views import connect, query

_OUTCOMES = """
    select partition, status, count(*) as items
    from lake.llm_runs
    where interrogation = $interrogation
    group by all
"""


def interrogation_rows(
    lake: Lake, interrogations: Sequence[Interrogation], digests: Mapping[str, str], now: datetime
) -> list[dict[str, Any]]:
    """How far each interrogation is.

    Args:
        lake: where pages and answers are.
        interrogations: which.
        digests: of the models that can be asked, by name. Without its model, an interrogation's partitions
            count as they were made.
        now: the moment.

    Returns:
        A row each: partitions `done` and `to_do`; the items wanted (of a batch that was not begun: its pages,
        not their chunks), answered, due now, waiting until `next_due`, and dead.
    """
    found = stale_partitions(lake, interrogations, digests=digests, most_opened=None, without_models=True)
    stale = _by_interrogation(found)
    return [_row(lake, one, stale.get(one.name, []), now) for one in interrogations]


def stale_rows(
    lake: Lake, interrogations: Sequence[Interrogation], digests: Mapping[str, str]
) -> list[dict[str, Any]]:
    """What is to be done, and why: a row for each partition that was made or begun, one for all others.

    Each of the former is opened, and its items are compared with the answers there are: a second's work.

    Args:
        lake: where pages and answers are.
        interrogations: which.
        digests: of the models that can be asked, by name.

    Returns:
        Interrogation, partition, model, why (see `Recipe.differences`), and the items to ask about, those
        whose answers are kept, and those given up. Of partitions never looked at, only the number is known.
        Of one that cannot be opened, no item is.
    """
    found = _by_interrogation(stale_partitions(lake, interrogations, digests=digests, most_opened=None))
    return [row for stale in found.values() for row in _stale_rows(lake, stale)]


def _by_interrogation(stale: Iterable[StalePartition]) -> dict[str, list[StalePartition]]:
    found: dict[str, list[StalePartition]] = {}
    for part in stale:
        found.setdefault(part.interrogation.name, []).append(part)
    return found


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
    """What is known of a partition's items."""
    if counts is None:
        return dict.fromkeys(("to_ask", "kept", "dead"))
    return {"to_ask": counts.left, "kept": counts.answered, "dead": counts.dead}


def _is_begun(part: StalePartition) -> bool:
    return part.counts is not None or part.differences != NOT_THERE


def _named(part: StalePartition) -> dict[str, Any]:
    return {"interrogation": part.interrogation.name, "model": part.model, "why": list(part.differences)}


def _row(
    lake: Lake, interrogation: Interrogation, stale: Sequence[StalePartition], now: datetime
) -> dict[str, Any]:
    counts = {part.partition: part.counts for part in stale if part.counts}
    undone = {part.partition for part in stale}
    made = set(lake.partitions(interrogation.table)) - undone
    items = _items_of(lake, interrogation, made)
    for each in counts.values():
        items.update(answered=each.answered, dead=each.dead, due=each.ready(now), waiting=each.waiting(now))
    wanted = _wanted(lake, interrogation, undone - counts.keys())
    dues = [due for each in counts.values() if (due := each.next_due(now))]
    return {
        "interrogation": interrogation.name,
        "model": next((part.model for part in stale if part.model), interrogation.models[0]),
        "done": len(made),
        "to_do": len(undone),
        "wanted": items.total() + wanted,
        "answered": items["answered"],
        "due": items["due"] + wanted,
        "waiting": items["waiting"],
        "dead": items["dead"],
        "next_due": min(dues, default=None),
    }


def _items_of(lake: Lake, interrogation: Interrogation, partitions: set[str]) -> Counter[str]:
    """Items of finished partitions, by what became of them."""
    with connect(lake, tables=[LLM_RUNS]) as connection:
        rows = query(connection, _OUTCOMES, {"interrogation": interrogation.name})
    found: Counter[str] = Counter()
    for row in rows:
        if row["partition"] in partitions:
            found["answered" if row["status"] == "ok" else "dead"] += row["items"]
    return found


def _wanted(lake: Lake, interrogation: Interrogation, partitions: set[str]) -> int:
    """Pages or pairs that an interrogation wants of some partitions; asked of all at once."""
    if not partitions:
        return 0
    conditions, values = conditions_of(interrogation)
    where = " and ".join(f"({condition})" for condition in conditions) or "true"
    candidates, name = _candidates(interrogation)
    sql = f"select {name} as part, count(*) as items from ({candidates}) where {where} group by all"  # noqa: S608 - names are declared, conditions were checked at load
    with connect(lake, tables=[PAGES, *derivation_of(interrogation).inputs]) as connection:
        rows = query(connection, sql, values)
    return sum(row["items"] for row in rows if row["part"] in partitions)


def _candidates(interrogation: Interrogation) -> tuple[str, str]:
    """The rows that an interrogation chooses from, in SQL, and their column of the partition's name."""
    if interrogation.over == "pairs":
        return f"from lake.{ENTITY_PAIRS.name}", "entity_type"
    types = TYPE_TABLES[interrogation.wants.of]
    shared = {column.name for column in PAGE_SIGNALS.columns} & {column.name for column in types.columns}
    own = ", ".join(sorted(shared - {"batch", "title_key"}))
    typed = f"(from lake.{types.name} select * exclude ({own}))"
    joined = f"from lake.{PAGE_SIGNALS.name} join {typed} using (batch, title_key)"
    return f"{joined} semi join current_answers using (batch, title_key)", "batch"
