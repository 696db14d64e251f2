"""Reads the files that people write again, so that an error in one is reported early."""

import os
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path

from holocron_assets.crawl.sources.files import read_sources
from holocron_assets.derive.dispatch.pools import read_dispatch_settings
from holocron_assets.derive.interrogations.files import read_each
from holocron_assets.derive.interrogations.loading import configured_folders
from holocron_assets.entities.facts.rules import check_rule_files
from holocron_assets.entities.tags.vocabulary import read_vocabulary
from holocron_assets.errors import PermanentError
from holocron_assets.operations.notifications.alert_rules import read_alert_rules
from holocron_assets.operations.notifications.webhooks import read_webhooks
from holocron_assets.operations.schedules import read_schedules
from holocron_assets.settings import (
    alerts_file,
    dispatch_file,
    groups_folder,
    infobox_rules_folder,
    refuse_wrong,
    schedules_file,
    sources_folder,
    tags_file,
    webhooks_file,
)
from holocron_assets.telemetry.masking import without_secrets


def broken_settings() -> dict[str, str]:
    """The files that cannot be used now, and why; the reasons name file and key, and hold no secret."""
    problems = {}
    for name, read in _READERS.items():
        try:
            read()
        except (PermanentError, ValueError, OSError) as error:
            problems[name] = without_secrets(str(error))
    return problems


def _sources() -> None:
    _, errors = read_sources(sources_folder())
    if errors:
        raise ValueError("; ".join(map(str, errors)))


def _interrogations() -> None:
    folders = configured_folders()
    walked = (walk for folder in folders for walk in os.walk(folder, followlinks=True))
    files = (Path(place) / name for place, _, names in walked for name in names)
    _readable(folders, frozenset((file, file.stat().st_mtime_ns) for file in files))


@lru_cache(maxsize=1)
def _readable(folders: tuple[Path, ...], _files: frozenset[tuple[Path, int]]) -> None:
    """Read interrogations, which takes a third of a second, unless they could be read as they are.

    Raises:
        ValueError: some cannot be used; names each.
    """
    if broken := read_each(*folders).broken:
        raise ValueError("; ".join(broken.values()))


_READERS: Mapping[str, Callable[[], object]] = {
    "sources": _sources,
    "interrogations": _interrogations,
    "infobox": lambda: check_rule_files(infobox_rules_folder()),
    "tags": lambda: read_vocabulary(tags_file()),
    "dispatch": lambda: read_dispatch_settings(dispatch_file()),
    "schedules": lambda: read_schedules(schedules_file(), sources=sources_folder(), groups=groups_folder()),
    "alerts": lambda: read_alert_rules(alerts_file()),
    "webhooks": lambda: read_webhooks(webhooks_file()),
    "environment": refuse_wrong,
}
