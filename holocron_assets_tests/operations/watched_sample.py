"""A watch over a Holocron in a folder, and what it says as metrics."""

from collections.abc import Callable, Mapping
from datetime import datetime
from time import time

import dagster as dg
from dagster._core.remote_origin import (
    RegisteredCodeLocationOrigin,
    RemoteInstigatorOrigin,
    RemoteRepositoryOrigin,
)
from dagster._core.scheduler.instigation import (
    InstigatorState,
    InstigatorStatus,
    InstigatorType,
    SensorInstigatorData,
)
from dagster._daemon.types import DaemonHeartbeat
from prometheus_client.parser import text_string_to_metric_families
from sample_holocron import Holocron

from holocron_assets.crawl.sources.files import read_sources
from holocron_assets.derive.opening import open_lake
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.operations.state.dagster_state import DagsterState
from holocron_assets.operations.state.snapshot import take_snapshot
from holocron_assets.operations.state.status import Status
from holocron_assets.operations.state.totals import read_totals
from holocron_assets.operations.state.watch import Watch

Series = dict[tuple[str, frozenset[tuple[str, str]]], float]


def status_of(holocron: Holocron) -> Status:
    sources, _ = read_sources(holocron.sources_folder)
    return take_snapshot(open_lake(holocron.lake.root), list(sources.values()), holocron.politeness_folder)


def living_dagster(heard_at: datetime | None = None) -> DagsterState:
    """A daemon of two parts that lives, and one run."""
    now = utc_now()
    heard = {"SENSOR": heard_at or now, "SCHEDULER": now}
    return DagsterState(now, {"queued": 0, "started": 1}, heard, ticked_at=now)


def daemon_at_work(
    instance: dg.DagsterInstance,
    ticked_at: float | None,
    *,
    sensor: str = "new_pages",
    cursor: str | None = None,
    status: InstigatorStatus = InstigatorStatus.DECLARED_IN_CODE,
) -> None:
    """Leave in Dagster's storage what a daemon of which everything is heard leaves; a sensor ticked, too."""
    for part in instance.get_required_daemon_types():
        instance.add_daemon_heartbeat(DaemonHeartbeat(time(), part, None, None))
    place = RemoteRepositoryOrigin(RegisteredCodeLocationOrigin("here"), "holocron")
    data = SensorInstigatorData(
        last_tick_timestamp=ticked_at, last_tick_start_timestamp=ticked_at, cursor=cursor
    )
    origin = RemoteInstigatorOrigin(place, sensor)
    state = InstigatorState(origin, InstigatorType.SENSOR, status, data)
    instance.add_instigator_state(state)


def watch_over(
    holocron: Holocron,
    *,
    dagster: Callable[[], DagsterState] = living_dagster,
    status: Callable[[], Status] | None = None,
    settings: Callable[[], Mapping[str, str]] = dict,
) -> Watch:
    """A watch over a Holocron; a snapshot of its status costs a second, so it may be given."""
    return Watch(
        status=status or (lambda: status_of(holocron)),
        totals=lambda: read_totals(open_lake(holocron.lake.root)),
        dagster=dagster,
        settings=settings,
    )


def series(text: str) -> Series:
    """Every sample of an exposition, by its name and labels."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def series_of(watch: Watch) -> Series:
    return series(watch.exposition("")[0].decode())
