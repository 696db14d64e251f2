"""What machines get, over a real lake and a real Dagster, and what when those are broken."""

import shutil
from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path
from threading import Event
from time import time

import dagster as dg
import pytest
from sample_holocron import SAMPLE_BATCH, Holocron
from starlette.testclient import TestClient
from watched_sample import daemon_at_work, series, status_of, watch_over

from holocron_assets.errors import PermanentError
from holocron_assets.lake.tables import PAGES
from holocron_assets.operations.state.status import Status
from holocron_assets.operations.state.watch import Watch
from holocron_assets.orchestration.internals.dagster_state import read_dagster_state
from holocron_assets.orchestration.runs.failures import clear_failures
from holocron_assets.orchestration.runtime.endpoints import RunReports
from holocron_assets.review.web.app import make_app
from holocron_assets.review.web.desk import Desk
from holocron_assets.review.web.endpoints import Endpoints, endpoint_routes

HERE = "http://127.0.0.1:8001"
PATHS = ("/status", "/health", "/metrics", "/metrics.json", "/runs", "/runs/none")
QUIET = {"telemetry": {"enabled": False}}


@dg.op
def reach(context: dg.OpExecutionContext) -> None:
    with clear_failures():
        if context.run.tags.get("broken"):
            raise PermanentError("the wiki has no page of that name")


@dg.job
def reaching() -> None:
    reach()


def client_of(holocron: Holocron, watch: Watch, instance: dg.DagsterInstance) -> TestClient:
    endpoints = Endpoints(watch, RunReports(lambda: instance), "http://127.0.0.1:3000/")
    app = make_app(Desk(holocron.lake, "Ada", ()), endpoint_routes(lambda: endpoints))
    return TestClient(app, base_url=HERE)


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.local_temp(str(tmp_path_factory.mktemp("dagster")), overrides=QUIET) as made:
        yield made


@pytest.fixture(scope="module")
def client(finished_sample: Holocron, instance: dg.DagsterInstance) -> TestClient:
    return client_of(finished_sample, watch_over(finished_sample), instance)


def test_the_status_is_that_of_the_lake_as_json(client: TestClient, finished_sample: Holocron) -> None:
    reply = client.get("/status").json()
    expected = status_of(finished_sample).as_json()
    assert reply["stages"] == expected["stages"]
    assert reply.keys() - expected.keys() == {"snapshot_age_seconds", "snapshot_under_way_seconds"}
    assert 0 <= reply["snapshot_age_seconds"] < 60
    assert reply["snapshot_under_way_seconds"] is None


def test_a_request_before_the_first_snapshot_ended_is_asked_to_come_again(
    finished_sample: Holocron, instance: dg.DagsterInstance
) -> None:
    may_end = Event()

    def take() -> Status:
        may_end.wait(60)
        raise OSError("too late")

    watch = watch_over(finished_sample, status=take)
    watch._status._clock = partial(next, count(0, 20))  # noqa: SLF001 - patience is over at once
    client = client_of(finished_sample, watch, instance)
    answer = client.get("/status")
    health = client.get("/health")
    may_end.set()
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "15")
    assert answer.json()["error"].startswith("the first snapshot of it has been under way for ")
    assert health.json()["checks"]["lake"]["outcome"] == "degraded"


def test_health_names_each_check_with_its_reason(client: TestClient) -> None:
    answer = client.get("/health")
    assert answer.status_code == 200
    assert answer.json()["health"] == "ok"
    assert answer.json()["checks"]["lake"] == {"outcome": "ok", "reason": "it can be read"}
    assert set(answer.json()["checks"]) == {
        *("lake", "room", "models", "progress", "settings", "dagster_storage", "daemon")
    }


def test_metrics_are_in_the_format_that_is_asked_for(client: TestClient) -> None:
    plain = client.get("/metrics")
    assert plain.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert series(plain.text)["holocron_up", frozenset()] == 1
    modern = client.get("/metrics", headers={"accept": "application/openmetrics-text; version=1.0.0"})
    assert modern.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")


def test_the_endpoint_of_a_run_gives_its_outcome(client: TestClient, instance: dg.DagsterInstance) -> None:
    result = reaching.execute_in_process(instance=instance, tags={"dagster/partition": "sample-000001"})
    report = client.get(f"/runs/{result.run_id}").json()
    assert (report["job"], report["status"], report["partition"]) == ("reaching", "SUCCESS", "sample-000001")
    assert (report["failed_steps"], report["error_message"]) == ([], None)
    assert report["created_at"] <= report["started_at"] <= report["ended_at"]
    assert report["link"] == f"http://127.0.0.1:3000/runs/{result.run_id}"


def test_the_endpoint_of_a_failed_run_names_the_failed_steps_and_why(
    client: TestClient, instance: dg.DagsterInstance
) -> None:
    result = reaching.execute_in_process(
        instance=instance, tags={"broken": "yes", ".dagster/grpc_info": "{}"}, raise_on_error=False
    )
    report = client.get(f"/runs/{result.run_id}").json()
    assert report["status"] == "FAILURE"
    assert report["tags"] == {"broken": "yes", "dagster/failure_reason": "STEP_FAILURE"}
    (step,) = report["failed_steps"]
    assert (step["step"], step["error"]) == ("reach", "the wiki has no page of that name")
    assert report["error_message"] == step["error"]


def test_a_run_that_is_not_there_is_said_to_be_not_there(client: TestClient) -> None:
    answer = client.get("/runs/no-such-run")
    assert (answer.status_code, answer.json()) == (404, {"error": "there is no run 'no-such-run'"})


def test_a_damaged_lake_is_503_and_no_empty_status(
    tmp_path: Path, finished_sample: Holocron, instance: dg.DagsterInstance
) -> None:
    own = finished_sample.copy_to(tmp_path)
    file = own.lake.file(PAGES, SAMPLE_BATCH)
    file.write_bytes(file.read_bytes()[:1000])
    broken = client_of(own, watch_over(own), instance)
    status = broken.get("/status")
    assert status.status_code == 503
    assert str(file) in status.json()["error"]
    health = broken.get("/health")
    assert (health.status_code, health.json()["health"]) == (503, "failed")
    assert str(file) in health.json()["checks"]["lake"]["reason"]
    assert health.json()["checks"]["daemon"]["outcome"] == "ok"
    metrics = broken.get("/metrics")
    assert (metrics.status_code, series(metrics.text)["holocron_up", frozenset()]) == (200, 0)


def test_a_storage_of_dagster_that_is_gone_is_503(
    tmp_path: Path, finished_sample: Holocron, monkeypatch: pytest.MonkeyPatch
) -> None:
    status = status_of(finished_sample)
    with dg.DagsterInstance.local_temp(str(tmp_path), overrides=QUIET) as own:
        watch = watch_over(finished_sample, status=lambda: status, dagster=lambda: read_dagster_state(own))
        broken = client_of(finished_sample, watch, own)
        for folder in tmp_path.iterdir():
            shutil.rmtree(folder)
        health = broken.get("/health")
        assert (health.status_code, health.json()["health"]) == (503, "failed")
        reason = health.json()["checks"]["dagster_storage"]["reason"]
        assert reason.startswith("it cannot be read: OperationalError")
        for path in ("/runs/any", "/runs", "/metrics.json"):
            answer = broken.get(path)
            assert answer.status_code == 503
            assert answer.json()["error"].startswith("Dagster's storage cannot be read: OperationalError")
        monkeypatch.setenv("SOME_TOKEN", "OperationalError")  # as an error of others may repeat one
        assert "OperationalError" not in broken.get("/runs").json()["error"]


def test_settings_that_cannot_be_used_are_reported_and_are_no_failure(
    finished_sample: Holocron, instance: dg.DagsterInstance
) -> None:
    status = status_of(finished_sample)
    watch = watch_over(finished_sample, status=lambda: status, settings=lambda: {"groups": "nite"})
    health = client_of(finished_sample, watch, instance).get("/health")
    assert (health.status_code, health.json()["health"]) == (200, "degraded")
    assert "nite" in health.json()["checks"]["settings"]["reason"]


def test_a_daemon_that_never_ran_is_503(finished_sample: Holocron, instance: dg.DagsterInstance) -> None:
    status = status_of(finished_sample)
    watch = watch_over(finished_sample, status=lambda: status, dagster=lambda: read_dagster_state(instance))
    health = client_of(finished_sample, watch, instance).get("/health")
    assert health.status_code == 503
    assert health.json()["checks"]["daemon"]["reason"].startswith("it was not heard of so far")


@pytest.mark.parametrize(("seconds", "code"), [(10, 200), (400, 503), (None, 503)])
def test_a_daemon_whose_sensors_do_not_tick_is_503(
    tmp_path: Path, finished_sample: Holocron, seconds: int | None, code: int
) -> None:
    status = status_of(finished_sample)
    with dg.DagsterInstance.local_temp(str(tmp_path), overrides=QUIET) as own:
        daemon_at_work(own, seconds and time() - seconds)
        watch = watch_over(finished_sample, status=lambda: status, dagster=lambda: read_dagster_state(own))
        health = client_of(finished_sample, watch, own).get("/health")
    assert health.status_code == code, health.json()
    assert ("no sensor has ticked" in health.json()["checks"]["daemon"]["reason"]) == (code == 503)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "rebound.example"}, 421),
        ({"host": "10.0.0.1:8001"}, 421),
        ({"origin": "http://elsewhere.example"}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, 403),
    ],
    ids=str,
)
def test_other_machines_and_pages_of_other_sites_get_no_answer(
    client: TestClient, path: str, headers: dict[str, str], status: int
) -> None:
    answer = client.get(path, headers=headers)
    assert answer.status_code == status
    assert "holocron_" not in answer.text


@pytest.mark.parametrize("path", PATHS)
def test_nothing_can_be_sent_there(client: TestClient, path: str) -> None:
    assert client.post(path).status_code == 405
