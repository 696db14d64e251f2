"""How each wiki is treated now, as reported to people: left alone (until when and why), or asked less."""

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from holocron_assets.crawl.politeness import days
from holocron_assets.crawl.politeness.limits import LONGEST_QUEUE_SECONDS
from holocron_assets.crawl.politeness.rules import Obstacle, permit
from holocron_assets.crawl.politeness.shared_state import folder_of, read_state, state_on_server
from holocron_assets.crawl.sources.file_source import FileSource
from holocron_assets.crawl.sources.source import Source

_IN_WORDS = {
    "held": "left alone for a moment",
    "breaker_open": "left alone",
    "quiet_hours": "quiet hours",
    "daily_limit": "day's limit reached",
    "rate": "asked rarely",
}
AS_ITS_FILE_SAYS = frozenset({_IN_WORDS["quiet_hours"], _IN_WORDS["daily_limit"]})
"""Treatments that a source's own file asks for."""


def hosts_not_as_usual(
    sources: Iterable[Source | FileSource], folder: Path, now: datetime
) -> list[dict[str, Any]]:
    """The wikis that are asked less than their source files allow.

    Args:
        sources: the sources whose wikis are checked.
        folder: the state of hosts that processes share.
        now: the current time.

    Returns:
        For each such source: source, host, treatment, until (None where no time is set), why, pace (share of
        the configured rate in use) and requests_today.
    """
    rows = [
        _standing(source, source.host, folder, now.timestamp())
        for source in sources
        if source.host is not None
    ]
    return [row for row in rows if row is not None]


def _standing(source: Source | FileSource, host: str, folder: Path, now: float) -> dict[str, Any] | None:
    state = state_on_server(host) or read_state(folder_of(host, folder))
    found = permit(state, source.politeness, now)
    pace = found.state.pace.factor
    until = why = None
    if found.obstacle and _fails_a_run(found.obstacle):
        treatment = _IN_WORDS[found.obstacle.hindrance]
        until = datetime.fromtimestamp(now + found.obstacle.wait_seconds, UTC)
        why = found.obstacle.reason
        if found.obstacle.hindrance == "rate":  # a Crawl-delay may make its rate lower than its file says
            why = "its rate allows no request" + (f" ({state.reason})" if pace < 1 else "")
    elif found.state.breaker.is_open:
        treatment, why = "to be tried with one request", state.reason
    elif pace < 1:
        treatment, why = "asked less", state.reason
    else:
        return None
    return {
        "source": source.name,
        "host": host,
        "treatment": treatment,
        "until": until,
        "why": why,
        "pace": round(pace, 3),
        "requests_today": days.requests_in(found.state.day, now),
    }


def _fails_a_run(obstacle: Obstacle) -> bool:
    """Whether a run that starts now would not wait until the obstacle is over."""
    return obstacle.hindrance != "rate" or obstacle.wait_seconds > LONGEST_QUEUE_SECONDS


def may_have_rested(sources: Iterable[Source | FileSource], since: datetime, now: datetime) -> frozenset[str]:
    """Names of sources that may have rested in a span, as their files say: quiet hours, or a day's limit."""
    span = since.timestamp(), now.timestamp()
    return frozenset(source.name for source in sources if days.may_have_rested(source.politeness, *span))


def left_alone(sources: Iterable[Source | FileSource], folder: Path, now: datetime) -> dict[str, str]:
    """Hosts for which no run should start now, since it would fail; with the reason and the time of the end.

    Args:
        sources: the sources whose wikis are checked.
        folder: the state of hosts that processes share.
        now: the current time.
    """
    return {
        row["host"]: f"{row['host']}: {row['why']}, until {row['until']:%Y-%m-%d %H:%M:%S} UTC"
        for row in hosts_not_as_usual(sources, folder, now)
        if row["until"] is not None
    }
