"""What Prometheus gets: the lake's numbers, none where none are to be had, and counters that count."""

import shutil
import subprocess
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from threading import Event

import pytest
from busy_holocron import ASKED, LARGE, SCOPE, SMALL, add_session, go_on
from knowledge_rows import row_of
from sample_holocron import SAMPLE_BATCH, Holocron
from watched_sample import Series, living_dagster, series, series_of, watch_over

from holocron_assets.lake.files.parquet import write_partition
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.tables import HTTP_ATTEMPTS, LLM_ATTEMPTS, PAGES
from holocron_assets.operations.state.dagster_state import DagsterState
from holocron_assets.operations.state.status import HeldBack, Status

OPENMETRICS = "application/openmetrics-text; version=1.0.0"


@pytest.fixture(scope="module")
def found(busy: Holocron, busy_status: Status) -> Series:
    return series_of(watch_over(busy, status=lambda: busy_status))


@pytest.fixture
def own(tmp_path: Path, busy: Holocron) -> Holocron:
    """One to break."""
    return busy.copy_to(tmp_path / "own")


def value(found: Series, name: str, **labels: str) -> float:
    """The one series of a name that has some labels."""
    (number,) = [
        n for (named, held), n in found.items() if named == name and labels.items() <= dict(held).items()
    ]
    return number


def test_items_are_counted_by_stage_and_state_as_the_status_counts_them(
    busy_status: Status, found: Series
) -> None:
    for stage in busy_status.stages:
        whose = {
            "stage": stage.stage,
            "source": stage.source or "",
            "interrogation": stage.interrogation or "",
        }
        for state in ("pending", "in_flight", "waiting", "review", "dead", "skipped", "done"):
            assert value(found, "holocron_stage_items", state=state, **whose) == getattr(stage, state)
    assert value(found, "holocron_stage_items", stage="pages", state="dead") == 1


def test_times_are_exported_in_seconds(found: Series) -> None:
    age = value(found, "holocron_oldest_item_age_seconds", stage="pages")
    assert 7200 <= age < 7300
    assert value(found, "holocron_aged_items", stage="pages", over="1h") == 1
    assert value(found, "holocron_aged_items", stage="pages", over="4h") == 0
    eta = value(found, "holocron_eta_seconds", interrogation="entity_facts")
    waiting = value(found, "holocron_stage_items", interrogation="entity_facts", state="pending")
    assert eta == pytest.approx(waiting / 9 * 3600, rel=0.01)


def test_a_metric_says_whether_models_are_asked_at_all(
    busy: Holocron, busy_status: Status, found: Series, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert value(found, "holocron_models_asked") == 0
    monkeypatch.setenv("HOLOCRON_LLM", "auto")
    assert value(series_of(watch_over(busy, status=lambda: busy_status)), "holocron_models_asked") == 1


def test_failures_are_exported_by_cause_and_no_label_holds_a_title(
    busy_status: Status, found: Series
) -> None:
    causes = {dict(labels)["cause"] for name, labels in found if name == "holocron_last_day_failures"}
    assert causes == {"connection reset", "gone for good", "throttled", "timeout"}
    titles = {letter.title for letter in busy_status.dead_letters}
    assert titles
    assert titles.isdisjoint(text for _, labels in found for _, text in labels)


def test_totals_are_those_of_the_lake(found: Series) -> None:
    assert value(found, "holocron_pages_read_total", source="sample") == 178
    assert value(found, "holocron_http_requests_total", outcome="ok") == 3
    assert value(found, "holocron_http_received_bytes_total", outcome="throttled") == 1000
    assert value(found, "holocron_model_calls_total", outcome="timeout") == 1
    assert value(found, "holocron_model_items_total", model=SMALL) == 6
    assert value(found, "holocron_model_busy_seconds_total", model=LARGE) == 45
    assert [value(found, "holocron_model_switches_total", model=model) for model in (SMALL, LARGE)] == [1, 1]
    assert value(found, "holocron_decisions_total", kind="classify") == 1


def test_durations_of_requests_and_calls_are_exported_as_histograms(found: Series) -> None:
    wiki = {"host": "wiki.example", "verb": "POST"}
    assert value(found, "holocron_http_request_seconds_count", **wiki) == 4
    assert value(found, "holocron_http_request_seconds_sum", **wiki) == pytest.approx(0.8)
    within = [
        value(found, "holocron_http_request_seconds_bucket", le=bound, **wiki) for bound in ("0.1", "0.25")
    ]
    assert within == [0, 4]
    asked = {"model": SMALL, "interrogation": ASKED}
    assert value(found, "holocron_model_call_seconds_sum", **asked) == 15
    within = [
        value(found, "holocron_model_call_seconds_bucket", le=bound, **asked) for bound in ("1.0", "2.5")
    ]
    assert within == [0, 10]


def test_retries_are_exported_by_the_reason_for_them(found: Series) -> None:
    assert value(found, "holocron_http_retries_total", source="sample", reason="throttled") == 1
    assert value(found, "holocron_model_retries_total", interrogation=ASKED, reason="timeout") == 1


def test_every_histogram_and_counter_of_retries_grows_with_the_work(
    own: Holocron, busy_status: Status
) -> None:
    go_on(own, 1)
    before = series_of(watch_over(own, status=lambda: busy_status))
    go_on(own, 2)
    after = series_of(watch_over(own, status=lambda: busy_status))
    grown = {name for (name, labels), number in after.items() if number > before.get((name, labels), 0)}
    assert grown >= {
        *("holocron_http_request_seconds_bucket", "holocron_model_call_seconds_bucket"),
        *(
            "holocron_file_request_seconds_bucket",
            "holocron_http_retries_total",
            "holocron_model_retries_total",
        ),
        *("holocron_file_retries_total", "holocron_file_attempts_total", "holocron_file_outcomes_total"),
    }


def test_the_time_of_requests_for_files_is_of_those_that_were_sent(
    own: Holocron, busy_status: Status
) -> None:
    go_on(own, 1)
    slow = {"scope": "slow", "source": "files", "resolver": "address", "verb": "GET", "reason": "http-200"}
    write_partition(own.lake, HTTP_ATTEMPTS, "slow", [row_of(HTTP_ATTEMPTS, **slow, latency_ms=90_000.0)])
    found = series_of(watch_over(own, status=lambda: busy_status))
    of_get = {"resolver": "address", "verb": "GET"}
    buckets = {
        bound: value(found, "holocron_file_request_seconds_bucket", le=bound, **of_get)
        for bound in ("0.05", "0.1", "60.0", "300.0", "7200.0")
    }
    assert buckets == {"0.05": 0, "0.1": 3, "60.0": 3, "300.0": 4, "7200.0": 4}
    assert value(found, "holocron_file_request_seconds_count", **of_get) == 4
    assert value(found, "holocron_file_attempts_total", reason="cache-hit") == 1


def test_the_depth_of_each_queue_is_exported(busy_status: Status, found: Series) -> None:
    depths = {queue.stage: queue.depth for queue in busy_status.queues if not queue.interrogation}
    assert value(found, "holocron_queue_depth", stage="pages") == depths["pages"]


def test_a_source_that_is_switched_off_is_exported_as_such(busy: Holocron, busy_status: Status) -> None:
    on = replace(busy_status.sources[0], source="on", enabled=True)
    status = replace(busy_status, sources=(on, replace(on, source="off", enabled=False)))
    found = series_of(watch_over(busy, status=lambda: status))
    assert [value(found, "holocron_source_enabled", source=name) for name in ("on", "off")] == [1, 0]


def test_holds_and_the_state_of_dagster_are_exported(found: Series) -> None:
    assert value(found, "holocron_held_back", scope="all", action="drain") == 1
    assert value(found, "holocron_dagster_runs", status="started") == 1
    assert value(found, "holocron_health", check="daemon") == 0
    assert value(found, "process_resident_memory_bytes") > 10_000_000


def test_what_two_hold_back_is_exported_once(busy: Holocron, busy_status: Status) -> None:
    by_person = HeldBack("interrogation", "facts", "pause", "a", "b", utc_now(), "resume it")
    held = (by_person, replace(by_person, author="its file"))
    text, _ = watch_over(busy, status=lambda: replace(busy_status, paused=held)).exposition(OPENMETRICS)
    names = [line.rpartition(" ")[0] for line in text.decode().splitlines() if not line.startswith("#")]
    assert len([name for name in names if name.startswith("holocron_held_back")]) == 1
    assert len(names) == len(set(names))


def test_counters_go_on_where_they_were_in_another_process(own: Holocron, busy_status: Status) -> None:
    before = series_of(watch_over(own, status=lambda: busy_status))
    add_session(own, SMALL, utc_now(), items=5)
    after = series_of(watch_over(own, status=lambda: busy_status))
    counters = {series: number for series, number in before.items() if series[0].endswith("_total")}
    less = [one for one in counters if one[0].startswith("holocron") and after[one] < counters[one]]
    assert less == []
    assert value(after, "holocron_model_items_total", model=SMALL) == 11


def test_a_counter_does_not_fall_when_a_damaged_file_is_set_aside(own: Holocron, busy_status: Status) -> None:
    watch = watch_over(own, status=lambda: busy_status)
    now = [0.0]
    watch._totals._clock = lambda: now[0]  # noqa: SLF001 - time is not to be waited for
    before = value(series_of(watch), "holocron_model_calls_total", outcome="ok")
    now[0] += 100
    shutil.rmtree(own.lake.file(LLM_ATTEMPTS, SCOPE).parent)
    assert value(series_of(watch), "holocron_model_calls_total", outcome="ok") == before == 9


def test_a_lake_that_cannot_be_read_has_no_numbers_rather_than_zeros(own: Holocron) -> None:
    file = own.lake.file(PAGES, SAMPLE_BATCH)
    file.write_bytes(file.read_bytes()[:1000])
    found = series_of(watch_over(own))
    assert value(found, "holocron_up") == 0
    assert value(found, "holocron_health", check="lake") == 2
    assert value(found, "holocron_snapshot_failures_total", snapshot="status") == 1
    names = {name for name, _ in found}
    assert names.isdisjoint({"holocron_stage_items", "holocron_pages_read_total", "holocron_aged_items"})
    assert "process_cpu_seconds_total" in names


def test_a_dagster_that_cannot_be_read_takes_only_its_own_numbers_with_it(
    busy: Holocron, busy_status: Status
) -> None:
    def gone() -> DagsterState:
        raise OSError("no such table: runs")

    found = series_of(watch_over(busy, dagster=gone, status=lambda: busy_status))
    assert value(found, "holocron_up") == 1
    assert value(found, "holocron_health", check="dagster_storage") == 2
    assert "holocron_dagster_runs" not in {name for name, _ in found}


def test_while_a_snapshot_is_under_way_the_last_is_exported_with_its_age(
    busy: Holocron, busy_status: Status
) -> None:
    may_end, now = Event(), [0.0]
    may_end.set()

    def take() -> Status:
        assert may_end.wait(60)
        return busy_status

    watch = watch_over(busy, status=take)
    watch._status._clock = lambda: now[0]  # noqa: SLF001 - time is not to be waited for
    assert value(series_of(watch), "holocron_snapshot_age_seconds", snapshot="status") == 0
    may_end.clear()
    now[0] += 60
    watch._status.begin()  # noqa: SLF001 - as another request does
    now[0] += 40
    series = series_of(watch)
    assert value(series, "holocron_up") == 1
    assert value(series, "holocron_snapshot_age_seconds", snapshot="status") == 100
    assert value(series, "holocron_stage_items", stage="pages", state="dead") == 1
    now[0] += 1800
    assert value(series_of(watch), "holocron_health", check="lake") == 1, "it may never end"
    may_end.set()


def test_until_the_first_snapshot_ended_there_are_no_numbers_and_no_failure(busy: Holocron) -> None:
    may_end, now = Event(), [0.0]

    def take() -> Status:
        may_end.wait(60)
        raise OSError("too late")

    watch = watch_over(busy, status=take)
    watch._status._clock = lambda: now[0]  # noqa: SLF001 - time is not to be waited for
    watch._status.begin()  # noqa: SLF001 - as another request does
    now[0] += 20
    series = series_of(watch)
    may_end.set()
    assert value(series, "holocron_up") == 0
    assert value(series, "holocron_health", check="lake") == 1
    assert value(series, "holocron_snapshot_failures_total", snapshot="status") == 0
    assert "holocron_stage_items" not in {name for name, _ in series}
    assert {
        dict(labels)["snapshot"] for name, labels in series if name == "holocron_snapshot_age_seconds"
    } == {
        "totals",
        "dagster",
    }


def test_a_request_for_openmetrics_is_answered_in_openmetrics(busy: Holocron, busy_status: Status) -> None:
    text, kind = watch_over(busy, status=lambda: busy_status).exposition(OPENMETRICS)
    assert kind.startswith("application/openmetrics-text")
    assert text.endswith(b"# EOF\n")


def test_names_and_texts_are_as_prometheus_wants_them(busy: Holocron, busy_status: Status) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("needs promtool, which comes with Prometheus")
    silent = living_dagster(heard_at=utc_now() - timedelta(days=1))
    text, _ = watch_over(busy, dagster=lambda: silent, status=lambda: busy_status).exposition("")
    assert series(text.decode())
    done = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, check=False)  # noqa: S603
    assert (done.returncode, done.stderr.decode()) == (0, "")
