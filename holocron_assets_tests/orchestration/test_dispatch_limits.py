"""The limits that keep models from each other's way, as they reach Dagster."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from asked_holocron import write_interrogation
from ruamel.yaml import YAML

from holocron_assets.orchestration.internals.instance import open_instance, pool_limits
from holocron_assets.orchestration.model_runs.dispatched_runs import run_tags
from holocron_assets.planning.derive_job_names import job_of
from holocron_assets.settings import PROJECT_FOLDER

REMOTE = "pools: {remote: {models: ['*-cloud'], limit: 3}}"


@pytest.mark.parametrize("file", ["dagster.yaml", "deploy/postgres/dagster.yaml"])
def test_one_run_at_a_time_bears_the_gpu_s_tag_whatever_its_value(file: str) -> None:
    settings: dict[str, Any] = YAML(typ="safe").load(PROJECT_FOLDER / file)
    limits = settings["concurrency"]["runs"]["tag_concurrency_limits"]
    assert {"key": "holocron/gpu_model", "limit": 1} in limits
    assert "holocron/gpu_model" in run_tags("gpu", "small:1b")


def test_the_pools_of_the_settings_reach_the_instance_whenever_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLOCRON_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "dagster"))
    monkeypatch.setenv("HOLOCRON_DISPATCH", str(tmp_path / "dispatch.yaml"))
    assert pool_limits() == {"gpu": 1, "code": 1, "crawl": 2}
    (tmp_path / "dispatch.yaml").write_text(REMOTE, encoding="utf-8")
    with open_instance() as instance:
        limits = {pool.name: pool.limit for pool in instance.event_log_storage.get_pool_limits()}
    assert limits == {"gpu": 1, "code": 1, "remote": 3, "crawl": 2}


def test_a_remote_model_s_run_is_of_its_pool_s_job_and_does_not_take_the_gpu() -> None:
    assert job_of("remote", by_type=False) == "derive_remote"
    assert job_of("gpu", by_type=True) == "derive_by_type"
    assert run_tags("remote", "big-cloud") == {
        "holocron/model": "big-cloud",
        "holocron/model_pool": "remote",
    }


@pytest.mark.system
def test_a_pool_in_the_settings_has_a_job_and_a_sensor_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "dispatch.yaml").write_text(REMOTE, encoding="utf-8")
    write_interrogation(tmp_path, "kinds", "small:1b", 500)
    write_interrogation(tmp_path, "facts", "big-cloud", 400, prompt="Say facts.")
    program = (
        "from holocron_assets.definitions import defs; "
        "print([sensor.name for sensor in defs.sensors if 'dispatch' in sensor.name]); "
        "jobs = [job for job in defs.resolve_all_job_defs() if job.name.startswith('derive')]; "
        "print([(job.name, [node.definition.pool for node in job.nodes], "
        "job.run_tags.get('holocron/gpu_model')) for job in jobs])"
    )
    (tmp_path / "spaces").mkdir()
    interrogations = {
        "HOLOCRON_INTERROGATIONS": str(tmp_path / "interrogations"),
        "HOLOCRON_SPACES": str(tmp_path / "spaces"),
    }
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", program],
        env={**os.environ, **interrogations, "HOLOCRON_DISPATCH": str(tmp_path / "dispatch.yaml")},
        capture_output=True,
        text=True,
        check=True,
    )
    sensors, jobs = done.stdout.splitlines()
    assert sensors == "['model_dispatch', 'model_dispatch_code', 'model_dispatch_remote']"
    assert jobs == "[('derive', ['gpu'], 'any'), ('derive_remote', ['remote'], None)]"
