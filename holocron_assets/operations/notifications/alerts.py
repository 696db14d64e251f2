"""Alerts: what the rules found, sent once when it begins and once when it is over.

The lake holds the standing alerts, and the ids of their notices follow from them. So nothing is sent twice
when a process is killed between the two, or a tick is repeated.
"""

from collections.abc import Container, Iterable, Sequence
from datetime import timedelta

from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.parquet import rows_there, write_partition
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import ALERTS
from holocron_assets.operations.notifications.alert_rules import Finding
from holocron_assets.operations.notifications.notifications import Notice

FIRING, RESOLVED = "firing", "resolved"
_PARTITION = "now"


def standing_alerts(lake: Lake) -> list[Row]:
    """The alerts that fire, and those that ended: one row for each rule and subject."""
    return [*rows_there(lake, ALERTS, _PARTITION)]


def firing(lake: Lake) -> list[Row]:
    """The alerts that fire, the oldest first."""
    rows = (row for row in standing_alerts(lake) if row["state"] == FIRING)
    return sorted(rows, key=lambda row: (row["fired_at"], row["rule"], row["subject"]))


def update_alerts(
    lake: Lake,
    found: Sequence[Finding],
    *,
    resolved_after_minutes: float,
    judged: Container[str] | None = None,
) -> list[Row]:
    """Store what the rules found. The caller holds the book of notices, so that no other process does so.

    Args:
        lake: where alerts are.
        found: all that is wrong now.
        resolved_after_minutes: how long a rule must find nothing for its alert to be over.
        judged: the rules that could be checked; alerts of the others stay as they are. All by default.

    Returns:
        All alerts, as they stand now.
    """
    now, before = utc_now(), standing_alerts(lake)
    rows = {(row["rule"], row["subject"]): row for row in before}
    findings = {(one.rule, one.subject): one for one in found}
    for key, row in rows.items():
        is_judged = judged is None or row["rule"] in judged
        if row["state"] == FIRING and key not in findings and is_judged:
            content_since = min(row["content_since"] or now, now)  # the clock may be set back
            is_over = now - content_since >= timedelta(minutes=resolved_after_minutes)
            over = {"state": RESOLVED, "resolved_at": now} if is_over else {}
            rows[key] = {**row, "content_since": content_since, **over}
    for key, one in findings.items():
        known = rows.get(key)
        since = known["fired_at"] if known and known["state"] == FIRING else now
        rows[key] = {
            "rule": one.rule,
            "subject": one.subject,
            "state": FIRING,
            "value": float(one.value),
            "limit": float(one.limit),
            "message": one.message,
            "fired_at": since,
        }
    after = [rows[key] for key in sorted(rows)]
    if after != before:
        write_partition(lake, ALERTS, _PARTITION, after)
    return after


def alert_notices(rows: Iterable[Row]) -> list[Notice]:
    """A notice for each alert's beginning, and for its end."""
    return [
        notice
        for row in rows
        for notice in (_notice(row, FIRING), _notice(row, RESOLVED) if row["state"] == RESOLVED else None)
        if notice
    ]


def _notice(row: Row, state: str) -> Notice:
    which = content_hash(f"{row['rule']} {row['subject']} {row['fired_at'].isoformat()}")
    data = {name: row[name] for name in ("rule", "subject", "value", "limit", "message", "fired_at")}
    ended = {"resolved_at": row["resolved_at"]} if state == RESOLVED else {}
    return Notice(
        notice_id=f"alert-{which}-{state}",
        event=f"alert.{state}",
        subject=f"{row['rule']}: {row['subject']}",
        happened_at=row["resolved_at"] if state == RESOLVED else row["fired_at"],
        data={**data, **ended},
    )
