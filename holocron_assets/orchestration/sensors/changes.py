"""The sensor that keeps wikis current: it asks for their changes, and lets checks of all pages go on."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic

import dagster as dg

from holocron_assets.crawl.changes.recent import ChangesReading, next_reading
from holocron_assets.crawl.http.log import Tally
from holocron_assets.crawl.sources.seeds import seeds_are_usable
from holocron_assets.crawl.sources.source import Source
from holocron_assets.crawl.sources.standing import left_alone
from holocron_assets.decisions.controls import standing_controls
from holocron_assets.lake.files.damage import DamagedPartitionError
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.orchestration.assets.change_readings import changes_reported, read_once
from holocron_assets.orchestration.assets.partitions import SOURCES
from holocron_assets.orchestration.jobs.assets import ASSET_JOBS
from holocron_assets.orchestration.resources.resources import LakeResource, SourcesResource
from holocron_assets.orchestration.runs.requesting import run_requests
from holocron_assets.orchestration.sensors.adopting import unknown
from holocron_assets.planning.holding import holds_named
from holocron_assets.planning.job_names import RECHECK_JOB
from holocron_assets.planning.repair import repair, repaired_tick
from holocron_assets.planning.work import Work, checks_to_run

# A tick always ends at 60 s. No reading begins after 10 s; the last one sends nothing after 8 s more, and its
# last answer comes within 30 s.
_ASKING_SECONDS = 10.0
_PATIENCE_SECONDS = 8.0


@dataclass
class _TickResults:
    """The results of one tick's readings."""

    events: list[dg.AssetMaterialization] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    faults: list[Exception] = field(default_factory=list)

    @contextmanager
    def faults_of(self, source: Source) -> Iterator[None]:
        """Keep a fault at one source, so that the others go on."""
        try:
            try:
                yield
            except DamagedPartitionError as damage:
                self.messages.append(f"{source.name}: {repair(damage)}")
        except Exception as fault:  # noqa: BLE001 - any error is reported at the tick's end
            self.faults.append(fault)
            self.messages.append(f"{source.name}: {fault}")


@dg.sensor(
    jobs=[ASSET_JOBS[RECHECK_JOB]],
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Asks wikis for their recent changes, and goes on with checks of all pages.",
)
@repaired_tick
def changed_pages(
    context: dg.SensorEvaluationContext, lake: LakeResource, sources: SourcesResource
) -> dg.SensorResult:
    """Read changes where that is due. They go to the lake; `new_pages` cuts them into batches."""
    opened, enabled, results = lake.open(), sources.enabled(), _TickResults()
    controls = standing_controls(opened)
    due = _due(opened, [one for one in enabled if not controls.is_held(source=one.name)], results)
    deadline = monotonic() + _ASKING_SECONDS
    for source in due:
        if monotonic() < deadline:
            with results.faults_of(source):
                _read_changes_of(opened, source, sources, results, deadline - monotonic())
    work = _checks(opened, enabled, sources, results)
    requested = run_requests(context.instance, opened, work)
    # Other messages are logged first: they would be lost with the tick. A fault is met again.
    if results.faults and not (requested.requests or results.events):
        raise ExceptionGroup("; ".join(results.messages), results.faults)
    for message in results.messages if requested.requests else ():  # otherwise it is the tick's skip reason
        context.log.info(message)
    waiting = requested.waiting or holds_named(opened)
    skipped = "; ".join([*results.messages, *waiting]) or "no reading is due"
    new = unknown(context.instance, SOURCES, [source.name for source in enabled])
    return dg.SensorResult(
        run_requests=requested.requests,
        dynamic_partitions_requests=[SOURCES.build_add_request(new)] if new else [],
        asset_events=results.events,
        skip_reason=None if requested.requests else skipped,
    )


def _due(lake: Lake, sources: Sequence[Source], results: _TickResults) -> list[Source]:
    """Sources whose reading is due, the longest due first, so that none is left out."""
    now, due = utc_now(), []
    for source in sources:
        with results.faults_of(source):
            if seeds_are_usable(lake, source) and (moment := next_reading(lake, source)) and moment <= now:
                due.append((moment, source))
    return [source for _, source in sorted(due, key=lambda one: one[0])]


def _checks(
    lake: Lake, enabled: Sequence[Source], sources: SourcesResource, results: _TickResults
) -> list[Work]:
    """Checks to go on with. A run for a wiki that wants a pause could only fail."""
    alone, work = left_alone(enabled, sources.shared_folder, utc_now()), []
    for source in enabled:
        with results.faults_of(source):
            work += checks_to_run(lake, [source])
    results.messages += [f"{item} waits: {alone[item.host]}" for item in work if item.host in alone]
    return [item for item in work if item.host not in alone]


def _read_changes_of(
    lake: Lake, source: Source, sources: SourcesResource, results: _TickResults, seconds: float
) -> None:
    started, tally = monotonic(), Tally()
    reading = read_once(
        lake, source, sources.shared_folder, tally, seconds=seconds, patience_seconds=_PATIENCE_SECONDS
    )
    results.messages.append(f"{source.name}: {_in_words(reading)}")
    if reading and reading.footer:
        event = changes_reported(source, reading.footer, reading.rows, tally, seconds=monotonic() - started)
        results.events.append(event)


def _in_words(reading: ChangesReading | None) -> str:
    if reading is None:
        return "another process is reading it"
    parts = [f"{len(reading.rows)} changes"]
    if reading.goes_on:
        parts.append("the list goes on")
    if reading.gap:
        parts.append("the list does not reach back to the last reading, so all pages are checked")
    if reading.problem:
        parts.append(reading.problem)
    return ", ".join(parts)
