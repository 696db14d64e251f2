"""View `wanted_pages`: what fetched pages link to and the lake has no page of."""

from pathlib import Path
from typing import Any

import duckdb
import pytest
from crawl_rows import (
    LONG_AGO,
    dump_source,
    outcome,
    put_links,
    put_manifest,
    put_outcomes,
    put_seeds,
    wiki_source,
)

from holocron_assets.crawl.frontier.known_links import make_known_links
from holocron_assets.crawl.frontier.views import frontier_views
from holocron_assets.crawl.sources.source import Source
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.views.database import connect, publish, query


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = Lake(tmp_path)
    put_seeds(lake, "A")
    put_outcomes(
        lake,
        "wiki-000001",
        *(outcome("A"), outcome("B"), outcome("Gone", "missing"), outcome("Dead", "dead", attempts=4)),
    )
    targets = {"A": ("B", "Gone", "New", "Dead", "Cut", "Template:T"), "B": ("Gone", "New", "A"), "Gone": ()}
    links = [(start, target) for start, ends in targets.items() for target in ends]
    put_links(lake, "wiki-000001", *links)
    put_manifest(lake, "wiki-000002", "Cut")
    return lake


def wanted(lake: Lake, source: Source) -> list[dict[str, Any]]:
    with connect(lake, relations=(), more_views=frontier_views([source], lake)) as connection:
        return query(connection, "from wanted_pages")


def test_the_pages_that_most_pages_link_to_come_first_with_the_reason_why_they_lack(lake: Lake) -> None:
    source = wiki_source(depth=2)
    expected = [
        ("Gone", 0, 2, "missing on the wiki"),
        ("New", 0, 2, "not asked for yet"),
        ("Cut", 0, 1, "in flight"),
        ("Dead", 0, 1, "dead"),
        ("Template:T", 10, 1, "namespace 10 is not asked for"),
    ]
    for _ in ("from batches", "from known_links"):
        rows = wanted(lake, source)
        assert [(row["title"], row["namespace"], row["inbound"], row["why"]) for row in rows] == expected
        assert {row["source"] for row in rows} == {"wiki"}
        make_known_links(lake, source)


def test_what_a_dump_links_to_and_does_not_hold_is_wanted(lake: Lake) -> None:
    put_seeds(lake, "X", source="dump", ordinal=[0], revision_id=[1])
    put_outcomes(lake, "dump-000001", outcome("X", source="dump", revision_id=1))
    put_links(lake, "dump-000001", ("X", "Y"))
    (row,) = wanted(lake, dump_source(lake.root / "wiki.xml"))
    assert (row["title"], row["inbound"], row["why"]) == ("Y", 1, "the dump does not hold it")


def test_a_page_that_was_read_and_deleted_since_is_wanted(lake: Lake) -> None:
    put_outcomes(lake, "wiki-000003", outcome("B", "missing", fetched_at=LONG_AGO.replace(year=2027)))
    assert ("B", "missing on the wiki") in [(row["title"], row["why"]) for row in wanted(lake, wiki_source())]


def test_any_client_can_ask_the_published_database_for_them(lake: Lake) -> None:
    source = wiki_source(depth=2)
    path = publish(lake, more_views=frontier_views([source]))
    with duckdb.connect(path, read_only=True) as connection:
        titles = connection.execute("select title from wanted_pages").fetchall()
    assert titles == [(row["title"],) for row in wanted(lake, source)]
