"""The assets of interrogations: declared from data, filled by hand, and by backfills over several models."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from asked import interrogation
from asked_holocron import AskedHolocron, asked_holocron, write_interrogation
from dagster import DagsterRunStatus
from dagster._core.definitions.automation_tick_evaluation_context import (
    build_run_requests_with_backfill_policies,
)
from dagster._core.definitions.events import AssetKeyPartitionKey
from dagster._core.definitions.partitions.context import partition_loading_context
from dagster._core.storage.tags import ASSET_PARTITION_RANGE_END_TAG, ASSET_PARTITION_RANGE_START_TAG
from fake_ollama import LARGE, SMALL, FakeOllama, malformed
from sample_dagster import definitions_of, failure_message
from starlette.applications import Starlette
from starlette.testclient import TestClient

from holocron_assets.decisions.controls import PAUSE, Scope, control
from holocron_assets.derive.dispatch.pools import DispatchSettings
from holocron_assets.derive.gpu.slots import GPU_POOL
from holocron_assets.derive.interrogations.loading import follow_files
from holocron_assets.orchestration.assets.derivations import model_groups
from holocron_assets.orchestration.runs.failures import failure_of
from holocron_assets.orchestration.runtime.endpoints import make_endpoints
from holocron_assets.review.web.endpoints import endpoint_routes

pytestmark = pytest.mark.system

_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AskedHolocron]:
    """Five batches, and four interrogations of two models, their priorities mixed."""
    monkeypatch.setattr("holocron_assets.derive.engine.engine.PAUSES", (0.0, 0.0, 0.0))
    write_interrogation(tmp_path, "kinds", SMALL, 500)
    write_interrogation(tmp_path, "facts", LARGE, 450, prompt="Say facts.")
    write_interrogation(tmp_path, "more", SMALL, 400, prompt="Say more.")
    write_interrogation(tmp_path, "tries", LARGE, 300, shadow=True, version=7, prompt="Try it.")
    with FakeOllama(slots=2, load_seconds=0.25) as ollama:
        yield asked_holocron(tmp_path, ollama, monkeypatch, batches=5, pages=2)


@pytest.fixture
def instance(asked: AskedHolocron, tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    (tmp_path / "dagster").mkdir()
    with dg.DagsterInstance.local_temp(str(tmp_path / "dagster")) as temporary:
        temporary.add_dynamic_partitions("batches", list(asked.batches))
        temporary.event_log_storage.set_concurrency_slots(GPU_POOL, 1)
        yield temporary


def materialize(
    asked: AskedHolocron, instance: dg.DagsterInstance, *names: str, partition: str | None = None
) -> dg.ExecuteInProcessResult:
    """What the UI's Materialize button starts: of one partition, or of all in one run."""
    definitions = definitions_of(asked.holocron)
    batches = asked.batches
    everything = {ASSET_PARTITION_RANGE_START_TAG: batches[0], ASSET_PARTITION_RANGE_END_TAG: batches[-1]}
    return definitions.resolve_implicit_global_asset_job_def().execute_in_process(
        instance=instance,
        asset_selection=[dg.AssetKey(name) for name in names],
        partition_key=partition,
        tags={} if partition else everything,
        run_config=_QUIET,
        raise_on_error=False,
    )


def materialized(result: dg.ExecuteInProcessResult) -> list[tuple[str, str | None]]:
    """Assets and partitions that a run materialized."""
    events = [
        one.step_materialization_data.materialization for one in result.get_asset_materialization_events()
    ]
    return sorted((one.asset_key.to_user_string(), one.partition) for one in events)


def test_each_interrogation_is_an_asset_of_its_name_with_what_it_reads_above_it(asked: AskedHolocron) -> None:
    graph = definitions_of(asked.holocron).resolve_asset_graph()
    own = {key.to_user_string() for key in graph.get_all_asset_keys()}
    assert {"derived_kinds", "derived_facts", "derived_more", "shadow_tries_7"} <= own
    node = graph.get(dg.AssetKey("derived_kinds"))
    assert {key.to_user_string() for key in node.parent_keys} == {"pages", "page_signals", "page_types"}
    assert (node.group_name, node.pools) == ("derivations", {"gpu"})
    assert node.metadata["model"] == "small:1b"
    assert graph.get(dg.AssetKey("shadow_tries_7")).tags["shadow"] == "true"


def test_models_whose_names_differ_only_in_marks_or_capitals_have_steps_of_their_own() -> None:
    models = ("qwen2.5:1b", "Qwen2.5:1b", "qwen2.5-1b", "other")
    several = [interrogation(key=f"kinds_{place}", model=model) for place, model in enumerate(models)]
    names = [group.name for group in model_groups(several, DispatchSettings())]
    assert len(set(names)) == len(models)
    assert "ask_other" in names
    assert all(re.fullmatch("[a-z0-9_]+", name) for name in names)


def test_a_partition_that_a_person_materializes_is_asked_about_and_recorded(
    asked: AskedHolocron, instance: dg.DagsterInstance
) -> None:
    result = materialize(asked, instance, "derived_kinds", partition=asked.batches[1])
    assert result.success
    assert materialized(result) == [("derived_kinds", asked.batches[1])]
    (event,) = result.get_asset_materialization_events()
    metadata = event.step_materialization_data.materialization.metadata
    assert (metadata["items"].value, metadata["calls"].value, metadata["loads"].value) == (2, 2, 1)
    assert [row["started_by"] for row in asked.gpu_runs] == ["person"]


def test_a_backfill_over_two_models_and_five_partitions_loads_each_model_once(
    asked: AskedHolocron, instance: dg.DagsterInstance
) -> None:
    names = ["derived_kinds", "derived_facts", "derived_more", "shadow_tries_7"]
    result = materialize(asked, instance, *names)
    assert result.success
    assert materialized(result) == sorted((name, batch) for name in names for batch in asked.batches)
    assert asked.models_asked() == [SMALL, LARGE]
    assert asked.ollama.loads == {SMALL: 1, LARGE: 1}
    assert len(asked.ollama.chats) == 4 * 5 * 2


def test_the_backfill_of_a_person_is_one_run_for_all_models_and_others_keep_one_a_partition(
    asked: AskedHolocron, instance: dg.DagsterInstance
) -> None:
    """What Dagster's daemon does with a backfill that is started in the UI."""
    graph = definitions_of(asked.holocron).resolve_asset_graph()
    names = ["derived_kinds", "derived_facts", "derived_more", "shadow_tries_7", "page_types"]
    wanted = [AssetKeyPartitionKey(dg.AssetKey(name), batch) for name in names for batch in asked.batches]
    with partition_loading_context(dynamic_partitions_store=instance):
        requests = build_run_requests_with_backfill_policies(
            asset_partitions=wanted, asset_graph=graph, dynamic_partitions_store=instance
        )
    models = [one for one in requests if dg.AssetKey("page_types") not in (one.asset_selection or [])]
    assert len(requests) == 6
    assert [len(one.asset_selection or []) for one in models] == [4]
    assert models[0].tags[ASSET_PARTITION_RANGE_START_TAG] == asked.batches[0]
    assert models[0].tags[ASSET_PARTITION_RANGE_END_TAG] == asked.batches[-1]


def test_of_steps_that_wait_for_the_gpu_those_of_one_model_go_before_all_of_the_next(
    asked: AskedHolocron,
) -> None:
    """A backfill with a gap is a run for each range: the pool gives its slot by the steps' priorities."""
    graph = definitions_of(asked.holocron).resolve_implicit_global_asset_job_def()
    priorities = {
        node.name: int(node.definition.tags["dagster/priority"])
        for node in graph.graph.nodes
        if "dagster/priority" in node.definition.tags
    }
    assert priorities["ask_small_1b"] > priorities["ask_large_7b"]


@pytest.mark.parametrize(("prompt", "other"), [("Say more", "derived_kinds"), ("Say what", "derived_more")])
def test_what_one_interrogation_leaves_undone_keeps_no_other_of_its_model_from_being_asked(
    asked: AskedHolocron, instance: dg.DagsterInstance, prompt: str, other: str
) -> None:
    asked.ollama.on[prompt] = malformed()
    result = materialize(asked, instance, "derived_more", "derived_kinds")
    assert not result.success
    assert set(materialized(result)) >= {(other, batch) for batch in asked.batches}


def test_a_hold_of_one_interrogation_hides_no_failure_of_another(
    asked: AskedHolocron, instance: dg.DagsterInstance
) -> None:
    control(asked.holocron.lake, PAUSE, Scope("interrogation", "kinds"), author="Ann", reason="wait")
    asked.ollama.on["Say more"] = malformed()
    result = materialize(asked, instance, "derived_more", "derived_kinds")
    run = instance.get_run_by_id(result.run_id)
    assert run
    assert run.status == DagsterRunStatus.FAILURE
    assert "10 of 10 remain" in failure_of(instance, result.run_id).reason


def test_what_cannot_be_completed_fails_with_counts_and_when_it_is_due(
    asked: AskedHolocron, instance: dg.DagsterInstance
) -> None:
    asked.ollama.on["Page wiki3 1"] = malformed()
    result = materialize(asked, instance, "derived_kinds")
    assert not result.success
    failure = failure_of(instance, result.run_id)
    assert failure.due_at is not None
    assert failure.reason == f"1 of 10 remain, due {failure.due_at:%H:%M} UTC"
    assert materialized(result) == [("derived_kinds", batch) for batch in asked.batches], (
        "what is answered is recorded all the same"
    )
    run = instance.get_run_by_id(result.run_id)
    assert run is not None
    assert run.status == DagsterRunStatus.FAILURE
    asked.ollama.on.clear()
    calls = len(asked.ollama.chats)
    assert not materialize(asked, instance, "derived_kinds").success, "it is not due yet"
    assert len(asked.ollama.chats) == calls


def test_switched_off_models_fail_a_person_s_run_with_what_to_set(
    asked: AskedHolocron, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLOCRON_LLM", "off")
    result = materialize(asked, instance, "derived_kinds", partition=asked.batches[0])
    assert "HOLOCRON_LLM is off, so no model can be asked" in failure_message(result)


def test_a_person_s_run_asks_no_build_that_a_space_leaves_out_and_asks_the_others(
    asked: AskedHolocron, instance: dg.DagsterInstance
) -> None:
    space: dict[str, Any] = {
        "version": 1,
        "title": "Words of a passage",
        "model": SMALL,
        "priority": 600,
        "embedding": {"dimensions": 8, "digests": ["0" * 64]},
        "num_ctx": 4096,
        "timeout_seconds": 60,
    }
    file = asked.holocron.folder / "spaces" / "words.yaml"
    file.write_text(json.dumps({"key": "words", **space}), encoding="utf-8")
    follow_files()
    names = ("chunk_embeddings_words", "derived_kinds")
    result = materialize(asked, instance, *names, partition=asked.batches[0])
    assert "chunk_embeddings_words asks only the builds of small:1b" in failure_message(result)
    assert asked.ollama.embeds == []
    assert materialized(result) == [("derived_kinds", asked.batches[0])]


def test_dropping_an_interrogation_in_makes_an_asset_and_nothing_else_changes(asked: AskedHolocron) -> None:
    before: dict[str, Any] = _described(asked)
    write_interrogation(asked.holocron.folder, "dropped", SMALL, 350)
    follow_files()
    after = _described(asked)
    assert after.pop("derived_dropped") == ({"pages", "page_signals", "page_types"}, {"gpu"})
    assert after == before


def test_the_status_over_http_knows_an_interrogation_that_came_while_it_is_served(
    asked: AskedHolocron, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holocron_assets.operations.state.kept_snapshot._KEPT_SECONDS", 0.0)
    monkeypatch.setattr("holocron_assets.operations.state.kept_snapshot._SHARE_OF_TIME", 1.0)
    endpoints = make_endpoints(lambda: instance)
    client = TestClient(Starlette(routes=endpoint_routes(lambda: endpoints)))

    def known() -> set[str]:
        return {one["interrogation"] for one in client.get("/status").json()["interrogations"]}

    assert known() == {"kinds", "facts", "more", "tries_shadow_7"}
    write_interrogation(asked.holocron.folder, "dropped", SMALL, 350)
    assert "dropped" in known()


def _described(asked: AskedHolocron) -> dict[str, Any]:
    graph = definitions_of(asked.holocron).resolve_asset_graph()
    nodes = [graph.get(key) for key in graph.get_all_asset_keys()]
    return {
        node.key.to_user_string(): ({key.to_user_string() for key in node.parent_keys}, node.pools)
        for node in nodes
        if node.is_materializable
    }


def test_checks_warn_of_what_was_given_up_and_of_quotes_that_are_not_there(
    asked: AskedHolocron, instance: dg.DagsterInstance
) -> None:
    schema = {
        "type": "object",
        "required": ["quote"],
        "properties": {"quote": {"type": "string", "maxLength": 60, "description": "Where it says so"}},
    }
    write_interrogation(
        asked.holocron.folder, "quoted", SMALL, 350, answer_schema=schema, rows={"quotes": ["quote"]}
    )
    follow_files()
    asked.ollama.answer = lambda chat: {"quote": "is a pilot" if "wiki1" in chat.prompt else "was never said"}
    assert materialize(asked, instance, "derived_quoted").success
    result = (
        definitions_of(asked.holocron)
        .resolve_job_def("check_quality")
        .execute_in_process(instance=instance, run_config=_QUIET)
    )
    said = {
        (one.asset_key.to_user_string(), one.check_name): (one.passed, one.description, one.severity.value)
        for one in result.get_asset_check_evaluations()
    }
    assert said["derived_quoted", "quotes_are_found"] == (
        False,
        "8 of 10 rows quote what is not there; the limit is 20%",
        "WARN",
    )
    assert said["derived_quoted", "few_are_given_up"] == (
        True,
        "0 of 10 items were given up; the limit is 5%",
        "WARN",
    )
    assert ("derived_kinds", "quotes_are_found") not in said
