"""What was measured side by side, as a table."""

from collections.abc import Sequence

from rich.table import Table

from side_by_side.recorded import Judged

_COLUMNS = ("ours", "peer's", "ratio", "recorded", "change", "turns")


def table_of(found: Sequence[Judged]) -> Table:
    """A line for each row."""
    table = Table("row", "unit", "peer or limit", title="ratios: less is better")
    for name in _COLUMNS:
        table.add_column(name, justify="right")
    for one in found:
        row = one.row
        figures = (f"{row.ours:,g}", f"{row.peer_figure:,g}", f"{row.ratio:.2f}")
        recorded = "" if one.recorded is None else f"{one.recorded:.2f}"
        style = "bold red" if one.is_worse else ""
        cells = (row.name, row.unit, row.peer, *figures, recorded, change_of(one), str(row.repetitions))
        table.add_row(*cells, style=style)
    return table


def change_of(one: Judged) -> str:
    """How much worse or better a ratio became, in percent; `new` if none was recorded."""
    return "new" if one.change is None else f"{one.change - 1:+.0%}"


def complaints(found: Sequence[Judged]) -> list[str]:
    """A line for each row that is worse than it was recorded."""
    return [
        f"{one.row.name}: {one.row.ratio:.2f} times {one.row.peer}, "
        f"and {one.recorded:.2f} was recorded ({change_of(one)})"
        for one in found
        if one.is_worse
    ]
