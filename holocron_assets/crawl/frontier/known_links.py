"""Table `known_links`: titles and links of all fetched batches of a source, in one file, made anew each time.

With it the frontier need not read every batch each time. It can be deleted at any time: without it the
frontier has the same result, but more slowly.
"""

import glob
import json
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

from holocron_assets.crawl.frontier.coverage import (
    KNOWN_LINKS_VERSION,
    Coverage,
    batch_mark,
    coverage,
    present_marks,
    without_known_links,
)
from holocron_assets.crawl.frontier.pending import outlook
from holocron_assets.crawl.frontier.views import relations, rows_now, sql_part
from holocron_assets.crawl.sources.source import Source
from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.declaration.schema import SchemaError
from holocron_assets.lake.files.durable import replacing
from holocron_assets.lake.files.footers import FOOTER_KEY, Footer, footer_json
from holocron_assets.lake.files.parquet import read_footer
from holocron_assets.lake.files.sealing import seal
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import KNOWN_LINKS, PAGE_CHANGES
from holocron_assets.lake.views.database import query, rows_of
from holocron_assets.lake.views.literals import quoted
from holocron_assets.lake.views.spilling import spilling_database

_MEMORY = "1200MB"
_FEWEST_NEW = 20
_SHARE_OF_COVERED = 50
_SHARE_OF_DUMP = 2
_MOST_NEW = 1000
_LARGEST_BOUND = 500  # so that it is made again before reading is slow
_COLUMNS = ", ".join(column.name for column in KNOWN_LINKS.columns)
_REQUIRED = ", ".join(f"count({column.name})" for column in KNOWN_LINKS.columns if not column.nullable)
_STARTS = """
    select title_key, 0::bigint as depth, null::bigint as via_key
    from (select title_key from crawl.new_seeds union select title_key from crawl.standing_titles)
"""


def compaction_is_due(lake: Lake, source: Source) -> bool:
    """Whether a source's `known_links` should be made anew.

    It should if enough batches are new, or if nothing is in flight and a page may be pending that it does not
    show.
    """
    if coverage(lake, source).unfinished:
        return enough_is_new(lake, source)
    return _is_enough_new(lake, source, _SHARE_OF_COVERED) or _may_hide_pages(lake, source)


def enough_is_new(lake: Lake, source: Source) -> bool:
    """Whether reading what is pending would take long, since many batches are new or have changed.

    Twenty are many, or of a large wiki one for every fifty covered. A dump is read in its own order, whatever
    its links. So of a large one half as many as are covered are many. More than 500 always are.
    """
    is_dump = source.kind == "mediawiki_dump"
    return _is_enough_new(lake, source, _SHARE_OF_DUMP if is_dump else _SHARE_OF_COVERED)


def _is_enough_new(lake: Lake, source: Source, share: int) -> bool:
    held = coverage(lake, source)
    enough = min(max(_FEWEST_NEW, len(held.covered) // share), _LARGEST_BOUND)
    if len(held.new_with_links) >= enough:
        return True
    return len(held.new_with_links) + _changed(lake, held) >= enough


def _may_hide_pages(lake: Lake, source: Source) -> bool:
    """Whether no page seems pending, but only a new `known_links` can prove that."""
    held = coverage(lake, source)
    if not held.covered or source.kind == "mediawiki_dump":
        return False
    changed = _changed(lake, held)
    if not changed and not held.new:
        return False
    seen = outlook(lake, source)
    return not seen.is_pending and (changed > 0 or seen.has_shortcuts)


def reading_is_slow(lake: Lake, source: Source) -> bool:
    """Whether so many batches are not covered that reading the frontier takes longer than a sensor may."""
    return len(coverage(lake, source).new) > _MOST_NEW


def standing(lake: Lake, source: Source) -> str:
    """A text that changes when `known_links` is made anew, or needs other seeds or a greater depth."""
    footer = read_footer(lake, KNOWN_LINKS, source.name)
    return json.dumps(
        [footer.content_id if footer else None, KNOWN_LINKS_VERSION, present_marks(lake, source)]
    )


def make_known_links(lake: Lake, source: Source) -> Footer:
    """Make a source's `known_links` from all its finished batches, in at most 1.2 GB of memory and on disk.

    Args:
        lake: where the batches are and the file goes. It is replaced in one step.
        source: whose titles to read; its depth limits how far links are followed.

    Returns:
        The new file's footer: its inputs name the batches that it covers.

    Raises:
        SchemaError: the rows do not fit the table; the old file is kept.
        DamagedPartitionError: a batch's file cannot be read.
    """
    # One process at a time: otherwise a file that covers less could replace one that covers more.
    with lake.lock(f"known-links-{source.name}"):
        return _made(lake, source)


def _made(lake: Lake, source: Source) -> Footer:
    # Taken before anything is read: then a file written meanwhile makes the table stale, so it is made anew.
    present = present_marks(lake, source)
    held = without_known_links(lake, source)
    marks = {batch: mark for batch in held.new_with_links if (mark := batch_mark(lake, batch))}
    rows = rows_now(lake, {source.name: replace(held, new=list(marks), new_with_links=list(marks))})
    inputs = {**present, **marks}
    content_id = content_hash(json.dumps(inputs, sort_keys=True))
    footer, file = Footer(0, content_id, KNOWN_LINKS_VERSION, inputs), lake.file(KNOWN_LINKS, source.name)
    with (
        spilling_database(lake, memory=_MEMORY) as connection,
        replacing(file) as aside,
    ):
        query(connection, relations([source], {**rows, "reported": rows_of(lake, PAGE_CHANGES, [])}))
        query(connection, sql_part("new_rows", relation="table"))
        _measure_depths(connection, source)
        query(connection, sql_part("known_titles", relation="view"))
        _copy(connection, aside, footer_json(footer, file))
        seal(aside)
        _refuse_faulty(connection, aside, source.name)
        rows_written = pq.read_metadata(aside).num_rows
    return replace(footer, rows=rows_written)


def _changed(lake: Lake, held: Coverage) -> int:
    """How many covered batches have other pages or links than when `known_links` was made."""
    return sum(batch_mark(lake, batch) != mark for batch, mark in held.covered.items())


def _measure_depths(connection: duckdb.DuckDBPyConnection, source: Source) -> None:
    """Make `crawl.reached` step by step: each step reads the links once and holds only titles in memory."""
    query(
        connection,
        f"create or replace table crawl.reached as {_STARTS};"
        " create or replace table crawl.near as from crawl.reached",
    )
    if source.kind == "mediawiki_dump":
        return
    step = sql_part(
        "step",
        near="crawl.near",
        steps="(select *, null::bigint as known_depth from crawl.edges)",
        reached="crawl.reached",
    )
    while query(connection, "select exists (from crawl.near) as goes_on")[0]["goes_on"]:
        query(connection, f"create or replace table crawl.near as {step}")
        query(
            connection,
            "create or replace table crawl.reached as"
            " from crawl.reached anti join crawl.near using (title_key) union all from crawl.near",
        )


def _copy(connection: duckdb.DuckDBPyConnection, path: Path, footer: str) -> None:
    kept = (
        f"format parquet, compression zstd, row_group_size {KNOWN_LINKS.row_group_rows}, use_tmp_file false"
    )
    query(
        connection,
        f"copy (select {_COLUMNS} from known_titles) to {quoted(path)}"  # noqa: S608 - our own names
        f" ({kept}, kv_metadata {{{FOOTER_KEY.decode()}: {quoted(footer)}}})",
    )


def _refuse_faulty(connection: duckdb.DuckDBPyConnection, path: Path, source_name: str) -> None:
    """Check columns, empty values and keys of a file before it replaces the old one."""
    KNOWN_LINKS.check(pq.read_schema(path).empty_table(), source_name)
    sql = f"""
        select
            count(*) - count(distinct title_key) as repeated_keys,
            count(*) - least({_REQUIRED}) as empty_values
        from read_parquet($file)
    """  # noqa: S608 - the names of our own columns
    faults = query(connection, sql, {"file": glob.escape(str(path))})[0]
    if any(faults.values()):
        raise SchemaError(f"table {KNOWN_LINKS.name}, partition {source_name!r}: {faults}")
