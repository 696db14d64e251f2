"""A run's metadata about its politeness, whether it ended well or failed."""

from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg

from holocron_assets.crawl.http.log import Tally
from holocron_assets.orchestration.assets.metadata import sample_list
from holocron_assets.orchestration.runs.failures import clear_failures


def politeness_metadata(tally: Tally) -> dict[str, dg.MetadataValue]:
    """The metadata of a run's requests; empty if there were none. Numbers become plots in the UI."""
    if not tally.outcomes:
        return {}
    counts = [f"| {outcome} | {number} |" for outcome, number in tally.outcomes.most_common()]
    return {
        "requests": dg.MetadataValue.int(tally.sent),
        "requests_not_sent": dg.MetadataValue.int(tally.outcomes.total() - tally.sent),
        "request_retries": dg.MetadataValue.int(tally.retries),
        "requests_by_outcome": dg.MetadataValue.md(
            "\n".join(["| outcome | requests |", "| --- | ---: |", *counts])
        ),
        "mean_latency_ms": dg.MetadataValue.float(round(tally.answer_ms / max(tally.sent, 1), 1)),
        "slowest_latency_ms": dg.MetadataValue.float(round(tally.slowest_ms, 1)),
        "seconds_waited_for_rate": dg.MetadataValue.float(round(tally.waited_s, 3)),
        "seconds_leaving_alone": dg.MetadataValue.float(round(tally.held_s, 3)),
        "pace": dg.MetadataValue.float(tally.pace),
        "lowest_pace": dg.MetadataValue.float(tally.lowest_pace),
        "breaker": dg.MetadataValue.text(tally.breaker),
        "politeness_decisions": (
            sample_list(tally.decisions) if tally.decisions else dg.MetadataValue.md("none")
        ),
    }


@contextmanager
def polite_failures(tally: Tally) -> Iterator[None]:
    """Turn errors into failures as `clear_failures` does, with the metadata about politeness."""
    try:
        with clear_failures():
            yield
    except dg.Failure as failure:
        failure.metadata = {**failure.metadata, **politeness_metadata(tally)}
        raise
