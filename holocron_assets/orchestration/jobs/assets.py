"""The jobs over assets, without those of the knowledge base (`assets.entities`) and models (`jobs.derive`).

Their steps record which files they replaced; see `assets.events`. The views are no file of the lake.
"""

import dagster as dg

from holocron_assets.lake.tables import (
    FILE_LIST,
    FILES,
    KNOWN_LINKS,
    PAGES,
    REVISION_CHECKS,
    SEED_TITLES,
    SITES,
)
from holocron_assets.orchestration.assets.batches import BATCH_STEP_NAMES
from holocron_assets.orchestration.internals.assets import DEFERRED
from holocron_assets.planning.entity_stages import BY_SOURCE, BY_TYPE, LEARNED
from holocron_assets.planning.job_names import (
    BATCH_JOB,
    FILES_JOB,
    LINKS_JOB,
    LIST_FILES_JOB,
    QUALITY_JOB,
    RECHECK_JOB,
    SEARCH_JOB,
    SEEDS_JOB,
    SETTLE_JOB,
    SITES_JOB,
    VIEWS_JOB,
    WHOLE_RUN_CHECK,
)

_CHECKS = dg.AssetSelection.all_asset_checks()

_OF_RUNS = dg.AssetSelection.checks(
    *(
        dg.AssetCheckKey(dg.AssetKey(stages[-1].name), WHOLE_RUN_CHECK)
        for stages in (LEARNED, BY_TYPE, BY_SOURCE)
    )
)
"""Checks that end a run, and are not about the lake."""

_JOBS = [
    dg.define_asset_job(
        SITES_JOB,
        selection=dg.AssetSelection.assets(SITES.name) - _CHECKS,
        tags=DEFERRED,
        description="Ask a source's wiki for its site information.",
    ),
    dg.define_asset_job(
        SEEDS_JOB,
        selection=dg.AssetSelection.assets(SITES.name, SEED_TITLES.name) - _CHECKS,
        tags=DEFERRED,
        description="Ask a source's wiki for its site information, and list the seeds of its crawl.",
    ),
    dg.define_asset_job(
        RECHECK_JOB,
        selection=dg.AssetSelection.assets(REVISION_CHECKS.name) - _CHECKS,
        tags=DEFERRED,
        description="Compare a source's pages with its wiki, for ten minutes; what differs is fetched again.",
    ),
    dg.define_asset_job(
        BATCH_JOB,
        selection=dg.AssetSelection.assets(PAGES.name, *BATCH_STEP_NAMES) - _CHECKS,
        tags=DEFERRED,
        description="Fetch the pages of a batch, read their signals and classify them.",
    ),
    dg.define_asset_job(
        SETTLE_JOB,
        selection=dg.AssetSelection.assets(*BATCH_STEP_NAMES) - _CHECKS,
        tags=DEFERRED,
        description="Make a batch's derived tables again, after code or rules changed. Fetches nothing.",
    ),
    dg.define_asset_job(
        LINKS_JOB,
        selection=dg.AssetSelection.assets(KNOWN_LINKS.name) - _CHECKS,
        tags=DEFERRED,
        description="Compact what a source's batches say about titles, to keep the frontier quick.",
    ),
    dg.define_asset_job(
        LIST_FILES_JOB,
        selection=dg.AssetSelection.assets(FILE_LIST.name) - _CHECKS,
        tags=DEFERRED,
        description="List the files that a source names, or that its wiki's pages use. Fetches none.",
    ),
    dg.define_asset_job(
        FILES_JOB,
        selection=dg.AssetSelection.assets(FILES.name) - _CHECKS,
        tags=DEFERRED,
        description="Fetch the files of a batch into the store.",
    ),
    dg.define_asset_job(
        VIEWS_JOB,
        selection=dg.AssetSelection.assets("views") - _CHECKS,
        description="Write `holocron.duckdb`, the views that any DuckDB client opens.",
    ),
    dg.define_asset_job(
        SEARCH_JOB,
        selection=dg.AssetSelection.assets("search_index") - _CHECKS,
        description="Bring the search index up to date with the lake.",
    ),
    dg.define_asset_job(
        QUALITY_JOB,
        selection=_CHECKS - _OF_RUNS,
        description="Check the lake's quality: unknown rate, what sources must yield, growth.",
    ),
]

ASSET_JOBS = {job.name: job for job in _JOBS}
"""Every asset job by name."""
