"""The job that asks models: what it materializes, how it reports what remains, and what stops it."""

import errno
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from asked_holocron import AskedHolocron, asked_holocron, write_interrogation
from fake_ollama import LARGE, SMALL, FakeOllama, malformed, out_of_memory, refused_url
from sample_dagster import failure_message, run_job

from holocron_assets.derive.gpu import model_run, open_partitions
from holocron_assets.derive.gpu.open_partitions import OpenPartition
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.interrogations.loading import follow_files
from holocron_assets.lake.place.paths import Lake
from holocron_assets.orchestration.assets.events import RECORDED_LATE
from holocron_assets.orchestration.model_runs import dispatched_runs
from holocron_assets.orchestration.model_runs.asking import written_event
from holocron_assets.orchestration.model_runs.what_to_ask import WhatToAsk
from holocron_assets.orchestration.runs.failures import failure_of
from holocron_assets.planning.job_names import OUTCOME_TAG


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as ephemeral:
        yield ephemeral


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AskedHolocron]:
    """Two batches of three pages, and two interrogations of one model."""
    monkeypatch.setattr("holocron_assets.derive.engine.engine.PAUSES", (0.0, 0.0, 0.0))
    write_interrogation(tmp_path, "kinds", SMALL, 500)
    write_interrogation(tmp_path, "more", SMALL, 400, prompt="Say more of the page.")
    with FakeOllama(slots=2) as ollama:
        yield asked_holocron(tmp_path, ollama, monkeypatch, batches=2, pages=3)


def derive(
    asked: AskedHolocron, instance: dg.DagsterInstance, *, dispatched: bool = False, **what: Any
) -> dg.ExecuteInProcessResult:
    """Run the job, by a person's hand or as the dispatcher asks for it."""
    resources = WhatToAsk(**what).run_config().get("resources")
    tags = {"dagster/sensor_name": "model_dispatch"} if dispatched else {}
    return run_job(asked.holocron, instance, "derive", resources=resources, tags=tags)


def materialized(result: dg.ExecuteInProcessResult) -> dict[tuple[str, str | None], dict[str, Any]]:
    """Metadata by asset and partition."""
    materializations = [
        event.step_materialization_data.materialization for event in result.get_asset_materialization_events()
    ]
    return {
        (one.asset_key.to_user_string(), one.partition): {
            name: value.value for name, value in one.metadata.items()
        }
        for one in materializations
    }


def outcome(instance: dg.DagsterInstance, result: dg.ExecuteInProcessResult) -> str:
    run = instance.get_run_by_id(result.run_id)
    assert run is not None
    return run.tags[OUTCOME_TAG]


@pytest.mark.system
def test_files_whose_step_failed_before_it_recorded_them_are_recorded_when_it_is_tried_again(
    asked: AskedHolocron, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed: list[str] = []

    def fails_once(*work: Any) -> dg.AssetMaterialization:
        if not failed:
            failed.append("the disk")
            raise OSError(errno.EIO, "a disk that fails once")
        return written_event(*work)

    monkeypatch.setattr(dispatched_runs, "written_event", fails_once)
    result = derive(asked, instance, model=SMALL, dispatched=True)
    assert result.success
    materializations = [
        event.step_materialization_data.materialization for event in result.get_asset_materialization_events()
    ]
    # A partition that was begun before the failure is replaced again when it is done.
    assert {(one.asset_key.to_user_string(), one.partition) for one in materializations} == {
        (f"derived_{name}", batch) for name in ("kinds", "more") for batch in asked.batches
    }
    assert RECORDED_LATE in {one.description for one in materializations}
    assert not materialized(derive(asked, instance, model=SMALL, dispatched=True))


def test_a_run_materializes_each_partition_that_became_complete(
    asked: AskedHolocron, instance: dg.DagsterInstance
) -> None:
    result = derive(asked, instance, model=SMALL, dispatched=True)
    assert result.success
    said = materialized(result)
    assert said.keys() == {
        (f"derived_{name}", batch) for name in ("kinds", "more") for batch in asked.batches
    }
    one = said["derived_kinds", asked.batches[0]]
    assert (one["items"], one["answered"], one["calls"], one["dagster/row_count"]) == (3, 3, 3, 3)
    assert (one["given_up"], one["unsupported_rows"], one["tokens_out"]) == (0, 0, 60)
    assert '"kind"' in one["sample_answers"].replace("\\", "")
    assert outcome(instance, result) == "complete"
    (row,) = asked.gpu_runs
    assert (row["started_by"], row["loads"], row["calls"], row["partitions_completed"]) == (
        "dispatch",
        0,
        12,
        4,
    )
    assert row["run_id"] == result.run_id


def test_a_second_run_asks_nothing(asked: AskedHolocron, instance: dg.DagsterInstance) -> None:
    assert derive(asked, instance).success
    calls = len(asked.ollama.chats)
    again = derive(asked, instance)
    assert again.success
    assert (len(asked.ollama.chats), materialized(again)) == (calls, {})
    assert outcome(instance, again) == "complete"


def test_an_item_that_failed_for_now_is_reported_and_left_to_the_dispatcher(
    asked: AskedHolocron, instance: dg.DagsterInstance
) -> None:
    asked.ollama.on["Page wiki1 1"] = malformed()
    result = derive(asked, instance, model=SMALL, dispatched=True)
    assert result.success, "an item's fault fails no run"
    said = materialized(result)
    assert {place: one["dagster/row_count"] for place, one in said.items()} == {
        ("derived_kinds", "wiki1-000001"): 2,
        ("derived_kinds", "wiki2-000001"): 3,
        ("derived_more", "wiki1-000001"): 2,
        ("derived_more", "wiki2-000001"): 3,
    }, "what is answered is in the tables, whatever waits"
    assert outcome(instance, result) == "partial"
    assert asked.gpu_runs[0]["reason"].startswith("2 of 12 remain, due ")


def test_a_run_works_on_the_items_that_it_is_given_and_no_others(
    asked: AskedHolocron, instance: dg.DagsterInstance
) -> None:
    result = derive(asked, instance, interrogations=["more"], partitions=["wiki2-000001"], items=2)
    assert result.success
    assert len(asked.ollama.chats) == 2
    assert list(materialized(result)) == [("derived_more", "wiki2-000001")]
    assert all("wiki2" in chat.prompt and "Say more" in chat.prompt for chat in asked.ollama.chats)
    assert outcome(instance, result) == "partial"


def test_a_person_who_names_a_model_is_not_kept_waiting_by_another_of_higher_priority(
    asked: AskedHolocron, instance: dg.DagsterInstance
) -> None:
    write_interrogation(asked.holocron.folder, "first", LARGE, 900)
    follow_files()
    assert outcome(instance, derive(asked, instance, model=SMALL, dispatched=True)) == "stopped"
    assert asked.ollama.chats == []
    assert outcome(instance, derive(asked, instance, model=SMALL)) == "complete"
    assert asked.models_asked() == [SMALL]


def test_a_named_model_that_nothing_asks_fails_the_run_with_those_that_are_asked(
    asked: AskedHolocron, instance: dg.DagsterInstance
) -> None:
    result = derive(asked, instance, model="smal:1b")
    assert not result.success
    assert f"no chosen interrogation asks 'smal:1b' now; they ask {SMALL}" in failure_message(result)
    assert asked.ollama.chats == []


def test_a_run_opens_no_more_partitions_than_its_items_need(
    asked: AskedHolocron, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, opens = list[str](), open_partitions.open_partition

    def counted(lake: Lake, one: Interrogation, partition: str, **how: Any) -> OpenPartition | None:
        opened.append(partition)
        return opens(lake, one, partition, **how)

    monkeypatch.setattr(model_run, "open_partition", counted)
    assert derive(asked, instance, items=2).success
    assert len(opened) == 2, "one of each interrogation"
    assert len(asked.ollama.chats) == 4


def test_a_server_without_memory_fails_the_run_with_what_to_do(
    asked: AskedHolocron, instance: dg.DagsterInstance
) -> None:
    asked.ollama.on["Page"] = out_of_memory()
    result = derive(asked, instance)
    assert not result.success
    assert "choose a smaller model or num_ctx" in failure_message(result)
    assert failure_of(instance, result.run_id).is_permanent


def test_a_server_that_is_gone_fails_the_run_until_it_may_be_back(
    asked: AskedHolocron, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", refused_url())
    result = derive(asked, instance)
    assert not result.success
    failure = failure_of(instance, result.run_id)
    assert "no model server answers" in failure.reason
    assert failure.due_at is not None
    assert not failure.is_permanent


def test_with_models_switched_off_a_run_says_so(
    asked: AskedHolocron, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLOCRON_LLM", "off")
    result = derive(asked, instance)
    assert not result.success
    assert "HOLOCRON_LLM is off" in failure_message(result)


def test_a_missing_model_is_named_with_how_to_get_it(
    asked: AskedHolocron, instance: dg.DagsterInstance
) -> None:
    asked.ollama.models.clear()
    result = derive(asked, instance)
    assert not result.success
    assert "has none of small:1b" in failure_message(result)
    assert "ollama pull" in failure_message(result)


def test_an_interrogation_that_is_not_there_is_named_with_those_that_are(
    asked: AskedHolocron, instance: dg.DagsterInstance
) -> None:
    result = derive(asked, instance, interrogations=["kind"])
    assert "no interrogation is called kind; there are kinds, more" in failure_message(result)
