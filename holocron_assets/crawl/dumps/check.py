"""Checking that all of a dump is in the lake: its pages are counted, and each listed page has an outcome."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from holocron_assets.crawl.dumps.listing import load_index
from holocron_assets.crawl.frontier.views import frontier_tables_of
from holocron_assets.crawl.sources.seeds import SeedListing, listing_of, seeds_are_usable
from holocron_assets.crawl.sources.source import Source
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.views.database import connect, query

_RELATIONS = ("lake.pages", "lake.seed_titles", "lake.sites")
# An outcome belongs to this dump if it is newer than the first sight of the file, or if it has the listed
# revision or a later one. The frontier is used only to find why a page has no outcome.
_OUTCOMES = """
    with settled as (
        select
            source, unnest(list_distinct([requested_key, title_key])) as title_key, fetched_at,
            case when status in ('ok', 'missing', 'invalid') then revision_id end as revision_id
        from lake.pages
        where status <> 'failed' and source = any($sources)
    ),
    outcomes as (
        select source, title_key, max(fetched_at) as settled_at, max(revision_id) as revision_id
        from settled
        group by all
    ),
    judged as (
        select
            seeds.source,
            seeds.title,
            coalesce(outcomes.settled_at >= sites.fetched_at, false)
                or coalesce(outcomes.revision_id >= seeds.revision_id, false) as has_outcome,
            frontier.status
        from lake.seed_titles as seeds
        join lake.sites as sites using (source)
        left join outcomes using (source, title_key)
        left join frontier using (source, title_key)
        where seeds.source = any($sources)
    )
    select
        source,
        count(*) as seeds,
        count(*) filter (has_outcome) as with_outcome,
        count(*) filter (not has_outcome and status = 'skipped') as left_out,
        count(*) filter (not has_outcome and status in ('pending', 'in flight', 'waiting')) as to_come,
        min(title) filter (not has_outcome and coalesce(status in ('done', 'dead'), true)) as lost_title
    from judged
    group by source
"""


@dataclass(frozen=True)
class DumpCheck:
    """The content of a dump's file, and how much of it is in the lake.

    Attributes:
        counts: numbers of pages, by their outcome.
        problems: what is wrong, in words.
    """

    counts: dict[str, int]
    problems: Sequence[str]


def check_dumps(lake: Lake, sources: Sequence[Source]) -> dict[str, DumpCheck]:
    """Compare the dumps that were listed with the outcomes in the lake.

    Pages that are still to be read are no problem, and are counted.

    Args:
        lake: what to check.
        sources: only dumps that were listed are checked.

    Returns:
        The result, by source.
    """
    dumps = {source.name: source for source in sources if source.kind == "mediawiki_dump"}
    listings = {name: listing for name in dumps if (listing := listing_of(lake, name)) is not None}
    if not listings:
        return {}
    chosen = [dumps[name] for name in listings]
    frontier = frontier_tables_of(lake, chosen)
    with connect(lake, relations=_RELATIONS, more_views=frontier) as connection:
        rows = {row["source"]: row for row in query(connection, _OUTCOMES, {"sources": list(listings)})}
    return {
        name: _check(lake, dumps[name], listing, rows.get(name, {})) for name, listing in listings.items()
    }


def _check(lake: Lake, source: Source, listing: SeedListing, found: dict[str, Any]) -> DumpCheck:
    pages = listing.counts["listed"] + listing.counts["elsewhere"]
    counts = {
        "pages in the file": pages,
        "in other namespaces": listing.counts["elsewhere"],
        "repeated titles": listing.counts["repeated"],
        "with an outcome": found.get("with_outcome", 0),
        "left out by patterns": found.get("left_out", 0),
        "still to be read": found.get("to_come", 0),
    }
    seeds = found.get("seeds", 0)
    lost = seeds - sum(found.get(name, 0) for name in ("with_outcome", "left_out", "to_come"))
    index = load_index(lake, source)
    possible = {
        listing.problem or "": listing.problem,
        "its file is not the one that was listed: launch job list_seeds": not seeds_are_usable(lake, source),
        f"its index names {index.pages if index else 0} pages, and its list {pages}": (
            index and index.pages != pages
        ),
        f"{seeds} titles are in its list, which was made of {pages} pages": (
            seeds != listing.counts["listed"] - listing.counts["repeated"]
        ),
        f"{lost} listed pages have no outcome, such as {found.get('lost_title')!r}": lost,
    }
    return DumpCheck(counts, [problem for problem, is_so in possible.items() if is_so])
