"""Reports for people on the result of a run."""

from collections.abc import Sequence
from typing import Any

from holocron_assets.crawl.sources.file_source import FileSource
from holocron_assets.crawl.sources.source import Source
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import GPU_RUNS
from holocron_assets.lake.views.database import connect, query

_GPU_RUNS_TOGETHER = """
    select model, sum(loads)::bigint as loads, sum(items)::bigint as items, sum(calls)::bigint as calls,
           sum(calls_saved)::bigint as calls_saved, sum(tokens_in)::bigint as tokens_in,
           sum(tokens_out)::bigint as tokens_out, sum(busy_seconds) as busy_seconds,
           sum(busy_seconds) / greatest(epoch(max(ended_at) - min(started_at)), 0.001) as busy_share
    from gpu_runs where run_id = any($runs) group by model order by model
"""


def gpu_summary(lake: Lake, run_ids: Sequence[str]) -> list[dict[str, Any]]:
    """Totals per model over some runs; the time between the runs counts as idle."""
    with connect(lake, tables=[GPU_RUNS]) as connection:
        return query(connection, _GPU_RUNS_TOGETHER, {"runs": list(run_ids)})


def run_summary(lake: Lake, sources: Sequence[Source]) -> dict[str, list[dict[str, Any]]]:
    """What the lake holds of some sources: pages, types, entities, what needs review, dead letters."""
    names = {"sources": [source.name for source in sources]}
    queries = {
        "pages": """
            select status, count(*) as pages from last_attempts where source = any($sources) group by all
        """,
        "types": """
            select primary_type as type, count(*) as pages,
                   count(*) filter (where needs_review) as needs_review
            from page_types where source = any($sources) group by all order by pages desc, type
        """,
        "entities": """
            select entity_type as type, count(*) as entities,
                   count(*) filter (where state = 'promoted') as promoted,
                   count(*) filter (where state = 'adjudicated') as adjudicated,
                   count(*) filter (where state = 'candidate') as candidates,
                   count(*) filter (where state = 'staged') as staged,
                   count(*) filter (where state = 'suppressed') as suppressed,
                   count(*) filter (where state = 'merged') as merged
            from entities where source = any($sources) group by all order by entities desc, type
        """,
        "review": """
            select title, primary_type as type, confidence, reason
            from page_types where needs_review and source = any($sources) order by confidence, title
        """,
        "dead_letters": "select title, attempts, error from dead_letters where source = any($sources)",
    }
    relations = ("last_attempts", "page_types", "entities", "dead_letters")
    with connect(lake, relations=relations, made_once=("last_attempts",)) as connection:
        return {name: query(connection, sql, names) for name, sql in queries.items()}


def files_summary(lake: Lake, sources: Sequence[FileSource]) -> list[dict[str, Any]]:
    """What the lake holds of some sources of files: how many in each state, and their bytes."""
    sql = """
        select source, state, count(*) as files, sum(size_bytes)::bigint as bytes
        from files where source = any($sources) group by all order by all
    """
    with connect(lake, relations=["files"]) as connection:
        return query(connection, sql, {"sources": [source.name for source in sources]})
