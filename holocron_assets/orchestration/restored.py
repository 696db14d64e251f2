"""Dagster's history as a backup brings it back: what it tells to be under way is not."""

from datetime import timedelta

import dagster as dg

from holocron_assets.lake.paths import Lake
from holocron_assets.orchestration.instance import open_instance
from holocron_assets.orchestration.reaper import reap_dead_runs
from holocron_assets.settings import data_folder


def bring_to_rest() -> None:
    """Report runs as failed that were under way at the backup, and free every place in a pool.

    Signs of life are in no backup, so a run of minutes ago could be one that is about to begin. And databases
    are copied one after the other: a run may have ended in one, and hold its place in the other.
    """
    with open_instance() as instance:
        reap_dead_runs(instance, Lake(data_folder()), time_to_start=timedelta(0))
        _free_all_places(instance)


def _free_all_places(instance: dg.DagsterInstance) -> None:
    storage = instance.event_log_storage
    for pool in storage.get_concurrency_keys():
        places = storage.get_concurrency_info(pool)
        waiting = {step.run_id for step in places.pending_steps}
        for run_id in waiting | {slot.run_id for slot in places.claimed_slots}:
            storage.free_concurrency_slots_for_run(run_id)
