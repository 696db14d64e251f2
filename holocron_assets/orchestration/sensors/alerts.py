"""The sensor that raises alerts: it reads the status, and records which alerts begin and end."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import dagster as dg
from filelock import Timeout

from holocron_assets.crawl.sources.files import AnySource
from holocron_assets.derive.dispatch.served import is_switched_off
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.place.presence import marker_of
from holocron_assets.operations.backups.rotation import newest_backup
from holocron_assets.operations.notifications.alert_rules import AlertRules, findings, read_alert_rules
from holocron_assets.operations.notifications.alerts import (
    FIRING,
    alert_notices,
    firing,
    standing_alerts,
    update_alerts,
)
from holocron_assets.operations.notifications.blind_rules import BLIND_RULES, NoSnapshot, blind_findings
from holocron_assets.operations.notifications.notifications import NoticeBook, open_book
from holocron_assets.operations.notifications.webhooks import Webhooks, read_webhooks
from holocron_assets.operations.state.awake import awake_since, kept_times
from holocron_assets.orchestration.resources.resources import LakeResource, SourcesResource
from holocron_assets.orchestration.runtime.settings_files import broken_settings
from holocron_assets.orchestration.sensors.snapshots import LastingSnapshot, Sight, lasting_snapshot
from holocron_assets.planning.repair import repaired_tick
from holocron_assets.settings import alerts_file, webhooks_file
from holocron_assets.telemetry.logs import logger

_LOG = logger(__name__)

_SNAPSHOT_SECONDS = 10.0  # with the patience below, a tick ends before Dagster gives it up
_PATIENCE_SECONDS = 40.0  # a process that sends holds the notices for 35 s at most, even if receivers hang
_LASTING = LastingSnapshot()


@dataclass(frozen=True)
class _Known:
    """What is known from tick to tick.

    Attributes:
        awake_since: since when ticks come without a break.
        missing: the missing snapshot; None if there is one.
    """

    awake_since: datetime
    missing: NoSnapshot | None


@dg.sensor(
    # Rules measure an hour. A snapshot takes seconds at 200,000 pages, and minutes at a lake that is
    # not packed: it goes on between ticks.
    minimum_interval_seconds=120,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Raises alerts by the rules in the alerts' file, and says when they are over.",
)
@repaired_tick
def raise_alerts(
    context: dg.SensorEvaluationContext, lake: LakeResource, sources: SourcesResource
) -> dg.SkipReason:
    """Check the status and record what is wrong. `tell_webhooks` sends it; the tick's message shows it."""
    opened, broken = lake.open(), broken_settings()
    before = {(row["rule"], row["subject"]) for row in firing(opened)}
    take = lasting_snapshot(opened, sources.of_any_kind(), sources.shared_folder, context.instance)
    sight = _LASTING.see(opened.root, take, patience_seconds=_SNAPSHOT_SECONDS)
    for message in (*sight.repaired, *([sight.problem] if sight.problem else [])):
        context.log.error(message)
    known = _known(context, sight)
    try:
        rows = _raised(opened, sight, known, broken, sources.of_any_kind())
    except Timeout:
        return dg.SkipReason("notices are being sent; alerts are checked after that")
    _LASTING.judged(opened.root, sight)
    standing = {(row["rule"], row["subject"]): row for row in rows if row["state"] == FIRING}
    for key in standing.keys() - before:
        context.log.error(f"alert {': '.join(key)}: {standing[key]['message']}")
    for key in before - standing.keys():
        context.log.info(f"alert {': '.join(key)} is over")
    under_way = [f"a snapshot is under way since {sight.since:%H:%M:%S} UTC"] if sight.is_under_way else []
    messages = [row["message"] for row in standing.values()]
    return dg.SkipReason("; ".join([*under_way, *messages]) or "nothing is wrong")


def _known(context: dg.SensorEvaluationContext, sight: Sight) -> _Known:
    """What this tick knows of earlier ones: the cursor keeps it if the process ended meanwhile."""
    kept, last = kept_times(context.cursor), context.last_tick_completion_time
    checked_at = datetime.fromtimestamp(last, UTC) if last else None
    awake = awake_since(kept.get("awake_since"), checked_at, now=utc_now())
    keep, missing = {"awake_since": awake}, None
    if sight.is_under_way:
        # After a break between ticks, nobody knows whether a snapshot ended meanwhile: count from its end.
        keep["since"] = max(awake, min(sight.since, kept.get("since", sight.since)))
        missing = NoSnapshot(keep["since"])
    elif sight.problem:
        missing = NoSnapshot(sight.since, sight.problem)
    context.update_cursor(json.dumps({name: at.isoformat() for name, at in keep.items()}))
    return _Known(awake, missing)


def _raised(
    lake: Lake,
    sight: Sight,
    known: _Known,
    broken: Mapping[str, str],
    sources: Sequence[AnySource],
) -> list[Row]:
    """All standing alerts, after recording what is new about them.

    If the rules cannot be used, the defaults count. If the webhooks cannot be used, a later tick records the
    receivers.
    """
    rules = AlertRules() if "alerts" in broken else read_alert_rules(alerts_file())
    webhooks = None if "webhooks" in broken else read_webhooks(webhooks_file())
    found = blind_findings(
        rules,
        now=utc_now(),
        missing=known.missing,
        broken_settings=broken,
        newest_backup=_newest_backup(lake, rules),
    )
    if sight.status:
        found += findings(
            sight.status,
            rules,
            models_are_asked=not is_switched_off(),
            sources=sources,
            awake_since=known.awake_since,
        )
    with open_book(lake, patience_seconds=_PATIENCE_SECONDS) as book:
        # Notices that a killed process left come first: an alert may begin again in this same tick.
        _note(book, standing_alerts(lake), webhooks)
        rows = update_alerts(
            lake,
            found,
            resolved_after_minutes=rules.resolved_after_minutes,
            judged=None if sight.status else BLIND_RULES,
        )
        _note(book, rows, webhooks)
    return rows


def _note(book: NoticeBook, rows: Sequence[Row], webhooks: Webhooks | None) -> None:
    if webhooks is not None:
        book.note(alert_notices(rows), webhooks)


def _newest_backup(lake: Lake, rules: AlertRules) -> datetime | None:
    if rules.backups is None:
        return None
    try:
        return newest_backup(rules.backups.folder, marker_of(lake.root / "lake"), now=utc_now())
    except OSError as error:  # a folder that cannot be read has no backup that could be restored
        _LOG.warning("no backup can be seen", folder=str(rules.backups.folder), error=str(error))
        return None
