"""What a person holds back: no path starts it, runs under way stop in order, nothing is lost or counted."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from asked_holocron import AskedHolocron, asked_holocron, write_interrogation
from dagster import DagsterRunStatus
from fake_mediawiki import FakeWiki
from fake_ollama import SMALL, FakeOllama
from sample_dagster import definitions_of, model_dispatch, run_job
from sample_holocron import SAMPLE_BATCH, SAMPLE_EXPORT, Holocron, fetch, list_seeds_and_cut, sample_holocron
from tiny_wiki import add_tiny_source, tiny_wiki
from watched import Watched

from holocron_assets.crawl.frontier.batches import cut_batches, unfinished_batches
from holocron_assets.decisions.controls import ALL, DRAIN, PAUSE, PRIORITIZE, RESUME, Scope, control
from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.place import pressure
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import BATCH_PAGES, PAGE_LINKS, PAGES
from holocron_assets.orchestration.model_runs.what_to_ask import WhatToAsk
from holocron_assets.orchestration.runs.failures import failure_of
from holocron_assets.orchestration.sensors import changes as change_sensor
from holocron_assets.orchestration.sensors import crawl_and_entities as sensors
from holocron_assets.planning import work
from holocron_assets.planning.holding import hold_on
from holocron_assets.planning.job_names import OUTCOME_TAG, UPKEEP_JOB
from holocron_assets.planning.work import Work

pytestmark = pytest.mark.system

SAMPLE, TINY = Scope("source", "sample"), Scope("source", "tiny")
MANY = {f"Page {number}": "'''A page''' is a pilot." for number in range(60)}
"""More pages than a request asks for."""


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as ephemeral:
        yield ephemeral


@pytest.fixture
def watched(tmp_path: Path, instance: dg.DagsterInstance) -> Watched:
    return Watched(sample_holocron(tmp_path), instance)


def say(lake: Lake, action: str, scope: Scope, priority: int | None = None) -> None:
    assert control(lake, action, scope, author="ada", reason="I know", priority=priority)


def status_of(instance: dg.DagsterInstance, result: dg.ExecuteInProcessResult) -> tuple[str, str | None]:
    """How a run ended, and its outcome."""
    run = instance.get_run_by_id(result.run_id)
    assert run
    return run.status.value, run.tags.get(OUTCOME_TAG)


def test_nothing_of_a_paused_source_is_listed_or_cut_and_the_tick_says_why(watched: Watched) -> None:
    lake = watched.holocron.lake
    say(lake, PAUSE, SAMPLE)
    tick = watched.tick(sensors.new_pages)
    assert tick.asked == []
    assert "source sample is paused" in (tick.skipped or "")
    list_seeds_and_cut(watched.holocron)
    assert watched.tick(sensors.new_pages).asked == []
    say(lake, RESUME, SAMPLE)
    assert watched.tick(sensors.new_pages).work == [("crawl_batch", SAMPLE_BATCH)]


def test_a_paused_source_is_not_cut_either(watched: Watched) -> None:
    watched.run(watched.tick(sensors.new_pages).asked[0])
    say(watched.holocron.lake, DRAIN, SAMPLE)
    tick = watched.tick(sensors.new_pages)
    assert (tick.asked, watched.holocron.lake.partitions(BATCH_PAGES)) == ([], [])
    assert "source sample is drained" in (tick.skipped or "")


def test_a_drain_lets_a_batch_be_finished_that_was_begun_and_no_other(watched: Watched) -> None:
    lake = watched.holocron.lake
    watched.holocron.add_source("sample", SAMPLE_EXPORT, more="batch_size: 100\n")
    first, *others = list_seeds_and_cut(watched.holocron)
    assert others
    fetch(watched.holocron, [first])
    lake.file(PAGES, first).rename(lake.journal(PAGES, first))  # as one that is being read
    say(lake, DRAIN, SAMPLE)
    assert watched.tick(sensors.new_pages).work == [("crawl_batch", first)]
    say(lake, PAUSE, SAMPLE)
    assert watched.tick(sensors.new_pages).work == []
    assert set(unfinished_batches(lake, "sample")) == {first, *others}


def test_a_drain_lets_what_follows_from_a_batch_be_made_once_and_not_anew(watched: Watched) -> None:
    lake = watched.holocron.lake
    fetch(watched.holocron, list_seeds_and_cut(watched.holocron))
    say(lake, DRAIN, SAMPLE)
    (request,) = watched.tick(sensors.settle).asked
    watched.run(request)
    assert lake.has(PAGE_LINKS, SAMPLE_BATCH)
    assert watched.tick(sensors.settle).asked == []
    lake.file(PAGE_LINKS, SAMPLE_BATCH).unlink()
    say(lake, PAUSE, SAMPLE)
    tick = watched.tick(sensors.settle)
    assert tick.asked == []
    assert "source sample is paused" in (tick.skipped or "")


def test_entities_do_not_wait_for_batches_of_a_paused_source(watched: Watched) -> None:
    lake = watched.holocron.lake
    fetch(watched.holocron, list_seeds_and_cut(watched.holocron))
    watched.run(watched.tick(sensors.settle).asked[0])
    lake.file(PAGES, SAMPLE_BATCH).rename(lake.root / "aside")
    assert "batches are in flight" in (watched.tick(sensors.promotion).skipped or "")
    say(lake, PAUSE, SAMPLE)
    assert watched.tick(sensors.promotion).work == [("tag_and_review", None)]
    say(lake, PAUSE, ALL)
    tick = watched.tick(sensors.promotion)
    assert tick.asked == []
    assert "everything is paused" in (tick.skipped or "")


def test_while_everything_is_paused_and_nothing_changes_the_lake_is_read_for_entities_once(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = watched.holocron.lake
    fetch(watched.holocron, list_seeds_and_cut(watched.holocron))
    watched.run(watched.tick(sensors.settle).asked[0])
    say(lake, PAUSE, ALL)
    assert "everything is paused" in (watched.tick(sensors.promotion).skipped or "")
    with monkeypatch.context() as without:
        without.setattr(work, "open_snapshot", None)
        assert "everything is paused" in (watched.tick(sensors.promotion).skipped or "")
    say(lake, RESUME, ALL)
    assert watched.tick(sensors.promotion).work == [("resolve_entities", None)]


def test_the_wiki_of_a_paused_source_is_not_asked_for_its_changes(watched: Watched) -> None:
    with tiny_wiki() as wiki:
        add_tiny_source(watched.holocron, wiki, enabled=True)
        for _ in range(2):  # its seeds, then its pages
            for request in watched.tick(sensors.new_pages).asked:
                watched.run(request)
        say(watched.holocron.lake, PAUSE, TINY)
        wiki.requests.clear()
        tick = watched.tick(change_sensor.changed_pages)
        assert "source tiny is paused" in (tick.skipped or "")
        assert [request for request in wiki.requests if request.parameters.get("list")] == []


@pytest.mark.parametrize("action", [PAUSE, DRAIN])
def test_a_run_that_was_queued_before_the_hold_asks_nothing_and_is_no_failure(
    watched: Watched, instance: dg.DagsterInstance, action: str
) -> None:
    (batch,) = list_seeds_and_cut(watched.holocron)
    (request,) = watched.tick(sensors.new_pages).asked
    say(watched.holocron.lake, action, SAMPLE)
    result = run_job(watched.holocron, instance, "crawl_batch", batch, tags=request.tags)
    assert status_of(instance, result) == ("CANCELED", "paused")
    assert "lets it go on" in failure_of(instance, result.run_id).reason
    assert not watched.holocron.lake.has(PAGES, batch)
    say(watched.holocron.lake, RESUME, SAMPLE)
    (again,) = watched.tick(sensors.new_pages).asked
    assert again.run_key != request.run_key, "it is due at once, and is no repetition that Dagster would drop"


def tiny_batch(watched: Watched, wiki: FakeWiki) -> str:
    """A batch of many pages of a wiki, cut and not read."""
    add_tiny_source(watched.holocron, wiki)
    file = watched.holocron.sources_folder / "tiny.yaml"
    seeds = ", ".join(MANY)
    file.write_text(file.read_text().replace("titles: [Lamp]", f"titles: [{seeds}]"), encoding="utf-8")
    watched.instance.add_dynamic_partitions("sources", ["tiny"])
    assert run_job(watched.holocron, watched.instance, "list_seeds", "tiny").success
    (batch,) = cut_batches(watched.holocron.lake, watched.holocron.source("tiny"), now=utc_now())
    watched.instance.add_dynamic_partitions("batches", [batch])
    return batch


def texts_asked(wiki: FakeWiki) -> Counter[str]:
    """How often the text of each page was asked for."""
    asked = [request.parameters for request in wiki.requests if "titles" in request.parameters]
    return Counter(title for parameters in asked for title in parameters["titles"].split("|"))


def test_a_pause_stops_a_crawl_between_two_requests_and_it_goes_on_where_it_was(
    watched: Watched, instance: dg.DagsterInstance
) -> None:
    lake = watched.holocron.lake
    with tiny_wiki(MANY) as wiki:
        batch = tiny_batch(watched, wiki)
        usual = wiki.answer

        def pausing(asked: Mapping[str, str]) -> dict[str, Any]:
            if "titles" in asked:
                control(lake, PAUSE, TINY, author="ada", reason="they called")
            return usual(asked)

        wiki.answer = pausing
        result = run_job(watched.holocron, instance, "crawl_batch", batch)
        assert status_of(instance, result) == ("CANCELED", "paused")
        assert "they called" in failure_of(instance, result.run_id).reason
        first = texts_asked(wiki)
        assert len(first) == 50, "the request under way is finished, and no other sent"

        wiki.answer = usual
        say(lake, RESUME, TINY)
        assert run_job(watched.holocron, instance, "crawl_batch", batch).success
        assert texts_asked(wiki) == Counter(dict.fromkeys(MANY, 1)), "no page is asked for twice"
    rows = read_partition(lake, PAGES, batch)
    assert {(row["status"], row["attempts"]) for row in rows} == {("ok", 1)}


def test_a_drain_lets_a_crawl_under_way_come_to_its_end(
    watched: Watched, instance: dg.DagsterInstance
) -> None:
    lake = watched.holocron.lake
    with tiny_wiki(MANY) as wiki:
        batch = tiny_batch(watched, wiki)
        usual = wiki.answer

        def draining(asked: Mapping[str, str]) -> dict[str, Any]:
            if "titles" in asked:
                control(lake, DRAIN, TINY, author="ada", reason="soon")
            return usual(asked)

        wiki.answer = draining
        assert run_job(watched.holocron, instance, "crawl_batch", batch).success
    assert len(read_partition(lake, PAGES, batch)) == len(MANY)


def test_sources_of_higher_priority_are_asked_for_first_and_leave_the_queue_first(watched: Watched) -> None:
    lake = watched.holocron.lake
    for name in ("early", "late"):
        watched.holocron.add_source(name, SAMPLE_EXPORT)
    assert [key for _, key in watched.tick(sensors.new_pages).work] == ["early", "late", "sample"]
    say(lake, PRIORITIZE, Scope("source", "late"), 7)
    asked = watched.tick(sensors.new_pages).asked
    assert [request.partition_key for request in asked] == ["late", "early", "sample"]
    assert [request.tags.get("dagster/priority") for request in asked] == ["7", None, None]


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AskedHolocron]:
    """Two batches of eight pages, and two interrogations of one model."""
    write_interrogation(tmp_path, "kinds", SMALL, 500)
    write_interrogation(tmp_path, "more", SMALL, 400, prompt="Say more of the page.")
    monkeypatch.setattr("holocron_assets.derive.gpu.working.PREPARED", 2)
    with FakeOllama(slots=2) as ollama:
        yield asked_holocron(tmp_path, ollama, monkeypatch, batches=2, pages=8)


def derive(asked: AskedHolocron, instance: dg.DagsterInstance, **what: Any) -> dg.ExecuteInProcessResult:
    resources = WhatToAsk(**what).run_config().get("resources")
    tags = {"dagster/sensor_name": "model_dispatch"}
    return run_job(asked.holocron, instance, "derive", resources=resources, tags=tags)


KINDS, MORE = Scope("interrogation", "kinds"), Scope("interrogation", "more")


def pausing_after(asked: AskedHolocron, chats: int, scope: Scope) -> None:
    """Have somebody pause something as soon as so many questions were asked."""

    def answer(_chat: object) -> dict[str, str]:
        if len(asked.ollama.chats) >= chats:
            control(asked.holocron.lake, PAUSE, scope, author="ada", reason="the GPU is needed")
        return {"kind": "person"}

    asked.ollama.answer = answer


def test_a_pause_of_everything_stops_a_model_between_two_questions_and_loses_none(
    asked: AskedHolocron, instance: dg.DagsterInstance
) -> None:
    pausing_after(asked, 5, ALL)
    result = derive(asked, instance, model=SMALL)
    assert result.success
    assert status_of(instance, result)[1] == "paused"
    assert len(asked.ollama.chats) <= 5 + 4, "those under way, and those that were being sent"
    assert asked.gpu_runs[-1]["outcome"] == "paused"
    assert "the GPU is needed" in asked.gpu_runs[-1]["reason"]

    asked.ollama.answer = lambda _: {"kind": "person"}
    say(asked.holocron.lake, RESUME, ALL)
    assert derive(asked, instance, model=SMALL).success
    assert set(asked.asked().values()) == {1}, "no question is asked twice"
    assert len(asked.ollama.chats) == 2 * 2 * 8


def test_a_run_goes_on_with_what_is_not_paused(asked: AskedHolocron, instance: dg.DagsterInstance) -> None:
    pausing_after(asked, 3, KINDS)
    assert derive(asked, instance, model=SMALL).success
    of_more = [chat for chat in asked.ollama.chats if "Say more" in chat.prompt]
    assert len(of_more) == 2 * 8
    assert len(asked.ollama.chats) - len(of_more) <= 3 + 4


def test_the_pages_of_a_paused_source_are_not_asked_about(
    asked: AskedHolocron, instance: dg.DagsterInstance
) -> None:
    say(asked.holocron.lake, PAUSE, Scope("source", "wiki1"))
    assert derive(asked, instance, model=SMALL).success
    assert len(asked.ollama.chats) == 2 * 8
    assert all("wiki2" in chat.prompt for chat in asked.ollama.chats)


def test_the_dispatcher_asks_for_nothing_that_is_held_back_and_says_so(
    asked: AskedHolocron, instance: dg.DagsterInstance
) -> None:
    say(asked.holocron.lake, DRAIN, KINDS)
    say(asked.holocron.lake, PAUSE, MORE)
    tick = Watched(asked.holocron, instance).tick(model_dispatch())
    assert tick.asked == []
    assert "interrogation kinds is drained" in (tick.skipped or "")
    assert "interrogation more is paused" in (tick.skipped or "")


def test_a_drained_interrogation_is_asked_to_the_end_where_it_was_begun(
    asked: AskedHolocron, instance: dg.DagsterInstance
) -> None:
    assert derive(asked, instance, interrogations=["kinds"], partitions=["wiki2-000001"], items=3).success
    say(asked.holocron.lake, DRAIN, KINDS)
    say(asked.holocron.lake, DRAIN, MORE)
    assert derive(asked, instance, model=SMALL).success
    assert len(asked.ollama.chats) == 8
    assert all("wiki2" in chat.prompt for chat in asked.ollama.chats)


def test_a_persons_priority_counts_in_the_next_decision_without_a_restart(
    asked: AskedHolocron, instance: dg.DagsterInstance
) -> None:
    say(asked.holocron.lake, PRIORITIZE, MORE, 900)
    assert derive(asked, instance, model=SMALL).success
    first = [chat.prompt for chat in asked.ollama.chats][: 2 * 8]
    assert all("Say more" in prompt for prompt in first)


def fill_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pressure, "MEASURE_SECONDS", 0.0)
    monkeypatch.setenv("HOLOCRON_FREE_GB", "1000000000")


def test_while_the_disk_is_full_no_run_is_requested_not_even_of_what_was_begun(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = watched.holocron.lake
    (batch,) = list_seeds_and_cut(watched.holocron)
    fetch(watched.holocron, [batch])
    lake.file(PAGES, batch).rename(lake.journal(PAGES, batch))  # as one that is being read
    assert watched.tick(sensors.new_pages).work == [("crawl_batch", batch)]
    fill_the_disk(monkeypatch)
    tick = watched.tick(sensors.new_pages)
    assert tick.asked == []
    assert "GB are free on the disk of" in (tick.skipped or "")
    assert hold_on(lake, Work(UPKEEP_JOB, None, "old runs")) is None, "it frees space"
    say(lake, DRAIN, ALL)
    assert watched.tick(sensors.new_pages).asked == [], "a person's drain does not let it go on"
    assert hold_on(lake, Work(UPKEEP_JOB, None, "old runs")) is None
    say(lake, RESUME, ALL)
    monkeypatch.delenv("HOLOCRON_FREE_GB")
    assert watched.tick(sensors.new_pages).work == [("crawl_batch", batch)]


def test_a_run_that_asks_models_ends_in_order_when_the_disk_fills_and_the_dispatcher_waits(
    asked: AskedHolocron, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(_chat: object) -> dict[str, str]:
        if len(asked.ollama.chats) >= 3:
            fill_the_disk(monkeypatch)
        return {"kind": "person"}

    asked.ollama.answer = answer
    assert derive(asked, instance, model=SMALL).success
    assert len(asked.ollama.chats) >= 8
    tick = Watched(asked.holocron, instance).tick(model_dispatch())
    assert tick.asked == []
    assert "everything is drained" in (tick.skipped or "")
    assert "by this machine" in (tick.skipped or "")


def test_a_run_after_a_pause_is_due_at_once(asked: AskedHolocron, instance: dg.DagsterInstance) -> None:
    watched = Watched(asked.holocron, instance)
    (request,) = watched.tick(model_dispatch()).asked
    pausing_after(asked, 1, ALL)
    run_job(
        asked.holocron,
        instance,
        "derive",
        resources=request.run_config["resources"],
        tags={**request.tags, "dagster/sensor_name": "model_dispatch"},
    )
    assert watched.tick(model_dispatch()).asked == []
    say(asked.holocron.lake, RESUME, ALL)
    (again,) = watched.tick(model_dispatch()).asked
    assert again.run_key != request.run_key


def test_a_persons_run_of_a_paused_interrogation_is_refused_with_what_resumes_it(
    asked: AskedHolocron, instance: dg.DagsterInstance
) -> None:
    say(asked.holocron.lake, PAUSE, KINDS)
    result = derive_by_hand(asked, instance, "kinds")
    run = instance.get_run_by_id(result.run_id)
    assert run
    assert run.status == DagsterRunStatus.CANCELED
    assert "`holocron resume --interrogation kinds" in failure_of(instance, result.run_id).reason
    assert asked.ollama.chats == []
    assert derive_by_hand(asked, instance, "more").success


def derive_by_hand(
    asked: AskedHolocron, instance: dg.DagsterInstance, name: str
) -> dg.ExecuteInProcessResult:
    """Materialize one interrogation's asset, as a person does in the UI."""
    batch = asked.batches[0]
    instance.add_dynamic_partitions("batches", [batch])
    job = definitions_of(asked.holocron).resolve_implicit_global_asset_job_def()
    return job.execute_in_process(
        instance=instance,
        asset_selection=[dg.AssetKey(f"derived_{name}")],
        partition_key=batch,
        raise_on_error=False,
    )


def crawling() -> dg.JobDefinition:
    """The job, as a process loads it that repeats a run."""
    return definitions_of(Holocron(Path(os.environ["HELD_HOLOCRON"]))).resolve_job_def("crawl_batch")


def test_a_person_may_repeat_a_run_however_often_it_failed_or_was_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    holocron = sample_holocron(tmp_path)
    monkeypatch.setenv("HELD_HOLOCRON", str(tmp_path))
    (batch,) = list_seeds_and_cut(holocron)
    file = holocron.sources_folder / "sample.yaml"
    (tmp_path / "dagster").mkdir()
    with dg.DagsterInstance.local_temp(str(tmp_path / "dagster")) as instance:
        instance.add_dynamic_partitions("batches", [batch])
        text = file.read_text(encoding="utf-8")
        file.write_text("name: [", encoding="utf-8")
        for _ in range(4):
            assert not run_job(holocron, instance, "crawl_batch", batch).success
        file.write_text(text, encoding="utf-8")
        say(holocron.lake, PAUSE, SAMPLE)
        held = run_job(holocron, instance, "crawl_batch", batch)
        assert status_of(instance, held) == ("CANCELED", "paused")
        say(holocron.lake, RESUME, SAMPLE)
        with dg.execute_job(
            dg.reconstructable(crawling),
            instance=instance,
            reexecution_options=dg.ReexecutionOptions(parent_run_id=held.run_id),
            tags={"dagster/partition": batch, OUTCOME_TAG: "paused"},  # as the UI copies them
        ) as again:
            assert again.success
            run = instance.get_run_by_id(again.run_id)
    assert run
    assert (run.parent_run_id, run.tags[OUTCOME_TAG]) == (held.run_id, "repeated")
    assert holocron.lake.has(PAGES, batch)
