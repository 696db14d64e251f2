"""The sensor that gives work to models, over a real lake, a real instance and a server that speaks Ollama."""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster import DagsterRunStatus
from fake_ollama import LARGE, SMALL, FakeOllama
from sample_dagster import model_dispatch, run_job
from sample_holocron import Holocron
from watched import Watched

from holocron_assets.derive.dispatch.plans import Plan
from holocron_assets.derive.gpu.slots import GPU_POOL, NotedLock
from holocron_assets.lake.journals.journal import Journal
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.tables import GPU_RUNS
from holocron_assets.orchestration.model_runs import dispatch_runs

pytestmark = pytest.mark.system

QUESTION: dict[str, Any] = {
    "version": 1,
    "title": "What a page is about",
    "evidence": [{"source": "page", "label": "Page", "part": "text"}],
    "prompt": "Say what the page is about.",
    "question": "What is {{ title }}?",
    "answer_schema": {
        "type": "object",
        "required": ["kind"],
        "properties": {"kind": {"type": "string", "enum": ["person", "place"], "description": "What it is"}},
    },
    "options": {"num_ctx": 4096, "num_predict": 50},
    "timeout_seconds": 20,
}


class Dispatched:
    """A Holocron with interrogations, whose dispatcher a test ticks."""

    def __init__(self, folder: Path, watched: Watched, ollama: FakeOllama) -> None:
        self.folder, self.watched, self.ollama = folder, watched, ollama
        self.cursor: str | None = None

    def ask(self, key: str, model: str, priority: int) -> None:
        asked = {**QUESTION, "key": key, "model": model, "priority": priority}
        (self.folder / "interrogations" / f"{key}.yaml").write_text(json.dumps(asked), encoding="utf-8")

    def settings(self, text: str) -> None:
        (self.folder / "dispatch.yaml").write_text(text, encoding="utf-8")

    def tick(self, pool: str = "gpu") -> tuple[list[dg.RunRequest], str]:
        tick = self.watched.tick(model_dispatch(pool), self.cursor)
        self.cursor = tick.cursor
        return tick.asked, tick.skipped or ""

    def run(self, request: dg.RunRequest) -> None:
        """Run what was asked for, as the daemon would."""
        result = run_job(
            self.watched.holocron,
            self.watched.instance,
            request.job_name or "",
            resources=request.run_config["resources"],
            tags={**request.tags, "dagster/sensor_name": "model_dispatch"},
        )
        assert result.success


@pytest.fixture
def dispatched(
    tmp_path: Path, finished_sample: Holocron, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Dispatched]:
    holocron = finished_sample.copy_to(tmp_path)
    for folder in ("interrogations", "spaces"):
        (tmp_path / folder).mkdir()
    with FakeOllama() as ollama, dg.DagsterInstance.ephemeral() as instance:
        monkeypatch.setenv("HOLOCRON_LLM", "auto")
        monkeypatch.setenv("OLLAMA_HOST", ollama.url)
        monkeypatch.setenv("HOLOCRON_INTERROGATIONS", str(tmp_path / "interrogations"))
        monkeypatch.setenv("HOLOCRON_SPACES", str(tmp_path / "spaces"))
        monkeypatch.setenv("HOLOCRON_DISPATCH", str(tmp_path / "dispatch.yaml"))
        dispatched = Dispatched(tmp_path, Watched(holocron, instance), ollama)
        dispatched.ask("kinds", SMALL, 500)
        dispatched.ask("facts", LARGE, 400)
        yield dispatched


def later(monkeypatch: pytest.MonkeyPatch, wait: timedelta) -> None:
    """Let the clock of the next ticks be that much ahead."""
    monkeypatch.setattr(dispatch_runs, "utc_now", lambda: utc_now() + wait)


def at(monkeypatch: pytest.MonkeyPatch, moment: datetime) -> None:
    """Let the clock of the next ticks stand at a moment."""
    monkeypatch.setattr(dispatch_runs, "utc_now", lambda: moment)


def test_one_run_is_asked_for_of_the_model_with_the_most_important_work(dispatched: Dispatched) -> None:
    ((request,), _) = dispatched.tick()
    assert request.job_name == "derive"
    assert request.run_config == {"resources": {"what_to_ask": {"config": {"model": SMALL}}}}
    tags = request.tags
    assert (tags["holocron/gpu_model"], tags["holocron/model_pool"]) == (SMALL, "gpu")
    assert (request.run_key or "").startswith(tags["holocron/work"])
    assert dispatched.ollama.loads == {}
    assert dispatched.ollama.chats == []


def test_runs_are_asked_for_until_nothing_is_left_and_each_model_is_loaded_once(
    dispatched: Dispatched,
) -> None:
    dispatched.ollama.answer = lambda _: {"kind": "person"}
    models = []
    for _ in range(2):
        ((request,), _) = dispatched.tick()
        dispatched.run(request)
        models.append(request.tags["holocron/gpu_model"])
    assert models == [SMALL, LARGE]
    assert dispatched.ollama.loads == {SMALL: 1, LARGE: 1}
    calls = len(dispatched.ollama.chats)
    assert calls > 20
    assert dispatched.tick() == ([], "Nothing is to be asked.")
    assert len(dispatched.ollama.chats) == calls


def test_a_batch_in_which_nothing_is_wanted_is_completed_without_a_load(
    dispatched: Dispatched, tmp_path: Path
) -> None:
    (tmp_path / "interrogations" / "facts.yaml").unlink()
    nothing = {**QUESTION, "key": "kinds", "model": SMALL, "priority": 1, "wants": {"sql": "false"}}
    (tmp_path / "interrogations" / "kinds.yaml").write_text(json.dumps(nothing), encoding="utf-8")
    dispatched.run(dispatched.tick()[0][0])
    assert dispatched.tick() == ([], "Nothing is to be asked.")
    assert (dispatched.ollama.loads, dispatched.ollama.chats) == ({}, [])


def test_the_loaded_model_stays_where_another_has_as_much(dispatched: Dispatched) -> None:
    dispatched.ask("facts", LARGE, 500)
    dispatched.ollama.loaded[SMALL] = 4096
    assert dispatched.tick()[0][0].tags["holocron/gpu_model"] == SMALL


def test_the_same_tick_twice_asks_for_the_same_run(dispatched: Dispatched) -> None:
    assert dispatched.tick()[0][0].run_key == dispatched.tick()[0][0].run_key


@pytest.mark.parametrize("status", [DagsterRunStatus.NOT_STARTED, DagsterRunStatus.STARTED])
def test_nothing_is_asked_for_while_a_run_asks_a_model(
    dispatched: Dispatched, status: DagsterRunStatus
) -> None:
    dispatched.watched.store_run(dispatched.tick()[0][0], status)
    asked, why = dispatched.tick()
    assert (asked, why) == ([], f"models are at work: {SMALL}")


def test_nothing_is_asked_for_while_a_person_s_run_has_the_pool(
    dispatched: Dispatched, tmp_path: Path
) -> None:
    # An instance in memory has no pools.
    with dg.DagsterInstance.local_temp(str(tmp_path)) as lasting:
        lasting.event_log_storage.set_concurrency_slots(GPU_POOL, 1)
        lasting.event_log_storage.claim_concurrency_slot(GPU_POOL, "a-person-s-run", "derived_kinds")
        dispatched.watched = Watched(dispatched.watched.holocron, lasting)
        asked, why = dispatched.tick()
    assert (asked, why) == ([], "models are at work: run a-person-s-run")


def test_nothing_is_asked_for_while_a_process_has_the_gpu(dispatched: Dispatched) -> None:
    lock = NotedLock(dispatched.watched.holocron.lake, "gpu-gpu")
    assert lock.try_take("a question")
    asked, why = dispatched.tick()
    lock.give_back()
    assert asked == []
    assert why.startswith("models are at work: a question (process ")
    assert dispatched.tick()[0]


def test_after_failures_the_model_is_tried_again_later_and_later(
    dispatched: Dispatched, monkeypatch: pytest.MonkeyPatch
) -> None:
    del dispatched.ollama.models[LARGE]
    ((first,), _) = dispatched.tick()
    earliest, latest = store_failure(dispatched, first)
    asked, why = dispatched.tick()
    assert asked == []
    assert why.startswith(f"{SMALL} is due at ")
    for seconds in (10, 20, 40, 120, 600, 600):
        at(monkeypatch, earliest + timedelta(seconds=seconds - 1))
        assert dispatched.tick()[0] == []
        at(monkeypatch, latest + timedelta(seconds=seconds + 1))
        ((again,), _) = dispatched.tick()
        assert again.run_key != first.run_key
        assert ("dagster/parent_run_id" in again.tags) == (seconds <= 40)
        earliest, latest = store_failure(dispatched, again)


def store_failure(dispatched: Dispatched, request: dg.RunRequest) -> tuple[datetime, datetime]:
    """Record that the run failed, and give the moments between which it did, on a machine of any speed."""
    earliest = utc_now()
    dispatched.watched.store_run(request, DagsterRunStatus.FAILURE)
    return earliest, utc_now()


def test_while_a_model_rests_after_a_failure_another_has_its_place(dispatched: Dispatched) -> None:
    dispatched.watched.store_run(dispatched.tick()[0][0], DagsterRunStatus.FAILURE)
    ((request,), _) = dispatched.tick()
    assert request.tags["holocron/gpu_model"] == LARGE


def test_a_changed_prompt_is_tried_at_once_after_a_failure(
    dispatched: Dispatched, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    del dispatched.ollama.models[LARGE]
    dispatched.watched.store_run(dispatched.tick()[0][0], DagsterRunStatus.FAILURE)
    assert dispatched.tick()[0] == []
    (tmp_path / "interrogations").rename(tmp_path / "changed")  # as after a reload of the code location
    monkeypatch.setenv("HOLOCRON_INTERROGATIONS", str(tmp_path / "changed"))
    changed = tmp_path / "changed" / "kinds.yaml"
    changed.write_text(changed.read_text().replace("Say what", "Tell what"), encoding="utf-8")
    assert dispatched.tick()[0]


def test_a_run_that_changed_nothing_is_not_followed_by_another_at_once(
    dispatched: Dispatched, monkeypatch: pytest.MonkeyPatch
) -> None:
    del dispatched.ollama.models[LARGE]
    dispatched.watched.store_run(dispatched.tick()[0][0], DagsterRunStatus.SUCCESS)
    assert dispatched.tick()[0] == []
    later(monkeypatch, timedelta(seconds=31))
    assert dispatched.tick()[0]


def test_models_that_are_not_to_be_asked_are_not(
    dispatched: Dispatched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLOCRON_LLM", "off")
    assert dispatched.tick() == ([], "no model is asked: HOLOCRON_LLM is off")
    assert dispatched.ollama.gets == {}


def test_a_server_that_is_down_is_waited_for(dispatched: Dispatched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")
    asked, why = dispatched.tick()
    assert asked == []
    assert "no model server answers" in why


def test_where_no_server_runs_the_embedded_one_counts_as_having_what_it_could_fetch(
    dispatched: Dispatched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLOCRON_LLM", "embedded")
    monkeypatch.setenv("HOLOCRON_DATA", str(dispatched.watched.holocron.lake.root))
    monkeypatch.setenv("HOLOCRON_MODEL", "smollm2:135m")
    assert dispatched.tick()[0][0].tags["holocron/gpu_model"] == "smollm2:135m"
    assert not (dispatched.watched.holocron.lake.locks / "model-server.json").exists()


def test_a_model_that_the_server_lacks_has_no_turn(dispatched: Dispatched) -> None:
    del dispatched.ollama.models[SMALL]
    assert dispatched.tick()[0][0].tags["holocron/gpu_model"] == LARGE


def test_a_model_that_the_server_lacks_is_named_with_how_to_get_it(dispatched: Dispatched) -> None:
    dispatched.ollama.models.clear()
    asked, why = dispatched.tick()
    assert asked == []
    assert f"the model server has not got {SMALL}: `ollama pull {SMALL}` gets it" in why


def test_after_a_failure_for_good_other_work_does_not_wait_for_an_hour(
    dispatched: Dispatched, monkeypatch: pytest.MonkeyPatch
) -> None:
    del dispatched.ollama.models[LARGE]
    ((request,), _) = dispatched.tick()
    with monkeypatch.context() as switched_off:
        switched_off.setenv("HOLOCRON_LLM", "off")
        result = run_job(
            dispatched.watched.holocron,
            dispatched.watched.instance,
            request.job_name or "",
            resources=request.run_config["resources"],
            tags=request.tags,
        )
    assert not result.success
    later(monkeypatch, timedelta(minutes=11))
    assert dispatched.tick()[0] == []
    monkeypatch.setattr(Plan, "progress", "another batch came")
    assert dispatched.tick()[0]


def test_in_shadow_mode_what_would_be_launched_is_recorded_once_and_nothing_is_launched(
    dispatched: Dispatched,
) -> None:
    dispatched.settings("mode: shadow")
    for _ in range(2):
        asked, why = dispatched.tick()
        assert (asked, why) == ([], f"shadow mode: would launch {SMALL}; nothing is launched")
    with Journal(dispatched.watched.holocron.lake.journal(GPU_RUNS, "shadow")) as journal:
        (record,) = journal.records()
    assert (record["model"], record["pool"]) == (SMALL, "gpu")
    assert record["reasons"][0].startswith(f"{SMALL} has the highest priority, ")
    assert record["turns"] == [{"interrogation": "kinds", "items": 100}]


def test_a_settings_file_that_cannot_be_read_stops_nothing_but_the_dispatcher(dispatched: Dispatched) -> None:
    dispatched.settings("mode: perhaps")
    asked, why = dispatched.tick()
    assert asked == []
    assert "dispatch.yaml: mode: " in why


def test_with_one_run_over_everything_code_and_models_take_turns_by_priority(
    dispatched: Dispatched, tmp_path: Path
) -> None:
    counts = {key: QUESTION[key] for key in ("version", "title", "answer_schema")}
    asked = {**counts, "key": "counts", "kind": "sql", "sql": "select 'person' as kind", "priority": 900}
    (tmp_path / "interrogations" / "counts.yaml").write_text(json.dumps(asked), encoding="utf-8")
    dispatched.settings("policy: global")
    nothing, why = dispatched.tick()
    assert (nothing, why.startswith("sql has the highest priority, 900")) == ([], True)
    ((request,), _) = dispatched.tick("code")
    assert request.job_name == "derive_code"
    dispatched.watched.store_run(request, DagsterRunStatus.STARTED)
    assert dispatched.tick() == ([], "models are at work: sql")


def test_with_one_run_over_everything_code_goes_on_without_a_model_server(
    dispatched: Dispatched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = {key: QUESTION[key] for key in ("version", "title", "answer_schema")}
    asked = {**counts, "key": "counts", "kind": "sql", "sql": "select 'person' as kind", "priority": 1}
    (tmp_path / "interrogations" / "counts.yaml").write_text(json.dumps(asked), encoding="utf-8")
    dispatched.settings("policy: global")
    assert dispatched.tick("code")[0] == []
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")
    assert len(dispatched.tick("code")[0]) == 1
