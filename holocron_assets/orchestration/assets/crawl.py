"""Assets that come from outside: a source's site and seeds, the manifests of its batches, and its pages."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

import dagster as dg

from holocron_assets.crawl.fetch import fetch_batch
from holocron_assets.crawl.frontier.batches import manifest
from holocron_assets.crawl.http.log import Tally
from holocron_assets.crawl.mediawiki.client import WikiClient
from holocron_assets.crawl.readers import page_reader, wiki_client
from holocron_assets.crawl.sources.file_source import FileSource
from holocron_assets.crawl.sources.seeds import SEEDS_VERSION, load_site, store_seeds, store_site
from holocron_assets.crawl.sources.source import Source
from holocron_assets.decisions.controls import refuse_held, safe_point
from holocron_assets.lake.files.durable import replaced_files
from holocron_assets.lake.files.parquet import read_footer
from holocron_assets.lake.journals.journal import Journal
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake, source_of
from holocron_assets.lake.tables import BATCH_PAGES, PAGES, SEED_TITLES, SITES
from holocron_assets.orchestration.assets.events import StepResult, Stored, partition_of, step_results
from holocron_assets.orchestration.assets.metadata import large_metadata, table_arguments, written_metadata
from holocron_assets.orchestration.assets.partitions import BATCHES, SOURCES
from holocron_assets.orchestration.assets.politeness_metadata import polite_failures, politeness_metadata
from holocron_assets.orchestration.resources.resources import LakeResource, SourcesResource
from holocron_assets.orchestration.runs.held import ended_when_held
from holocron_assets.orchestration.runs.retries import NETWORK
from holocron_assets.planning.holding import is_begun
from holocron_assets.signals.links import link_extractor

CRAWL_POOL = "crawl"

batch_pages = dg.AssetSpec(
    BATCH_PAGES.name,
    partitions_def=BATCHES,
    group_name="crawl",
    **table_arguments(BATCH_PAGES, note="Cut by the `new_pages` sensor or a person, never by a run."),
)


@dg.asset(
    partitions_def=SOURCES,
    group_name="crawl",
    **table_arguments(SITES, "mediawiki"),
    retry_policy=NETWORK,
    pool=CRAWL_POOL,
)
def sites(
    context: dg.AssetExecutionContext, lake: LakeResource, sources: SourcesResource
) -> Iterator[StepResult]:
    """Ask the wiki for its site information."""
    started = perf_counter()
    tally = Tally()
    with ended_when_held(context), polite_failures(tally):
        source = sources.get(partition_of(context))
        refuse_held(lake.open(), source=source.name)
        with client_for("seeds", lake.open(), source, sources, tally) as client:
            footer, row = store_site(lake.open(), source, client)
    seconds = perf_counter() - started
    metadata = written_metadata(footer, [row], counted="title_case", seconds=seconds, titles="site_name")
    yield from step_results(context, Stored(footer, {**metadata, **politeness_metadata(tally)}))


@dg.asset(
    deps=[sites],
    partitions_def=SOURCES,
    group_name="crawl",
    code_version=SEEDS_VERSION,
    **table_arguments(SEED_TITLES, "mediawiki"),
    retry_policy=NETWORK,
    pool=CRAWL_POOL,
)
def seed_titles(
    context: dg.AssetExecutionContext, lake: LakeResource, sources: SourcesResource
) -> Iterator[StepResult]:
    """List the source's seeds. A list that breaks off is kept, and the run fails."""
    started = perf_counter()
    tally, opened = Tally(), lake.open()
    with ended_when_held(context), polite_failures(tally), replaced_files() as replaced:
        source = sources.get(partition_of(context))
        begun = Journal(opened.journal(SEED_TITLES, source.name)).exists()
        refuse_held(opened, source=source.name, is_begun=begun)
        with client_for("seeds", opened, source, sources, tally) as client:
            listing = store_seeds(opened, source, client, safe_point(opened, source=source.name))
    seconds = perf_counter() - started
    metadata = {
        **large_metadata(opened, SEED_TITLES, source.name, listing.footer, counted="origin", seconds=seconds),
        **{f"titles {name}": count for name, count in listing.counts.items()},
        **politeness_metadata(tally),
    }
    is_replaced = opened.file(SEED_TITLES, source.name) in replaced
    yield from step_results(context, Stored(listing.footer, metadata, is_replaced))
    if listing.problem:
        raise dg.Failure(
            f"{listing.footer.rows} titles were kept, but the list is not complete: {listing.problem}",
            metadata=politeness_metadata(tally),
            allow_retries=False,
        )


@dg.asset(
    deps=[batch_pages],
    partitions_def=BATCHES,
    group_name="crawl",
    **table_arguments(PAGES, "mediawiki"),
    retry_policy=NETWORK,
    pool=CRAWL_POOL,
)
def pages(
    context: dg.AssetExecutionContext, lake: LakeResource, sources: SourcesResource
) -> Iterator[StepResult]:
    """Fetch the batch's missing pages; pages that have an outcome are not fetched again."""
    started = perf_counter()
    tally, opened = Tally(), lake.open()
    with ended_when_held(context), polite_failures(tally), replaced_files() as replaced:
        batch = partition_of(context)
        manifest(opened, batch)  # raises if no such batch was cut
        source = sources.get(source_of(batch))
        refuse_held(opened, source=source.name, is_begun=is_begun(opened, batch))
        stop = safe_point(opened, source=source.name)
        extract = link_extractor(load_site(opened, source.name))
        # A person and a sensor may start the same batch: the second waits, and finds everything done.
        with (
            opened.lock(f"batch-{batch}"),
            page_reader(
                opened, source, batch, extract, sources.shared_folder, tally=tally, safe_point=stop
            ) as reader,
        ):
            rows = fetch_batch(opened, batch, reader, context.run.run_id)
    footer = read_footer(opened, PAGES, batch)
    if footer is None:
        raise RuntimeError(f"batch {batch!r} was removed from the lake while it was fetched")
    seconds = perf_counter() - started
    metadata = {
        **written_metadata(footer, rows, counted="status", seconds=seconds),
        "text_bytes": sum(row["size_bytes"] or 0 for row in rows),
        "source": source.name,
        **politeness_metadata(tally),
    }
    is_replaced = opened.file(PAGES, batch) in replaced
    yield from step_results(context, Stored(footer, metadata, is_replaced))


@contextmanager
def client_for(
    work: str, lake: Lake, source: Source | FileSource, sources: SourcesResource, tally: Tally
) -> Iterator[WikiClient | None]:
    """A client for work over a whole source, such as 'seeds'; None if the source is read without a wiki."""
    if source.kind not in {"mediawiki_api", "mediawiki_files"}:
        yield None
        return
    # One file a day, so that no file grows without end.
    scope = f"{source.name}-{work}-{utc_now():%Y%m%d}"
    stop = safe_point(lake, source=source.name)
    with wiki_client(lake, source, scope, sources.shared_folder, tally=tally, safe_point=stop) as client:
        yield client
