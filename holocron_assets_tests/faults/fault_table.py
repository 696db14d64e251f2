"""The table that ends a test run with faults in it: what was injected, and whether Holocron survived it."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import pytest

_KEY = "fault"


class Fault(NamedTuple):
    """One injected fault.

    Attributes:
        kind: its number in docs/guarantees.md.
        what: what was done to the system.
        outcome: what became of the test: survived, FAILED, skipped.
    """

    kind: int
    what: str
    outcome: str


def note_faults(items: Iterable[pytest.Item]) -> None:
    """Note what marker `fault` says of each test, where a worker process's report carries it along."""
    for item in items:
        for mark in item.iter_markers(_KEY):
            kind, what = mark.args
            variant = getattr(item, "callspec", None)
            described = f"{what}: {variant.id}" if variant else what
            item.user_properties.append((_KEY, (kind, described)))


def faults_of(reports: Iterable[pytest.TestReport]) -> list[Fault]:
    """The faults of some tests, by kind; one for each mark of each test."""
    outcomes: dict[tuple[int, str, str], str] = {}
    for report in reports:
        for key, value in report.user_properties:
            if key == _KEY and isinstance(value, Sequence):
                kind, what = value
                name = (int(kind), str(what), report.nodeid)
                outcomes[name] = max(outcomes.get(name, ""), _outcome(report), key=_SEVERITY.index)
    return sorted(Fault(kind, what, outcome) for (kind, what, _), outcome in outcomes.items())


def table(faults: Sequence[Fault]) -> list[str]:
    """The lines of the table."""
    width = max(len(fault.what) for fault in faults)
    lines = [f"{fault.kind:>4}  {fault.what:<{width}}  {fault.outcome}" for fault in faults]
    survived = sum(fault.outcome == "survived" for fault in faults)
    return [
        f"kind  {'injected':<{width}}  outcome",
        *lines,
        f"{survived} of {len(faults)} faults survived",
    ]


_SEVERITY = ("", "survived", "skipped", "FAILED")


def _outcome(report: pytest.TestReport) -> str:
    if report.failed:
        return "FAILED"
    if report.skipped:
        return "skipped"
    return "survived" if report.when == "call" else ""
