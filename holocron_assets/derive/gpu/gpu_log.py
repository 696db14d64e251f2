"""The figures of a session of calls: loads, busy share, tokens; a row of `gpu_runs` for each session."""

import json
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from holocron_assets.derive.engine.calls import Outcome
from holocron_assets.lake.files.parquet import write_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import GPU_RUNS

LOADED_WITHIN_MS = 200.0
"""Even a server that has the model loaded reports some milliseconds of loading."""

Span = tuple[datetime, datetime]


def merged(spans: Iterable[Span]) -> list[Span]:
    """Spans of time in order; spans that touch become one."""
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def seconds_of(spans: Iterable[Span]) -> float:
    """Seconds that some spans cover together."""
    return sum((end - start).total_seconds() for start, end in merged(spans))


@dataclass
class Tally:
    """Counts of a session of calls to one model.

    Attributes:
        items: items that got an outcome, by interrogation.
        failed_items: of these, without an answer.
        calls: calls made.
        calls_saved: items that an earlier answer served.
        tokens_in: tokens read.
        tokens_out: tokens written.
        partitions_completed: partitions that became complete.
        under_way: when each call was sent and answered.
        loading: when the server loaded the model, by each call that waited for it.
    """

    items: Counter[str] = field(default_factory=Counter)
    failed_items: int = 0
    calls: int = 0
    calls_saved: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    partitions_completed: int = 0
    under_way: list[Span] = field(default_factory=list)
    loading: list[Span] = field(default_factory=list)

    def count(self, interrogation: str, outcome: Outcome) -> None:
        """Count the outcome of an attempt at an item of an interrogation."""
        for call in outcome.calls:
            self.count_call(call)
        if outcome.counts:
            self.items[interrogation] += 1
            self.failed_items += outcome.status != "ok"

    def count_call(self, call: Mapping[str, Any]) -> None:
        """Count a call by its row of `llm_attempts`."""
        sent = call["started_at"]
        self.calls += 1
        self.tokens_in += call["tokens_in"]
        self.tokens_out += call["tokens_out"]
        self.under_way.append((sent, sent + timedelta(milliseconds=call["total_ms"])))
        if call["load_ms"] > LOADED_WITHIN_MS:
            self.loading.append((sent, sent + timedelta(milliseconds=call["load_ms"])))

    def count_load(self, asked_at: datetime, seconds: float) -> None:
        """Count a request that only loaded the model, and the time that the server took."""
        if seconds * 1000 > LOADED_WITHIN_MS:
            span = (asked_at, asked_at + timedelta(seconds=seconds))
            self.under_way.append(span)
            self.loading.append(span)

    @property
    def loads(self) -> int:
        """How often the server loaded the model. Calls that waited for the same loading count once."""
        return len(merged(self.loading))

    @property
    def busy_share(self) -> float:
        """Share of the time between first and last call in which at least one was under way."""
        if not self.under_way:
            return 0.0
        busy = merged(self.under_way)
        whole = (busy[-1][1] - busy[0][0]).total_seconds()
        return seconds_of(busy) / whole if whole else 1.0


@dataclass(frozen=True)
class GpuRun:
    """The purpose and the end of a session of calls.

    Attributes:
        run_id: Dagster's run, or a name where there was none.
        model: the model.
        digest: its digest.
        started_by: 'dispatch', 'person', 'local', 'ask', 'repeat' or 'try'.
        outcome: 'complete', 'partial', 'stopped' or 'paused'.
        reason: why it ended.
    """

    run_id: str
    model: str
    digest: str
    started_by: str
    outcome: str
    reason: str


def write_gpu_run(lake: Lake, run: GpuRun, tally: Tally) -> str | None:
    """Write the row of a session that made calls.

    Returns:
        Its id, which sorts by time; None if there was no call, and so no row.
    """
    if not tally.under_way:
        return None
    busy = merged(tally.under_way)
    started = busy[0][0]
    gpu_run_id = f"{started:%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:8]}"
    row = {
        "gpu_run_id": gpu_run_id,
        "run_id": run.run_id,
        "model": run.model,
        "model_digest": run.digest,
        "started_by": run.started_by,
        "started_at": started,
        "ended_at": busy[-1][1],
        "loads": tally.loads,
        "load_seconds": seconds_of(tally.loading),
        "busy_seconds": seconds_of(busy),
        "busy_share": tally.busy_share,
        "items": tally.items.total(),
        "failed_items": tally.failed_items,
        "calls": tally.calls,
        "calls_saved": tally.calls_saved,
        "tokens_in": tally.tokens_in,
        "tokens_out": tally.tokens_out,
        "interrogations": json.dumps(dict(sorted(tally.items.items()))),
        "partitions_completed": tally.partitions_completed,
        "outcome": run.outcome,
        "reason": run.reason,
    }
    write_partition(lake, GPU_RUNS, gpu_run_id, [row])
    return gpu_run_id
