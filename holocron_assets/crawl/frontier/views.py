"""The frontier in SQL: one definition, over `known_links` and the batches that it does not cover.

Schema `crawl` binds it to files: to the present files, or, for the published database, to all future ones
too. New rows are read through views, or are made into tables first, which is faster if one query follows.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from string import Template
from typing import Any

from holocron_assets.crawl.frontier.coverage import Coverage, coverage
from holocron_assets.crawl.sources.source import Source
from holocron_assets.decisions.log import standing, standing_mark
from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.place.paths import Lake, source_of
from holocron_assets.lake.tables import (
    BATCH_PAGES,
    KNOWN_LINKS,
    PAGE_CHANGES,
    PAGE_LINKS,
    PAGES,
    SEED_TITLES,
    SITES,
)
from holocron_assets.lake.views.database import rows_of
from holocron_assets.lake.views.literals import quoted

_SQL = files(__package__).joinpath("sql")
_SETTINGS = [
    {
        "source": "varchar",
        "is_dump": "boolean",
        "max_depth": "bigint",
        "farthest": "bigint",
        "namespaces": ["bigint"],
        "is_whole": "boolean",
    }
]
_REQUEUES = [{"source": "varchar", "title_key": "bigint", "decided_at": "timestamptz"}]
FRONTIER_TABLES = (SITES, SEED_TITLES, BATCH_PAGES, PAGES, PAGE_LINKS, KNOWN_LINKS, PAGE_CHANGES)
"""The tables that decide what is fetched next."""
_NO_END = 2**31
"""A depth greater than that of any page."""

Rows = Mapping[str, str]
"""SQL of the rows that make up the frontier, by the name of their view in schema `crawl`."""


def frontier_mark(lake: Lake, sources: Sequence[Source]) -> str:
    """A text that changes with the frontier of some sources, except as time goes by. Quick to compute."""
    names = {source.name for source in sources}
    files = lake.mark(FRONTIER_TABLES, lambda name: name in names or source_of(name) in names)
    return files + standing_mark(lake, "requeue") + content_hash(repr(sources))


def frontier_views(sources: Iterable[Source], lake: Lake | None = None) -> str:
    """SQL for views `frontier` and `wanted_pages`, and the views that they use.

    Args:
        sources: the sources, with depth, namespaces and patterns.
        lake: the views read the files that it holds now, and are fast. Without a lake they read all that the
            lake holds at the time of the query.
    """
    sources = list(sources)
    rows = (
        _ROWS_AT_ANY_TIME
        if lake is None
        else rows_now(lake, {one.name: coverage(lake, one) for one in sources})
    )
    parts = ("new_rows", "reached", "known_titles", "frontier")
    return relations(sources, rows) + "".join(_text(part, relation="view") for part in parts)


def frontier_tables(lake: Lake, source: Source) -> str:
    """SQL for views `known_titles` and `frontier` of one source, over tables of what is new."""
    held = coverage(lake, source)
    if source.kind == "mediawiki_dump":  # a dump is read in its own order; its links do not matter
        held = replace(held, new_with_links=[])
    return _tables(lake, [source], {source.name: held})


def frontier_tables_of(lake: Lake, sources: Sequence[Source]) -> str:
    """SQL for the same views as `frontier_views` of what a lake holds now, over tables of what is new.

    To bind views over views of what is new takes DuckDB five times as long as to make tables of it.
    """
    return _tables(lake, sources, {one.name: coverage(lake, one) for one in sources})


def _tables(lake: Lake, sources: Sequence[Source], held: Mapping[str, Coverage]) -> str:
    parts = ("new_rows", "reached", "known_titles", "frontier")
    return relations(sources, rows_now(lake, held)) + "".join(_text(part, relation="table") for part in parts)


def rows_now(lake: Lake, held: Mapping[str, Coverage]) -> Rows:
    """The files of `known_links` for some sources, and of the batches that it does not cover.

    Args:
        lake: where the files are.
        held: what `known_links` holds, by source.
    """
    usable = [name for name, one in held.items() if one.is_usable]
    listed = [name for name in held if name not in usable and lake.has(SEED_TITLES, name)]
    return {
        "compacted": rows_of(lake, KNOWN_LINKS, usable),
        "new_seeds": rows_of(lake, SEED_TITLES, listed),
        "new_outcomes": rows_of(lake, PAGES, [batch for one in held.values() for batch in one.new]),
        "new_links": rows_of(
            lake, PAGE_LINKS, [batch for one in held.values() for batch in one.new_with_links]
        ),
        "manifests": rows_of(lake, BATCH_PAGES, [batch for one in held.values() for batch in one.unfinished]),
        "reported": rows_of(lake, PAGE_CHANGES, [name for name in held if lake.has(PAGE_CHANGES, name)]),
        "sites": rows_of(lake, SITES, [name for name in held if lake.has(SITES, name)]),
        "requeues": _requeues(lake),
    }


def _requeues(lake: Lake) -> str:
    """SQL of people's requeues. They are few, and a process reads each of the log's small files once."""
    rows = [{name: row[name] for name in _REQUEUES[0]} for row in standing(lake).requeues.values()]
    listed = f"from_json({quoted(json.dumps(rows, default=str))}, {quoted(json.dumps(_REQUEUES))})"
    return f"select unnest({listed}, max_depth := 2)"


def relations(sources: Sequence[Source], rows: Rows) -> str:
    """SQL for schema `crawl`: rows, changes, and the settings of the sources. It may be run twice."""
    views = "".join(f"create or replace view crawl.{name} as {sql};\n" for name, sql in rows.items())
    settings = quoted(json.dumps([_settings(source) for source in sources]))
    return f"""
        create schema if not exists crawl;
        create or replace view crawl.settings as
        select unnest(from_json({settings}, {quoted(json.dumps(_SETTINGS))}), max_depth := 2);

        create or replace macro fits_include(of_source, title) as
        {_fits({source.name: source.include for source in sources})};

        create or replace macro fits_exclude(of_source, title) as
        {_fits({source.name: source.exclude for source in sources})};
        {views}
        {sql_part("changes")}
    """


def sql_part(name: str, **parameters: str) -> str:
    """One of the files in `sql/`, with its parameters filled in."""
    text = _SQL.joinpath(f"{name}.sql").read_text(encoding="utf-8")
    return Template(text).substitute(parameters)


def _text(part: str, relation: str) -> str:
    step = sql_part("step", near="reached", steps="crawl.steps", reached="recurring.reached")
    return sql_part(part, relation=relation, step=step)


def _settings(source: Source) -> dict[str, Any]:
    """A source's row of view `crawl.settings`."""
    return {
        "source": source.name,
        "is_dump": source.kind == "mediawiki_dump",
        "max_depth": source.depth,
        "farthest": _NO_END if source.depth is None else source.depth,
        "namespaces": source.namespaces,
        "is_whole": source.seeds.all_pages,
    }


def _fits(patterns: Mapping[str, Sequence[str]]) -> str:
    """SQL for whether `title` matches a pattern of `of_source`; null for a source without patterns.

    Patterns are literals, because DuckDB compiles any other pattern anew for every title.
    """
    cases = []
    for source, several in patterns.items():
        if several:
            fits = " or ".join(f"regexp_matches(title, {quoted(one)})" for one in several)
            cases.append(f"when {quoted(source)} then {fits}")
    return f"case of_source {' '.join(cases)} end" if cases else "null::boolean"


_OF_A_SOURCE = "semi join crawl.settings using (source)"
_ROWS_AT_ANY_TIME: Rows = {
    "compacted": "from lake.known_links where false",
    "new_seeds": f"from lake.seed_titles {_OF_A_SOURCE}",
    "new_outcomes": f"from lake.pages {_OF_A_SOURCE}",
    "new_links": f"from lake.page_links {_OF_A_SOURCE}",
    "manifests": f"from lake.batch_pages {_OF_A_SOURCE} anti join lake.pages using (batch)",
    "reported": f"from lake.page_changes {_OF_A_SOURCE}",
    "sites": f"from lake.sites {_OF_A_SOURCE}",
    "requeues": f"from lake.decisions {_OF_A_SOURCE} where kind = 'requeue'",
}
