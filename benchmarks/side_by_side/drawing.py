"""The recorded ratios over commits, as a picture: a small one for each row.

It is text from first to last, so that the same runs always give the same file.
"""

from collections.abc import Iterable, Sequence
from html import escape

from side_by_side.recorded import Run

_COLUMNS = 3
_WIDTH, _HEIGHT = 330, 170
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 40, 48, 28
_HEADROOM = 1.2
_MOST_LABELS = 5
_QUICK_COLOUR, _FULL_COLOUR, _INK, _FAINT = "#1d4ed8", "#b45309", "#0f172a", "#cbd5e1"
_FONT = 'font-family="Helvetica,Arial,sans-serif"'

Point = tuple[int, float]
"""The number of a run, and its ratio."""


def svg(runs: Sequence[Run]) -> str:
    """The picture of some runs, the oldest on the left."""
    series = _series(runs)
    rows = -(-len(series) // _COLUMNS) or 1
    width, height = _COLUMNS * _WIDTH, rows * _HEIGHT
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {_FONT} font-size="11">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for number, ((scale, name, peer), points) in enumerate(series.items()):
        right, down = number % _COLUMNS * _WIDTH, number // _COLUMNS * _HEIGHT
        lines.append(f'<g transform="translate({right} {down})">')
        title = name if scale == "quick" else f"{name}, at full scale"
        colour = _QUICK_COLOUR if scale == "quick" else _FULL_COLOUR
        lines += [*_head(title, peer), *_axes(runs, points), *_curve(points, len(runs), colour), "</g>"]
    return "\n".join([*lines, "</svg>", ""])


def _series(runs: Sequence[Run]) -> dict[tuple[str, str, str], list[Point]]:
    """The ratios of each row. Those of another scale or peer cannot be compared."""
    found: dict[tuple[str, str, str], list[Point]] = {}
    for number, run in enumerate(runs):
        for row in run.rows:
            found.setdefault((run.scale, row.name, row.peer), []).append((number, row.ratio))
    return dict(sorted(found.items(), key=lambda one: one[0][0] != "quick"))


def _head(title: str, peer: str) -> Iterable[str]:
    yield f'<text x="{_LEFT}" y="18" font-weight="bold" fill="{_INK}">{escape(title)}</text>'
    yield f'<text x="{_LEFT}" y="33" fill="#64748b">beside: {escape(peer)}</text>'


def _axes(runs: Sequence[Run], points: Sequence[Point]) -> Iterable[str]:
    """The ratios 0, the highest, and 1 if it is below that; and the commits."""
    highest = max(ratio for _, ratio in points)
    for value in sorted({0.0, highest} | ({1.0} if highest > 1 else set())):
        y = _y(value, highest)
        yield f'<path d="M{_LEFT} {y}H{_WIDTH - _RIGHT}" stroke="{_FAINT}"/>'
        yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end" fill="{_INK}">{value:.3g}</text>'
    step = -(-len(runs) // _MOST_LABELS)
    for number in range(0, len(runs), step):
        place = f'x="{_x(number, len(runs))}" y="{_HEIGHT - 10}" text-anchor="middle" font-size="9"'
        yield f'<text {place} fill="{_INK}">{escape(runs[number].commit)}</text>'


def _curve(points: Sequence[Point], runs: int, colour: str) -> Iterable[str]:
    highest = max(ratio for _, ratio in points)
    places = [(_x(number, runs), _y(ratio, highest)) for number, ratio in points]
    path = "L".join(f"{x} {y}" for x, y in places)
    yield f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
    for x, y in places:
        yield f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>'
    x, y = places[-1]
    yield f'<text x="{x + 6}" y="{y - 6}" fill="{colour}">{points[-1][1]:.3g}</text>'


def _x(number: int, runs: int) -> float:
    wide = _WIDTH - _LEFT - _RIGHT
    return round(_LEFT + wide * (number + 0.5) / runs, 1)


def _y(ratio: float, highest: float) -> float:
    high = _HEIGHT - _TOP - _BOTTOM
    return round(_TOP + high * (1 - ratio / (highest * _HEADROOM)), 1)
