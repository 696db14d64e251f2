"""What programs get of Dagster's runs over HTTP: one run, lists of runs, and numbers over all of them."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from time import monotonic
from typing import Any

import dagster as dg
import pytest
import sqlalchemy as sql
from dagster import DagsterRunStatus
from dagster._core.storage.runs.sql_run_storage import SqlRunStorage
from postgres_server import postgres_server
from starlette.applications import Starlette
from starlette.testclient import TestClient

from holocron_assets.lake.place.clock import utc_now
from holocron_assets.operations.state.watch import Watch
from holocron_assets.orchestration.internals.runs import end_as_failed
from holocron_assets.orchestration.run_reports.numbers import RunNumbers
from holocron_assets.orchestration.runtime.endpoints import RunReports
from holocron_assets.planning.job_names import PARENT_TAG
from holocron_assets.review.web.endpoints import Endpoints, endpoint_routes

MANY_MORE = """
insert into runs (run_id, pipeline_name, status, run_body, create_timestamp, update_timestamp)
with recursive numbers(number) as (select 1 union all select number + 1 from numbers where number < 10000)
select 'run-' || number, pipeline_name, status, replace(run_body, run_id, 'run-' || number),
    create_timestamp, update_timestamp
from runs, numbers
"""
"""Ten thousand copies of a run."""

QUIET = {"telemetry": {"enabled": False}}
UI = "http://127.0.0.1:3000/"


def fill() -> None:
    raise OSError("the disk is full")


@dg.op
def write() -> None:
    try:
        fill()
    except OSError as full:
        raise RuntimeError("the table\nwas not written") from full


@dg.job
def writing() -> None:
    write()


@dg.op
def rest() -> None:
    """Do nothing."""


@dg.job
def resting() -> None:
    rest()


@dg.asset
def pages() -> dg.MaterializeResult[None]:
    return dg.MaterializeResult(
        metadata={"dagster/row_count": 20, "seconds": 1.5, "ratio": float("nan"), "sample": "R2-D2"}
    )


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.local_temp(str(tmp_path), overrides=QUIET) as made:
        yield made


@pytest.fixture
def client(instance: dg.DagsterInstance) -> TestClient:
    return client_of(instance)


@pytest.fixture(scope="module")
def client_of_none(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A client where nothing was ever run."""
    with dg.DagsterInstance.local_temp(str(tmp_path_factory.mktemp("none")), overrides=QUIET) as instance:
        yield client_of(instance)


def client_of(instance: dg.DagsterInstance) -> TestClient:
    endpoints = Endpoints(watch_of_nothing(), RunReports(lambda: instance), UI)
    return TestClient(Starlette(routes=endpoint_routes(lambda: endpoints)))


def watch_of_nothing() -> Watch:
    """These endpoints take no snapshot."""

    def fail() -> Any:
        raise AssertionError("a snapshot was taken")

    return Watch(status=fail, totals=fail, dagster=fail, settings=fail)


def made(
    instance: dg.DagsterInstance,
    status: DagsterRunStatus = DagsterRunStatus.SUCCESS,
    job: dg.JobDefinition = resting,
    tags: Mapping[str, str] | None = None,
) -> str:
    """A run in a state, without running it; its id."""
    return instance.create_run_for_job(job, status=status, tags=tags).run_id


def retry_of(instance: dg.DagsterInstance, run_id: str, status: DagsterRunStatus) -> str:
    return made(instance, status, tags={PARENT_TAG: run_id})


def failed(instance: dg.DagsterInstance, tags: Mapping[str, str] | None = None) -> str:
    return writing.execute_in_process(instance=instance, tags=tags, raise_on_error=False).run_id


def test_a_failed_run_has_its_whole_traceback_with_causes(
    client: TestClient, instance: dg.DagsterInstance
) -> None:
    run_id = failed(instance, {"dagster/partition": "sample-000001"})
    report = client.get(f"/runs/{run_id}").json()
    assert (report["status"], report["job"]) == ("FAILURE", "writing")
    assert report["partition"] == "sample-000001"
    assert report["error_message"] == "OSError: the disk is full"
    for words in ("RuntimeError: the table\nwas not written", "OSError: the disk is full", "in write\n"):
        assert words in report["error_traceback"]
    (step,) = report["failed_steps"]
    assert (step["step"], step["traceback"]) == ("write", report["error_traceback"])
    assert report["created_at"] <= report["started_at"] <= report["ended_at"]
    assert report["link"] == f"{UI}runs/{run_id}"


def test_a_secret_of_the_environment_is_in_no_error(
    client: TestClient, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WIKI_TOKEN", "disk is full")
    answers = (client.get(f"/runs/{failed(instance)}"), client.get("/metrics.json"))
    assert all("the disk is full" not in answer.text for answer in answers)
    assert all("OSError: the ***" in answer.text for answer in answers)


def test_a_run_whose_process_died_says_so_and_has_no_traceback(
    client: TestClient, instance: dg.DagsterInstance
) -> None:
    run = instance.create_run_for_job(resting, status=DagsterRunStatus.STARTED)
    end_as_failed(instance, run, "Its process is gone.")
    report = client.get(f"/runs/{run.run_id}").json()
    assert (report["error_message"], report["error_traceback"]) == ("Its process is gone.", None)


def test_a_run_has_the_numbers_of_each_asset_that_it_made(
    client: TestClient, instance: dg.DagsterInstance
) -> None:
    run_id = dg.materialize([pages], instance=instance).run_id
    report = client.get(f"/runs/{run_id}").json()
    assert report["metrics"] == [
        {"asset": "pages", "partition": None, "values": {"dagster/row_count": 20, "seconds": 1.5}}
    ]
    assert report["step_seconds"]["pages"] > 0
    assert (report["error_message"], report["failed_steps"]) == (None, [])


def test_every_run_of_a_chain_of_retries_shows_the_whole_chain(
    client: TestClient, instance: dg.DagsterInstance
) -> None:
    first = failed(instance)
    second = retry_of(instance, first, DagsterRunStatus.FAILURE)
    third = retry_of(instance, second, DagsterRunStatus.SUCCESS)
    made(instance)  # which has nothing to do with it
    for count, run_id in enumerate((first, second, third)):
        report = client.get(f"/runs/{run_id}").json()
        assert report["retry_count"] == count
        assert [one["run_id"] for one in report["attempts"]] == [first, second, third]
        assert [one["status"] for one in report["attempts"]] == ["FAILURE", "FAILURE", "SUCCESS"]
        assert [one["retry_of"] for one in report["attempts"]] == [None, first, second]
        assert report["retry_of"] == [None, first, second][count]
        assert report["attempts"][0]["link"] == f"{UI}runs/{first}"


def test_a_chain_whose_first_run_is_forgotten_begins_later(
    client: TestClient, instance: dg.DagsterInstance
) -> None:
    second = retry_of(instance, "forgotten", DagsterRunStatus.FAILURE)
    report = client.get(f"/runs/{second}").json()
    assert (report["retry_of"], report["retry_count"]) == ("forgotten", 0)
    assert [one["run_id"] for one in report["attempts"]] == [second]


def listed(client: TestClient, **parameters: str | list[str]) -> list[str]:
    answer = client.get("/runs", params=parameters)
    assert answer.status_code == 200, answer.text
    return [run["run_id"] for run in answer.json()["runs"]]


def test_runs_are_listed_newest_first_and_in_pages(client: TestClient, instance: dg.DagsterInstance) -> None:
    runs = [made(instance) for _ in range(5)][::-1]
    assert listed(client) == runs
    page = client.get("/runs", params={"limit": "2"}).json()
    found = [run["run_id"] for run in page["runs"]]
    while page["next_cursor"]:
        page = client.get("/runs", params={"limit": "2", "cursor": page["next_cursor"]}).json()
        found += [run["run_id"] for run in page["runs"]]
    assert found == runs
    assert page["runs"][0].keys() == {
        *("run_id", "job", "status", "partition", "source", "retry_of"),
        *("created_at", "started_at", "ended_at", "link"),
    }


def test_runs_are_found_by_status_job_partition_source_tag_and_time(
    client: TestClient, instance: dg.DagsterInstance
) -> None:
    before = utc_now() - timedelta(seconds=1)
    old = made(instance, DagsterRunStatus.FAILURE, tags={"experiment": "large=1", "colour": "red"})
    batch = made(instance, tags={"dagster/partition": "sample-000001", "holocron/source": "sample"})
    other = made(instance, DagsterRunStatus.CANCELED, writing)
    assert listed(client, status="failure") == [old]
    assert listed(client, status=["FAILURE", "CANCELED"]) == [other, old]
    assert listed(client, job="writing") == [other]
    assert listed(client, partition="sample-000001") == [batch]
    assert listed(client, source="sample", status="SUCCESS") == [batch]
    assert listed(client, tag=["experiment=large=1", "colour=red"]) == [old]
    assert listed(client, tag=["experiment=large=1", "colour=blue"]) == []
    assert listed(client, since=before.isoformat()) == [other, batch, old]
    assert listed(client, until=before.isoformat()) == []
    ahead = (before + timedelta(hours=5)).replace(tzinfo=None)
    assert listed(client, since=f"{ahead.isoformat()}+05:00") == [other, batch, old]
    assert listed(client, until="2020-01-31") == []


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("colour=red", "there is no parameter 'colour'; there are cursor, job, limit, partition, since"),
        ("status=broken", "status is 'broken'; it must be one of QUEUED, NOT_STARTED"),
        ("limit=0", "limit is '0'; it must be a whole number from 1 to 500"),
        ("limit=501", "limit is '501'; it must be"),
        ("limit=ten", "limit is 'ten'; it must be"),
        (f"limit={'9' * 5000}", "it must be a whole number from 1 to 500"),
        ("tag=colour=red&tag=colour=blue", "tag colour is given twice, and no run has two values of one tag"),
        ("tag=red", "tag is 'red'; it must be KEY=VALUE"),
        ("since=yesterday", "since is 'yesterday'; it must be a moment such as 2026-01-31T12:00:00Z"),
        ("until=2026-01-31T12:00:00+01:00", "a + in an address is written %2B"),
        ("since=0001-01-01T00:00:00%2B05:00", "since is '0001-01-01T00:00:00+05:00'; it must be"),
        ("job=writing&job=resting", "job is given twice; only status and tag may be repeated"),
        ("job=", "job has no value; give one, or leave it out"),
        ("cursor=gone", "cursor 'gone' is no run that Dagster knows; begin without a cursor"),
    ],
)
def test_a_parameter_that_cannot_be_used_is_400_and_says_what_is_allowed(
    client_of_none: TestClient, query: str, message: str
) -> None:
    answer = client_of_none.get(f"/runs?{query}")
    assert answer.status_code == 400
    assert message in answer.json()["error"]


def test_where_nothing_was_run_all_numbers_are_zero(client_of_none: TestClient) -> None:
    nothing = client_of_none.get("/metrics.json").json()
    assert (nothing["runs"], nothing["recent_failures"], nothing["avg_duration"]) == (0, [], {})
    assert set(nothing["status_counts"].values()) == {0}


def test_the_numbers_count_all_runs_and_not_only_those_under_way(
    client: TestClient, instance: dg.DagsterInstance
) -> None:
    for _ in range(3):
        resting.execute_in_process(instance=instance)
    run_id = failed(instance, {"dagster/partition": "sample-000001"})
    made(instance, DagsterRunStatus.STARTED)
    numbers = client.get("/metrics.json").json()
    assert numbers["runs"] == 5
    counts = {status: count for status, count in numbers["status_counts"].items() if count}
    assert counts == {"SUCCESS": 3, "FAILURE": 1, "STARTED": 1}
    durations = numbers["avg_duration"]
    assert durations.keys() == {"resting"}
    assert durations["resting"]["runs"] == 3
    assert 0 < durations["resting"]["average_seconds"] <= durations["resting"]["p95_seconds"]
    (failure,) = numbers["recent_failures"]
    assert failure.pop("ended_at")
    assert failure == {
        "run_id": run_id,
        "job": "writing",
        "partition": "sample-000001",
        "error": "OSError: the disk is full",
    }


def test_the_numbers_say_how_retries_ended(client: TestClient, instance: dg.DagsterInstance) -> None:
    saved = retry_of(instance, failed(instance), DagsterRunStatus.SUCCESS)
    lost = retry_of(instance, failed(instance), DagsterRunStatus.FAILURE)
    retry_of(instance, lost, DagsterRunStatus.FAILURE)
    assert client.get("/metrics.json").json()["retry_stats"] == {
        "retries": 3,
        "chains": 2,
        "chains_by_length": {"2": 1, "3": 1},
        "succeeded_after_retry": 1,
    }
    assert client.get(f"/runs/{saved}").json()["retry_count"] == 1


@pytest.mark.system
def test_the_last_twenty_failures_are_shown_the_newest_first(
    client: TestClient, instance: dg.DagsterInstance
) -> None:
    runs = [instance.create_run_for_job(resting, status=DagsterRunStatus.STARTED) for _ in range(22)]
    for run in runs:
        end_as_failed(instance, run, "Its process is gone.")
    recent = client.get("/metrics.json").json()["recent_failures"]
    assert [one["run_id"] for one in recent] == [run.run_id for run in runs[:1:-1]]


def test_the_numbers_follow_runs_that_end_and_runs_that_are_deleted(
    client: TestClient, instance: dg.DagsterInstance
) -> None:
    run = instance.create_run_for_job(resting, status=DagsterRunStatus.STARTED)
    old = made(instance)
    assert client.get("/metrics.json").json()["status_counts"]["STARTED"] == 1
    end_as_failed(instance, run, "Its process is gone.")
    counts = client.get("/metrics.json").json()["status_counts"]
    assert (counts["STARTED"], counts["FAILURE"], counts["SUCCESS"]) == (0, 1, 1)
    instance.delete_run(old)
    assert client.get("/metrics.json").json()["runs"] == 1
    instance.delete_run(run.run_id)
    assert client.get("/metrics.json").json()["runs"] == 0


@pytest.mark.system
def test_with_ten_thousand_runs_the_numbers_and_a_page_come_at_once(
    client: TestClient, instance: dg.DagsterInstance
) -> None:
    made(instance, tags={"holocron/source": "sample"})
    storage = instance.run_storage
    assert isinstance(storage, SqlRunStorage)
    with storage.connect() as connection:
        connection.execute(sql.text(MANY_MORE))
    began = monotonic()
    assert client.get("/metrics.json").json()["runs"] == 10_001
    at_first = monotonic() - began
    assert client.get("/metrics.json").json()["status_counts"]["SUCCESS"] == 10_001
    later = monotonic() - began - at_first
    assert len(listed(client, limit="500")) == 500
    page = monotonic() - began - at_first - later
    print(f"first {at_first:.2f} s, later {later:.3f} s, a page {page:.2f} s")  # noqa: T201 - for -s
    assert at_first < 30, "each run is read once"
    assert later < 1
    assert page < 2


@pytest.mark.system
def test_on_postgresql_the_same_is_known(tmp_path: Path) -> None:
    with postgres_server() as postgres:
        storage = {"postgres": {"postgres_url": postgres.url}}
        with dg.DagsterInstance.local_temp(
            str(tmp_path), overrides={**QUIET, "storage": storage}
        ) as instance:
            assert "Postgres" in type(instance.event_log_storage).__name__
            client = client_of(instance)
            first = failed(instance)
            second = retry_of(instance, first, DagsterRunStatus.SUCCESS)
            assert listed(client, since=(utc_now() - timedelta(minutes=1)).isoformat()) == [second, first]
            assert client.get("/runs", params={"limit": "1"}).json()["next_cursor"] == second
            assert len(client.get(f"/runs/{first}").json()["attempts"]) == 2
            assert RunNumbers().read(instance)["retry_stats"]["succeeded_after_retry"] == 1
            assert "the disk is full" in client.get(f"/runs/{first}").json()["error_traceback"]
