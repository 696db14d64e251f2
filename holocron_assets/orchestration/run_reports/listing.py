"""Lists of runs: newest first, by what a program asks for, in pages."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

import dagster as dg
from dagster import DagsterRunStatus, RunsFilter

from holocron_assets.orchestration.run_reports.entries import times_of
from holocron_assets.planning.job_names import PARENT_TAG, PARTITION_TAG, SOURCE_TAG
from holocron_assets.review.web.endpoints import UnusableQueryError

_USUAL, _MOST = 50, 500
"""Runs in a page: if the client does not say how many, and at most."""

_TAG_OF = {"partition": PARTITION_TAG, "source": SOURCE_TAG}
_ONCE = {"job", "since", "until", "limit", "cursor", *_TAG_OF}
_ALLOWED = ", ".join(sorted(_ONCE | {"status", "tag"}))


class RunQuery(NamedTuple):
    """Which runs a program asks for.

    Attributes:
        wanted: Dagster's filter.
        limit: the most runs of the page.
        cursor: the last run of the page before; None for the first page.
    """

    wanted: RunsFilter
    limit: int
    cursor: str | None


def read_query(parameters: Iterable[tuple[str, str]]) -> RunQuery:
    """Read the parameters of an address.

    Raises:
        UnusableQueryError: one is unknown, or its value cannot be used; the message says what is allowed.
    """
    once, statuses, tags = dict[str, str](), list[DagsterRunStatus](), dict[str, str]()
    for name, value in parameters:
        if name in once:
            raise UnusableQueryError(f"{name} is given twice; only status and tag may be repeated")
        if not value:
            raise UnusableQueryError(f"{name} has no value; give one, or leave it out")
        if name == "status":
            statuses.append(_status(value))
        elif name == "tag":
            key, text = _tag(value)
            if tags.setdefault(key, text) != text:
                raise UnusableQueryError(f"tag {key} is given twice, and no run has two values of one tag")
        elif name in _ONCE:
            once[name] = value
        else:
            raise UnusableQueryError(f"there is no parameter {name!r}; there are {_ALLOWED}")
    wanted = RunsFilter(
        job_name=once.get("job"),
        statuses=statuses,
        tags=tags | {tag: once[name] for name, tag in _TAG_OF.items() if name in once},
        created_after=_moment("since", once.get("since")),
        created_before=_moment("until", once.get("until")),
    )
    return RunQuery(wanted, _limit(once.get("limit")), once.get("cursor"))


def list_runs(instance: dg.DagsterInstance, query: RunQuery) -> Mapping[str, Any]:
    """A page of runs, the newest first.

    Returns:
        `runs`, and `next_cursor` if there are more: the cursor of the next page, which is a run's id.

    Raises:
        UnusableQueryError: the cursor is no run that Dagster knows.
    """
    wanted, limit, cursor = query
    if cursor and instance.get_run_record_by_id(cursor) is None:
        raise UnusableQueryError(f"cursor {cursor!r} is no run that Dagster knows; begin without a cursor")
    records = instance.get_run_records(wanted, limit=limit + 1, cursor=cursor)
    page = records[:limit]
    more = len(records) > len(page)
    return {
        "runs": [_entry(record) for record in page],
        "next_cursor": page[-1].dagster_run.run_id if more else None,
    }


def _entry(record: dg.RunRecord) -> Mapping[str, Any]:
    run = record.dagster_run
    return {
        "run_id": run.run_id,
        "job": run.job_name,
        "status": run.status.value,
        "partition": run.tags.get(PARTITION_TAG),
        "source": run.tags.get(SOURCE_TAG),
        "retry_of": run.tags.get(PARENT_TAG),
        **times_of(record),
    }


def _status(value: str) -> DagsterRunStatus:
    try:
        return DagsterRunStatus(value.upper())
    except ValueError:
        known = ", ".join(status.value for status in DagsterRunStatus)
        raise UnusableQueryError(f"status is {value!r}; it must be one of {known}") from None


def _tag(value: str) -> tuple[str, str]:
    key, _, wanted = value.partition("=")
    if not (key and wanted):
        raise UnusableQueryError(f"tag is {value!r}; it must be KEY=VALUE, such as experiment=large")
    return key, wanted


def _limit(value: str | None) -> int:
    if value is None:
        return _USUAL
    if not (value.isascii() and value.isdecimal() and len(value) <= len(str(_MOST))) or not (
        1 <= int(value) <= _MOST
    ):
        raise UnusableQueryError(f"limit is {value!r}; it must be a whole number from 1 to {_MOST}")
    return int(value)


def _moment(name: str, value: str | None) -> datetime | None:
    """A moment in UTC, as Dagster stores them."""
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(value)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise UnusableQueryError(
            f"{name} is {value!r}; it must be a moment such as 2026-01-31T12:00:00Z (UTC without an offset; "
            "a + in an address is written %2B)"
        ) from None
