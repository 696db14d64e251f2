"""Applies holds: which work is not requested, and why. For how a run ends, see `runs.held`."""

from holocron_assets.decisions.controls import DRAIN, MACHINE, HeldBackError, Hold, standing_controls
from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.journals.journal import Journal
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import FILE_LIST, FILES, PAGES, SEED_TITLES
from holocron_assets.planning.batch_derivations import BATCH_DERIVATIONS
from holocron_assets.planning.job_names import (
    BATCH_JOB,
    COMPACTION_JOB,
    FILES_JOB,
    LIST_FILES_JOB,
    QUALITY_JOB,
    SEEDS_JOB,
    SETTLE_JOB,
    STATUS_JOB,
    UPKEEP_JOB,
)
from holocron_assets.planning.work import Work

_FREEING = {UPKEEP_JOB, COMPACTION_JOB}
"""Jobs that free space."""
_READING = {QUALITY_JOB, STATUS_JOB}
"""Jobs that only read and report, which no hold keeps back."""


def hold_on(lake: Lake, work: Work) -> Hold | None:
    """The hold that keeps some work from being started, if any. A drain lets begun work be finished.

    A full or slow machine starts no run at all, except those that free space.
    """
    hold = standing_controls(lake).holds(source=work.source)
    if hold and hold.author == MACHINE:
        return None if work.job in _FREEING else hold
    return None if hold and hold.action == DRAIN and _is_work_begun(lake, work) else hold


def refuse_launch(lake: Lake, job: str, source: str | None) -> None:
    """Raise HeldBackError if a person may not launch a job.

    What only reads may always be launched, and on a full or slow machine what frees space, too.
    """
    if job in _READING:
        return
    hold = standing_controls(lake).holds(source=source)
    if hold and not (hold.author == MACHINE and job in _FREEING):
        raise HeldBackError(str(hold))


def is_begun(lake: Lake, partition: str, table: Table = PAGES) -> bool:
    """Whether rows of a partition were read, or are being read."""
    return Journal(lake.journal(table, partition)).exists() or lake.has(table, partition)


def _is_work_begun(lake: Lake, work: Work) -> bool:
    if work.partition is None:
        return False
    if work.job == BATCH_JOB:
        return is_begun(lake, work.partition)
    if work.job == SETTLE_JOB:  # a missing table belongs to the batch; making one again is new work
        return not all(lake.has(one.table, work.partition) for one in BATCH_DERIVATIONS)
    if work.job == FILES_JOB:
        return is_begun(lake, work.partition, FILES)
    listed = {SEEDS_JOB: SEED_TITLES, LIST_FILES_JOB: FILE_LIST}.get(work.job)
    return listed is not None and Journal(lake.journal(listed, work.partition)).exists()


def holds_named(lake: Lake) -> list[str]:
    """A sentence for each hold, for the message of a tick without work."""
    return [str(hold) for hold in standing_controls(lake).held.values()]
