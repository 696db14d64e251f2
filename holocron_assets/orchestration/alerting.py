"""The sensor that raises alerts: it looks at how things stand, and notes what begins or ends to be amiss."""

from datetime import datetime

import dagster as dg
from filelock import Timeout

from holocron_assets.derive.dispatch.served import is_switched_off
from holocron_assets.lake.paths import Lake
from holocron_assets.lake.presence import marker_of
from holocron_assets.lake.schema import Row
from holocron_assets.operations.backups.rotation import newest_backup
from holocron_assets.operations.told.alert_rules import AlertRules, findings, read_alert_rules
from holocron_assets.operations.told.alerts import (
    FIRING,
    alert_notices,
    firing,
    standing_alerts,
    update_alerts,
)
from holocron_assets.operations.told.notices import open_book
from holocron_assets.operations.told.webhooks import Webhooks, read_webhooks
from holocron_assets.orchestration.looks import look_now
from holocron_assets.orchestration.mending import mended_tick
from holocron_assets.orchestration.resources import LakeResource, SourcesResource
from holocron_assets.orchestration.schedules_file import schedules_trouble
from holocron_assets.settings import alerts_file, webhooks_file

_PATIENCE_SECONDS = 40.0  # who sends has the notices for 35 s at most, where receivers hang


@dg.sensor(
    # A look takes a second or so at 200,000 pages. What rules measure is an hour's.
    minimum_interval_seconds=120,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Raises alerts by the rules in the alerts' file, and says when they are over.",
)
@mended_tick
def raise_alerts(
    context: dg.SensorEvaluationContext, lake: LakeResource, sources: SourcesResource
) -> dg.SkipReason:
    """Look at how things stand; what is amiss is told by `tell_webhooks`, and by this tick."""
    rules, webhooks = read_alert_rules(alerts_file()), read_webhooks(webhooks_file())
    opened = lake.open()
    before = {(row["rule"], row["subject"]) for row in firing(opened)}
    try:
        rows = _raised(context.instance, opened, sources, rules, webhooks)
    except Timeout:
        return dg.SkipReason("webhooks are being told; alerts are looked at after that")
    standing = {(row["rule"], row["subject"]): row for row in rows if row["state"] == FIRING}
    for key in standing.keys() - before:
        context.log.error(f"alert {': '.join(key)}: {standing[key]['message']}")
    for key in before - standing.keys():
        context.log.info(f"alert {': '.join(key)} is over")
    return dg.SkipReason("; ".join(row["message"] for row in standing.values()) or "nothing is amiss")


def _raised(
    instance: dg.DagsterInstance, lake: Lake, sources: SourcesResource, rules: AlertRules, webhooks: Webhooks
) -> list[Row]:
    """All alerts as they stand, with what is new about them noted."""
    status = look_now(lake, sources.all(), sources.shared_folder, lambda: instance)
    found = findings(
        status,
        rules,
        models_are_asked=not is_switched_off(),
        schedules_trouble=schedules_trouble(),
        newest_backup=_newest_backup(lake, rules),
    )
    with open_book(lake, patience_seconds=_PATIENCE_SECONDS) as book:
        # What a process that was killed left untold goes first: an alert may begin anew in this very tick.
        book.note(alert_notices(standing_alerts(lake)), webhooks)
        rows = update_alerts(lake, found, resolved_after_minutes=rules.resolved_after_minutes)
        book.note(alert_notices(rows), webhooks)
    return rows


def _newest_backup(lake: Lake, rules: AlertRules) -> datetime | None:
    return newest_backup(rules.backups.folder, marker_of(lake.root / "lake")) if rules.backups else None
