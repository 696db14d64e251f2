"""Each kind of error, provoked in a real run: how often its step is tried again, and after how long."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from sample_dagster import run_job
from sample_holocron import SAMPLE_BATCH, Holocron

from holocron_assets.crawl.errors import WikiUnavailable
from holocron_assets.errors import PermanentError
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.tables import ENTITIES, PAGE_TYPES
from holocron_assets.orchestration.assets import batches as batch_assets
from holocron_assets.orchestration.assets import crawl as crawl_assets
from holocron_assets.orchestration.assets import entity_files, published
from holocron_assets.orchestration.runs.failures import failure_of
from holocron_assets.orchestration.runs.retries import LAKE, MODEL_SERVER, NETWORK, PUBLISHING

pytestmark = pytest.mark.system

PLUS_MINUS = 1.0
"""By what share Dagster's jitter changes a delay at most."""

LONGEST_WAIT = 10.0


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as ephemeral:
        ephemeral.add_dynamic_partitions("batches", [SAMPLE_BATCH])
        ephemeral.add_dynamic_partitions("sources", ["sample"])
        yield ephemeral


@pytest.fixture
def sample(finished_sample: Holocron, tmp_path: Path) -> Holocron:
    holocron = finished_sample.copy_to(tmp_path)
    holocron.lake.file(PAGE_TYPES, SAMPLE_BATCH).unlink()
    holocron.lake.file(ENTITIES, "Droid").unlink()
    return holocron


def waits(result: dg.ExecuteInProcessResult) -> list[float]:
    """Seconds between the attempts of the step that failed."""
    events = [
        event
        for event in result.all_events
        if event.is_step_up_for_retry or event.is_step_restarted or event.is_step_failure
    ]
    asked = [event for event in events if event.is_step_up_for_retry]
    first = {event.step_key: None for event in asked}
    return [
        event.step_retry_data.seconds_to_wait or 0.0 for event in asked if event.step_key == next(iter(first))
    ]


def expected(policy: dg.RetryPolicy) -> list[float]:
    """The delays of a policy before chance changes them."""
    growth: list[float] = [1.0] * policy.max_retries
    if policy.backoff == dg.Backoff.EXPONENTIAL:
        growth = [2.0**number for number in range(policy.max_retries)]
    elif policy.backoff == dg.Backoff.LINEAR:
        growth = [number + 1.0 for number in range(policy.max_retries)]
    return [(policy.delay or 0) * factor for factor in growth]


def expect_waits(result: dg.ExecuteInProcessResult, policy: dg.RetryPolicy) -> None:
    waited, wanted = waits(result), expected(policy)
    assert len(waited) == len(wanted)
    for seconds, delay in zip(waited, wanted, strict=True):
        assert delay * (1 - PLUS_MINUS) <= seconds <= delay * (1 + PLUS_MINUS)


@pytest.mark.parametrize("policy", [NETWORK, MODEL_SERVER, LAKE, PUBLISHING])
def test_no_step_waits_longer_than_ten_seconds_in_all(policy: dg.RetryPolicy) -> None:
    delays = expected(policy)
    assert sum(delays) * (1 + PLUS_MINUS) <= LONGEST_WAIT
    assert all(first <= second for first, second in pairwise(delays))


def test_a_step_that_asks_a_wiki_is_tried_again_as_the_network_needs(
    sample: Holocron, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crawl_assets, "store_site", raising(OSError("no route to host")))
    result = run_job(sample, instance, "ask_site", "sample")
    assert not result.success
    expect_waits(result, NETWORK)
    assert not failure_of(instance, result.run_id).is_permanent


def test_a_wiki_that_wants_to_be_left_alone_ends_the_run_with_the_time_when_it_is_due(
    sample: Holocron, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    due = utc_now()
    monkeypatch.setattr(
        crawl_assets,
        "store_site",
        raising(WikiUnavailable("wiki", "it is overloaded", due, "http-503")),
    )
    result = run_job(sample, instance, "ask_site", "sample")
    assert (result.success, waits(result)) == (False, [])
    assert failure_of(instance, result.run_id).due_at is not None


def test_a_step_that_writes_the_lake_is_tried_again_as_a_disk_needs(
    sample: Holocron, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_assets, "run_step", raising(OSError("no space left on device")))
    result = run_job(sample, instance, "settle_batch", SAMPLE_BATCH)
    assert not result.success
    expect_waits(result, LAKE)


def test_a_step_over_several_types_is_tried_again_as_a_disk_needs(
    sample: Holocron, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entity_files, "store_entities", raising(OSError("no space left on device")))
    result = run_job(sample, instance, "resolve_entities")
    assert not result.success
    expect_waits(result, LAKE)


def test_what_readers_open_is_published_again_after_a_moment(
    sample: Holocron, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(published, "publish_views", raising(OSError("another program has the file")))
    result = run_job(sample, instance, "publish_views")
    assert not result.success
    expect_waits(result, PUBLISHING)


@pytest.mark.parametrize("error", [KeyError, ValueError, PermanentError])
def test_pure_computation_and_bad_input_are_not_tried_again(
    sample: Holocron, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    monkeypatch.setattr(batch_assets, "run_step", raising(error("bad input")))
    result = run_job(sample, instance, "settle_batch", SAMPLE_BATCH)
    assert (result.success, waits(result)) == (False, [])
    failure = failure_of(instance, result.run_id)
    assert failure.is_permanent
    assert "bad input" in failure.reason


def raising(error: Exception) -> Any:
    """A function that always raises an error."""

    def fail(*_: object, **__: object) -> None:
        raise error

    return fail
