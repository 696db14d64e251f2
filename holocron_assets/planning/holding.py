"""Applies people's holds: which work is not requested, and why. For how a run ends, see `runs.held`."""

from holocron_assets.decisions.controls import DRAIN, Hold, standing_controls
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGES, SEED_TITLES
from holocron_assets.planning.batch_derivations import BATCH_DERIVATIONS
from holocron_assets.planning.job_names import BATCH_JOB, SEEDS_JOB, SETTLE_JOB
from holocron_assets.planning.work import Work


def hold_on(lake: Lake, work: Work) -> Hold | None:
    """The hold that keeps some work from being started, if any. A drain lets begun work be finished."""
    hold = standing_controls(lake).holds(source=work.source)
    return None if hold and hold.action == DRAIN and _is_begun(lake, work) else hold


def is_begun(lake: Lake, batch: str) -> bool:
    """Whether pages of a batch were read, or are being read."""
    return lake.journal(PAGES, batch).exists() or lake.has(PAGES, batch)


def _is_begun(lake: Lake, work: Work) -> bool:
    if work.partition is None:
        return False
    if work.job == BATCH_JOB:
        return is_begun(lake, work.partition)
    if work.job == SETTLE_JOB:  # a missing table belongs to the batch; making one again is new work
        return not all(lake.has(one.table, work.partition) for one in BATCH_DERIVATIONS)
    return work.job == SEEDS_JOB and lake.journal(SEED_TITLES, work.partition).exists()


def holds_named(lake: Lake) -> list[str]:
    """A sentence for each hold, for the message of a tick without work."""
    return [str(hold) for hold in standing_controls(lake).held.values()]
