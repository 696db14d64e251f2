"""Histograms of durations: how many took no longer than each of some bounds, as Prometheus counts them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from prometheus_client.core import HistogramMetricFamily, Metric

REQUEST_BOUNDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Upper bounds of the buckets of requests, in seconds."""

FILE_BOUNDS = (*REQUEST_BOUNDS, 300.0, 1800.0, 7200.0)
"""The same of requests for files, which may take hours."""

CALL_BOUNDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0)
"""The same of calls of models."""

RUN_BOUNDS = (1.0, 5.0, 15.0, 60.0, 180.0, 600.0, 1800.0, 3600.0, 10800.0, 43200.0, 86400.0)
"""The same of runs of Dagster."""


def counted(milliseconds: str, bounds: Sequence[float]) -> str:
    """SQL after `select` that counts durations: `number`, `seconds` and `within`, a number for each bound.

    Args:
        milliseconds: the column of the durations, or what SQL makes of it; null is not counted.
        bounds: upper bounds of the buckets, in seconds.
    """
    within = ", ".join(f"count(*) filter ({milliseconds} <= {1000 * bound})" for bound in bounds)
    return (
        f"count({milliseconds}) as number, coalesce(sum({milliseconds}), 0) / 1000 as seconds, "
        f"list_value({within}) as within"
    )


def histogram(
    name: str, text: str, labels: Sequence[str], bounds: Sequence[float], rows: Iterable[Mapping[str, Any]]
) -> Metric:
    """A histogram, from rows with `number`, `seconds`, `within` and the labels; rows of one series add up."""
    family = HistogramMetricFamily(name, text, labels=labels)
    grouped: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        grouped.setdefault(tuple(row[label] for label in labels), []).append(row)
    for values, alike in grouped.items():
        within = [sum(counts) for counts in zip(*(row["within"] for row in alike), strict=True)]
        buckets = [(str(bound), count) for bound, count in zip(bounds, within, strict=True)]
        everything = ("+Inf", sum(row["number"] for row in alike))
        family.add_metric(values, [*buckets, everything], sum(row["seconds"] for row in alike))
    return family
