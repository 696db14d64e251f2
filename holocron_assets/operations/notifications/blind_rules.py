"""The rules that need no look at how things stand: they go on finding what is amiss while none can be had."""

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
"""What these find, and find no longer, is known at any time; `no_look` is over once there was a look."""


@dataclass(frozen=True)
class NoSnapshot:
    """There is no look at how things stand.

    Attributes:
        since: when the one under way was begun, or the first of several that did not come to an end.
        problem: why it failed; None if it is under way.
    """

    since: datetime
    problem: str | None = None


def blind_findings(
    rules: AlertRules,
    *,
    now: datetime,
    no_look: NoSnapshot | None = None,
    broken_settings: Mapping[str, str] = MappingProxyType({}),
    newest_backup: datetime | None = None,
) -> list[Finding]:
    """All that is amiss besides the work.

    Args:
        rules: what is looked for.
        now: the moment.
        no_look: that there is no look at the work, if there is none.
        broken_settings: what people wrote that cannot be used, and why.
        newest_backup: when the newest backup in the rule's folder was begun; None if there is none.
    """
    return [
        *_no_snapshot(no_look, rules.no_look, now),
        *_settings(broken_settings, rules.settings),
        *_backups(newest_backup, rules.backups, now),
    ]


def _no_snapshot(trouble: NoSnapshot | None, rule: NoSnapshotRule | None, now: datetime) -> Iterator[Finding]:
    if rule is None or trouble is None:
        return
    minutes = (now - trouble.since) / timedelta(minutes=1)
    if trouble.problem:
        told = f"how things stand cannot be looked at: {trouble.problem}"
        yield Finding("no_look", "lake", 1, 0, told)
    elif minutes > rule.minutes:
        told = f"no look at how things stand has come to an end for {minutes:,.0f} minutes"
        yield Finding("no_look", "lake", round(minutes), rule.minutes, told)


def _settings(broken: Mapping[str, str], rule: SettingsRule | None) -> Iterator[Finding]:
    for name, why in broken.items() if rule else ():
        yield Finding("settings", name, 1, 0, f"the settings of {name} cannot be used: {why}")


def _backups(newest: datetime | None, rule: BackupsRule | None, now: datetime) -> Iterator[Finding]:
    if rule and newest is None:
        told = f"there is no finished backup of this lake in {rule.folder}"
        yield Finding("backups", "newest", 0, 1, told)
    elif rule and newest and (hours := (now - newest) / timedelta(hours=1)) > rule.hours:
        told = f"the newest backup in {rule.folder} is {hours:,.0f} hours old"
        yield Finding("backups", "newest", round(hours, 1), rule.hours, told)
