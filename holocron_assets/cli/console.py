"""How reports look in a terminal."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

_WIDEST_CELL = 120
_LONGEST_VALUE = 400
_MOST_ITEMS = 12
_NARROWEST_COLUMN = 10
_MOST_REVIEWS = 10
_PAGE_TOPICS = {
    "entities": ("Entity", ()),
    "type": (
        "Type",
        (
            *("primary_type", "confidence", "method", "needs_review", "reason", "work_medium"),
            *("description", "tags", "run_id"),
        ),
    ),
    "decisions": ("Decision", ()),
    "models_answers": (
        "Model's answer",
        ("model", "primary_type", "needs_review", "rationale", "description", "tags", "model_digest"),
    ),
    "predictions": (
        "Learned model",
        (
            *("primary_type", "probability", "second_type", "second_probability", "abstains", "reasons"),
            "model_version",
        ),
    ),
    "classifications": ("Evidence", ("method", "primary_type", "confidence", "rules_version", "evidence")),
    "signals": (
        "Signals",
        (
            *("continuity", "continuity_evidence", "lead_excerpt", "infobox_template", "infobox_fields"),
            *("categories", "redirect_target", "timeline_markers", "extraction_error", "signals_version"),
        ),
    ),
    "revisions": ("Revision", ()),
    "batches": ("Asked for", ()),
    "frontier": ("Frontier", ()),
    "dead_letters": ("Dead letter", ()),
}
"""Topics of a page's report, in the order shown: the heading, and the columns unless all are shown."""


def to_json(value: object) -> str:
    """A report as JSON: times in ISO 8601, and null for NaN and infinity, which JSON does not have."""
    return json.dumps(_of_json(value), ensure_ascii=False, indent=2, default=_plain)


def _of_json(value: object) -> object:
    match value:
        case float() if not math.isfinite(value):
            return None
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case dict():
            return {
                key if isinstance(key, str) else _plain(key): _of_json(item) for key, item in value.items()
            }
        case list() | tuple():
            return [_of_json(item) for item in value]
    return value


def print_rows(console: Console, title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print rows as a table, or one below the other if a table would be too wide. No rows print nothing."""
    if not rows:
        return
    if len(rows[0]) * _NARROWEST_COLUMN > console.width:
        print_records(console, title, rows)
        return
    console.print(table_of(title, rows))
    console.line()


def table_of(title: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    """Rows as a table, with numbers aligned to the right."""
    table = Table(
        title=shown(title),
        title_justify="left",
        title_style="bold",
        box=SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
    )
    for name in rows[0] if rows else ():
        number = all(isinstance(row[name], int | float) and not isinstance(row[name], bool) for row in rows)
        table.add_column(shown(name), justify="right" if number else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_cell(value) for value in row.values()))
    return table


def print_records(console: Console, title: str, rows: Iterable[Mapping[str, Any]]) -> None:
    """Print each row as a list of names and values. Empty values are left out."""
    for row in rows:
        console.print(f"[bold]{shown(title)}[/bold]" if title else "")
        grid = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
        grid.add_column(style="dim", no_wrap=True)
        grid.add_column(overflow="fold")
        for name, value in row.items():
            if value is not None and value not in ("", [], {}):
                grid.add_row(f"  {escape(name)}", _long_text(value))
        console.print(grid)


def print_page(console: Console, report: Mapping[str, Any]) -> None:
    """Print a page's report (see `operations/why/page_report.py`)."""
    console.print(f"[bold]{shown(report['title'])}[/bold] of {report['source']}")
    console.print(shown(report["stuck"]), end="\n\n")
    for topic, (heading, columns) in _PAGE_TOPICS.items():
        rows = [{name: _in_words(name, row[name]) for name in columns or row} for row in report[topic]]
        print_records(console, heading, rows)
    names = list(dict.fromkeys(row["alias"] for row in report["aliases"]))
    print_records(console, "Names", [{"goes by": names}] if names else [])


def without_empty_columns(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows without the columns that are empty in every row."""
    kept = [name for name in (rows[0] if rows else ()) if any(row[name] is not None for row in rows)]
    return [{name: row[name] for name in kept} for row in rows]


def without_zeros(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows without the columns that are 0 in every row: a terminal is only 80 characters wide."""
    kept = [name for name in (rows[0] if rows else ()) if any(row[name] for row in rows)]
    return [{name: row[name] for name in kept} for row in rows]


def _in_words(name: str, value: Any) -> Any:
    """A list of structs as text, one line for each struct."""
    match name:
        case "evidence":
            line = "{confidence:.2f} {type} by {stage}: {reason} ({matched})"
            return [line.format_map(item) for item in value]
        case "reasons":
            return [f"{item['weight']:+.2f} {item['feature']}" for item in value]
        case "infobox_fields":
            return [f"{item['name']}: {item['value']}" for item in value if item["value"]]
        case _:
            return value


def print_summary(
    console: Console, summary: Mapping[str, Sequence[Mapping[str, Any]]], seconds: Mapping[str, float]
) -> None:
    """Print the result of a run (see `reports.run_summary`) and the seconds that each asset took."""
    review = summary["review"]
    shown = [{name: row[name] for name in ("title", "type", "confidence", "reason")} for row in review]
    more = f", {_MOST_REVIEWS} of {len(review)}" if len(review) > _MOST_REVIEWS else ""
    print_rows(console, "Pages", summary["pages"])
    print_rows(console, "Types", summary["types"])
    print_rows(console, "Entities", without_zeros(summary["entities"]))
    print_rows(console, f"Needs review{more}", shown[:_MOST_REVIEWS])
    print_rows(console, "Dead letters", summary["dead_letters"])
    times = [{"stage": name, "seconds": round(spent, 2)} for name, spent in seconds.items()]
    print_rows(console, "Time per stage", times)
    if not summary["dead_letters"]:
        console.print("No dead letters.")


def print_paths(console: Console, lines: Iterable[tuple[str, Path | str]]) -> None:
    """Print names, each with its path."""
    for name, path in lines:
        console.print(f"  {name}: [cyan]{escape(str(path))}[/cyan]", soft_wrap=True)


def _cell(value: object) -> str:
    text = "" if value is None else _text(value)
    return shown(text if len(text) <= _WIDEST_CELL else f"{text[: _WIDEST_CELL - 3]}...")


def _long_text(value: object) -> str:
    """A value on several lines: the first items of a list, one below the other."""
    if isinstance(value, list):
        lines = [_cell(item) for item in value[:_MOST_ITEMS]]
        more = len(value) - len(lines)
        return "\n".join([*lines, f"... and {more} more"] if more else lines)
    text = " ".join(_text(value).split())
    return shown(text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 3]}...")


def shown(text: str) -> str:
    """Text of the wiki, safe to print: Rich reads no markup in it, and control characters are removed."""
    return escape(printable(text))


def terminal(*, stderr: bool = False) -> Console:
    """The terminal, or stderr, for reports: text of a wiki is printed as it is, and `:x:` is no picture."""
    return Console(stderr=stderr, emoji=False)


def printable(text: str) -> str:
    """Text of the wiki without control characters, for a `Text` of Rich, which reads no markup."""
    return "".join(c if c.isprintable() else " " for c in text)


def _text(value: object) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.2f}"
        case datetime():
            return f"{value:%Y-%m-%d %H:%M:%S}"
        case dict():
            return ", ".join(
                f"{name}: {_text(item)}" for name, item in value.items() if item not in (None, "")
            )
        case list():
            return ", ".join(_text(item) for item in value)
        case _:
            return str(value)


def _plain(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
