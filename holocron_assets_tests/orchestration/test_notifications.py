"""The sensor `tell_webhooks` over real runs, a real instance and a receiver: what it sends, and what not."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import time_machine
from click.testing import CliRunner
from filelock import FileLock
from receiver import SECRET_ENV, SECRET_VALUE, Receiver, answering, webhooks_yaml
from sample_dagster import lake_resource, run_job, sources_resource
from sample_holocron import SAMPLE_BATCH, Holocron

from holocron_assets.cli.main import main
from holocron_assets.decisions.controls import ALL, PAUSE, control
from holocron_assets.lake.files.parquet import read_partition, write_partition
from holocron_assets.lake.journals.journal import Journal
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.tables import PAGES
from holocron_assets.operations.groups import Group, begin_or_go_on
from holocron_assets.operations.notifications.notifications import Notice, open_book
from holocron_assets.operations.notifications.webhooks import EVENTS, read_webhooks
from holocron_assets.orchestration.sensors import notifications
from holocron_assets.orchestration.sensors.alerts import raise_alerts
from holocron_assets.orchestration.sensors.notifications import tell_webhooks
from holocron_assets.planning.job_names import PARTITION_TAG, SOURCE_TAG
from holocron_assets.settings import webhooks_file

pytestmark = pytest.mark.system

EVERYTHING = f"events: [{', '.join(EVENTS)}]"


@dg.op
def good() -> None:
    pass


@dg.op
def bad() -> None:
    raise dg.Failure(f"the key {SECRET_VALUE} is wrong")


@dg.job
def good_job() -> None:
    good()


@dg.job
def bad_job() -> None:
    bad()


def run(
    instance: dg.DagsterInstance, job: dg.JobDefinition, tags: dict[str, str] | None = None
) -> dg.ExecuteInProcessResult:
    return job.execute_in_process(instance=instance, tags=tags, raise_on_error=False)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as one:
        yield one


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    (tmp_path / "dagster").mkdir()
    with dg.DagsterInstance.local_temp(str(tmp_path / "dagster")) as kept:
        yield kept


@pytest.fixture
def holocron(
    fetched_sample: Holocron, tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> Holocron:
    file = webhooks_yaml(tmp_path / "webhooks.yaml", team=f"url: {receiver.url}\n{EVERYTHING}")
    monkeypatch.setenv("HOLOCRON_WEBHOOKS", str(file))
    monkeypatch.setenv(SECRET_ENV, SECRET_VALUE)
    return fetched_sample.copy_to(tmp_path / "holocron")


def tick(holocron: Holocron, instance: dg.DagsterInstance, cursor: str | None) -> tuple[str, str]:
    """What the sensor says, and its cursor after."""
    resources = {"lake": lake_resource(holocron)}
    with dg.build_sensor_context(instance=instance, cursor=cursor, resources=resources) as context:
        result: Any = tell_webhooks(context)
        return result.skip_message, context.cursor or ""


def bury(holocron: Holocron, *buried: str) -> None:
    """Let pages be dead-lettered."""
    rows = read_partition(holocron.lake, PAGES, SAMPLE_BATCH)
    for row in rows:
        if (title := row["requested_title"]) in buried:
            row.update(status="dead", error=f"{title!r}: HTTP 500", attempts=4, fetched_at=utc_now())
    write_partition(holocron.lake, PAGES, SAMPLE_BATCH, rows)


def titles(holocron: Holocron) -> list[str]:
    return [row["requested_title"] for row in read_partition(holocron.lake, PAGES, SAMPLE_BATCH)]


def test_webhooks_get_the_end_of_a_run_with_its_id_and_why_it_failed(
    holocron: Holocron, instance: dg.DagsterInstance, receiver: Receiver
) -> None:
    run(instance, good_job)
    _, cursor = tick(holocron, instance, None)  # what was before is history
    good = run(instance, good_job)
    bad = run(instance, bad_job, {PARTITION_TAG: SAMPLE_BATCH, SOURCE_TAG: "sample"})
    said, cursor = tick(holocron, instance, cursor)
    assert said == "team: 2 delivered, 0 failed"
    bodies = {one.notice_id: one.body for one in receiver.received}
    assert bodies.keys() == {good.run_id, bad.run_id}
    assert bodies[good.run_id]["type"] == "run.success"
    assert bodies[good.run_id]["data"]["job"] == "good_job"
    assert bodies[bad.run_id]["type"] == "run.failure"
    assert bodies[bad.run_id]["data"]["partition"] == SAMPLE_BATCH
    assert bodies[bad.run_id]["data"]["source"] == "sample"
    assert bodies[bad.run_id]["data"]["reason"] == "the key *** is wrong"
    assert tick(holocron, instance, cursor)[0] == "no notice is due"


def test_webhooks_are_told_which_runs_were_skipped_by_a_hold_and_which_a_person_canceled(
    holocron: Holocron, instance: dg.DagsterInstance, receiver: Receiver
) -> None:
    before = good_job.execute_in_process(instance=instance)
    _, cursor = tick(holocron, instance, None)
    control(holocron.lake, PAUSE, ALL, author="ada", reason="the disk is being replaced")
    instance.add_dynamic_partitions("batches", [SAMPLE_BATCH])
    skipped = run_job(holocron, instance, "crawl_batch", SAMPLE_BATCH)
    queued = instance.create_run_for_job(good_job)
    instance.report_run_canceled(queued, message="ben ended it")
    tick(holocron, instance, cursor)
    bodies = {one.notice_id: one.body for one in receiver.received}
    assert before.run_id not in bodies
    assert {run_id: body["type"] for run_id, body in bodies.items()} == {
        skipped.run_id: "run.skipped",
        queued.run_id: "run.canceled",
    }
    assert "the disk is being replaced" in bodies[skipped.run_id]["data"]["reason"]


def end_group(holocron: Holocron, name: str, rule: str) -> None:
    """Let a group end with a step that failed and one that was left out."""
    steps = [{"name": "crawl", "run": "run", "on_failure": rule}, {"name": "export", "run": "export"}]
    group = Group.model_validate({"title": "Some work", "steps": steps})
    begin_or_go_on(holocron.lake, name, group).work(lambda _: 1, lambda _: None)


def test_webhooks_are_told_which_steps_of_a_group_were_left_out_and_why(
    holocron: Holocron, instance: dg.DagsterInstance, receiver: Receiver
) -> None:
    end_group(holocron, "before", "skip")
    _, cursor = tick(holocron, instance, None)
    end_group(holocron, "night", "skip")
    end_group(holocron, "noon", "stop")
    for _ in range(2):
        _, cursor = tick(holocron, instance, cursor)
    found = {one.notice_id: (one.body["type"], one.body["data"]["reason"]) for one in receiver.received}
    assert found == {
        "night-000001-export": ("run.skipped", "failed before it: crawl"),
        "noon-000001-export": ("run.canceled", "failed before it: crawl"),
    }


def test_what_an_earlier_version_did_not_read_is_read_from_now_on(
    holocron: Holocron, instance: dg.DagsterInstance, receiver: Receiver
) -> None:
    _, cursor = tick(holocron, instance, None)
    old = json.loads(cursor)
    del old["seen"]["run.canceled"], old["first"]["run.canceled"], old["groups"]
    for said in ("before", "after"):
        instance.report_run_canceled(instance.create_run_for_job(good_job), message=said)
        _, cursor = tick(holocron, instance, json.dumps(old) if said == "before" else cursor)
    assert len(receiver.received) == 1


def test_a_cursor_that_was_not_kept_sends_nothing_twice(
    holocron: Holocron, instance: dg.DagsterInstance, receiver: Receiver
) -> None:
    _, before = tick(holocron, instance, None)
    run(instance, good_job)
    for _ in range(2):
        tick(holocron, instance, before)
    assert len(receiver.received) == 1


def test_an_event_that_appears_late_with_an_early_number_is_sent_too(
    holocron: Holocron, instance: dg.DagsterInstance, receiver: Receiver
) -> None:
    _, cursor = tick(holocron, instance, None)
    late = run(instance, good_job)
    # As if two that came after it had been there first.
    ahead = json.loads(cursor)
    ahead["seen"]["run.success"] += 2
    tick(holocron, instance, json.dumps(ahead))
    assert receiver.ids == [late.run_id]


def test_a_page_given_up_is_sent_once_and_one_from_before_the_first_tick_never(
    holocron: Holocron, instance: dg.DagsterInstance, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notifications, "_READ_AGAIN_AFTER", timedelta(0))
    first, second, *_ = titles(holocron)
    bury(holocron, first)
    _, cursor = tick(holocron, instance, None)
    bury(holocron, second)
    _, cursor = tick(holocron, instance, cursor)
    _, cursor = tick(holocron, instance, cursor)
    _, cursor = tick(holocron, instance, None)  # Dagster's storage is another now
    (request,) = receiver.received
    assert request.body["type"] == "dead_letter"
    assert request.body["data"]["title"] == second
    assert request.body["data"]["attempts"] == 4
    bury(holocron, second)  # it was brought back, and died again
    tick(holocron, instance, cursor)
    assert len(set(receiver.ids)) == 2


def test_an_old_page_given_up_is_not_sent_at_the_first_tick_because_of_a_group_s_old_step(
    holocron: Holocron, instance: dg.DagsterInstance, receiver: Receiver
) -> None:
    bury(holocron, titles(holocron)[0])
    end_group(holocron, "before", "skip")
    tick(holocron, instance, None)
    assert receiver.received == []


class KilledError(BaseException):
    """The process is gone."""


def test_a_first_tick_that_is_killed_can_be_repeated_and_sends_no_old_page_given_up(
    holocron: Holocron, instance: dg.DagsterInstance, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = Journal.append

    def killed_after(journal: Journal, *records: dict[str, Any]) -> None:
        append(journal, *records)
        raise KilledError

    first, second, third, *_ = titles(holocron)
    bury(holocron, first, second)
    with monkeypatch.context() as killing:
        killing.setattr(Journal, "append", killed_after)
        with pytest.raises(KilledError):
            tick(holocron, instance, None)
    bury(holocron, third)
    tick(holocron, instance, None)
    assert [one.body["data"]["title"] for one in receiver.received] == [third]


def test_an_old_page_given_up_is_not_sent_at_the_first_tick_because_of_an_alert(
    holocron: Holocron, instance: dg.DagsterInstance, receiver: Receiver
) -> None:
    bury(holocron, titles(holocron)[0])
    alert = Notice("alert-1-firing", "alert.firing", "no_progress", utc_now(), {})
    with open_book(holocron.lake, patience_seconds=0) as book:
        book.note([alert], read_webhooks(webhooks_file()))
    tick(holocron, instance, None)
    assert receiver.ids == [alert.notice_id]


def test_dead_letters_are_read_once_a_minute_and_none_is_missed(
    holocron: Holocron, instance: dg.DagsterInstance, receiver: Receiver
) -> None:
    with time_machine.travel(utc_now(), tick=True) as clock:
        _, cursor = tick(holocron, instance, None)
        bury(holocron, titles(holocron)[0])
        _, cursor = tick(holocron, instance, cursor)
        assert receiver.received == []
        clock.shift(61)
        tick(holocron, instance, cursor)
        assert len(receiver.received) == 1


def test_two_ticks_at_the_same_time_send_each_notice_once(
    holocron: Holocron, instance: dg.DagsterInstance, receiver: Receiver
) -> None:
    _, cursor = tick(holocron, instance, None)
    run(instance, good_job)
    with FileLock(holocron.lake.locks / "notices.lock"):
        assert tick(holocron, instance, cursor) == ("another process sends notices", cursor)
    assert receiver.received == []


def test_a_receiver_that_is_down_costs_no_run_its_notice(
    holocron: Holocron, instance: dg.DagsterInstance, receiver: Receiver
) -> None:
    _, cursor = tick(holocron, instance, None)
    receiver.behave = answering(500)
    run(instance, good_job)
    said, cursor = tick(holocron, instance, cursor)
    assert said == "team: 0 delivered, 1 failed"
    assert tick(holocron, instance, cursor)[0] == "no notice is due"  # it waits for half a minute


def test_a_webhooks_file_that_cannot_be_used_fails_the_tick_by_its_name(
    holocron: Holocron, instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    (tmp_path / "webhooks.yaml").write_text("webhooks: {team: {url: nowhere}}")
    with pytest.raises(Exception, match=r"webhooks\.yaml: webhooks\.team"):
        tick(holocron, instance, None)


def test_an_alert_over_a_real_lake_is_sent_once_and_shown_by_a_command(
    holocron: Holocron, instance: dg.DagsterInstance, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    resources = {"lake": lake_resource(holocron), "sources": sources_resource(holocron)}
    for name, value in holocron.environment.items():
        monkeypatch.setenv(name, value)

    def judged() -> str:
        with dg.build_sensor_context(instance=instance, resources=resources) as context:
            result: Any = raise_alerts(context)
            return str(result.skip_message)

    _, cursor = tick(holocron, instance, None)
    assert judged() == "nothing is wrong"
    bury(holocron, *titles(holocron)[:4])
    assert judged() == "nothing is wrong"
    bury(holocron, *titles(holocron)[:5])
    for _ in range(2):
        assert judged() == "5 were given up in the last hour"
        _, cursor = tick(holocron, instance, cursor)
    (request,) = [one for one in receiver.received if one.body["type"] == "alert.firing"]
    assert request.body["data"]["rule"] == "exhausted"
    seen = CliRunner().invoke(main, ["alerts"])
    assert seen.exit_code == 1
    assert "5 were given up" in seen.output
