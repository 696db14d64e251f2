"""How reports look in a terminal."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

_WIDEST_CELL = 100
_MOST_REVIEWS = 10


def to_json(value: object) -> str:
    """A report as JSON: times in ISO 8601."""
    return json.dumps(value, ensure_ascii=False, indent=2, default=_plain)


def print_rows(console: Console, title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print rows as a table; nothing for no rows."""
    if not rows:
        return
    table = Table(title=title, title_justify="left", title_style="bold")
    for name in rows[0]:
        number = all(isinstance(row[name], int | float) for row in rows)
        table.add_column(name, justify="right" if number else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_cell(value) for value in row.values()))
    console.print(table)


def print_page(console: Console, report: Mapping[str, Any]) -> None:
    """Print a page's report (see `reports.page_report`)."""
    console.print(f"[bold]{escape(report['title'])}[/bold] of {report['source']}")
    console.print(escape(report["stuck"]))
    for topic, rows in report.items():
        if not isinstance(rows, list):
            continue
        if topic in {"signals", "type", "classifications"}:
            for row in rows:
                print_rows(console, topic, [{"name": name, "value": value} for name, value in row.items()])
        else:
            print_rows(console, topic, rows)


def print_summary(
    console: Console, summary: Mapping[str, Sequence[Mapping[str, Any]]], seconds: Mapping[str, float]
) -> None:
    """Print what a run came to (see `reports.run_summary`), and the time that each asset took."""
    review = summary["review"]
    shown = [{name: row[name] for name in ("title", "type", "confidence", "reason")} for row in review]
    more = f", {_MOST_REVIEWS} of {len(review)}" if len(review) > _MOST_REVIEWS else ""
    print_rows(console, "Pages", summary["pages"])
    print_rows(console, "Types", summary["types"])
    print_rows(console, "Entities", summary["entities"])
    print_rows(console, f"Needs review{more}", shown[:_MOST_REVIEWS])
    print_rows(console, "Dead letters", summary["dead_letters"])
    times = [{"stage": name, "seconds": round(spent, 2)} for name, spent in seconds.items()]
    print_rows(console, "Time per stage", times)
    if not summary["dead_letters"]:
        console.print("No dead letters.")


def print_paths(console: Console, lines: Iterable[tuple[str, Path | str]]) -> None:
    """Print names with what they lead to."""
    for name, path in lines:
        console.print(f"  {name}: [cyan]{escape(str(path))}[/cyan]", soft_wrap=True)


def _cell(value: object) -> str:
    """What the wiki wrote is shown as it is: no markup, no control characters."""
    text = "" if value is None else f"{value:.2f}" if isinstance(value, float) else _text(value)
    text = "".join(c if c.isprintable() else " " for c in text)
    return escape(text if len(text) <= _WIDEST_CELL else f"{text[: _WIDEST_CELL - 3]}...")


def _text(value: object) -> str:
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, default=_plain)
    return str(value)


def _plain(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
