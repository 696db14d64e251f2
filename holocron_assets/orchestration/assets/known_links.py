"""The asset `known_links`: what a source's batches say about titles, in one file, made from all of them."""

from collections.abc import Iterator
from time import perf_counter

import dagster as dg

from holocron_assets.crawl.frontier.known_links import make_known_links
from holocron_assets.crawl.sources.source import Source
from holocron_assets.decisions.controls import refuse_held
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import KNOWN_LINKS, PAGE_LINKS, PAGES, SEED_TITLES
from holocron_assets.orchestration.assets.events import StepResult, Stored, partition_of, step_results
from holocron_assets.orchestration.assets.metadata import table_arguments, timing
from holocron_assets.orchestration.assets.partitions import SOURCES
from holocron_assets.orchestration.resources.resources import LakeResource, SourcesResource
from holocron_assets.orchestration.runs.failures import clear_failures
from holocron_assets.orchestration.runs.held import ended_when_held
from holocron_assets.orchestration.runs.retries import LAKE

_EVERY_BATCH = dg.AllPartitionMapping()


@dg.asset(
    name=KNOWN_LINKS.name,
    deps=[
        SEED_TITLES.name,
        dg.AssetDep(PAGES.name, partition_mapping=_EVERY_BATCH),
        dg.AssetDep(PAGE_LINKS.name, partition_mapping=_EVERY_BATCH),
    ],
    partitions_def=SOURCES,
    group_name="crawl",
    **table_arguments(KNOWN_LINKS, "duckdb"),
    retry_policy=LAKE,
)
def known_links(
    context: dg.AssetExecutionContext, lake: LakeResource, sources: SourcesResource
) -> Iterator[StepResult]:
    """Compact what the source's batches say about titles."""
    with ended_when_held(context), clear_failures():
        name = partition_of(context)
        refuse_held(lake.open(), source=name)
        stored = _compacted(lake.open(), sources.get(name))
    yield from step_results(context, stored)


def _compacted(lake: Lake, source: Source) -> Stored:
    started = perf_counter()
    footer = make_known_links(lake, source)
    metadata = {
        "dagster/row_count": footer.rows,
        **timing(footer, perf_counter() - started),
        "batches": sum(name.startswith(f"{source.name}-") for name in footer.inputs),
        "content_id": footer.content_id,
        "code_version": footer.code_version,
    }
    return Stored(footer, metadata)
