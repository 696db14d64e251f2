"""The limits that keep models from each other's way, as they reach Dagster."""

from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import time_machine
from asked_holocron import write_interrogation
from dagster._core.execution.plan.instance_concurrency_context import (
    MAX_CONCURRENCY_CLAIM_BLOCKED_INTERVAL as LONGEST_PAUSE,
)
from dagster._core.execution.plan.instance_concurrency_context import InstanceConcurrencyContext
from dagster_at import dagster_at

from holocron_assets.definitions import build_definitions
from holocron_assets.lake.files.people_yaml import load_yaml
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.orchestration.internals.instance import open_instance, pool_limits
from holocron_assets.orchestration.internals.run_queue import sleep_while_pools_are_full
from holocron_assets.orchestration.internals.runs import limit_pool
from holocron_assets.orchestration.model_runs.dispatched_runs import tags_of_model
from holocron_assets.planning.derive_job_names import job_of
from holocron_assets.settings import PROJECT_FOLDER

OTHER_RUN = "11111111-1111-1111-1111-111111111111"
REMOTE = "pools: {remote: {models: ['*-cloud'], limit: 3}}"


@pytest.mark.parametrize("file", ["dagster.yaml", "deploy/postgres/dagster.yaml"])
def test_one_run_at_a_time_bears_the_gpu_s_tag_whatever_its_value(file: str) -> None:
    settings: dict[str, Any] = load_yaml((PROJECT_FOLDER / file).read_text(encoding="utf-8"))
    limits = settings["concurrency"]["runs"]["tag_concurrency_limits"]
    assert {"key": "holocron/gpu_model", "limit": 1} in limits
    assert "holocron/gpu_model" in tags_of_model("gpu", "small:1b")


@pytest.mark.parametrize("folder", [".", "deploy/postgres", "deploy/celery"])
def test_crawlers_leave_a_place_to_other_work_and_have_one_for_another_wiki(folder: str) -> None:
    settings: Any = load_yaml((PROJECT_FOLDER / folder / "dagster.yaml").read_text(encoding="utf-8"))
    runs = settings["concurrency"]["runs"]
    limits = {
        "value" in one: one["limit"]
        for one in runs["tag_concurrency_limits"]
        if one["key"] == "holocron/host"
    }
    of_a_host, of_all = limits[True], limits[False]
    assert 1 < of_a_host < of_all, "one fetches while another computes"
    assert of_all + 1 < runs["max_concurrent_runs"], "a model may be asked, and other work goes on"


def test_the_pools_of_the_settings_reach_the_instance_whenever_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLOCRON_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "dagster"))
    monkeypatch.setenv("HOLOCRON_DISPATCH", str(tmp_path / "dispatch.yaml"))
    monkeypatch.setenv("HOLOCRON_PROCESSES", "1")
    assert pool_limits() == {"gpu": 1, "code": 1, "crawl": 3}
    monkeypatch.setenv("HOLOCRON_PROCESSES", "3")
    assert pool_limits()["code"] == 3, "the processes of `holocron run` share what code answers"
    (tmp_path / "dispatch.yaml").write_text(REMOTE, encoding="utf-8")
    with open_instance() as instance:
        limits = {pool.name: pool.limit for pool in instance.event_log_storage.get_pool_limits()}
    assert limits == {"gpu": 1, "code": 3, "remote": 3, "crawl": 3}


def test_only_who_says_how_many_crawl_or_begins_a_daemon_changes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLOCRON_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "dagster"))

    def limit(*, begins_daemon: bool = False) -> int:
        with open_instance(begins_daemon=begins_daemon) as instance:
            return {pool.name: pool.limit for pool in instance.event_log_storage.get_pool_limits()}["crawl"]

    monkeypatch.setenv("HOLOCRON_CRAWLERS", "8")
    assert limit() == 8
    monkeypatch.delenv("HOLOCRON_CRAWLERS")
    assert limit() == 8, "a command in a shell without the variable says nothing of it"
    assert limit(begins_daemon=True) == 3


@pytest.mark.parametrize(
    ("policy", "limits"),
    [
        ("global", {"everything": 1, "crawl": 3}),
        ("kind", {"gpu": 1, "embedding": 1, "code": 1, "crawl": 3}),
    ],
)
def test_a_policy_reaches_the_instance_when_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: str, limits: dict[str, int]
) -> None:
    monkeypatch.setenv("HOLOCRON_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "dagster"))
    monkeypatch.setenv("HOLOCRON_DISPATCH", str(tmp_path / "dispatch.yaml"))
    monkeypatch.setenv("HOLOCRON_PROCESSES", "3")
    (tmp_path / "dispatch.yaml").write_text(f"policy: {policy}\n{REMOTE}", encoding="utf-8")
    with open_instance() as instance:
        found = {pool.name: pool.limit for pool in instance.event_log_storage.get_pool_limits()}
    assert found == limits


def test_a_remote_model_s_run_is_of_its_pool_s_job_and_does_not_take_the_gpu() -> None:
    assert job_of("remote", by_type=False) == "derive_remote"
    assert job_of("gpu", by_type=True) == "derive_by_type"
    assert tags_of_model("remote", "big-cloud") == {
        "holocron/model": "big-cloud",
        "holocron/model_pool": "remote",
    }


@pytest.mark.system
@pytest.mark.parametrize(
    ("policy", "wanted_sensors", "wanted_jobs"),
    [
        (
            "resource",
            ["model_dispatch", "model_dispatch_code", "model_dispatch_remote"],
            [("derive", ["gpu"], "any"), ("derive_remote", ["remote"], None)],
        ),
        (
            "global",
            ["model_dispatch", "model_dispatch_code", "model_dispatch_remote"],
            [("derive", ["everything"], "any"), ("derive_remote", ["everything"], None)],
        ),
        (
            "kind",
            ["model_dispatch", "model_dispatch_embedding", "model_dispatch_code"],
            [("derive", ["gpu", "gpu"], "any")],
        ),
    ],
)
def test_the_policy_and_the_pools_of_the_settings_make_jobs_and_sensors(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    policy: str,
    wanted_sensors: list[str],
    wanted_jobs: list[tuple[str, list[str], str | None]],
) -> None:
    (tmp_path / "dispatch.yaml").write_text(f"policy: {policy}\n{REMOTE}", encoding="utf-8")
    write_interrogation(tmp_path, "kinds", "small:1b", 500)
    write_interrogation(tmp_path, "facts", "big-cloud", 400, prompt="Say facts.")
    (tmp_path / "spaces").mkdir()
    monkeypatch.setenv("HOLOCRON_INTERROGATIONS", str(tmp_path / "interrogations"))
    monkeypatch.setenv("HOLOCRON_SPACES", str(tmp_path / "spaces"))
    monkeypatch.setenv("HOLOCRON_DISPATCH", str(tmp_path / "dispatch.yaml"))
    definitions = build_definitions()
    assert [one.name for one in definitions.sensors or () if "dispatch" in one.name] == wanted_sensors
    jobs = [
        (
            job.name,
            [pool for node in job.nodes for pool in node.definition.pools],
            job.run_tags.get("holocron/gpu_model"),
        )
        for job in definitions.resolve_all_job_defs()
        if job.name.startswith("derive")
    ]
    assert jobs == wanted_jobs


@pytest.mark.system
def test_a_step_that_waits_for_a_place_in_a_pool_sleeps_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Counter[str]()
    ask = InstanceConcurrencyContext.claim

    def counted(context: InstanceConcurrencyContext, pool: str, *about: Any) -> bool:
        asked[pool] += 1
        if asked[pool] > 1:  # it was full the first time
            instance.event_log_storage.free_concurrency_slots_for_run(OTHER_RUN)
        return ask(context, pool, *about)

    sleep_while_pools_are_full()
    monkeypatch.setattr(InstanceConcurrencyContext, "claim", counted)

    @dg.op(pool="narrow")
    def wait_for_it() -> int:
        return 1

    @dg.job(executor_def=dg.in_process_executor)
    def waiting() -> None:
        wait_for_it()

    (tmp_path / "dagster.yaml").write_text("telemetry: {enabled: false}\n", encoding="utf-8")
    with dagster_at(tmp_path) as instance:
        limit_pool(instance, "narrow", 1)
        assert instance.event_log_storage.claim_concurrency_slot("narrow", OTHER_RUN, "step").is_claimed
        assert waiting.execute_in_process(instance=instance).success
    assert 2 <= asked["narrow"] <= 5, "Dagster's own loop asks without a pause"


@pytest.mark.system
def test_a_step_asks_again_for_a_place_in_a_pool_though_the_clock_was_set_back(tmp_path: Path) -> None:
    @dg.job
    def waiting() -> None:
        pass

    sleep_while_pools_are_full()
    (tmp_path / "dagster.yaml").write_text("telemetry: {enabled: false}\n", encoding="utf-8")
    with dagster_at(tmp_path) as instance:
        limit_pool(instance, "narrow", 1)
        assert instance.event_log_storage.claim_concurrency_slot("narrow", OTHER_RUN, "step").is_claimed
        with InstanceConcurrencyContext(instance, instance.create_run_for_job(waiting)) as context:
            assert not context.claim("narrow", "step")
            instance.event_log_storage.free_concurrency_slots_for_run(OTHER_RUN)
            with time_machine.travel(utc_now() - timedelta(hours=2), tick=False) as clock:
                assert context.interval_to_next_pending_claim_check() <= 1
                assert not context.claim("narrow", "step")
                clock.shift(LONGEST_PAUSE + 1)
                assert context.claim("narrow", "step")
