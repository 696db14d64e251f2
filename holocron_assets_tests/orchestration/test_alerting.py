"""The sensor `raise_alerts` where snapshots take longer than a tick may, and where they fail."""

import errno
import json
import os
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import NoReturn

import dagster as dg
import pytest
import time_machine
from dagster._core.scheduler.instigation import InstigatorStatus
from knowledge_rows import row_of
from receiver import SECRET_ENV, SECRET_VALUE, Receiver, webhooks_yaml
from sample_dagster import lake_resource, sources_resource
from sample_holocron import SAMPLE_BATCH, Holocron
from watched_sample import daemon_at_work

from holocron_assets.decisions.log import new_decision, record
from holocron_assets.lake.files.parquet import read_partition, write_partition
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.tables import DECISIONS, FILE_LIST, PAGES
from holocron_assets.operations.notifications.alerts import firing
from holocron_assets.operations.state.awake import kept_times
from holocron_assets.orchestration.internals.dagster_state import read_dagster_state
from holocron_assets.orchestration.sensors import alerts as alerting
from holocron_assets.orchestration.sensors.alerts import raise_alerts
from holocron_assets.orchestration.sensors.notifications import tell_webhooks

pytestmark = pytest.mark.system

GIVEN_UP = "5 were given up in the last hour"


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    (tmp_path / "dagster").mkdir()
    with dg.DagsterInstance.local_temp(str(tmp_path / "dagster")) as kept:
        yield kept


@pytest.fixture
def holocron(fetched_sample: Holocron, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Holocron:
    """One of which five pages were given up just now."""
    monkeypatch.setattr(alerting, "_SNAPSHOT_SECONDS", 60.0)  # the machine may be busy
    own = fetched_sample.copy_to(tmp_path / "holocron")
    rows = read_partition(own.lake, PAGES, SAMPLE_BATCH)
    for row in rows[:5]:
        row.update(status="dead", error="HTTP 500", attempts=4, fetched_at=utc_now())
    write_partition(own.lake, PAGES, SAMPLE_BATCH, rows)
    return own


def tick(
    holocron: Holocron,
    instance: dg.DagsterInstance,
    cursor: str | None = None,
    last_at: datetime | None = None,
) -> tuple[str, str]:
    """What the sensor says, and its cursor after; `last_at` is when it was checked before."""
    resources = {"lake": lake_resource(holocron), "sources": sources_resource(holocron)}
    with dg.build_sensor_context(instance=instance, cursor=cursor, resources=resources) as context:
        vars(context)["_last_tick_completion_time"] = last_at and last_at.timestamp()
        answer = raise_alerts(context)
        assert isinstance(answer, dg.SkipReason)
        return answer.skip_message or "", context.cursor or ""


def deliver(holocron: Holocron, instance: dg.DagsterInstance) -> None:
    """A tick of the sensor that sends notices to webhooks."""
    with dg.build_sensor_context(instance=instance, resources={"lake": lake_resource(holocron)}) as context:
        tell_webhooks(context)


def break_decisions(holocron: Holocron) -> Path:
    """Damage what nothing can make again."""
    row = new_decision("classify", author="Ann", reason="it is", source="sample", title="X", value="Person")
    record(holocron.lake, [row])
    file = holocron.lake.file(DECISIONS, row["decision_id"])
    file.write_bytes(file.read_bytes()[:-1])
    return file


def test_a_tick_leaves_a_long_snapshot_to_the_next_tick_which_evaluates_it(
    holocron: Holocron, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alerting, "_SNAPSHOT_SECONDS", 0.0)
    said, cursor = tick(holocron, instance)
    assert said.startswith("a snapshot is under way since ")
    assert firing(holocron.lake) == []
    monkeypatch.setattr(alerting, "_SNAPSHOT_SECONDS", 60.0)
    said, cursor = tick(holocron, instance, cursor)
    assert said == GIVEN_UP
    assert kept_times(cursor).keys() == {"awake_since"}
    assert [row["rule"] for row in firing(holocron.lake)] == ["exhausted"]


def cursor_of(**ago: timedelta) -> str:
    """A cursor with some times."""
    return json.dumps({name: (utc_now() - one).isoformat() for name, one in ago.items()})


def late(holocron: Holocron) -> list[str]:
    """What is stuck, as its alerts say."""
    return [row["subject"] for row in firing(holocron.lake) if row["rule"] == "no_progress"]


def stuck_pages(holocron: Holocron, instance: dg.DagsterInstance) -> str:
    """Pages wait for good; the cursor of a first check."""
    holocron.lake.file(PAGES, SAMPLE_BATCH).unlink()
    return tick(holocron, instance)[1]


def test_the_first_check_after_a_night_off_fires_nothing(
    holocron: Holocron, instance: dg.DagsterInstance
) -> None:
    cursor, slept_from = stuck_pages(holocron, instance), utc_now()
    with time_machine.travel(slept_from + timedelta(hours=8)):
        _, cursor = tick(holocron, instance, cursor, last_at=slept_from)
        assert late(holocron) == []
    with time_machine.travel(slept_from + timedelta(hours=9, minutes=2)):
        tick(holocron, instance, cursor, last_at=utc_now() - timedelta(minutes=2))
        assert late(holocron) == ["pages of sample"], "it was awake for an hour"


def test_checks_that_failed_for_an_hour_are_no_night_off(
    holocron: Holocron, instance: dg.DagsterInstance
) -> None:
    cursor = stuck_pages(holocron, instance)  # a check that fails has a time, and leaves the cursor as it was
    with time_machine.travel(utc_now() + timedelta(hours=2)):
        tick(holocron, instance, cursor, last_at=utc_now() - timedelta(minutes=2))
        assert late(holocron) == ["pages of sample"]


def test_health_knows_from_the_cursor_since_when_the_machine_is_awake(
    holocron: Holocron, instance: dg.DagsterInstance
) -> None:
    _, cursor = tick(holocron, instance)
    daemon_at_work(instance, utc_now().timestamp(), sensor=raise_alerts.name, cursor=cursor)
    assert read_dagster_state(instance).awake_since == kept_times(cursor)["awake_since"]
    with time_machine.travel(utc_now() + timedelta(hours=8), tick=False):
        assert read_dagster_state(instance).awake_since == utc_now(), "nothing was checked since it woke"


def test_health_knows_nothing_of_a_sleep_where_alerts_are_not_checked(instance: dg.DagsterInstance) -> None:
    at, cursor = utc_now().timestamp(), cursor_of(awake_since=timedelta(hours=2))
    stopped = InstigatorStatus.STOPPED
    daemon_at_work(instance, at, sensor=raise_alerts.name, cursor=cursor, status=stopped)
    assert read_dagster_state(instance).awake_since is None


PAPERS = """\
kind: http_files
name: papers
enabled: false
lists: [{file: list.csv}]
politeness: {contact: tests@example.org}
"""


def test_a_source_of_files_that_is_switched_off_raises_no_alert(
    holocron: Holocron, instance: dg.DagsterInstance
) -> None:
    (holocron.sources_folder / "papers.yaml").write_text(PAPERS, encoding="utf-8")
    file = {"source": "papers", "artifact_key": 1, "name": "a", "artifact_id": "url:https://a.example/a"}
    row = row_of(FILE_LIST, **file, listed_at=utc_now() - timedelta(days=30))
    write_partition(holocron.lake, FILE_LIST, "papers", [row])
    tick(holocron, instance)
    assert [row["subject"] for row in firing(holocron.lake) if "papers" in row["subject"]] == []


def test_a_folder_of_backups_that_cannot_be_read_raises_the_alert_about_backups(
    holocron: Holocron, instance: dg.DagsterInstance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "alerts.yaml").write_text(f"backups: {{folder: {tmp_path}}}\n", encoding="utf-8")
    monkeypatch.setenv("HOLOCRON_ALERTS", str(tmp_path / "alerts.yaml"))

    def broken(*_: object, **__: object) -> NoReturn:
        raise OSError(errno.EIO, os.strerror(errno.EIO), str(tmp_path))

    monkeypatch.setattr(alerting, "newest_backup", broken)
    tick(holocron, instance)
    assert {row["rule"] for row in firing(holocron.lake)} == {"backups", "exhausted"}


def test_a_firing_alert_neither_ends_nor_repeats_while_a_snapshot_is_under_way(
    holocron: Holocron, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    tick(holocron, instance)
    before = firing(holocron.lake)
    monkeypatch.setattr(alerting, "_SNAPSHOT_SECONDS", 0.0)
    said, _ = tick(holocron, instance)
    assert said.endswith(f"; {GIVEN_UP}")
    assert firing(holocron.lake) == before


@pytest.mark.parametrize(("silent_minutes", "fires"), [(2, True), (30, False)])
def test_snapshots_that_never_end_raise_an_alert_even_if_their_processes_were_stopped(
    holocron: Holocron,
    instance: dg.DagsterInstance,
    monkeypatch: pytest.MonkeyPatch,
    silent_minutes: int,
    fires: bool,  # noqa: FBT001 - pytest gives it
) -> None:
    monkeypatch.setattr(alerting, "_SNAPSHOT_SECONDS", 0.0)
    kept = cursor_of(awake_since=timedelta(hours=3), since=timedelta(hours=2))
    said, cursor = tick(holocron, instance, kept, last_at=utc_now() - timedelta(minutes=silent_minutes))
    assert ("no snapshot of the status has come to an end for 120 minutes" in said) is fires
    assert (json.loads(cursor)["since"] == json.loads(kept)["since"]) is fires
    assert [row["rule"] for row in firing(holocron.lake)] == (["no_look"] if fires else [])


def test_a_failed_snapshot_raises_an_alert_that_is_delivered_and_ends_no_firing_one(
    holocron: Holocron, instance: dg.DagsterInstance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = tmp_path / "alerts.yaml"
    rules.write_text("resolved_after_minutes: 0\n", encoding="utf-8")
    monkeypatch.setenv("HOLOCRON_ALERTS", str(rules))
    with Receiver() as receiver:
        events = "events: [alert.firing, alert.resolved]"
        file = webhooks_yaml(tmp_path / "webhooks.yaml", team=f"url: {receiver.url}\n{events}")
        monkeypatch.setenv("HOLOCRON_WEBHOOKS", str(file))
        monkeypatch.setenv(SECRET_ENV, SECRET_VALUE)
        deliver(holocron, instance)
        tick(holocron, instance)
        damaged = break_decisions(holocron)
        said, _ = tick(holocron, instance)
        assert GIVEN_UP in said
        assert "the status cannot be read: DamagedPartitionError: table decisions" in said
        damaged.unlink()
        assert tick(holocron, instance)[0] == GIVEN_UP
        deliver(holocron, instance)
        events_delivered = {(one.body["type"], one.body["data"]["rule"]) for one in receiver.received}
    assert events_delivered == {
        ("alert.firing", "exhausted"), ("alert.firing", "no_look"), ("alert.resolved", "no_look")
    }  # fmt: skip
