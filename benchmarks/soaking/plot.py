"""A soak in one picture: small multiples over the same time, with a line for each fault."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from soaking.life import Life
from soaking.measures import MIB, tick_points
from soaking.processes import LONG_LIVED
from soaking.samples import Tick

_RESTART, _OTHER = "tab:red", "tab:gray"


def plot(life: Life, found: Sequence[Tick], file: Path) -> None:
    """Draw what was measured."""
    samples = life.samples
    minutes = [one.at / 60 for one in samples]
    figure = Figure(figsize=(16, 18), layout="constrained")
    axes = figure.subplots(4, 2, sharex=True)
    memory, files, storage, data, runs, behind, tick, calls = axes.flat
    for role in (*LONG_LIVED, "run"):
        memory.plot(minutes, [one.memory.get(role, 0) / MIB for one in samples], label=role)
        files.plot(minutes, [one.files.get(role, 0) for one in samples], label=role)
    for kind in sorted({kind for one in samples for kind in one.dagster}):
        storage.plot(minutes, [one.dagster.get(kind, 0) / MIB for one in samples], label=kind)
    for kind in sorted({kind for one in samples for kind in one.data}):
        data.plot(minutes, [one.data.get(kind, 0) / MIB for one in samples], label=kind)
    for status in sorted({status for one in samples for status in one.runs or {}}):
        counts = [float("nan") if one.runs is None else one.runs.get(status, 0) for one in samples]
        runs.plot(minutes, counts, label=status.lower())
    behind.plot(minutes, [float("nan") if one.behind is None else one.behind for one in samples])
    for sensor, points in sorted(tick_points(found).items()):
        tick.plot(*zip(*((at / 60, value) for at, value in points), strict=True), ".", ms=3, label=sensor)
    tick.set_yscale("log")
    calls.plot(minutes, [one.calls for one in samples], label="calls")
    calls.plot(minutes, [one.questions for one in samples], label="questions answered")
    titles = (
        *("memory, MiB (PSS)", "open files", "Dagster's storage, MiB", "data folder, MiB"),
        *("runs", "pages behind the wiki", "a sensor's tick, ms", "calls of the model"),
    )
    for one, title in zip(axes.flat, titles, strict=True):
        _finish(one, title, life)
    figure.suptitle(
        f"Soak, seed {life.seed}: {len(life.faults)} faults (red: of what should live for a month; "
        "grey: all others)"
    )
    figure.supxlabel("minutes")
    figure.savefig(file, dpi=100)


def _finish(axes: Axes, title: str, life: Life) -> None:
    axes.set_title(title, loc="left")
    axes.grid(visible=True, alpha=0.3)
    for fault in life.faults:
        axes.axvline(fault.at / 60, color=_RESTART if fault.restarts else _OTHER, lw=0.8, alpha=0.5)
    if axes.get_legend_handles_labels()[1]:
        axes.legend(fontsize="small", ncols=2, loc="upper left")
