"""The sensor that keeps wikis current: it asks for their changes, and lets checks of all pages go on."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import monotonic

import dagster as dg

from holocron_assets.crawl.changes import Look, next_look
from holocron_assets.crawl.seeds import seeds_are_usable
from holocron_assets.crawl.sources import Source
from holocron_assets.lake.clock import utc_now
from holocron_assets.lake.paths import Lake
from holocron_assets.orchestration.change_looks import changes_told, look_once
from holocron_assets.orchestration.jobs import ASSET_JOBS
from holocron_assets.orchestration.names import RECHECK_JOB
from holocron_assets.orchestration.partitions import SOURCES
from holocron_assets.orchestration.resources import LakeResource, SourcesResource
from holocron_assets.orchestration.run_requests import run_requests
from holocron_assets.orchestration.work import checks_to_run

# A tick ends at 60 s whatever it does. No look begins after 10 s; the last one sends nothing after 8 s more,
# and its last answer comes within 30 s.
_ASKING_SECONDS = 10.0
_PATIENCE_SECONDS = 8.0


@dataclass
class _Told:
    """What the looks of one tick came to."""

    events: list[dg.AssetMaterialization] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)


@dg.sensor(
    jobs=[ASSET_JOBS[RECHECK_JOB]],
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Asks wikis for their recent changes, and goes on with checks of all pages.",
)
def changed_pages(
    context: dg.SensorEvaluationContext, lake: LakeResource, sources: SourcesResource
) -> dg.SensorResult:
    """Look where a look is due. What was told is in the lake; `new_pages` cuts it into batches."""
    opened, enabled = lake.open(), sources.enabled()
    due, told = _due(opened, enabled), _Told()
    deadline = monotonic() + _ASKING_SECONDS
    for source in due:
        if monotonic() < deadline:
            _look(opened, source, sources, told, deadline - monotonic())
    for message in told.messages:
        context.log.info(message)
    requested = run_requests(context.instance, checks_to_run(opened, enabled))
    skipped = "; ".join([*told.messages, *requested.waiting]) or "no look is due"
    known = set(context.instance.get_dynamic_partitions(SOURCES.name or ""))
    new = [source.name for source in enabled if source.name not in known]
    return dg.SensorResult(
        run_requests=requested.requests,
        dynamic_partitions_requests=[SOURCES.build_add_request(new)] if new else [],
        asset_events=told.events,
        skip_reason=None if requested.requests else skipped,
    )


def _due(lake: Lake, sources: Sequence[Source]) -> list[Source]:
    """Sources whose look is due, the longest due first, so that each gets its turn."""
    now = utc_now()
    due = [
        (moment, source)
        for source in sources
        if seeds_are_usable(lake, source) and (moment := next_look(lake, source)) and moment <= now
    ]
    return [source for _, source in sorted(due, key=lambda one: one[0])]


def _look(lake: Lake, source: Source, sources: SourcesResource, told: _Told, seconds: float) -> None:
    started = monotonic()
    look = look_once(lake, source, sources.shared_folder, seconds=seconds, patience_seconds=_PATIENCE_SECONDS)
    told.messages.append(f"{source.name}: {_in_words(look)}")
    if look and look.footer:
        event = changes_told(source, look.footer, look.rows, seconds=monotonic() - started)
        told.events.append(event)


def _in_words(look: Look | None) -> str:
    if look is None:
        return "another process is looking"
    parts = [f"{len(look.rows)} changes"]
    if look.goes_on:
        parts.append("the list goes on")
    if look.gap:
        parts.append("the list does not reach back to the last look, so all pages are checked")
    if look.problem:
        parts.append(look.problem)
    return ", ".join(parts)
