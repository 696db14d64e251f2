"""The rules that need no snapshot of the status: they also work while the status cannot be read."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType

from holocron_assets.operations.notifications.alert_rules import (
    AlertRules,
    BackupsRule,
    Finding,
    NoSnapshotRule,
    SettingsRule,
)

BLIND_RULES = frozenset({"settings", "backups"})
"""The rules that can be checked at any time. An alert of `no_look` is over after the next snapshot."""


@dataclass(frozen=True)
class NoSnapshot:
    """There is no snapshot of the status.

    Attributes:
        since: when the one under way began, or the first of several that did not come to an end.
        problem: why it failed; None if it is under way.
    """

    since: datetime
    problem: str | None = None


def blind_findings(
    rules: AlertRules,
    *,
    now: datetime,
    missing: NoSnapshot | None = None,
    broken_settings: Mapping[str, str] = MappingProxyType({}),
    newest_backup: datetime | None = None,
) -> list[Finding]:
    """All that is wrong apart from the work.

    Args:
        rules: the rules to check.
        now: the moment.
        missing: why there is no snapshot, if there is none.
        broken_settings: files of people that cannot be used, and why.
        newest_backup: when the newest backup in the rule's folder began; None if there is none.
    """
    return [
        *_no_snapshot(missing, rules.no_look, now),
        *_settings(broken_settings, rules.settings),
        *_backups(newest_backup, rules.backups, now),
    ]


def _no_snapshot(trouble: NoSnapshot | None, rule: NoSnapshotRule | None, now: datetime) -> Iterator[Finding]:
    if rule is None or trouble is None:
        return
    minutes = (now - trouble.since) / timedelta(minutes=1)
    if trouble.problem:
        message = f"the status cannot be read: {trouble.problem}"
        yield Finding("no_look", "lake", 1, 0, message)
    elif minutes > rule.minutes:
        message = f"no snapshot of the status has come to an end for {minutes:,.0f} minutes"
        yield Finding("no_look", "lake", round(minutes), rule.minutes, message)


def _settings(broken: Mapping[str, str], rule: SettingsRule | None) -> Iterator[Finding]:
    for name, why in broken.items() if rule else ():
        yield Finding("settings", name, 1, 0, f"the settings of {name} cannot be used: {why}")


def _backups(newest: datetime | None, rule: BackupsRule | None, now: datetime) -> Iterator[Finding]:
    if rule and newest is None:
        message = f"there is no finished backup of this lake in {rule.folder}"
        yield Finding("backups", "newest", 0, 1, message)
    elif rule and newest and (hours := (now - newest) / timedelta(hours=1)) > rule.hours:
        message = f"the newest backup in {rule.folder} is {hours:,.0f} hours old"
        yield Finding("backups", "newest", round(hours, 1), rule.hours, message)
