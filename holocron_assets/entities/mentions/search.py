"""Finds in the lake what the names on list pages mean."""

from collections.abc import Sequence
from importlib.resources import files

import duckdb
import pyarrow as pa

from holocron_assets.entities.identity.candidates import SURE_ENOUGH
from holocron_assets.entities.mentions.mentions import NO_MENTIONS, FoundMentions, mention_rows, said_names
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables.identity import EXTRACTION, LINKED
from holocron_assets.lake.titles import DEFAULT_SITE, Site
from holocron_assets.lake.views.database import query

_SEARCH = files(__package__).joinpath("mentions.sql").read_text(encoding="utf-8")
_COLUMNS = (
    *("source", "batch", "title", "title_key", "revision_id", "chunk", "position"),
    *("evidence", "supported", "model", "name", "type"),
)
_ANSWERS = """
    select answers.*, signals.continuity
    from ({answers}) as answers
    semi join present_answers as present
        on answers.batch = present.batch and answers.title_key = present.title_key
    join lake.page_signals as signals
        on answers.batch = signals.batch and answers.title_key = signals.title_key
"""
_MEANT = """
    select
        meant.number, meant.method, meant.title, meant.to_section,
        articles.title is not null as has_page,
        coalesce(articles.is_other, false) as is_other,
        articles.entity_type,
        articles.continuity
    from meant
    join wanted using (number)
    left join articles on articles.source = wanted.source and articles.title = meant.title
"""
_SAID = pa.schema(
    [
        ("number", pa.int64()),
        ("source", pa.string()),
        ("batch", pa.string()),
        ("list_key", pa.int64()),
        ("name", pa.string()),
        ("title", pa.string()),
        ("said_type", pa.string()),
        ("continuity", pa.string()),
    ]
)


def find_mentions(connection: duckdb.DuckDBPyConnection, lake: Lake) -> FoundMentions:
    """The names on all list pages that count now, and what each name means.

    Args:
        connection: to the lake, in which `snapshot.sql` was run.
        lake: the lake that it reads.
    """
    known = {table.name for table in lake.derived_tables}
    read = [
        f"select {', '.join(_COLUMNS)}, {aliases} as aliases from lake.{name}"  # noqa: S608 - names of our own
        for name, aliases in ((EXTRACTION, "aliases"), (LINKED, "[]::varchar[]"))
        if name in known
    ]
    if not read:
        return NO_MENTIONS
    answers = query(connection, _ANSWERS.format(answers=" union all ".join(read)))
    if not answers:
        return NO_MENTIONS
    sites = {row["source"]: Site.from_row(row) for row in query(connection, "from lake.sites")}
    wikis = {source: sites.get(source, DEFAULT_SITE) for source in {row["source"] for row in answers}}
    names = said_names(answers, wikis)
    if not names:
        return NO_MENTIONS
    connection.register("said", _said_table(names))
    try:
        query(connection, f"set variable sure_enough = {SURE_ENOUGH}")
        query(connection, _SEARCH)
        meant = {row["number"]: row for row in query(connection, _MEANT)}
    finally:
        connection.unregister("said")
    return mention_rows(names, meant)


def _said_table(names: Sequence[Row]) -> pa.Table:
    """The names for DuckDB."""
    return pa.Table.from_pylist([{**name, "list_key": name["title_key"]} for name in names], schema=_SAID)
