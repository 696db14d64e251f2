"""Rows of the crawl's tables with what a test says of them, and all else filled in."""

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from holocron_assets.crawl.frontier.views import frontier_tables_of
from holocron_assets.crawl.mediawiki.answers import JsonObject
from holocron_assets.crawl.sources.settings import Politeness
from holocron_assets.crawl.sources.source import Seeds, Source
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.parquet import write_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import BATCH_PAGES, PAGE_CHANGES, PAGE_LINKS, PAGES, SEED_TITLES, SITES
from holocron_assets.lake.titles import DEFAULT_SITE
from holocron_assets.lake.views.database import connect, query

LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
TEMPLATES = 10


def wiki_source(name: str = "wiki", **changes: Any) -> Source:
    """A source that is a wiki."""
    said = {
        "kind": "mediawiki_api",
        "name": name,
        "enabled": True,
        "address": "http://127.0.0.1:1/api.php",
        "private_hosts": ("127.0.0.1",),
        "seeds": Seeds(titles=("A",)),
        "politeness": Politeness(contact="someone@example.org", requests_per_second=100.0),
    }
    return Source(**{**said, **changes})


def dump_source(path: Path, name: str = "dump", **changes: Any) -> Source:
    """A source that is an export."""
    return Source(
        **{"kind": "mediawiki_dump", "name": name, "enabled": True, "address": str(path), **changes}
    )


def key(title: str, source: str = "wiki") -> int:
    return title_key(source, title)


def known(title: str, source: str = "wiki") -> dict[str, Any]:
    """The columns that name a title."""
    page = DEFAULT_SITE.parse_title(title)
    return {"source": source, "title": title, "title_key": key(title, source), "namespace": page.namespace}


def answered_page(row: Row) -> JsonObject:
    """The page object of an answer that a row of table `pages` was made from."""
    page: JsonObject = json.loads(row["payload"])
    if row["wikitext"] is not None:
        page["revisions"][0]["slots"]["main"]["content"] = row["wikitext"]
    return page


def put_site(lake: Lake, source: str = "wiki", **changes: Any) -> None:
    """Write what a wiki says of itself: English namespaces and nothing special."""
    row = {
        "source": source,
        "site_name": source,
        "title_case": "first-letter",
        "namespaces": [
            {"id": number, "name": name, "canonical": name, "aliases": []}
            for number, name in DEFAULT_SITE.local_names.items()
        ],
        "interwiki_prefixes": ["wikipedia"],
        "fetched_at": LONG_AGO,
    }
    write_partition(lake, SITES, source, [{**row, **changes}])


def put_seeds(lake: Lake, *titles: str, source: str = "wiki", **columns: Sequence[Any]) -> None:
    """Write the list of seeds; `columns` give a value a title."""
    rows = [
        {
            **known(title, source),
            "origin": "title",
            "listed_at": LONG_AGO,
            **{name: values[number] for name, values in columns.items()},
        }
        for number, title in enumerate(titles)
    ]
    write_partition(lake, SEED_TITLES, source, rows)


def put_manifest(lake: Lake, batch: str, *titles: str, **columns: Any) -> None:
    """Cut a batch of given titles; `columns` are the same for all of them."""
    source = batch.rpartition("-")[0]
    rows = [
        {
            **known(title, source),
            "batch": batch,
            "position": position,
            "depth": 0,
            "failures": 0,
            "reason": "new",
            "origin": "http://127.0.0.1:1/api.php",
            "cut_at": LONG_AGO,
            **columns,
        }
        for position, title in enumerate(titles)
    ]
    write_partition(lake, BATCH_PAGES, batch, rows)


def put_changes(lake: Lake, *changes: tuple[str, str, datetime], **columns: Any) -> None:
    """Write changes that a wiki listed: title, kind, and when we read it; `columns` are the same for all."""
    rows = [
        {
            **known(title),
            "kind": kind,
            "seen_in": "recent_changes",
            "changed_at": seen_at,
            "seen_at": seen_at,
            **columns,
        }
        for title, kind, seen_at in changes
    ]
    write_partition(lake, PAGE_CHANGES, "wiki", rows)


def outcome(asked: str, status: str = "ok", *, source: str = "wiki", **columns: Any) -> dict[str, Any]:
    """A row of table `pages`, without batch and position."""
    if "title" in columns:
        columns["title_key"] = key(columns["title"], source)
    return {
        **known(asked, source),
        "requested_title": asked,
        "requested_key": key(asked, source),
        "status": status,
        "attempts": 1,
        "error": None if status == "ok" else f"{asked}: {status}",
        "fetched_at": LONG_AGO,
        "depth": 0,
        "run_id": "test",
        **columns,
    }


def put_outcomes(lake: Lake, batch: str, *rows: dict[str, Any], manifest: bool = True) -> None:
    """Finish a batch with these outcomes."""
    if manifest:
        put_manifest(lake, batch, *(row["requested_title"] for row in rows))
    numbered = [{**row, "batch": batch, "position": number} for number, row in enumerate(rows)]
    write_partition(lake, PAGES, batch, numbered)


def put_links(lake: Lake, batch: str, *links: tuple[str, str] | tuple[str, str, str]) -> None:
    """Write the links of a batch's pages: from, to, and the kind where it is not 'link'."""
    source = batch.rpartition("-")[0]
    rows = []
    for position, (start, target, *kind) in enumerate(links):
        row = {
            "source": source,
            "batch": batch,
            "from_key": key(start, source),
            "from_title": start,
            "kind": kind[0] if kind else "link",
            "target": target,
            "target_key": key(target, source),
            "target_namespace": DEFAULT_SITE.parse_title(target).namespace,
            "position": position,
        }
        rows.append(row)
    write_partition(lake, PAGE_LINKS, batch, rows)


def frontier(lake: Lake, *sources: Source) -> dict[str, dict[str, Any]]:
    """The frontier's rows by title; all sources together."""
    with connect(lake, relations=(), more_views=frontier_tables_of(lake, sources)) as connection:
        return {row["title"]: row for row in query(connection, "from frontier order by title")}


def statuses(lake: Lake, *sources: Source) -> dict[str, str]:
    """The frontier's statuses by title."""
    return {title: row["status"] for title, row in frontier(lake, *sources).items()}


def titles(pages: Iterable[Any]) -> list[str]:
    return [page.title for page in pages]
