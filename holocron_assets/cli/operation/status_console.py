"""How the status looks in a terminal: the whole status once, or what moves, one snapshot after another."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.text import Text

from holocron_assets.cli.console import (
    print_records,
    print_rows,
    shown,
    table_of,
    without_empty_columns,
    without_zeros,
)
from holocron_assets.operations.state.status import Alert, InterrogationProgress, Models, Status
from holocron_assets.operations.state.status_rows import FailureCause, Queue, Stage

_MOST_CAUSES = 10
_STATES = {
    "page_types": ("settled", "needs review", "pending"),
    "entities": ("promoted", "adjudicated", "candidate", "staged", "suppressed", "merged", "needs review"),
}
"""States of each stage whose items have types, in the order in which they are shown."""


def print_status(console: Console, status: Status) -> None:
    """Print the status: first what keeps work back, then the work, then its results."""
    print_rows(console, "Sources", [asdict(source) for source in status.sources])
    print_rows(console, "Alerts", [_alert(alert) for alert in status.alerts])
    print_records(console, "Held back", map(asdict, status.paused))
    print_records(console, "A wiki that is not asked as usual", map(asdict, status.hosts))
    print_rows(console, "Work", _work(status.stages))
    print_rows(console, "The last hour", _speeds(status.queues))
    print_rows(console, "Waiting for long", _aged(status))
    print_rows(console, "Failures of the last day", _causes(status.failures))
    if status.runs_problem:
        problem = escape(status.runs_problem)
        console.print(f"Failed runs may be missing: Dagster's storage cannot be read: {problem}", end="\n\n")
    print_rows(console, "Pages that are not asked for", _skipped(status))
    print_rows(console, "Types", _by_type(status, "page_types"))
    print_rows(console, "Entities", _by_type(status, "entities"))
    print_rows(console, "Questions to people", _questions(status))
    print_interrogations(console, status.interrogations, status.models.problem)
    _print_models(console, status)
    print_rows(console, "Changes", without_empty_columns([asdict(change) for change in status.changes]))
    print_records(console, "Dead letter", map(asdict, status.dead_letters))
    dead = sum(stage.dead for stage in status.stages)
    if dead > len(status.dead_letters):
        console.print(f'{dead} were given up; `holocron sql "from dead_letters"` lists them all', end="\n\n")
    print_records(console, "A damaged file that was set aside", map(asdict, status.set_aside))


def print_interrogations(
    console: Console, interrogations: Iterable[InterrogationProgress], problem: str | None
) -> None:
    """Print the progress of interrogations, and why some questions cannot be asked."""
    asked = [_far(one) for one in interrogations if one.done or one.to_do]
    print_rows(console, "Interrogations", without_empty_columns(asked))
    if asked and problem:
        console.print(f"Not everything can be asked now: {escape(problem)}.", end="\n\n")


def watched(status: Status, before: Status | None) -> RenderableType:
    """What moves, and how fast it moved since the snapshot before."""
    blocks: list[RenderableType] = [Text(f"{status.at:%Y-%m-%d %H:%M:%S} UTC", style="bold")]
    alerts = [shown(alert.message) for alert in status.alerts]
    held = [shown(f"{one.action} of {one.scope} {one.name or ''} by {one.author}") for one in status.paused]
    alone = [shown(f"{host.host}: {host.treatment}, {host.why}") for host in status.hosts]
    blocks += [Text.from_markup(f"[yellow]{line}[/yellow]", emoji=False) for line in (*alerts, *held, *alone)]
    rates = _rates(status, before)
    work = [
        {**row, "done a minute": rates.get((stage.stage, stage.source, stage.interrogation), 0.0)}
        for stage, row in zip(_shown_stages(status.stages), _work(status.stages), strict=True)
    ]
    blocks += [table_of(title, rows) for title, rows in _moving(status, work) if rows]
    return Group(*blocks, Text(_in_a_line(status.models)))


def _alert(alert: Alert) -> dict[str, Any]:
    return {"alert": alert.rule, "since": alert.fired_at, "what": alert.message}


def _moving(status: Status, work: list[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    yield "Work", work
    yield "The last hour", _speeds(status.queues)
    yield "Failures of the last day", _causes(status.failures)


def _rates(status: Status, before: Status | None) -> dict[tuple[str, str | None, str | None], float]:
    """Items done per minute at each stage since the snapshot before."""
    if before is None or (seconds := (status.at - before.at).total_seconds()) <= 0:
        return {}
    known = {(one.stage, one.source, one.interrogation): one.done for one in before.stages}
    return {
        place: (stage.done - known.get(place, 0)) * 60 / seconds
        for stage in status.stages
        if (place := (stage.stage, stage.source, stage.interrogation))
    }


def _shown_stages(stages: Iterable[Stage]) -> list[Stage]:
    counted = ("pending", "in_flight", "waiting", "review", "dead", "skipped", "done")
    return [stage for stage in stages if any(getattr(stage, name) for name in counted)]


def _work(stages: Iterable[Stage]) -> list[dict[str, Any]]:
    rows = [
        {
            "work": stage.interrogation or stage.stage,
            "source": stage.source,
            "pending": stage.pending,
            "in flight": stage.in_flight,
            "waiting": stage.waiting,
            "review": stage.review,
            "dead": stage.dead,
            "skipped": stage.skipped,
            "done": stage.done,
            "next due": stage.next_due_at,
        }
        for stage in _shown_stages(stages)
    ]
    return without_zeros(rows)


def _speeds(queues: Iterable[Queue]) -> list[dict[str, Any]]:
    rows = [
        {
            "work": queue.interrogation or queue.stage,
            "source": queue.source,
            "waits": queue.depth,
            "oldest": _duration(queue.oldest_minutes),
            "came": queue.in_last_hour,
            "done": queue.out_last_hour,
            "failed": queue.in_vain_last_hour,
            "ready in": _duration(queue.eta_minutes) if queue.depth else None,
        }
        for queue in queues
        if queue.depth or queue.out_last_hour or queue.in_vain_last_hour
    ]
    return without_zeros(rows)


def _aged(status: Status) -> list[dict[str, Any]]:
    return [
        {
            "work": aged.interrogation or aged.stage,
            "source": aged.source,
            "over 1 h": aged.over_60_minutes,
            "over 4 h": aged.over_240_minutes,
            "over a day": aged.over_1440_minutes,
            "oldest since": aged.oldest_at,
        }
        for aged in status.aged
    ]


def _causes(failures: Sequence[FailureCause]) -> list[dict[str, Any]]:
    return [
        {
            "what": failure.interrogation or failure.job or failure.stage,
            "cause": failure.cause,
            "times": failure.failures,
            "such as": failure.example,
            "last": f"{failure.last_at:%H:%M}",
        }
        for failure in failures[:_MOST_CAUSES]
    ]


def _skipped(status: Status) -> list[dict[str, Any]]:
    return [
        {"source": row.source, "titles": row.items, "why": row.reason}
        for row in status.reasons
        if row.status == "skipped"
    ]


def _by_type(status: Status, stage: str) -> list[dict[str, Any]]:
    """Counts of one stage: a row for each source and type, a column for each state."""
    states = _STATES[stage]
    found: dict[tuple[str | None, str | None], dict[str, Any]] = {}
    for row in status.reasons:
        if row.stage == stage and row.reason is not None:
            first = {"source": row.source, "type": row.reason, **dict.fromkeys(states, 0)}
            found.setdefault((row.source, row.reason), first)[row.status] = row.items
    ordered = sorted(found.values(), key=lambda row: (row["source"], -sum(row[state] for state in states)))
    return without_zeros(ordered)


def _questions(status: Status) -> list[dict[str, Any]]:
    return [
        {"source": row.source, "about": row.reason, "open": row.items}
        for row in status.reasons
        if row.stage == "review"
    ]


def _far(one: InterrogationProgress) -> dict[str, Any]:
    return {
        "interrogation": one.interrogation,
        "domain": one.domain,
        "wanted": one.wanted,
        "answered": one.answered,
        "due": one.due,
        "waiting": one.waiting,
        "dead": one.dead,
        "partitions": f"{one.done} of {one.done + one.to_do}",
    }


def _print_models(console: Console, status: Status) -> None:
    names = ("model", "ended_at", "items", "calls", "loads", "busy_share", "outcome")
    runs = [{name: asdict(run)[name] for name in names} for run in status.gpu_runs]
    print_rows(console, "Last runs of models", runs)
    if status.models.calls or status.models.loaded or status.models.at_work:
        console.print(_in_a_line(status.models), end="\n\n", markup=False)


def _in_a_line(models: Models) -> str:
    """A line about what the models do."""
    loaded = f"Loaded: {', '.join(models.loaded)}." if models.loaded else "No model is loaded."
    at_work = f" Asked now by {models.at_work}." if models.at_work else ""
    day = (
        f" In the last hour busy {models.busy_share:.0%}; in the last day {models.items} items, "
        f"{models.calls} calls, {models.loads} loads ({models.load_seconds:.0f} s), "
        f"{models.switches} switches."
    )
    return f"{loaded}{at_work}{day}"


def _duration(minutes: float | None) -> str | None:
    """A duration in words, in the largest unit that leaves two digits or more."""
    if minutes is None:
        return None
    whole = timedelta(minutes=minutes)
    for unit, name in ((timedelta(days=1), "d"), (timedelta(hours=1), "h"), (timedelta(minutes=1), "min")):
        if whole >= 2 * unit:
            return f"{whole / unit:.0f} {name}"
    return f"{whole.total_seconds():.0f} s"
