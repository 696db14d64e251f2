"""The asset of revision checks: each run continues a pass over all pages of a source."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter

import dagster as dg

from holocron_assets.crawl.changes.revision_check import check_revisions, passes, refuse_dump, start_pass
from holocron_assets.crawl.http.log import Tally
from holocron_assets.crawl.readers import wiki_client
from holocron_assets.crawl.sources.source import Source
from holocron_assets.decisions.controls import refuse_held, safe_point
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.durable import replaced_files
from holocron_assets.lake.files.parquet import read_footer
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGE_CHANGES, REVISION_CHECKS
from holocron_assets.orchestration.assets.change_readings import changes_reported
from holocron_assets.orchestration.assets.crawl import CRAWL_POOL
from holocron_assets.orchestration.assets.events import StepResult, Stored, partition_of, step_results
from holocron_assets.orchestration.assets.metadata import table_arguments
from holocron_assets.orchestration.assets.partitions import SOURCES
from holocron_assets.orchestration.assets.politeness_metadata import polite_failures, politeness_metadata
from holocron_assets.orchestration.resources.resources import LakeResource, SourcesResource
from holocron_assets.orchestration.runs.held import ended_when_held
from holocron_assets.orchestration.runs.retries import NETWORK
from holocron_assets.planning.job_names import WORK_TAG

_RUN_SECONDS = 600.0
"""The time of one run; then other requests to the wiki can go on."""


_NOTE = "A run works on a pass for ten minutes, and `changed_pages` asks for the next."


@dg.asset(
    name=REVISION_CHECKS.name,
    partitions_def=SOURCES,
    group_name="crawl",
    **table_arguments(REVISION_CHECKS, "mediawiki", note=_NOTE),
    retry_policy=NETWORK,
    pool=CRAWL_POOL,
)
def revision_checks(
    context: dg.AssetExecutionContext, lake: LakeResource, sources: SourcesResource
) -> Iterator[StepResult]:
    """Compare the revisions of fetched pages with those that the wiki has now."""
    started, opened, tally = perf_counter(), lake.open(), Tally()
    with ended_when_held(context), polite_failures(tally), replaced_files() as replaced:
        source = sources.get(partition_of(context))
        refuse_held(opened, source=source.name)
        refuse_dump(source)
        by_hand = WORK_TAG not in context.run.tags
        # A person and a sensor may start it at once: the second waits, and goes on where the first ended.
        with opened.lock(f"recheck-{source.name}"):
            current, found = _go_on(opened, source, sources.shared_folder, tally, by_hand=by_hand)
    seconds = perf_counter() - started
    if found and (written := read_footer(opened, PAGE_CHANGES, source.name)):
        # Changes that a wiki reports are recorded as `changed_pages` does: no step makes that asset.
        event = changes_reported(source, written, found, tally, seconds=seconds)
        context.instance.report_runless_asset_event(event)
    footer = read_footer(opened, REVISION_CHECKS, source.name)
    if footer is None:
        raise RuntimeError(f"the revision checks of {source.name!r} were removed from the lake meanwhile")
    metadata = {
        **{name: current[name] for name in ("why", "checked", "changed")},
        "finished": current["finished_at"] is not None,
        "seconds": round(seconds, 3),
        **politeness_metadata(tally),
    }
    is_replaced = opened.file(REVISION_CHECKS, source.name) in replaced
    yield from step_results(context, Stored(footer, metadata, is_replaced))


def _go_on(
    lake: Lake, source: Source, shared_folder: Path, tally: Tally, *, by_hand: bool
) -> tuple[Row, Sequence[Row]]:
    """Work on the unfinished pass. If there is none, a run that a person started begins one."""
    current = start_pass(lake, source.name, "person", utc_now()) if by_hand else passes(lake, source.name)[-1]
    if current["finished_at"]:
        return current, ()
    scope = f"{source.name}-recheck-{utc_now():%Y%m%d}"
    stop = safe_point(lake, source=source.name)
    with wiki_client(lake, source, scope, shared_folder, tally=tally, safe_point=stop) as client:
        return check_revisions(lake, source, client, seconds=_RUN_SECONDS)
