"""The status as a picture: the work of a day, hour by hour, and what waits for how long."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from io import BytesIO
from typing import TYPE_CHECKING

from holocron_assets.operations.state.status import Status
from holocron_assets.operations.state.status_rows import AgedWork

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

_HOURS = 24
_SIZE = (12.0, 3.6)
_DOTS_PER_INCH = 80
_DRAWN = {
    "pages": "tab:blue",
    "page_types": "tab:cyan",
    "interrogations": "tab:green",
    "entities": "tab:purple",
    "files": "tab:brown",
    "review": "tab:orange",
}
"""Stages whose work is drawn, with their colours. Requests and calls show its cost."""

_AGES = {"under 1 h": "tab:green", "1 to 4 h": "gold", "4 h to a day": "tab:orange", "over a day": "tab:red"}


def plotted(status: Status) -> bytes:
    """A PNG of some 20 KB: what was done and what failed in each hour of the last day, and what waits."""
    # matplotlib takes a second to import, and only one asset draws.
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=_SIZE, dpi=_DOTS_PER_INCH, layout="constrained")
    done, failed, waits = figure.subplots(1, 3)
    hours = [_hour(status.at) - timedelta(hours=back) for back in reversed(range(_HOURS))]
    _plot_done(done, status, hours)
    _plot_failed(failed, status, hours)
    _plot_waiting(waits, status)
    image = BytesIO()
    figure.savefig(image, format="png")
    return image.getvalue()


def _hour(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0)


def _plot_done(axes: "Axes", status: Status, hours: Sequence[datetime]) -> None:
    below = [0] * len(hours)
    for stage, colour in _DRAWN.items():
        by_hour: Counter[datetime] = Counter()
        for row in status.throughput:
            if row.stage == stage:
                by_hour[row.hour] += row.done
        counts = [by_hour[hour] for hour in hours]
        if any(counts):
            axes.bar(_places(hours), counts, 0.9, bottom=below, label=stage, color=colour)
        below = [one + other for one, other in zip(below, counts, strict=True)]
    _label(axes, "done in each hour", hours)


def _plot_failed(axes: "Axes", status: Status, hours: Sequence[datetime]) -> None:
    failed, dead = Counter[datetime](), Counter[datetime]()
    for row in status.throughput:
        if row.stage in _DRAWN:
            failed[row.hour] += row.failed
            dead[row.hour] += row.dead
    below = [failed[hour] for hour in hours]
    if any(below):
        axes.bar(_places(hours), below, 0.9, label="failed for now", color="tab:orange")
    given_up = [dead[hour] for hour in hours]
    if any(given_up):
        axes.bar(_places(hours), given_up, 0.9, bottom=below, label="given up", color="tab:red")
    _label(axes, "failed in each hour", hours)


def _plot_waiting(axes: "Axes", status: Status) -> None:
    """A bar for each queue that is not empty, in the colours of how long its work waits."""
    aged = {(one.stage, one.source, one.interrogation): one for one in status.aged}
    queues = [queue for queue in status.queues if queue.depth]
    names = [f"{queue.interrogation or queue.stage} ({queue.source})" for queue in queues]
    shares = [
        _by_age(queue.depth, aged.get((queue.stage, queue.source, queue.interrogation))) for queue in queues
    ]
    left = [0] * len(queues)
    for place, (age, colour) in enumerate(_AGES.items()):
        widths = [share[place] for share in shares]
        if any(widths):
            axes.barh(range(len(queues)), widths, left=left, label=age, color=colour)
        left = [one + width for one, width in zip(left, widths, strict=True)]
    axes.set_yticks(range(len(queues)), names, fontsize="small")
    axes.invert_yaxis()
    _count_on(axes.xaxis)
    _head(axes, "waits, by age")


def _by_age(depth: int, aged: AgedWork | None) -> tuple[int, int, int, int]:
    """How many items of a queue have each age."""
    if aged is None:
        return depth, 0, 0, 0
    hour, hours, day = aged.over_60_minutes, aged.over_240_minutes, aged.over_1440_minutes
    return depth - hour, hour - hours, hours - day, day


def _places(hours: Sequence[datetime]) -> range:
    return range(len(hours))


def _count_on(axis: "Axis") -> None:
    """Write a few whole numbers on an axis."""
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415 - as above

    axis.set_major_locator(MaxNLocator(5, integer=True))


def _label(axes: "Axes", title: str, hours: Sequence[datetime]) -> None:
    every = 6
    axes.set_xticks(list(_places(hours))[::-every], [f"{hour:%H:%M}" for hour in hours][::-every])
    axes.set_xlim(-0.5, len(hours) - 0.5)
    axes.set_ylim(bottom=0)
    _count_on(axes.yaxis)
    _head(axes, f"{title}, UTC")


def _head(axes: "Axes", title: str) -> None:
    axes.set_title(title, fontsize="medium", loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    if axes.get_legend_handles_labels()[1]:
        axes.legend(fontsize="x-small", frameon=False)
