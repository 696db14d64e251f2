"""Runs whose process is gone are reported failed; those that live, or may still come to life, are not."""

import logging
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from threading import Event
from time import monotonic, sleep
from types import SimpleNamespace

import dagster as dg
import pytest
from dagster import DagsterEvent, DagsterEventType, DagsterRunStatus
from dagster._cli.api import _execute_run_command_body
from dagster._daemon.monitoring.run_monitoring import monitor_starting_run
from dagster_k8s import K8sRunLauncher

from holocron_assets.derive.dispatch.under_way import is_worked_on, lock_name
from holocron_assets.derive.interrogations.loading import load_interrogations
from holocron_assets.lake.files.people_yaml import load_yaml
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.orchestration.internals.instance import open_instance, prepare_home
from holocron_assets.orchestration.internals.runs import process_began
from holocron_assets.orchestration.runs import reaper
from holocron_assets.orchestration.runs.reaper import held_by_run, reap_dead_runs, reaping
from holocron_assets.orchestration.runs.waiting import run_of_ours
from holocron_assets.orchestration.sensors.lost_runs import lost_runs
from holocron_assets.settings import PROJECT_FOLDER

START_SECONDS = 180
"""That Dagster gives a run to start, unless it is configured otherwise."""

HOLDER = """
import sys, time
from pathlib import Path
from threading import Event
from time import monotonic, sleep
from holocron_assets.lake.place.paths import Lake
from holocron_assets.orchestration.runs.reaper import held_by_run
with held_by_run(Lake(Path(sys.argv[1])), sys.argv[2]):
    print("held", flush=True)
    time.sleep(60)
"""
CODE_SERVER = """
import multiprocessing, sys
sys.path.insert(0, sys.argv[1])
import run_worker
if __name__ == "__main__":
    run = multiprocessing.get_context("spawn").Process(target=run_worker.work, args=sys.argv[1:])
    run.start()
    run.join()
    sys.exit(run.exitcode)
"""
RUN_WORKER = """
import time
from pathlib import Path
from threading import Event
from time import monotonic, sleep
from holocron_assets.lake.place.paths import Lake
from holocron_assets.orchestration.runs.reaper import held_by_run
def work(folder, run_id):
    with held_by_run(Lake(Path(folder)), run_id):
        pass
    print("its resources are given up", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as ephemeral:
        yield ephemeral


@pytest.fixture
def stored(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    """One on disk: what is only in memory knows no places."""
    with dg.DagsterInstance.local_temp(str(tmp_path)) as local:
        local.event_log_storage.set_concurrency_slots("gpu", 1)
        yield local


def run_of(instance: dg.DagsterInstance, status: DagsterRunStatus) -> str:
    @dg.job
    def some_job() -> None:
        pass

    return instance.create_run_for_job(some_job, status=status).run_id


def signs(lake: Lake) -> set[str]:
    """The runs that have a sign of life."""
    return {path.stem for path in (lake.locks / "runs").iterdir()}


def leave_signs(lake: Lake, *runs: str) -> None:
    """Leave the signs of runs, as a process that is killed does."""
    (lake.locks / "runs").mkdir(exist_ok=True)
    for run_id in runs:
        (lake.locks / "runs" / f"{run_id}.lock").touch()


def status_of(instance: dg.DagsterInstance, run_id: str) -> DagsterRunStatus:
    run = instance.get_run_by_id(run_id)
    assert run is not None
    return run.status


def test_a_run_without_a_process_is_reported_failed_with_why(
    instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    run_id = run_of(instance, DagsterRunStatus.STARTED)
    assert reap_dead_runs(instance, Lake(tmp_path)) == [], "it may be between its start and its lock"
    assert reap_dead_runs(instance, Lake(tmp_path), time_to_start=timedelta(0)) == [run_id]
    assert status_of(instance, run_id) == DagsterRunStatus.FAILURE
    assert any("process is gone" in (event.message or "") for event in instance.all_logs(run_id))
    assert reap_dead_runs(instance, Lake(tmp_path)) == []


def test_the_sensor_of_dead_runs_looks_as_often_as_is_promised() -> None:
    assert lost_runs.minimum_interval_seconds == 15, "docs/guarantees.md says so"


def test_a_run_is_left_alone_while_its_process_lives_and_reaped_once_it_is_killed(
    instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    run_id = run_of(instance, DagsterRunStatus.STARTED)
    command = [sys.executable, "-c", HOLDER, str(tmp_path), run_id]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:  # noqa: S603 - our own program
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert reap_dead_runs(instance, Lake(tmp_path)) == []
        assert status_of(instance, run_id) == DagsterRunStatus.STARTED
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    assert reap_dead_runs(instance, Lake(tmp_path)) == [run_id]


def test_a_slow_start_is_not_taken_for_a_death_as_long_as_dagster_waits_for_it(
    instance: dg.DagsterInstance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = run_of(instance, DagsterRunStatus.STARTING)
    monkeypatch.setattr(reaper, "utc_now", lambda: utc_now() + timedelta(seconds=START_SECONDS - 20))
    assert reap_dead_runs(instance, Lake(tmp_path)) == []
    monkeypatch.setattr(reaper, "utc_now", lambda: utc_now() + timedelta(seconds=START_SECONDS + 1))
    assert reap_dead_runs(instance, Lake(tmp_path)) == [run_id]


@pytest.fixture
def many(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    """One that watches runs as it is configured for several machines."""
    shipped = load_yaml((PROJECT_FOLDER / "deploy" / "celery" / "dagster.yaml").read_text(encoding="utf-8"))
    watch = {"run_monitoring": shipped["run_monitoring"]}
    with dg.DagsterInstance.local_temp(str(tmp_path), overrides=watch) as local:
        yield local


def launched(instance: dg.DagsterInstance, *, ago: timedelta) -> dg.RunRecord:
    """A run that was given to the broker, or to the cluster, some time ago."""
    run_id = run_of(instance, DagsterRunStatus.NOT_STARTED)
    event = DagsterEvent(DagsterEventType.PIPELINE_STARTING.value, job_name="some_job")
    instance.report_dagster_event(event, run_id=run_id, timestamp=(utc_now() - ago).timestamp())
    record = instance.get_run_record_by_id(run_id)
    assert record is not None
    return record


def test_a_run_may_wait_for_a_worker_for_hours_and_is_given_up_after_a_day(
    many: dg.DagsterInstance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting, lost = (launched(many, ago=timedelta(hours=hours)) for hours in (20, 25))
    for record in (waiting, lost):
        monitor_starting_run(many, record, logging.getLogger(__name__))
    assert status_of(many, waiting.dagster_run.run_id) == DagsterRunStatus.STARTING
    assert status_of(many, lost.dagster_run.run_id) == DagsterRunStatus.FAILURE
    assert reap_dead_runs(many, Lake(tmp_path)) == []
    monkeypatch.setattr(reaper, "utc_now", lambda: utc_now() + timedelta(hours=5))
    assert reap_dead_runs(many, Lake(tmp_path)) == [waiting.dagster_run.run_id]


@dg.job
def nothing_to_do() -> None:
    pass


def test_a_run_that_a_worker_took_is_dead_if_its_lock_does_not_come_soon(
    many: dg.DagsterInstance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = launched(many, ago=timedelta(hours=20)).dagster_run
    many.report_engine_event("Started process for run (pid: 1).", run)
    monkeypatch.setattr(reaper, "utc_now", lambda: utc_now() + timedelta(minutes=4))
    assert reap_dead_runs(many, Lake(tmp_path)) == [], "it loads the code"
    monkeypatch.setattr(reaper, "utc_now", lambda: utc_now() + timedelta(minutes=6))
    assert reap_dead_runs(many, Lake(tmp_path)) == [run.run_id]


CLUSTER = """
current-context: test
contexts: [{name: test, context: {cluster: test, user: test}}]
clusters: [{name: test, cluster: {server: "http://127.0.0.1:9"}}]
users: [{name: test, user: {}}]
"""


class Cluster:
    """The part of a cluster's API that says how a run's pods are doing."""

    def __init__(self) -> None:
        self.pods = {"active": 1, "failed": 0, "succeeded": 0}

    def read_namespaced_job_status(self, _name: str, *, namespace: str) -> SimpleNamespace:
        assert namespace
        return SimpleNamespace(status=SimpleNamespace(**self.pods))


def test_a_run_whose_pod_failed_before_its_process_began_is_not_given_a_day(
    many: dg.DagsterInstance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster, address = Cluster(), tmp_path / "cluster.yaml"
    address.write_text(CLUSTER, encoding="utf-8")
    launcher = K8sRunLauncher(
        service_account_name="holocron",
        instance_config_map="holocron",
        dagster_home="/dagster",
        load_incluster_config=False,
        kubeconfig_file=str(address),
        k8s_client_batch_api=cluster,
        k8s_client_core_api=cluster,
    )
    launcher.register_instance(many)
    monkeypatch.setattr(many, "_run_launcher", launcher)
    run = launched(many, ago=timedelta(0)).dagster_run
    monkeypatch.setattr(reaper, "utc_now", lambda: utc_now() + timedelta(minutes=6))
    assert reap_dead_runs(many, Lake(tmp_path)) == [], "the cluster may get room for it"
    cluster.pods |= {"active": 0, "failed": 1}
    monkeypatch.setattr(reaper, "utc_now", lambda: utc_now() + timedelta(minutes=4))
    assert reap_dead_runs(many, Lake(tmp_path)) == [], "its last words may be on their way"
    monkeypatch.setattr(reaper, "utc_now", lambda: utc_now() + timedelta(minutes=6))
    assert reap_dead_runs(many, Lake(tmp_path)) == [run.run_id]


@pytest.mark.system
def test_a_run_that_began_and_has_no_lock_is_not_given_a_day(
    many: dg.DagsterInstance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    statuses = (DagsterRunStatus.NOT_STARTED, DagsterRunStatus.STARTED, DagsterRunStatus.CANCELING)
    runs = {run_of(many, status) for status in statuses}
    monkeypatch.setattr(reaper, "utc_now", lambda: utc_now() + timedelta(minutes=6))
    assert set(reap_dead_runs(many, Lake(tmp_path))) == runs


def test_a_process_that_dagster_starts_for_a_run_is_seen_to_begin(many: dg.DagsterInstance) -> None:
    job = dg.reconstructable(nothing_to_do)
    run = many.create_run_for_job(nothing_to_do, job_code_origin=job.get_python_origin())
    assert process_began(many, run.run_id) is None
    _execute_run_command_body(run.run_id, many, lambda _: None, set_exit_code_on_failure=False)
    began = process_began(many, run.run_id)
    assert began is not None
    assert timedelta(0) <= utc_now() - began < timedelta(minutes=1)


def test_a_run_that_ended_its_work_is_not_dead_before_its_end_is_recorded(
    instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    """Between the two, Dagster writes: that may take its time."""
    run_id = run_of(instance, DagsterRunStatus.STARTED)
    (tmp_path / "run_worker.py").write_text(RUN_WORKER)
    command = [sys.executable, "-c", CODE_SERVER, str(tmp_path), run_id]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:  # noqa: S603 - our own program
        assert server.stdout is not None
        assert server.stdout.readline() == "its resources are given up\n"
        assert reap_dead_runs(instance, Lake(tmp_path), time_to_start=timedelta(0)) == []
        server.kill()
        assert server.stdout.read() == "", "the run ends with its code server"
    assert reap_dead_runs(instance, Lake(tmp_path), time_to_start=timedelta(0)) == [run_id]


def test_a_run_that_gave_up_its_lock_has_time_to_record_its_end(
    instance: dg.DagsterInstance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = run_of(instance, DagsterRunStatus.STARTED)

    def ended_meanwhile(_: float) -> None:
        if run := instance.get_run_by_id(run_id):
            instance.report_run_canceled(run)

    monkeypatch.setattr(reaper, "sleep", ended_meanwhile)
    assert reap_dead_runs(instance, Lake(tmp_path), time_to_start=timedelta(0)) == []
    assert status_of(instance, run_id) == DagsterRunStatus.CANCELED


def test_the_lock_of_a_dead_run_that_dagster_reported_itself_is_removed(
    instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    lake = Lake(tmp_path)
    ended, lives = (
        run_of(instance, status) for status in (DagsterRunStatus.FAILURE, DagsterRunStatus.SUCCESS)
    )
    leave_signs(lake, ended, "unknown")
    with held_by_run(lake, lives), held_by_run(lake, "made in a moment"):
        reap_dead_runs(instance, lake)
        assert signs(lake) == {lives, "made in a moment"}


def test_locks_of_partitions_are_not_looked_at_when_dead_runs_are_searched_and_asking_for_one_makes_no_file(
    instance: dg.DagsterInstance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, (interrogation, *_), listed = Lake(tmp_path), load_interrogations(), list[Path]()
    real = Path.glob

    def note_and_list(folder: Path, pattern: str) -> Iterator[Path]:
        listed.append(folder)
        return real(folder, pattern)

    with lake.lock(lock_name(interrogation, "wiki-000001")):
        assert is_worked_on(lake, interrogation, "wiki-000001")
        assert not is_worked_on(lake, interrogation, "wiki-000002")
    assert not is_worked_on(lake, interrogation, "wiki-000001")
    assert len(list(lake.locks.glob("*.lock"))) == 1
    leave_signs(lake, "unknown")
    monkeypatch.setattr(Path, "glob", note_and_list)
    reap_dead_runs(instance, lake)
    assert listed == [lake.locks / "runs"]


def test_a_run_of_this_process_is_seen_to_live_from_before_its_start_to_after_its_end(
    instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    lake = Lake(tmp_path)
    with run_of_ours(instance, lake) as run_id:
        assert signs(lake) == {run_id}
        with held_by_run(lake, run_id):  # as a resource of the run does
            pass
        assert signs(lake) == {run_id}
    assert signs(lake) == set()


@pytest.mark.parametrize("status", [DagsterRunStatus.NOT_STARTED, DagsterRunStatus.STARTING])
def test_a_run_that_was_made_just_now_is_given_time_to_start(
    instance: dg.DagsterInstance, tmp_path: Path, status: DagsterRunStatus
) -> None:
    run_id = run_of(instance, status)
    assert reap_dead_runs(instance, Lake(tmp_path)) == []
    assert reap_dead_runs(instance, Lake(tmp_path), time_to_start=timedelta(0)) == [run_id]


def test_the_lock_of_a_killed_run_shows_at_once_that_it_is_dead(
    instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    run_id = run_of(instance, DagsterRunStatus.STARTED)
    leave_signs(Lake(tmp_path), run_id)
    assert reap_dead_runs(instance, Lake(tmp_path)) == [run_id]


def test_the_place_of_a_run_that_ended_is_freed_once_nobody_works_on_it(
    stored: dg.DagsterInstance, tmp_path: Path
) -> None:
    lake, storage = Lake(tmp_path), stored.event_log_storage
    run_id = run_of(stored, DagsterRunStatus.CANCELED)
    storage.claim_concurrency_slot("gpu", run_id, "ask")
    with held_by_run(lake, run_id):
        reap_dead_runs(stored, lake)
        assert storage.get_concurrency_info("gpu").active_run_ids == {run_id}, "it was ended by force"
    reap_dead_runs(stored, lake)
    assert storage.get_concurrency_info("gpu").active_run_ids == set()


def test_a_run_without_a_daemon_gets_the_slot_of_a_run_that_is_killed_meanwhile(
    stored: dg.DagsterInstance, tmp_path: Path
) -> None:
    storage, killed = stored.event_log_storage, run_of(stored, DagsterRunStatus.STARTED)
    storage.claim_concurrency_slot("gpu", killed, "ask")
    ours = run_of(stored, DagsterRunStatus.STARTED)
    with held_by_run(Lake(tmp_path), ours), reaping(stored, Lake(tmp_path), seconds=0.05):
        assert not storage.claim_concurrency_slot("gpu", ours, "ask").is_claimed
        leave_signs(Lake(tmp_path), killed)
        deadline = monotonic() + 60
        while not storage.claim_concurrency_slot("gpu", ours, "ask").is_claimed:
            assert monotonic() < deadline
            sleep(0.05)
    assert status_of(stored, killed) == DagsterRunStatus.FAILURE
    assert status_of(stored, ours) == DagsterRunStatus.STARTED


def test_a_search_for_dead_runs_that_fails_is_logged_and_tried_again(
    instance: dg.DagsterInstance,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    tries = iter([OSError("the disk is gone")])

    def reap(*_: object) -> list[str]:
        for trouble in tries:
            raise trouble
        reaped.set()
        return []

    reaped = Event()
    monkeypatch.setattr(reaper, "reap_dead_runs", reap)
    with reaping(instance, Lake(tmp_path), seconds=0.05):
        assert reaped.wait(10)
    assert "trying again" in caplog.text
    assert "the disk is gone" in caplog.text


def test_a_run_that_ends_well_leaves_no_lock_behind(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    with held_by_run(lake, "some-run"):
        assert signs(lake) == {"some-run"}
    assert signs(lake) == set()


def test_opening_the_instance_writes_the_configuration_and_the_pool_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # setenv first, so that the variable that prepare_home sets is taken back after the test
    monkeypatch.setenv("DAGSTER_HOME", "")
    monkeypatch.delenv("DAGSTER_HOME")
    monkeypatch.delenv("HOLOCRON_POSTGRES_URL", raising=False)
    monkeypatch.setenv("HOLOCRON_DATA", str(tmp_path))
    monkeypatch.setenv("HOLOCRON_PROCESSES", "1")
    with open_instance() as instance:
        assert (tmp_path / "dagster" / "dagster.yaml").is_file()
        limits = {pool.name: pool.limit for pool in instance.event_log_storage.get_pool_limits()}
        assert limits == {"code": 1, "crawl": 3, "gpu": 1}


def test_postgresql_is_configured_when_its_address_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    monkeypatch.setenv("DAGSTER_HOME", "")
    monkeypatch.delenv("DAGSTER_HOME")
    monkeypatch.setenv("HOLOCRON_DATA", str(tmp_path))
    monkeypatch.setenv("HOLOCRON_POSTGRES_URL", "postgresql://somebody@127.0.0.1:1/holocron")
    home = prepare_home()
    assert "postgres_url" in (home / "dagster.yaml").read_text()
