"""The frontier of files: artifacts that are listed and not fetched, found by a query of the lake."""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from holocron_assets.crawl.sources.file_source import FileSource
from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.quarantine import lost_objects
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.views.database import connect, query

FRONTIER_VIEW = "file_frontier"

_PENDING = """
    with asked_otherwise as (
        select artifact_key, true as is_asked_otherwise
        from lake.file_batches
        group by artifact_key
        having count(settings) > 0 and not bool_or(settings = $settings)
    )
    select
        name, artifact_id, artifact_key, url, size_bytes, sha1, sha256, mime, fields, version,
        failures, reason, held_sha256, held_url, held_etag, held_last_modified, held_fresh_until, asked_at
    from (
        select
            * replace (
                case
                    when reason is not null then reason
                    when status = 'done' and list_contains($lost::varchar[], held_sha256) then 'lost'
                    when status in ('missing', 'refused') and is_asked_otherwise then 'settings'
                    when status = 'done' and checked_at <= $recheck_before::timestamptz
                        and coalesce(held_fresh_until, checked_at) <= getvariable('now') then 'recheck'
                end as reason
            )
        from file_frontier
        left join asked_otherwise using (artifact_key)
        where source = $source and status in ('pending', 'done', 'missing', 'refused')
    )
    where reason is not null
    qualify row_number() over (partition by artifact_key order by position) = 1
    order by reason = 'recheck', position
    limit $limit
"""


@dataclass(frozen=True)
class PendingFile:
    """An artifact to fetch.

    Attributes:
        reason: 'new', 'changed', 'retry', 'requeue', 'lost' (its bytes were damaged), 'settings' (it was
            refused or missing, and never asked for under the source's present settings) or 'recheck'.
        failures: failed attempts since the last requeue.
        stated: what its source states, and what the lake holds of it: columns of table `file_batches`.
        asked_at: when it was last asked for; None if it never was.
    """

    reason: str
    failures: int
    stated: Row
    asked_at: datetime | None


def pending_files(lake: Lake, source: FileSource, *, now: datetime, limit: int) -> list[PendingFile]:
    """The artifacts of a source to fetch next, in the order of its list; those to be checked again come last.

    An artifact that another source fetched, or is fetching, is not fetched again.

    Args:
        lake: where lists, batches and files are.
        source: the source of the artifacts.
        now: the moment, for artifacts that are checked again.
        limit: the most artifacts to return.

    Raises:
        DamagedPartitionError, duckdb.Error: the lake cannot be read. This never counts as "no work".
    """
    hours = source.recheck_after_hours
    parameters = {
        "source": source.name,
        "lost": lost_objects(lake),
        "settings": refusing_settings(source),
        "recheck_before": now - timedelta(hours=hours) if hours else None,
        "limit": limit,
    }
    with connect(lake, relations=[FRONTIER_VIEW]) as connection:
        return [_pending(row) for row in query(connection, _PENDING, parameters)]


def refusing_settings(source: FileSource) -> str:
    """A hash of the settings that say which files are refused, and which addresses are asked."""
    keys: dict[str, Any] = {
        **dict.fromkeys(("max_bytes", "expect", "resolvers", "private_hosts"), True),
        "politeness": {"obey_robots"},
    }
    # Without defaults, a setting that a later version adds changes nothing.
    settings = source.model_dump(include=keys, mode="json", exclude_defaults=True)
    return content_hash(json.dumps(settings, sort_keys=True))


def _pending(row: dict[str, Any]) -> PendingFile:
    reason, failures, asked_at = row.pop("reason"), row.pop("failures"), row.pop("asked_at")
    return PendingFile(reason, failures, row, asked_at)
