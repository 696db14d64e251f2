"""Sums of all work since the lake began. They never fall, since their tables only grow."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from holocron_assets.derive.dispatch.pools import configured_places
from holocron_assets.derive.gpu.slots import GPU_POOL
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import (
    DECISIONS,
    FILES,
    GPU_RUNS,
    HTTP_ATTEMPTS,
    LLM_ATTEMPTS,
    PAGES,
    SITES,
)
from holocron_assets.lake.views.database import connect, query
from holocron_assets.operations.state.histograms import CALL_BOUNDS, FILE_BOUNDS, REQUEST_BOUNDS, counted

_TABLES = (PAGES, SITES, HTTP_ATTEMPTS, FILES, LLM_ATTEMPTS, GPU_RUNS, DECISIONS)

# A page that failed is asked for again, and its row replaced: only the rows of answers stay the same.
_PAGES = """
    select source, count(*) as pages from lake.pages where status not in ('failed', 'dead') group by source
"""
_REQUESTS = """
    select source, outcome, count(*) as requests, coalesce(sum(bytes), 0)::bigint as bytes
    from lake.http_attempts
    group by all
"""
# Only hosts of wikis: a list of files may name any number of others.
_REQUEST_TIMES = f"""
    select host, verb, {counted("latency_ms", REQUEST_BOUNDS)}
    from lake.http_attempts
    where resolver is null and latency_ms > 0 and source in (select source from lake.sites)
    group by all
"""  # noqa: S608 - our own columns
_RETRIES = """
    select source, outcome as reason, count(*) as retries
    from lake.http_attempts
    where resolver is null and retry_wait_s is not null
    group by all
"""
_CALL_TIMES = f"""
    select model, interrogation, {counted("total_ms", CALL_BOUNDS)}
    from lake.llm_attempts
    where tag is null
    group by all
"""  # noqa: S608 - our own columns
# Nearly all calls are first tries that answer. They are left out before calls are sorted.
_CALLS_AGAIN = """
    select model, interrogation, reason, count(*) as retries
    from (
        select
            model, interrogation, attempt > 1 or "try" > 1 as is_again,
            lag(outcome) over (partition by scope, item_id order by started_at, call_id) as reason
        from lake.llm_attempts
        where tag is null and (outcome <> 'ok' or attempt > 1 or "try" > 1)
    )
    where is_again and reason <> 'ok'
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
# What the cache answers is an attempt that took no time: no request was sent.
_FILE_REQUESTS = f"""
    select
        resolver, verb, coalesce(status::varchar, '') as status, reason,
        count(*) as attempts, count(*) filter (attempt > 1) as retries,
        coalesce(sum(bytes), 0)::bigint as bytes, {counted("nullif(latency_ms, 0)", FILE_BOUNDS)}
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
        request_times: durations of requests to wikis, by host and verb; see `histograms.counted`.
        retries: requests that are to be sent again, by source and reason.
        calls: calls of models, by model and outcome.
        call_times: durations of calls of models, by model and interrogation; see `histograms.counted`.
        calls_again: calls that repeat another, by model, interrogation and the other's outcome.
        sessions: sums over sessions of calls, by model; `switches` are changes to the model from another
            of the same pool.
        file_requests: requests for files, by resolver, verb, status and reason: attempts, how many of them
            were no first try, bytes, and durations of those that were sent; see `histograms.counted`.
        file_outcomes: what became of files, by source, outcome and reason.
        decisions: of people, by kind.
    """

    pages: _Rows
    requests: _Rows
    request_times: _Rows
    retries: _Rows
    calls: _Rows
    call_times: _Rows
    calls_again: _Rows
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
            request_times=query(connection, _REQUEST_TIMES),
            retries=query(connection, _RETRIES),
            calls=query(connection, _CALLS),
            call_times=query(connection, _CALL_TIMES),
            calls_again=query(connection, _CALLS_AGAIN),
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
