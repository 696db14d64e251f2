"""Which runs are asked for: each job gets its turn, and what failed waits, whatever its wiki said."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path

import dagster as dg
import pytest
from dagster import DagsterRunStatus

from holocron_assets.crawl.errors import WikiUnavailable
from holocron_assets.derive.gpu.slots import SlotTakenError
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.orchestration.runs.failures import DUE_AT, clear_failures
from holocron_assets.orchestration.sensors.run_requests import MOST_REQUESTS, run_requests, work_tags
from holocron_assets.planning.work import Work

LISTING = Work("list_seeds", "wiki", "1")


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as ephemeral:
        yield ephemeral


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def fail(instance: dg.DagsterInstance, tags: Mapping[str, str], seconds: float) -> None:
    """Let a run for some work fail as it does when its wiki may be asked again in so many seconds."""

    @dg.op
    def ask() -> None:
        with clear_failures():
            raise WikiUnavailable(
                "wiki:80", "it repeats itself", utc_now() + timedelta(seconds=seconds), "not_api"
            )

    @dg.job(name="list_seeds")
    def listing() -> None:
        ask()

    listing.execute_in_process(instance=instance, tags=tags, raise_on_error=False)


def test_a_job_is_asked_for_while_another_has_all_it_may(instance: dg.DagsterInstance, lake: Lake) -> None:
    for _ in range(MOST_REQUESTS):
        instance.create_run_for_job(_busy, status=DagsterRunStatus.STARTED)
    more = Work("crawl_batch", "wiki-000099", "fetch")
    requested = run_requests(instance, lake, [more, LISTING])
    assert [request.job_name for request in requested.requests] == ["list_seeds"]


def test_no_more_than_twenty_runs_of_a_job_are_asked_for(instance: dg.DagsterInstance, lake: Lake) -> None:
    work = [Work("crawl_batch", f"wiki-{number:06d}", "fetch") for number in range(1, 50)]
    assert len(run_requests(instance, lake, [*work, LISTING]).requests) == MOST_REQUESTS + 1


def test_a_wiki_that_may_be_asked_at_once_is_asked_later_and_later(
    instance: dg.DagsterInstance, lake: Lake
) -> None:
    fail(instance, work_tags(LISTING), 0)
    assert run_requests(instance, lake, [LISTING]).requests == []
    assert run_requests(instance, lake, [LISTING], now=utc_now() + timedelta(seconds=31)).requests != []
    fail(instance, work_tags(LISTING), 0)
    assert run_requests(instance, lake, [LISTING], now=utc_now() + timedelta(seconds=31)).requests == []
    assert run_requests(instance, lake, [LISTING], now=utc_now() + timedelta(seconds=121)).requests != []


def test_a_wiki_that_names_a_later_time_is_not_asked_before(instance: dg.DagsterInstance, lake: Lake) -> None:
    fail(instance, work_tags(LISTING), 3600)
    assert run_requests(instance, lake, [LISTING], now=utc_now() + timedelta(minutes=50)).requests == []
    assert run_requests(instance, lake, [LISTING], now=utc_now() + timedelta(minutes=61)).requests != []


@dg.op
def _nothing() -> None:
    """Do nothing."""


@dg.job(name="crawl_batch")
def _busy() -> None:
    _nothing()


def test_a_step_that_waited_for_the_models_in_vain_does_not_wait_again_in_its_run() -> None:
    with pytest.raises(dg.Failure, match="holocron ask uses the model server") as caught, clear_failures():
        raise SlotTakenError("holocron ask uses the model server")
    assert caught.value.allow_retries is False
    assert DUE_AT in caught.value.metadata, "it is tried again soon, and not in an hour"
