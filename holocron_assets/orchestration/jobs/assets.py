"""The jobs over assets, without those of the knowledge base (`assets.entities`) and models (`jobs.derive`).

Their steps record which files they replaced; see `assets.events`. The views are no file of the lake.
"""

from collections.abc import Sequence

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
from holocron_assets.orchestration.internals.assets import DEFERRED, AssetJob
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


def _job(name: str, made: Sequence[str], description: str, *, is_deferred: bool = True) -> AssetJob:
    """A job that makes some assets without their checks."""
    return dg.define_asset_job(
        name,
        selection=dg.AssetSelection.assets(*made) - _CHECKS,
        tags=DEFERRED if is_deferred else None,
        description=description,
    )


_JOBS = [
    _job(SITES_JOB, [SITES.name], "Ask a source's wiki for its site information."),
    _job(
        SEEDS_JOB,
        [SITES.name, SEED_TITLES.name],
        "Ask a source's wiki for its site information, and list the seeds of its crawl.",
    ),
    _job(
        RECHECK_JOB,
        [REVISION_CHECKS.name],
        "Compare a source's pages with its wiki, for ten minutes; what differs is fetched again.",
    ),
    _job(
        BATCH_JOB,
        [PAGES.name, *BATCH_STEP_NAMES],
        "Fetch the pages of a batch, read their signals and classify them.",
    ),
    _job(
        SETTLE_JOB,
        [*BATCH_STEP_NAMES],
        "Make a batch's derived tables again, after code or rules changed. Fetches nothing.",
    ),
    _job(
        LINKS_JOB,
        [KNOWN_LINKS.name],
        "Compact what a source's batches say about titles, to keep the frontier quick.",
    ),
    _job(
        LIST_FILES_JOB,
        [FILE_LIST.name],
        "List the files that a source names, or that its wiki's pages use. Fetches none.",
    ),
    _job(FILES_JOB, [FILES.name], "Fetch the files of a batch into the store."),
    _job(
        VIEWS_JOB,
        ["views"],
        "Write `holocron.duckdb`, the views that any DuckDB client opens.",
        is_deferred=False,
    ),
    _job(SEARCH_JOB, ["search_index"], "Bring the search index up to date with the lake.", is_deferred=False),
    dg.define_asset_job(
        QUALITY_JOB,
        selection=_CHECKS - _OF_RUNS,
        description="Check the lake's quality: unknown rate, what sources must yield, growth.",
    ),
]

ASSET_JOBS = {job.name: job for job in _JOBS}
"""Every asset job by name."""
