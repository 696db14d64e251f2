"""Assets of files: what a source lists, the manifests of its batches, and what was fetched."""

from collections.abc import Iterator
from time import perf_counter

import dagster as dg

from holocron_assets.crawl.fetch import fetch_batch
from holocron_assets.crawl.files.reader import file_reader
from holocron_assets.crawl.files.sitemaps import sitemap_reader
from holocron_assets.crawl.frontier.file_batches import FILES_OF_A_BATCH, file_manifest
from holocron_assets.crawl.http.log import Tally
from holocron_assets.crawl.sources.file_list import LIST_VERSION, store_file_list
from holocron_assets.decisions.controls import refuse_held, safe_point
from holocron_assets.lake.files.durable import replaced_files
from holocron_assets.lake.files.parquet import read_footer
from holocron_assets.lake.journals.journal import Journal
from holocron_assets.lake.place.paths import source_of
from holocron_assets.lake.tables import FILE_BATCHES, FILE_LIST, FILES
from holocron_assets.orchestration.assets.crawl import CRAWL_POOL, client_for
from holocron_assets.orchestration.assets.events import StepResult, Stored, partition_of, step_results
from holocron_assets.orchestration.assets.metadata import table_arguments, written_metadata
from holocron_assets.orchestration.assets.partitions import BATCHES_OF_FILES, SOURCES_OF_FILES
from holocron_assets.orchestration.assets.politeness_metadata import polite_failures, politeness_metadata
from holocron_assets.orchestration.resources.resources import LakeResource, SourcesResource
from holocron_assets.orchestration.runs.held import ended_when_held
from holocron_assets.orchestration.runs.retries import NETWORK
from holocron_assets.planning.holding import is_begun

_GROUP = "files"

file_batches = dg.AssetSpec(
    FILE_BATCHES.name,
    partitions_def=BATCHES_OF_FILES,
    group_name=_GROUP,
    **table_arguments(FILE_BATCHES, note="Cut by the `new_files` sensor or a person, never by a run."),
)


@dg.asset(
    partitions_def=SOURCES_OF_FILES,
    group_name=_GROUP,
    code_version=LIST_VERSION,
    **table_arguments(FILE_LIST, "mediawiki"),
    retry_policy=NETWORK,
    pool=CRAWL_POOL,
)
def file_list(
    context: dg.AssetExecutionContext, lake: LakeResource, sources: SourcesResource
) -> Iterator[StepResult]:
    """List the source's artifacts. Lines that name none are reported, and the run fails after the rest."""
    started, tally, opened = perf_counter(), Tally(), lake.open()
    with ended_when_held(context), polite_failures(tally), replaced_files() as replaced:
        name = partition_of(context)
        begun = Journal(opened.journal(FILE_LIST, name)).exists()
        refuse_held(opened, source=name, is_begun=begun)
        source = sources.get_files(name)
        stop = safe_point(opened, source=source.name)
        with (
            opened.lock(f"list-files-{source.name}"),
            client_for("list", opened, source, sources, tally) as client,
            sitemap_reader(opened, source, sources.shared_folder, tally=tally, safe_point=stop) as read_url,
        ):
            listing = store_file_list(opened, source, client, read_url, stop)
    metadata = {
        **written_metadata(
            listing.footer, listing.rows, counted="origin", seconds=perf_counter() - started, titles="name"
        ),
        **politeness_metadata(tally),
    }
    is_replaced = opened.file(FILE_LIST, source.name) in replaced
    yield from step_results(context, Stored(listing.footer, metadata, is_replaced))
    if listing.problems:
        raise dg.Failure(
            f"{listing.footer.rows} artifacts were listed, but {listing.problem_count} lines name none: "
            + "; ".join(listing.problems),
            metadata=politeness_metadata(tally),
            allow_retries=False,
        )


@dg.asset(
    deps=[file_batches],
    partitions_def=BATCHES_OF_FILES,
    group_name=_GROUP,
    **table_arguments(FILES),
    retry_policy=NETWORK,
    pool=CRAWL_POOL,
)
def files(
    context: dg.AssetExecutionContext, lake: LakeResource, sources: SourcesResource
) -> Iterator[StepResult]:
    """Fetch the batch's missing files; those that have an outcome are not fetched again."""
    started, tally, opened = perf_counter(), Tally(), lake.open()
    with ended_when_held(context), polite_failures(tally), replaced_files() as replaced:
        batch = partition_of(context)
        refuse_held(opened, source=source_of(batch), is_begun=is_begun(opened, batch, FILES))
        file_manifest(opened, batch)  # raises if no such batch was cut
        source = sources.get_files(source_of(batch))
        stop = safe_point(opened, source=source.name)
        # A person and a sensor may start the same batch: the second waits, and finds everything done.
        with (
            opened.lock(f"batch-{batch}"),
            file_reader(opened, source, batch, sources.shared_folder, tally=tally, safe_point=stop) as reader,
        ):
            rows = fetch_batch(opened, batch, reader, context.run.run_id, FILES_OF_A_BATCH)
    footer = read_footer(opened, FILES, batch)
    if footer is None:
        raise RuntimeError(f"batch {batch!r} was removed from the lake while it was fetched")
    seconds = perf_counter() - started
    metadata = {
        **written_metadata(footer, rows, counted="status", seconds=seconds, titles="name"),
        "file_bytes": sum(row["size_bytes"] or 0 for row in rows),
        "source": source.name,
        **politeness_metadata(tally),
    }
    yield from step_results(context, Stored(footer, metadata, opened.file(FILES, batch) in replaced))
