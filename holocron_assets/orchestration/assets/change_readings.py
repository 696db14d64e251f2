"""Reads wikis' changes for sensors, jobs and commands: one process at a time for each source."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from time import perf_counter

import dagster as dg
from filelock import Timeout

from holocron_assets.crawl.changes.recent import ChangesReading, next_reading, read_changes
from holocron_assets.crawl.changes.store import drop_settled
from holocron_assets.crawl.http.log import Tally
from holocron_assets.crawl.readers import wiki_client
from holocron_assets.crawl.sources.source import Source
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.parquet import Footer
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGE_CHANGES
from holocron_assets.orchestration.assets.metadata import table_arguments, written_metadata
from holocron_assets.orchestration.assets.partitions import SOURCES
from holocron_assets.orchestration.assets.politeness_metadata import politeness_metadata

_ASKING_SECONDS = 10.0
"""How long one reading asks for changes; then the reported changes are written."""

_TURN_SECONDS = 60.0
"""How long a caller that needs the end of the list waits for a sensor's readings."""

_NOTE = "Written by the `changed_pages` sensor and by `revision_checks`; dropped once it was fetched."


page_changes = dg.AssetSpec(
    PAGE_CHANGES.name,
    partitions_def=SOURCES,
    group_name="crawl",
    **table_arguments(PAGE_CHANGES, "mediawiki", note=_NOTE),
)


def read_once(  # noqa: PLR0913 - the source, the lake, the shared state, and three limits
    lake: Lake,
    source: Source,
    shared_folder: Path,
    tally: Tally,
    *,
    seconds: float,
    patience_seconds: float | None = None,
    turn_seconds: float = 1.0,
) -> ChangesReading | None:
    """Read a source's changes, and drop those that were fetched since.

    Args:
        lake: the lake to write changes to.
        source: a wiki with batches.
        shared_folder: shared state of processes about hosts.
        tally: counts the requests.
        seconds: how long to ask for further answers.
        patience_seconds: see `wiki_client`.
        turn_seconds: how long to wait for another process that is reading.

    Returns:
        The result; None if another process is reading.
    """
    # One file a day, so that no file grows without end.
    scope = f"{source.name}-changes-{utc_now():%Y%m%d}"
    try:
        with (
            lake.lock(f"look-{source.name}", timeout=turn_seconds),
            wiki_client(
                lake, source, scope, shared_folder, patience_seconds=patience_seconds, tally=tally
            ) as client,
        ):
            reading = read_changes(lake, source, client, seconds=seconds)
    except Timeout:
        return None
    drop_settled(lake, source)
    return reading


def read_to_the_end(
    lake: Lake, source: Source, shared_folder: Path, instance: dg.DagsterInstance
) -> str | None:
    """Read until the wiki has reported every change so far, even if no reading is due.

    Returns:
        Why the reading did not get that far; None if it did, or if there is nothing to read.
    """
    if next_reading(lake, source) is None:
        return None
    started, tally = perf_counter(), Tally()
    read_on_once = partial(read_once, lake, source, shared_folder, tally, seconds=_ASKING_SECONDS)
    while reading := read_on_once(turn_seconds=_TURN_SECONDS):
        if reading.footer:
            seconds = perf_counter() - started
            event = changes_reported(source, reading.footer, reading.rows, tally, seconds=seconds)
            instance.report_runless_asset_event(event)
        if not reading.goes_on:
            return reading.problem
    return f"another process is reading the changes of {source.name}"


def changes_reported(
    source: Source, footer: Footer, rows: Sequence[Row], tally: Tally, *, seconds: float
) -> dg.AssetMaterialization:
    """The event that records a wiki's reported changes in Dagster."""
    return dg.AssetMaterialization(
        PAGE_CHANGES.name,
        partition=source.name,
        description=f"{source.host} reported {len(rows)} changes",
        metadata={
            **written_metadata(footer, rows, counted="kind", seconds=seconds),
            **politeness_metadata(tally),
        },
    )
