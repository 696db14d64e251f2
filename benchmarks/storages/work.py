"""What is timed: what Holocron asks of Dagster's storage, at as many partitions as a wiki has batches."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from time import monotonic, perf_counter, sleep
from typing import Any

import dagster as dg
from dagster._core.storage.tags import ASSET_PARTITION_RANGE_END_TAG, ASSET_PARTITION_RANGE_START_TAG

from holocron_assets.lake.tables import PAGES
from holocron_assets.orchestration.assets.partitions import BATCHES
from holocron_assets.orchestration.runs.waiting import QUIET
from storages.noted import NOTE_JOB, NOTED, defs
from storages.places import Place

Times = dict[str, float]
"""Seconds, or what the name says, by what was done."""

BATCH_SIZE = "DAGSTER_EVENT_BATCH_SIZE"
_KEY = dg.AssetKey(PAGES.name)
_RANGE = 1000
_SINGLE = 20
_WRITERS = (1, 2, 4)
_RUNS_OF_A_WRITER = 20
_LAUNCHED = 5


@contextmanager
def timed(times: Times, what: str, factor: float = 1) -> Iterator[None]:
    """Note how long it takes, in seconds times the factor."""
    started = perf_counter()
    yield
    times[what] = factor * (perf_counter() - started)


def partitions_and_events(place: Place, keys: Sequence[str]) -> Times:
    """Report all batches to Dagster, with a materialization of each; then ask for what the sensors ask."""
    name, times = BATCHES.name or "", Times()
    with place.open() as instance:
        with timed(times, f"adding {len(keys):,} partitions at once, s"):
            instance.add_dynamic_partitions(name, keys)
        with timed(times, "a materialization event, ms", 1000 / len(keys)):
            for key in keys:
                _note(instance, key)
        with timed(times, "adding one more partition, ms", 1000 / _SINGLE):
            for number in range(_SINGLE):
                instance.add_dynamic_partitions(name, [f"{keys[0]}-more-{number}"])
        with timed(times, "get_materialized_partitions, all, ms", 1000):
            materialized = instance.get_materialized_partitions(_KEY)
        if materialized != set(keys):
            raise RuntimeError(f"{place.name} knows {len(materialized)} of {len(keys)} partitions")
        cursor = instance.event_log_storage.get_maximum_record_id() or 0
        _note(instance, keys[0])
        with timed(times, "get_materialized_partitions after a cursor, ms", 1000):
            instance.get_materialized_partitions(_KEY, after_cursor=cursor)
    return times


def _note(instance: dg.DagsterInstance, key: str) -> None:
    instance.report_runless_asset_event(
        dg.AssetMaterialization(PAGES.name, partition=key, metadata={"dagster/row_count": 500})
    )


def runs_over_many(place: Place, keys: Sequence[str]) -> Times:
    """A run over many partitions, as a backfill of one asset is: event by event, and 1,000 at once."""
    chosen, times = keys[:_RANGE], Times()
    for size, mode in (("0", "event by event"), ("1000", f"{BATCH_SIZE}=1000")):
        os.environ[BATCH_SIZE] = size
        try:
            with place.open() as instance, timed(times, f"a run over {len(chosen):,} partitions, {mode}, s"):
                _run(instance, chosen[0], chosen[-1])
        finally:
            del os.environ[BATCH_SIZE]
    with place.open() as instance:
        if instance.get_materialized_partitions(dg.AssetKey(NOTED)) != set(chosen):
            raise RuntimeError(f"{place.name} lost events of a run")
    return times


def writers_at_once(place: Place, keys: Sequence[str]) -> Times:
    """Processes that each run a small job again and again: the time for one run of all that they run."""
    times = Times()
    for writers in _WRITERS:
        places, factor = [place] * writers, 1000 / (writers * _RUNS_OF_A_WRITER)
        with ProcessPoolExecutor(writers, mp_context=get_context("spawn")) as pool:
            list(pool.map(_load, places))
            with timed(times, f"a run of 7 events, {writers} writers at once, ms", factor):
                list(pool.map(_write, places, keys))
    return times


def _load(place: Place) -> None:
    """Load the code and connect. It takes long enough for each process of the pool to get one."""
    with place.open() as instance:
        instance.get_runs_count()


def _write(place: Place, key: str) -> None:
    with place.open() as instance:
        for _ in range(_RUNS_OF_A_WRITER):
            _run(instance, key, key)


def _run(instance: dg.DagsterInstance, first: str, last: str) -> None:
    tags = {ASSET_PARTITION_RANGE_START_TAG: first, ASSET_PARTITION_RANGE_END_TAG: last}
    done = defs.resolve_job_def(NOTE_JOB).execute_in_process(instance=instance, tags=tags, run_config=QUIET)
    if not done.success:
        raise RuntimeError("a run failed")


def launched_runs(place: Place, key: str, folder: Path) -> Times:
    """Runs launched one after the other while a real daemon works: from the queue to the run's end."""
    workspace = folder / "noted.json"  # JSON is YAML too
    module = {"python_file": str(Path(__file__).with_name("noted.py"))}
    workspace.write_text(json.dumps({"load_from": [module]}), encoding="utf-8")
    waits, lives = [], []
    with _daemon(place, workspace), place.open() as instance:
        for _ in range(_LAUNCHED):
            record = _launch(place, instance, workspace, key)
            waits.append((record.start_time or 0) - record.create_timestamp.timestamp())
            lives.append((record.end_time or 0) - (record.start_time or 0))
    waits.sort()
    lives.sort()
    return {
        "a launched run: from the queue to its start, s": waits[_LAUNCHED // 2],
        "a launched run: from its start to its end, s": lives[_LAUNCHED // 2],
    }


def _launch(place: Place, instance: dg.DagsterInstance, workspace: Path, key: str) -> dg.RunRecord:
    tags = json.dumps({"dagster/partition": key})
    command = [*_dagster("job", "launch"), "-w", str(workspace), "-j", NOTE_JOB, "--tags", tags]
    before = {run.run_id for run in instance.get_runs(limit=_LAUNCHED + 1)}
    subprocess.run(command, env=_environment(place), check=True, capture_output=True)  # noqa: S603 - our own
    (new,) = [run.run_id for run in instance.get_runs(limit=_LAUNCHED + 1) if run.run_id not in before][:1]
    deadline = monotonic() + 300
    while monotonic() < deadline:
        record = instance.get_run_record_by_id(new)
        if record and record.dagster_run.is_finished:
            if not record.dagster_run.is_success:
                raise RuntimeError("a launched run failed")
            return record
        sleep(0.2)
    raise RuntimeError("a launched run did not end")


@contextmanager
def _daemon(place: Place, workspace: Path) -> Iterator[None]:
    command = [sys.executable, "-m", "dagster._daemon", "run", "-w", str(workspace)]
    with subprocess.Popen(  # noqa: S603 - our own command
        command, env=_environment(place), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as daemon:
        try:
            yield
        finally:
            daemon.terminate()


def _dagster(*words: str) -> list[str]:
    return [sys.executable, "-m", "dagster", *words]


def _environment(place: Place) -> dict[str, Any]:
    return {**os.environ, "DAGSTER_HOME": str(place.home), "PYTHONPATH": str(Path(__file__).parents[1])}
