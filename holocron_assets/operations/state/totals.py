"""Sums of all work since the lake began. They never fall, since their tables only grow."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from holocron_assets.derive.dispatch.pools import configured_places
from holocron_assets.derive.gpu.slots import GPU_POOL
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import DECISIONS, FILES, GPU_RUNS, HTTP_ATTEMPTS, LLM_ATTEMPTS, PAGES
from holocron_assets.lake.views.database import connect, query

LATENCY_BOUNDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Upper bounds of the buckets of latencies, in seconds."""

_TABLES = (PAGES, HTTP_ATTEMPTS, FILES, LLM_ATTEMPTS, GPU_RUNS, DECISIONS)

# A page that failed is asked for again, and its row replaced: only the rows of answers stay the same.
_PAGES = """
    select source, count(*) as pages from lake.pages where status not in ('failed', 'dead') group by source
"""
_REQUESTS = """
    select source, outcome, count(*) as requests, coalesce(sum(bytes), 0)::bigint as bytes
    from lake.http_attempts
    group by all
"""
_CALLS = "select model, outcome, count(*) as calls from lake.llm_attempts where tag is null group by all"
_SESSIONS = """
    select
        model, sum(items)::bigint as items, sum(calls_saved)::bigint as calls_saved,
        sum(tokens_in)::bigint as tokens_in, sum(tokens_out)::bigint as tokens_out,
        sum(loads)::bigint as loads, sum(load_seconds) as load_seconds, sum(busy_seconds) as busy_seconds,
        count(*) filter (before is not null and before <> model) as switches
    from (
        select
            *,
            lag(model) over (
                partition by if(model = any($elsewhere::varchar[]), model, '') order by started_at, gpu_run_id
            ) as before
        from lake.gpu_runs
    )
    group by model
"""
_WITHIN = ", ".join(f"count(*) filter (latency_ms <= {1000 * bound})" for bound in LATENCY_BOUNDS)
_FILE_REQUESTS = f"""
    select
        resolver, verb, coalesce(status::varchar, '') as status, reason,
        count(*) as requests, count(*) filter (attempt > 1) as retries,
        coalesce(sum(bytes), 0)::bigint as bytes, sum(latency_ms) / 1000 as seconds,
        list_value({_WITHIN}) as within
    from lake.http_attempts
    where resolver is not null and reason is not null
    group by all
"""  # noqa: S608 - our own bounds
_FILE_OUTCOMES = "select source, status as outcome, reason, count(*) as files from lake.files group by all"
_DECISIONS = "select kind, count(*) as decisions from lake.decisions group by kind"

_Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Totals:
    """Rows of sums.

    Attributes:
        pages: pages that were read, by source.
        requests: HTTP requests and bytes, by source and outcome.
        calls: calls of models, by model and outcome.
        sessions: sums over sessions of calls, by model; `switches` are changes to the model from another
            of the same pool.
        file_requests: requests for files, by resolver, verb, status and reason: how many, how many of them
            were no first try, bytes and seconds, and how many took no longer than each of `LATENCY_BOUNDS`.
        file_outcomes: what became of files, by source, outcome and reason.
        decisions: of people, by kind.
    """

    pages: _Rows
    requests: _Rows
    calls: _Rows
    sessions: _Rows
    file_requests: _Rows
    file_outcomes: _Rows
    decisions: _Rows


def read_totals(lake: Lake) -> Totals:
    """Sum up the work that the lake holds.

    Raises:
        DamagedPartitionError, duckdb.Error: the lake cannot be read.
    """
    with connect(lake, tables=_TABLES) as connection:
        return Totals(
            pages=query(connection, _PAGES),
            requests=query(connection, _REQUESTS),
            calls=query(connection, _CALLS),
            sessions=query(connection, _SESSIONS, {"elsewhere": _elsewhere(connection)}),
            file_requests=query(connection, _FILE_REQUESTS),
            file_outcomes=query(connection, _FILE_OUTCOMES),
            decisions=query(connection, _DECISIONS),
        )


def _elsewhere(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Models that share no GPU of this machine with others: a change to one of them is no switch."""
    place = configured_places()
    asked = query(connection, "select distinct model from lake.gpu_runs")
    return [row["model"] for row in asked if place(row["model"]) != GPU_POOL]
