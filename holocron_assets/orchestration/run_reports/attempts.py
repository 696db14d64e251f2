"""The chain of retries that a run is part of."""

from typing import NamedTuple

import dagster as dg
from dagster import RunsFilter

from holocron_assets.planning.job_names import PARENT_TAG

_MOST_ATTEMPTS = 100


class Attempts(NamedTuple):
    """A chain of retries.

    Attributes:
        records: the run, those that it retries, and those that retry any of them; the first one first.
        before: how many runs it retries, one after the other.
    """

    records: list[dg.RunRecord]
    before: int


def attempts_of(instance: dg.DagsterInstance, record: dg.RunRecord) -> Attempts:
    """The chain of a run. It follows the tag `dagster/parent_run_id`, which retries of all kinds have.

    Runs that Dagster has forgotten are left out, with what came before them.
    """
    found = {record.dagster_run.run_id: record}
    first = record
    while (parent := first.dagster_run.tags.get(PARENT_TAG)) and parent not in found:
        before = instance.get_run_record_by_id(parent)
        if before is None:
            break
        first = found[parent] = before
    ancestors = len(found) - 1
    parents = list(found)
    while parents and len(found) < _MOST_ATTEMPTS:
        retries = instance.get_run_records(RunsFilter(tags={PARENT_TAG: parents}), limit=_MOST_ATTEMPTS)
        new = {one.dagster_run.run_id: one for one in retries if one.dagster_run.run_id not in found}
        found |= new
        parents = list(new)
    return Attempts(sorted(found.values(), key=lambda one: one.storage_id), ancestors)
