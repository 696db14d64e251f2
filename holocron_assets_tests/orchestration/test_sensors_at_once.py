"""Sensors tick side by side: one that waits for somebody else holds up no other, nor disturbs one."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from dagster_at import dagster_at
from receiver import SECRET_ENV, SECRET_VALUE, Receiver, webhooks_yaml
from sample_holocron import SAMPLE_EXPORT, Holocron
from tiny_wiki import copy_of_export

from holocron_assets.lake.files.people_yaml import load_yaml
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.tables import ENTITIES
from holocron_assets.operations.notifications.notifications import Notice, open_book
from holocron_assets.operations.notifications.webhooks import read_webhooks
from holocron_assets.planning.job_names import PARTITION_TAG
from holocron_assets.settings import PROJECT_FOLDER

CONFIGURATIONS = ["dagster.yaml", "deploy/postgres/dagster.yaml", "deploy/celery/dagster.yaml"]


def settings(name: str) -> dict[str, Any]:
    read: dict[str, Any] = load_yaml((PROJECT_FOLDER / name).read_text(encoding="utf-8"))
    return read


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_each_configuration_lets_sensors_and_schedules_tick_side_by_side(name: str) -> None:
    read = settings(name)
    for kind in ("sensors", "schedules"):
        assert read[kind] == settings("dagster.yaml")[kind]
        assert read[kind]["use_threads"] is True
        assert read[kind]["num_workers"] >= 2


def notice(holocron: Holocron, file: Path) -> None:
    """Have a notice that is to be delivered."""
    failed_run = Notice("some-run", "run.failure", "crawl_batch", utc_now(), {"run_id": "some-run"})
    with open_book(holocron.lake, patience_seconds=0) as book:
        book.note([failed_run], read_webhooks(file))


@pytest.mark.full
def test_a_receiver_that_hangs_holds_up_no_other_sensor(finished_sample: Holocron, tmp_path: Path) -> None:
    holocron = finished_sample.copy_to(tmp_path / "holocron")
    holocron.add_source("new", copy_of_export(SAMPLE_EXPORT, tmp_path / "new.xml", pages=8))
    holocron.lake.file(ENTITIES, "Droid").unlink()
    with Receiver() as receiver:
        receiver.behave = receiver.hang
        file = webhooks_yaml(tmp_path / "webhooks.yaml", team=f"url: {receiver.url}\ntimeout_seconds: 20")
        notice(holocron, file)
        ticks = tick_for(holocron, 40, HOLOCRON_WEBHOOKS=str(file), **{SECRET_ENV: SECRET_VALUE})
    assert receiver.ids == ["some-run"]
    began, took, _ = next(tick for tick in ticks["tell_webhooks"] if tick[1] > 15)
    staleness = {name: [one for one in own if began < one[0] < began + took] for name, own in ticks.items()}
    # The daemon goes round every five seconds; these are evaluated in each round, or in every third.
    assert len(staleness["model_dispatch"]) >= 3, ticks
    assert staleness["new_pages"], ticks
    failed = {name: own for name, own in ticks.items() if any(how == "FAILURE" for _, _, how in own)}
    assert failed == {}
    with dagster_at(holocron.environment["DAGSTER_HOME"]) as instance:
        runs = [(run.job_name, run.tags.get(PARTITION_TAG), run.status.value) for run in instance.get_runs()]
    # Upkeep and the search index come at times of their own, which may or may not be within these.
    assert sorted(run for run in runs if run[0] not in ("upkeep", "update_search")) == [
        ("derive_code", None, "QUEUED"),
        ("list_seeds", "new", "QUEUED"),
        ("publish_views", None, "QUEUED"),
        ("resolve_entities", None, "QUEUED"),
    ], "each is asked for once"


def tick_for(holocron: Holocron, seconds: float, **more: str) -> dict[str, list[tuple[float, float, str]]]:
    """The ticks of all sensors, from a daemon that is as the project's own file sets it."""
    environment = {**os.environ, **holocron.environment, "HOLOCRON_LLM": "off", **more}
    home = Path(environment["DAGSTER_HOME"])
    home.mkdir(parents=True, exist_ok=True)
    (home / "dagster.yaml").write_bytes((PROJECT_FOLDER / "dagster.yaml").read_bytes())
    command = [sys.executable, str(Path(__file__).with_name("sensor_daemon.py")), str(seconds)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1200, check=False)  # noqa: S603 - our own
    assert done.returncode == 0, done.stderr
    ticks: dict[str, list[tuple[float, float, str]]] = json.loads(done.stdout)
    return ticks
