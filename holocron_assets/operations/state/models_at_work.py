"""The work of models in the last hour and day, and the processes that ask them now, on all machines."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import chain, pairwise
from typing import Any, NamedTuple

import duckdb

from holocron_assets.derive.dispatch.pools import Places, configured_places
from holocron_assets.derive.dispatch.served import ServedModels, holders_at
from holocron_assets.derive.gpu.slots import GPU_POOL
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.views.database import query
from holocron_assets.operations.state.status import Models

_A_DAY = timedelta(days=1)
_AN_HOUR = timedelta(hours=1)
_RUNS = "from gpu_runs where ended_at > $since order by started_at"
# A session has its row when it ends: calls of a session that goes on, or was killed, are in no row.
_CALLS = """
    select started_at, started_at + total_ms * interval 1 millisecond as ended_at
    from lake.llm_attempts as calls
    where ended_at > $since
    and not exists (
        from lake.gpu_runs as runs
        where runs.model = calls.model and calls.started_at between runs.started_at and runs.ended_at
    )
"""


class Span(NamedTuple):
    """A span of time.

    Attributes:
        start: when it began.
        end: when it ended, or will.
        share: share of it in which a call was under way.
    """

    start: datetime
    end: datetime
    share: float = 1.0


def models_at_work(
    lake: Lake,
    connection: duckdb.DuckDBPyConnection,
    interrogations: Sequence[Interrogation],
    seen: tuple[ServedModels, str | None],
    now: datetime,
) -> Models:
    """The past and present work of models.

    Args:
        lake: where locks and their notes are.
        connection: to its tables.
        interrogations: those that name models.
        seen: the result of `read_served_models`.
        now: the moment.
    """
    served, problem = seen
    runs = query(connection, _RUNS, {"since": now - _A_DAY})
    place = configured_places()
    asked = [*chain.from_iterable(one.models for one in interrogations), *(run["model"] for run in runs)]
    holders = holders_at(lake, [GPU_POOL, *sorted({place(model) for model in asked} - {GPU_POOL})])
    spans = [
        *(Span(run["started_at"], run["ended_at"], run["busy_share"]) for run in runs),
        *(Span(*call.values()) for call in query(connection, _CALLS, {"since": now - _AN_HOUR})),
        *(Span(holder.since, now) for holder in holders if holder),
    ]
    lasted = sum((run["ended_at"] - run["started_at"]).total_seconds() for run in runs)
    return Models(
        loaded=tuple(sorted(served.loaded)) if served.is_asked else None,
        problem=problem,
        at_work=", ".join(str(holder or "another process") for holder in holders) or None,
        switches=_switches(runs, place),
        loads=sum(run["loads"] for run in runs),
        load_seconds=sum(run["load_seconds"] for run in runs),
        busy_share=busy_share(spans, now - _AN_HOUR, now),
        busy_share_of_runs=sum(run["busy_seconds"] for run in runs) / lasted if lasted else None,
        items=sum(run["items"] for run in runs),
        calls=sum(run["calls"] for run in runs),
        calls_saved=sum(run["calls_saved"] for run in runs),
        tokens_in=sum(run["tokens_in"] for run in runs),
        tokens_out=sum(run["tokens_out"] for run in runs),
    )


def busy_share(spans: Iterable[Span], since: datetime, until: datetime) -> float:
    """Share of a time in which a call was under way; where spans overlap, the busiest counts."""
    within = [Span(max(start, since), min(end, until), share) for start, end, share in spans]
    edges = sorted(
        edge for start, end, share in within if start < end for edge in ((start, share, 1), (end, share, -1))
    )
    busy, before, under_way = timedelta(), since, Counter[float]()
    for at, share, change in edges:
        busy += (at - before) * max((+under_way).keys(), default=0.0)
        before = at
        under_way[share] += change
    return busy / (until - since)


def _switches(runs: Sequence[Mapping[str, Any]], place: Places) -> int:
    """How often the model at one place changed, by rows in order."""
    by_place: dict[str, list[str]] = {}
    for run in runs:
        by_place.setdefault(place(run["model"]), []).append(run["model"])
    return sum(one != other for asked in by_place.values() for one, other in pairwise(asked))
