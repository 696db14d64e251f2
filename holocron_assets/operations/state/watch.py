"""Snapshots of the lake and of Dagster, shared by all clients of a process."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from holocron_assets.operations.state.dagster_state import DagsterState
from holocron_assets.operations.state.health import Check, dagster_checks, lake_checks, settings_check
from holocron_assets.operations.state.kept_snapshot import KeptSnapshot, Taken
from holocron_assets.operations.state.metrics import (
    check_metrics,
    dagster_metrics,
    file_metrics,
    status_metrics,
    total_metrics,
)
from holocron_assets.operations.state.status import Status
from holocron_assets.operations.state.totals import Totals

_Series = tuple[str, ...]


class Watch(Collector):
    """Takes snapshots on request, each on its own, and reports what cannot be read.

    Snapshots go on in the background: callers soon get the last one that ended, and its age.

    When a snapshot fails, its metrics are absent rather than zero, and `holocron_up` is 0; so it is until the
    first snapshot has ended. Prometheus still gets status 200. So its own `up` shows whether the process
    lives, `holocron_up` whether the lake can be read, and the metrics of the process go on.
    """

    def __init__(
        self,
        status: Callable[[], Status],
        totals: Callable[[], Totals],
        dagster: Callable[[], DagsterState],
        settings: Callable[[], Mapping[str, str]],
    ) -> None:
        """Take no snapshot yet.

        Args:
            status: takes a snapshot of the status.
            totals: sums up all work.
            dagster: takes a snapshot of Dagster.
            settings: finds files of people that cannot be used, and why.
        """
        self._settings = settings
        self._status, self._totals, self._dagster = (
            KeptSnapshot(status),
            KeptSnapshot(totals),
            KeptSnapshot(dagster),
        )
        self._most: dict[str, dict[_Series, Sample]] = {}
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._registry.register(self)

    def status(self) -> Taken[Status]:
        """The status, or why it is not known."""
        return self._status.latest()

    def checks(self) -> list[Check]:
        """The health checks."""
        self._dagster.begin()  # both snapshots are taken at the same time
        return self._checked(self._status.latest(), self._dagster.latest())

    def exposition(self, accepts: str) -> tuple[bytes, str]:
        """All metrics as text, and its media type: one of the formats that the client accepts."""
        encode, media_type = choose_encoder(accepts)
        return encode(self._registry), media_type

    def describe(self) -> Iterable[Metric]:
        """No metric, since the metrics are known only after a snapshot."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Take a snapshot, if one is due, and return its metrics."""
        for one in (self._totals, self._dagster):
            one.begin()  # both at the same time, so that the waits do not add up
        status, totals, dagster = self._status.latest(), self._totals.latest(), self._dagster.latest()
        is_up = status.found is not None and totals.found is not None
        yield GaugeMetricFamily("holocron_up", "1 if the lake could be read, 0 if not", is_up)
        yield from self._snapshot_metrics(status=status, totals=totals, dagster=dagster)
        yield from check_metrics(self._checked(status, dagster))
        if status.found is not None:
            yield from status_metrics(status.found)
        if totals.found is not None:
            yield from map(self._never_less, total_metrics(totals.found))
            yield from map(self._never_less, file_metrics(totals.found))
        if dagster.found is not None:
            yield from dagster_metrics(dagster.found)

    def _checked(self, status: Taken[Status], dagster: Taken[DagsterState]) -> list[Check]:
        awake_since = dagster.found.awake_since if dagster.found else None
        checks = lake_checks(status, awake_since)
        return [*checks, settings_check(self._settings()), *dagster_checks(dagster)]

    def _snapshot_metrics(self, **kept: Taken[Any]) -> Iterator[Metric]:
        seconds = GaugeMetricFamily(
            "holocron_snapshot_seconds", "How long the last snapshot took", labels=["snapshot"]
        )
        age = GaugeMetricFamily(
            "holocron_snapshot_age_seconds",
            "How long ago the snapshot began that these values are from",
            labels=["snapshot"],
        )
        failures = CounterMetricFamily(
            "holocron_snapshot_failures",
            "Snapshots that failed since this process began",
            labels=["snapshot"],
        )
        for name, latest in kept.items():
            if latest.age_seconds is not None:
                seconds.add_metric([name], latest.seconds)
                age.add_metric([name], latest.age_seconds)
            failures.add_metric([name], latest.failures)
        yield from (seconds, age, failures)

    def _never_less(self, family: Metric) -> Metric:
        """Keep a counter from falling when a file is set aside: Prometheus would assume a restart."""
        most = self._most.setdefault(family.name, {})
        for sample in family.samples:
            series = (sample.name, *(f"{name}={value}" for name, value in sorted(sample.labels.items())))
            before = most.get(series)
            most[series] = before if before and before.value > sample.value else sample
        family.samples = list(most.values())
        return family
