"""What the samples of a soak say of growth."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from soaking.life import Life
from soaking.processes import LONG_LIVED
from soaking.samples import Sample, Tick

MIB = 2**20
_SECONDS_IN_MONTH = 30 * 86_400
_WARM_AFTER_SECONDS = 180
_LEAST_POINTS = 4
_LEAST_TICKS = 60  # of fewer, one that found much to do is the average

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Growth:
    """How a measure grew.

    Attributes:
        first: its average in the first quarter of its points.
        last: its average in the last quarter.
        a_month: what a straight line through all of it would add in thirty days.
        uncertainty: twice the standard error of that.
    """

    first: float
    last: float
    a_month: float
    uncertainty: float


@dataclass(frozen=True)
class Measure:
    """Something that was measured again and again.

    Attributes:
        name: what, with its unit.
        points: when, and how much.
        most: times the first quarter's average that the last's may be; None where growth is only shown.
        slack: that is added to that, for what is small.
    """

    name: str
    points: Points
    most: float | None = None
    slack: float = 0.0

    @property
    def growth(self) -> Growth | None:
        """How it grew; None where there are too few points to say."""
        return growth_of(self.points)

    @property
    def is_bounded(self) -> bool:
        """Whether it did not grow more than it may."""
        growth = self.growth
        if self.most is None or growth is None:
            return True
        return growth.last <= growth.first * self.most + self.slack


def growth_of(points: Points) -> Growth | None:
    """How a measure grew; None where there are too few points to say."""
    if len(points) < _LEAST_POINTS:
        return None
    at, values = np.array([point[0] for point in points]), np.array([point[1] for point in points])
    quarter = max(1, len(points) // 4)
    centred = at - at.mean()
    spread = float((centred**2).sum())
    slope = float((centred * values).sum()) / spread
    rest = values - values.mean() - slope * centred
    error = float(np.sqrt((rest**2).sum() / max(1, len(points) - 2) / spread))
    return Growth(
        first=float(values[:quarter].mean()),
        last=float(values[-quarter:].mean()),
        a_month=slope * _SECONDS_IN_MONTH,
        uncertainty=2 * error * _SECONDS_IN_MONTH,
    )


def measures_of(life: Life, found: Sequence[Tick]) -> list[Measure]:
    """All measures of a soak, until all came to rest."""
    samples = [one for one in life.samples if one.at <= life.seconds]
    processes = [
        Measure(f"{what} of {role}", last_life(samples, role, amount), most, slack)
        for what, amount, most, slack in (
            ("MiB of memory", _memory, 1.1, 16),
            ("open files", _open_files, 1.1, 8),
        )
        for role in LONG_LIVED
    ]
    return [
        *processes,
        *_storage(samples),
        Measure("pages behind the wiki", _series(samples, lambda one: one.behind), 2, 30),
        *(
            Measure(f"tick of {sensor}, ms", points, 2, 500)
            for sensor, points in sorted(tick_points(found).items())
            if len(points) >= _LEAST_TICKS
        ),
    ]


def last_life(samples: Sequence[Sample], role: str, amount: Callable[[Sample, str], float]) -> Points:
    """What the last process of a role held, once it was warm: what it held before shows no growth."""
    pid = next((one.lives[role] for one in reversed(samples) if role in one.lives), None)
    lived = [one for one in samples if one.lives.get(role) == pid]
    return [(one.at, amount(one, role)) for one in lived if one.at > lived[0].at + _WARM_AFTER_SECONDS]


def tick_points(found: Iterable[Tick]) -> Mapping[str, Points]:
    """When each sensor's ticks were, and their milliseconds."""
    points: dict[str, list[tuple[float, float]]] = {}
    for tick in sorted(found, key=lambda one: one.at):
        points.setdefault(tick.sensor, []).append((tick.at, tick.seconds * 1000))
    return points


def bytes_a_run(samples: Sequence[Sample]) -> float:
    """What a run adds to Dagster's storage, ticks aside."""
    points = [(sum((one.runs or {}).values()), _history(one)) for one in samples if one.runs]
    if not points:
        return 0.0
    (first_runs, first_bytes), (last_runs, last_bytes) = points[0], points[-1]
    return (last_bytes - first_bytes) / max(1, last_runs - first_runs)


def runs_a_day(samples: Sequence[Sample]) -> float:
    """How many runs a day would have, at this rate."""
    points = [(one.at, sum(one.runs.values())) for one in samples if one.runs]
    return points[-1][1] / points[-1][0] * 86_400 if points and points[-1][0] else 0.0


def _storage(samples: Sequence[Sample]) -> list[Measure]:
    kinds = sorted({kind for one in samples for kind in one.data})
    return [
        Measure("Dagster's runs and events, MiB", _series(samples, lambda one: _history(one) / MIB)),
        Measure("Dagster's ticks, MiB", _series(samples, lambda one: one.dagster.get("schedules", 0) / MIB)),
        *(
            Measure(
                f"data: {kind}, MiB", _series(samples, _of_kind(kind)), *((1, 8) if kind == "locks" else ())
            )
            for kind in kinds
        ),
        Measure("data: files", _series(samples, lambda one: one.data_files)),
    ]


def _of_kind(kind: str) -> Callable[[Sample], float]:
    return lambda one: one.data.get(kind, 0) / MIB


def _series(samples: Iterable[Sample], value: Callable[[Sample], float | None]) -> Points:
    points = ((one.at, value(one)) for one in samples)
    return [(at, amount) for at, amount in points if amount is not None]


def _history(one: Sample) -> float:
    return sum(size for kind, size in one.dagster.items() if kind != "schedules")


def _memory(one: Sample, role: str) -> float:
    return one.memory.get(role, 0) / MIB


def _open_files(one: Sample, role: str) -> float:
    return one.files.get(role, 0)
