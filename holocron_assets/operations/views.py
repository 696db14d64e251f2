"""All views that need configuration: those of the frontier, and those of the status."""

from collections.abc import Iterable
from importlib.resources import files
from string import Template

from holocron_assets.crawl.frontier.views import frontier_views
from holocron_assets.crawl.sources.source import Source
from holocron_assets.derive.interrogations.loading import load_interrogations
from holocron_assets.derive.items.wanted_sql import versions_sql, wanted_sql
from holocron_assets.lake.place.paths import Lake
from holocron_assets.operations.state.staleness import Staleness, staleness_sql

_SQL = files("holocron_assets.operations.state").joinpath("sql")
_BY_HOUR = """
select
    date_trunc('hour', ended_at) as hour, stage, source, interrogation,
    count(*) filter (outcome = 'done') as done,
    count(*) filter (outcome = 'failed') as failed,
    count(*) filter (outcome = 'dead') as dead
"""
_PARTS = ("standing", "outcomes", "status")


def all_views(sources: Iterable[Source], lake: Lake | None = None, staleness: Staleness | None = None) -> str:
    """SQL for every view that depends on sources and interrogations.

    Args:
        sources: as for `frontier_views`.
        lake: as for `frontier_views`.
        staleness: as for `status_views`.
    """
    return frontier_views(sources, lake) + status_views("view", staleness)


def status_views(relation: str, staleness: Staleness | None = None) -> str:
    """SQL for `processing_status`, `queue_health`, `aged_work`, `failures`, `throughput`, and their parts.

    Args:
        relation: "view"; or "table" for a caller that asks all of them, so that shared parts are made once.
        staleness: the state that is not in tables; None in a database that is asked later.
    """
    interrogations = load_interrogations()
    filled = {
        "relation": relation,
        "by_hour": _BY_HOUR,
        "wanted": wanted_sql(interrogations, "outdated_pages"),
        "versions": versions_sql(interrogations),
    }
    texts = (_SQL.joinpath(f"{part}.sql").read_text(encoding="utf-8") for part in _PARTS)
    return staleness_sql(staleness) + "".join(Template(text).substitute(filled) for text in texts)
