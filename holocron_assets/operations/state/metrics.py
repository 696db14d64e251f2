"""The status as Prometheus metrics, in base units, and the values that they are made from.

No label holds a page's title, or a text of a wiki or model. Sources, interrogations, models and outcomes are
few. Of kinds of causes, only the most frequent have a label of their own.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from holocron_assets.derive.dispatch.served import is_switched_off
from holocron_assets.operations.state.cause_kinds import kind_of
from holocron_assets.operations.state.dagster_state import DagsterState
from holocron_assets.operations.state.health import OUTCOMES, Check
from holocron_assets.operations.state.histograms import (
    CALL_BOUNDS,
    FILE_BOUNDS,
    REQUEST_BOUNDS,
    RUN_BOUNDS,
    histogram,
)
from holocron_assets.operations.state.status import Status
from holocron_assets.operations.state.status_rows import AgedWork, FailureCause, Queue, Stage
from holocron_assets.operations.state.totals import Totals

MOST_CAUSES = 20
"""How many kinds of causes of failures have a label of their own, the most frequent; the others share one."""

OTHER_CAUSES = "other"

_STATES = ("pending", "in_flight", "waiting", "review", "dead", "skipped", "done")
_AGES = {"1h": "over_60_minutes", "4h": "over_240_minutes", "24h": "over_1440_minutes"}
_OF_AN_HOUR = {
    "in": "in_last_hour",
    "done": "out_last_hour",
    "failed": "failed_last_hour",
    "dead": "dead_last_hour",
}
_WIKI = "mediawiki_api"
_WHOSE = ("stage", "source", "interrogation")
_A_MINUTE = 60

_Samples = Iterable[tuple[Sequence[str], float]]


def status_metrics(status: Status) -> Iterator[Metric]:
    """The metrics of a snapshot of the lake."""
    yield _gauge(
        "holocron_stage_items",
        "Items at a stage, by their state",
        (*_WHOSE, "state"),
        (((*_whose(one), state), getattr(one, state)) for one in status.stages for state in _STATES),
    )
    yield _gauge(
        "holocron_aged_items",
        "Items that wait to be done for longer than a time",
        (*_WHOSE, "over"),
        (((*_whose(one), over), getattr(one, name)) for one in status.aged for over, name in _AGES.items()),
    )
    yield from _queue_metrics(status.queues)
    yield _gauge(
        "holocron_last_day_failures",
        "Failures of the last day, by kind of cause",
        (*_WHOSE, "cause"),
        _causes(status.failures),
    )
    yield from _model_metrics(status)
    yield from _source_metrics(status)
    yield _gauge(
        "holocron_held_back",
        "1 for what is held back, by one hold or more",
        ("scope", "name", "action"),
        ((held, 1) for held in sorted({(one.scope, one.name or "", one.action) for one in status.paused})),
    )
    fires = Counter(alert.rule for alert in status.alerts)
    yield _gauge(
        "holocron_alerts_firing",
        "Alerts of our own rules that fire",
        ("rule",),
        (((rule,), count) for rule, count in fires.items()),
    )
    yield _gauge(
        "holocron_damaged_files", "Damaged files that were set aside", (), [((), len(status.set_aside))]
    )


def total_metrics(totals: Totals) -> Iterator[Metric]:
    """The metrics of all work since the lake began."""
    by_source, by_model = ("source", "outcome"), ("model", "outcome")
    by_reason, again = ("source", "reason"), ("model", "interrogation", "reason")
    yield from _counters(
        ("pages_read", "Pages that were read", ("source",), totals.pages, "pages"),
        ("http_requests", "Requests to wikis, sent or not", by_source, totals.requests, "requests"),
        ("http_received_bytes", "Bytes that wikis sent, unpacked", by_source, totals.requests, "bytes"),
        ("http_retries", "Requests to wikis to be sent again", by_reason, totals.retries, "retries"),
        ("model_calls", "Calls of models", by_model, totals.calls, "calls"),
        ("model_retries", "Calls of models that repeat another", again, totals.calls_again, "retries"),
        ("model_items", "Items that got an outcome of a model", ("model",), totals.sessions, "items"),
        ("model_calls_saved", "Items that a kept answer served", ("model",), totals.sessions, "calls_saved"),
        ("model_read_tokens", "Tokens read", ("model",), totals.sessions, "tokens_in"),
        ("model_written_tokens", "Tokens written", ("model",), totals.sessions, "tokens_out"),
        ("model_loads", "Loads of a model", ("model",), totals.sessions, "loads"),
        ("model_load_seconds", "Seconds of loading", ("model",), totals.sessions, "load_seconds"),
        ("model_busy_seconds", "Seconds with a call under way", ("model",), totals.sessions, "busy_seconds"),
        ("model_switches", "Changes to a model from another", ("model",), totals.sessions, "switches"),
        ("decisions", "Decisions of people", ("kind",), totals.decisions, "decisions"),
    )
    yield histogram(
        "holocron_http_request_seconds",
        "Seconds from a request to a wiki to the end of its answer, since the lake began",
        ("host", "verb"),
        REQUEST_BOUNDS,
        totals.request_times,
    )
    yield histogram(
        "holocron_model_call_seconds",
        "Seconds from a call of a model to the end of its answer, since the lake began",
        ("model", "interrogation"),
        CALL_BOUNDS,
        totals.call_times,
    )


def file_metrics(totals: Totals) -> Iterator[Metric]:
    """The metrics of requests for files, and of what became of files, since the lake began."""
    by_attempt, by_reason = ("resolver", "status", "reason"), ("resolver", "reason")
    by_outcome, requests = ("source", "outcome", "reason"), totals.file_requests
    yield from _counters(
        ("file_attempts", "Requests for files, and answers of the cache", by_attempt, requests, "attempts"),
        ("file_retries", "Requests for files that were no first try", by_reason, requests, "retries"),
        ("file_received_bytes", "Bytes of files that came", ("resolver",), requests, "bytes"),
        ("file_outcomes", "What became of files", by_outcome, totals.file_outcomes, "files"),
    )
    yield histogram(
        "holocron_file_request_seconds",
        "Seconds from a request for a file to its last byte, since the lake began",
        ("resolver", "verb"),
        FILE_BOUNDS,
        totals.file_requests,
    )


def _counters(*wanted: tuple[str, str, Sequence[str], Sequence[Mapping[str, Any]], str]) -> Iterator[Metric]:
    """Counters, each of a name, a text, labels, rows, and the column that is summed by those labels."""
    for name, text, labels, rows, column in wanted:
        sums: Counter[tuple[str, ...]] = Counter()
        for row in rows:
            sums[tuple(row[label] for label in labels)] += row[column]
        family = CounterMetricFamily(f"holocron_{name}", f"{text}, since the lake began", labels=labels)
        for values, number in sums.items():
            family.add_metric(values, number)
        yield family


def check_metrics(checks: Sequence[Check]) -> Iterator[Metric]:
    """The metrics of /health."""
    values = ", ".join(f"{number} {outcome}" for number, outcome in enumerate(OUTCOMES))
    yield _gauge(
        "holocron_health",
        f"What /health says of each check: {values}",
        ("check",),
        (((check.name,), OUTCOMES.index(check.outcome)) for check in checks),
    )


def dagster_metrics(dagster: DagsterState) -> Iterator[Metric]:
    """The metrics of Dagster's runs and daemon."""
    yield _gauge(
        "holocron_dagster_runs",
        "Runs of Dagster that wait or are under way",
        ("status",),
        (((status,), count) for status, count in dagster.runs.items()),
    )
    yield _gauge(
        "holocron_dagster_daemon_heard_timestamp_seconds",
        "When a daemon of Dagster was last heard of",
        ("daemon",),
        (((name,), heard.timestamp()) for name, heard in dagster.heard_at.items() if heard),
    )
    yield histogram(
        "holocron_dagster_run_seconds",
        "Seconds from a run's start to its end, of runs that ended since this process began",
        ("job_name",),  # Prometheus gives `job` to what it asks
        RUN_BOUNDS,
        dagster.run_times,
    )


def _queue_metrics(queues: Sequence[Queue]) -> Iterator[Metric]:
    yield _gauge(
        "holocron_queue_depth",
        "Items to be done now or later, or being done",
        _WHOSE,
        ((_whose(one), one.depth) for one in queues),
    )
    yield _gauge(
        "holocron_last_hour_items",
        "Items of the last hour that came in, were done, failed for now, or were given up (dead)",
        (*_WHOSE, "outcome"),
        (
            ((*_whose(one), outcome), count)
            for one in queues
            for outcome, name in _OF_AN_HOUR.items()
            if (count := getattr(one, name)) is not None
        ),
    )
    yield _gauge(
        "holocron_oldest_item_age_seconds",
        "For how long the oldest item that is to be done has waited; 0 if none does",
        _WHOSE,
        ((_whose(one), (one.oldest_minutes or 0) * _A_MINUTE) for one in queues),
    )
    yield _gauge(
        "holocron_eta_seconds",
        "How long the rest takes at the rate of the last hour; absent while it does not become less",
        _WHOSE,
        ((_whose(one), one.eta_minutes * _A_MINUTE) for one in queues if one.eta_minutes is not None),
    )
    yield _gauge(
        "holocron_last_done_timestamp_seconds",
        "When the last item was done; absent if none was for a day",
        _WHOSE,
        ((_whose(one), one.last_done_at.timestamp()) for one in queues if one.last_done_at),
    )


def _causes(failures: Sequence[FailureCause]) -> _Samples:
    """Failures by kind of cause; all but the most frequent kinds count as one."""
    kinds, counts = Counter[tuple[str, ...]](), Counter[tuple[str, ...]]()
    for one in failures:
        kinds[*_whose(one), kind_of(one)] += one.failures
    for rank, ((*whose, kind), number) in enumerate(kinds.most_common()):
        counts[*whose, kind if rank < MOST_CAUSES else OTHER_CAUSES] += number
    yield from counts.items()


def _model_metrics(status: Status) -> Iterator[Metric]:
    models = status.models
    yield _gauge(
        "holocron_model_loaded",
        "1 for each model that the server holds in memory",
        ("model",),
        (((model,), 1) for model in models.loaded or ()),
    )
    yield _gauge(
        "holocron_model_busy_ratio",
        "Share of the last hour in which a call of a model was under way",
        (),
        [((), models.busy_share)],
    )
    yield _gauge(
        "holocron_model_at_work", "1 while a process asks models", (), [((), int(models.at_work is not None))]
    )
    yield _gauge(
        "holocron_models_asked",
        "1 if models are asked at all, 0 if HOLOCRON_LLM is off",
        (),
        [((), int(not is_switched_off()))],
    )


def _source_metrics(status: Status) -> Iterator[Metric]:
    yield _gauge(
        "holocron_source_enabled",
        "1 for a source that is switched on, 0 for one that is off",
        ("source",),
        (((one.source,), int(one.enabled)) for one in status.sources),
    )
    yield _gauge(
        "holocron_host_pace_ratio",
        "Share of the configured rate at which a wiki is asked",
        ("source",),
        [
            *(
                ((one.source,), 1)
                for one in status.sources
                if one.enabled
                and one.kind == _WIKI
                and all(one.source != host.source for host in status.hosts)
            ),
            *(((host.source,), 0 if host.until else host.pace) for host in status.hosts),
        ],
    )
    yield _gauge(
        "holocron_changes_looked_at_timestamp_seconds",
        "When a wiki was last asked for its changes",
        ("source",),
        (((one.source,), one.looked_at.timestamp()) for one in status.changes),
    )


def _whose(row: Stage | Queue | AgedWork | FailureCause) -> tuple[str, ...]:
    return (row.stage, row.source or "", row.interrogation or "")


def _gauge(name: str, text: str, labels: Sequence[str], samples: _Samples) -> Metric:
    family = GaugeMetricFamily(name, text, labels=labels)
    for values, number in samples:
        family.add_metric(values, number)
    return family
