"""Which runs are asked for: each job gets its turn, and what failed waits, whatever its wiki said."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path

import dagster as dg
import pytest
from dagster import DagsterRunStatus

from holocron_assets.crawl.errors import WikiUnavailable
from holocron_assets.derive.gpu.slots import SlotTakenError
from holocron_assets.errors import PermanentError
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.orchestration.run_reports.report import run_report
from holocron_assets.orchestration.runs.failures import DUE_AT, clear_failures
from holocron_assets.orchestration.runs.requesting import MOST_REQUESTS, run_requests, work_tags
from holocron_assets.planning.job_names import SOURCE_TAG, WHOLE_RUN_CHECK
from holocron_assets.planning.work import Work

LISTING = Work("list_seeds", "wiki", "1")


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as ephemeral:
        yield ephemeral


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def fail(instance: dg.DagsterInstance, tags: Mapping[str, str], seconds: float) -> str:
    """Let a run for some work fail as it does when its wiki may be asked again in so many seconds."""
    due_at = utc_now() + timedelta(seconds=seconds)
    return fail_by(instance, tags, WikiUnavailable("wiki:80", "it repeats itself", due_at, "not_api"))


def fail_by(instance: dg.DagsterInstance, tags: Mapping[str, str], error: Exception) -> str:
    """Let a run for some work fail by an error; give its id."""

    @dg.op
    def ask() -> None:
        with clear_failures():
            raise error

    @dg.job(name="list_seeds")
    def listing() -> None:
        ask()

    return listing.execute_in_process(instance=instance, tags=tags, raise_on_error=False).run_id


def requested(instance: dg.DagsterInstance, lake: Lake, seconds: float) -> list[dg.RunRequest]:
    """What would be requested in so many seconds."""
    return run_requests(instance, lake, [LISTING], now=utc_now() + timedelta(seconds=seconds)).requests


def test_a_job_is_asked_for_while_another_has_all_it_may(instance: dg.DagsterInstance, lake: Lake) -> None:
    for _ in range(MOST_REQUESTS):
        instance.create_run_for_job(_busy, status=DagsterRunStatus.STARTED, tags={SOURCE_TAG: "wiki"})
    more = Work("crawl_batch", "wiki-000099", "fetch")
    requested = run_requests(instance, lake, [more, LISTING])
    assert [request.job_name for request in requested.requests] == ["list_seeds"]


def test_a_source_with_endless_work_leaves_a_run_to_each_other_source(
    instance: dg.DagsterInstance, lake: Lake
) -> None:
    first = [Work("crawl_batch", f"a_wiki-{number:06d}", "fetch") for number in range(1, 50)]
    others = [Work("crawl_batch", f"wiki_{name}-{number:06d}", "fetch") for name in "bc" for number in (1, 2)]
    for request in run_requests(instance, lake, first).requests:
        tags = {**request.tags, "dagster/partition": request.partition_key or ""}
        instance.create_run_for_job(_busy, status=DagsterRunStatus.STARTED, tags=tags)
    found = run_requests(instance, lake, [*first, *others]).requests
    assert [request.partition_key for request in found] == ["wiki_b-000001", "wiki_c-000001"]


def test_no_more_than_twenty_runs_of_a_job_are_asked_for(instance: dg.DagsterInstance, lake: Lake) -> None:
    work = [Work("crawl_batch", f"wiki-{number:06d}", "fetch") for number in range(1, 50)]
    assert len(run_requests(instance, lake, [*work, LISTING]).requests) == MOST_REQUESTS + 1


@pytest.mark.parametrize(
    "error",
    [
        WikiUnavailable("wiki:80", "it repeats itself", utc_now(), "not_api"),
        OSError("the disk is full"),
        SlotTakenError("holocron ask uses the model server"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_run_that_failed_as_a_whole_and_for_now_is_retried_three_times_and_then_requested_slowly(
    instance: dg.DagsterInstance, lake: Lake, error: Exception
) -> None:
    chain = [fail_by(instance, work_tags(LISTING), error)]
    for delay in (10, 20, 40):
        assert requested(instance, lake, delay - 1) == []
        (retry,) = requested(instance, lake, delay + 1)
        assert retry.tags["dagster/parent_run_id"] == chain[-1]
        assert retry.tags["dagster/root_run_id"] == chain[0]
        chain.append(fail_by(instance, retry.tags, error))
    for delay in (120, 600, 600, 600):  # for weeks, until it works
        assert requested(instance, lake, delay - 1) == []
        (again,) = requested(instance, lake, delay + 1)
        assert not {"dagster/parent_run_id", "dagster/root_run_id"} & again.tags.keys()
        fail_by(instance, again.tags, error)


def test_what_fails_after_it_went_well_often_is_retried_as_soon_as_what_fails_at_first(
    instance: dg.DagsterInstance, lake: Lake
) -> None:
    for _ in range(5):
        instance.create_run_for_job(_busy, status=DagsterRunStatus.SUCCESS, tags=work_tags(LISTING))
    failed = fail_by(instance, work_tags(LISTING), OSError("the disk is full"))
    (retry,) = requested(instance, lake, 11)
    assert retry.tags["dagster/parent_run_id"] == failed


def test_the_runs_of_a_chain_are_one_group_to_dagster_and_to_programs(
    instance: dg.DagsterInstance, lake: Lake
) -> None:
    first = fail(instance, work_tags(LISTING), 0)
    (retry,) = requested(instance, lake, 11)
    second = fail(instance, retry.tags, 0)
    group = instance.get_run_group(first)
    assert group is not None
    assert [run.run_id for run in group[1]] == [first, second]
    report = run_report(instance, second)
    assert report is not None
    assert report["retry_of"] == first
    assert [one["run_id"] for one in report["attempts"]] == [first, second]


@pytest.mark.parametrize(
    ("error", "seconds"),
    [(PermanentError("there is no such wiki"), 3600), (KeyError("title"), 3600)],
    ids=["permanent", "computation"],
)
def test_a_run_that_would_fail_again_unchanged_is_no_part_of_a_chain(
    instance: dg.DagsterInstance, lake: Lake, error: Exception, seconds: int
) -> None:
    fail_by(instance, work_tags(LISTING), error)
    assert requested(instance, lake, seconds - 1) == []
    (again,) = requested(instance, lake, seconds + 1)
    assert "dagster/parent_run_id" not in again.tags


def test_a_run_of_which_only_some_partitions_failed_is_no_part_of_a_chain(
    instance: dg.DagsterInstance, lake: Lake
) -> None:
    @dg.asset
    def entities() -> None:
        """Make all types but one."""

    @dg.asset_check(asset=entities, name=WHOLE_RUN_CHECK, blocking=True)
    def whole_run() -> dg.AssetCheckResult:
        return dg.AssetCheckResult(passed=False, description="entities of Droid: the disk is full")

    result = dg.materialize(
        [entities, whole_run], instance=instance, tags=work_tags(LISTING), raise_on_error=False
    )
    assert not result.success
    assert requested(instance, lake, 29) == []
    (again,) = requested(instance, lake, 31)
    assert "dagster/parent_run_id" not in again.tags


@pytest.mark.parametrize("status", [DagsterRunStatus.SUCCESS, DagsterRunStatus.CANCELED])
def test_a_run_that_did_not_fail_and_left_its_work_undone_is_no_part_of_a_chain(
    instance: dg.DagsterInstance, lake: Lake, status: DagsterRunStatus
) -> None:
    instance.create_run_for_job(_busy, status=status, tags=work_tags(LISTING))
    assert requested(instance, lake, 29) == []
    (again,) = requested(instance, lake, 31)
    assert "dagster/parent_run_id" not in again.tags


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
