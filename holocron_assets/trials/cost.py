"""What asking all of it would cost, from what a trial took."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from statistics import harmonic_mean
from typing import Any

from holocron_assets.derive.dispatch.tallies import wanted_counts
from holocron_assets.derive.gpu.gpu_log import seconds_of
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.items.items import Item
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.place.paths import Lake
from holocron_assets.trials.report import Cost

_SECONDS_AN_HOUR = 3600


def cost_of(  # noqa: PLR0913 - each is a figure of the trial
    lake: Lake,
    tried: Interrogation,
    items: Sequence[Item],
    *,
    answered: int,
    asks_otherwise: bool,
    seconds: float | None,
    load_seconds: float,
) -> Cost:
    """What asking all of it would cost.

    Args:
        lake: where items are.
        tried: what was asked.
        items: the sample.
        answered: items wanted with an answer that counts today.
        asks_otherwise: whether those answers go stale.
        seconds: for which the sample was asked about; None if they were not measured.
        load_seconds: for which the model was loaded.
    """
    rows = sum(wanted_counts(lake, [tried]).values())
    wanted = round(rows * items_a_row([item.variables.get("chunks", 1) for item in items]))
    to_ask = wanted if asks_otherwise else max(wanted - answered, 0)
    an_item = None if seconds is None or not items else seconds / len(items)
    hours = None if an_item is None else to_ask * an_item / _SECONDS_AN_HOUR
    return Cost(wanted, answered, asks_otherwise, to_ask, an_item, hours, load_seconds)


def seconds_asked(answers: Sequence[Row], calls: Sequence[Row]) -> float | None:
    """Seconds in which at least one call was under way, or of all functions; None if they were not measured.

    Args:
        answers: rows of `repeat_answers`.
        calls: rows of `llm_attempts`.
    """
    if calls:
        spans = [
            (row["started_at"], row["started_at"] + timedelta(milliseconds=row["total_ms"])) for row in calls
        ]
        return seconds_of(spans)
    measured = [row["seconds"] for row in answers if row["seconds"] is not None]
    return sum(measured) if measured else None


def call_figures(calls: Sequence[Row]) -> Mapping[str, Any]:
    """Calls, tokens, and what went wrong with calls, of some rows of `llm_attempts`."""
    failed = [
        f"{row['outcome']}: {row['error'] or 'no reason given'}" for row in calls if row["outcome"] != "ok"
    ]
    return {
        "calls": len(calls),
        "tokens_in": sum(row["tokens_in"] for row in calls),
        "tokens_out": sum(row["tokens_out"] for row in calls),
        "failed_calls": failed,
    }


def items_a_row(chunks: Sequence[int]) -> float:
    """How many items a page has.

    Args:
        chunks: of each item, the chunks that its page is read in. Items are drawn evenly from all chunks, so
            a page of many is drawn more often than another: the harmonic mean is that of pages.
    """
    return harmonic_mean(chunks) if chunks else 1.0
