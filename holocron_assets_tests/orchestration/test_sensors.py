"""Sensors over a real lake and a real instance: what one tick asks for, and what the next does not."""

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import time_machine
from asked_lake import ask_lake
from dagster import DagsterRunStatus
from file_rows import list_source, put_list
from sample_dagster import run_job
from sample_holocron import (
    SAMPLE_BATCH,
    SAMPLE_EXPORT,
    Holocron,
    list_seeds_and_cut,
    sample_holocron,
)
from watched import Watched

from holocron_assets.classify.decided_types import decide_shared, decide_type
from holocron_assets.crawl.frontier.file_batches import cut_file_batches
from holocron_assets.crawl.sources.file_source import FileSource
from holocron_assets.derive.interrogations.interrogation import InterrogationError
from holocron_assets.entities.snapshot import Snapshot, open_snapshot
from holocron_assets.entities.store import store_entities
from holocron_assets.errors import PermanentError
from holocron_assets.lake.files.parquet import read_footer, read_partition, write_partition
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import BATCH_PAGES, ENTITIES, FILE_BATCHES, PAGE_FACTS, PAGES, SITES
from holocron_assets.orchestration.assets import entity_files
from holocron_assets.orchestration.runs import requesting
from holocron_assets.orchestration.sensors import adopting, files
from holocron_assets.orchestration.sensors import crawl_and_entities as sensors
from holocron_assets.planning import work
from holocron_assets.planning.entity_stages import STAGES
from holocron_assets.planning.work import Work, entities_to_resolve, sources_to_tag

pytestmark = pytest.mark.system

PAPERS = """
name: papers
enabled: true
kind: http_files
lists: [{file: papers.jsonl}]
politeness: {contact: you@example.org}
"""


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as ephemeral:
        yield ephemeral


@pytest.fixture
def watched(tmp_path: Path, instance: dg.DagsterInstance) -> Watched:
    return Watched(sample_holocron(tmp_path), instance)


def write_other_language(lake: Lake) -> None:
    """Write site information as if the sample's wiki were in German."""
    [row] = read_partition(lake, SITES, "sample")
    footer = read_footer(lake, SITES, "sample")
    assert footer
    rows = [{**row, "language": "de"}]
    write_partition(lake, SITES, "sample", rows, code_version=footer.code_version, inputs=footer.inputs)


def later(monkeypatch: pytest.MonkeyPatch, wait: timedelta) -> None:
    """Let the clock of the next ticks be that much ahead."""
    monkeypatch.setattr(requesting, "utc_now", lambda: utc_now() + wait)


def test_new_pages_lists_seeds_then_cuts_then_asks_for_nothing(watched: Watched) -> None:
    first = watched.tick(sensors.new_pages)
    assert first.work == [("list_seeds", "sample")]
    assert first.partitions == {"sample"}
    assert watched.holocron.lake.partitions(BATCH_PAGES) == []
    watched.run(first.asked[0])

    second = watched.tick(sensors.new_pages)
    assert second.work == [("crawl_batch", SAMPLE_BATCH)]
    assert second.partitions == {SAMPLE_BATCH}
    watched.run(second.asked[0])

    third = watched.tick(sensors.new_pages)
    assert (third.work, third.partitions, third.skipped) == ([], set(), "nothing is pending")


def test_work_is_asked_for_by_tags_that_limits_and_later_ticks_know_it_by(watched: Watched) -> None:
    (request,) = watched.tick(sensors.new_pages).asked
    assert request.tags["holocron/source"] == "sample"
    assert request.tags["holocron/work"] == (request.run_key or "").removesuffix("/first")
    assert "holocron/host" not in request.tags


def test_a_wiki_is_asked_for_under_its_host(watched: Watched) -> None:
    (watched.holocron.sources_folder / "live.yaml").write_text(
        "name: live\nenabled: true\nkind: mediawiki_api\naddress: http://127.0.0.1:9/api.php\n"
        "private_hosts: [127.0.0.1]\nseeds: {titles: [A]}\npoliteness: {contact: test@example.org}\n"
    )
    tags = {request.partition_key: request.tags for request in watched.tick(sensors.new_pages).asked}
    assert tags["live"]["holocron/host"] == "127.0.0.1:9"


def test_the_same_work_has_the_same_run_key_until_a_run_of_it_was_made(watched: Watched) -> None:
    (first,) = watched.tick(sensors.new_pages).asked
    (again,) = watched.tick(sensors.new_pages).asked
    assert first.run_key == again.run_key


@pytest.mark.parametrize(
    "status",
    [
        DagsterRunStatus.NOT_STARTED,
        DagsterRunStatus.STARTING,
        DagsterRunStatus.STARTED,
        DagsterRunStatus.CANCELING,
    ],
)
def test_nothing_is_asked_for_twice_while_its_run_is_under_way(
    watched: Watched, status: DagsterRunStatus
) -> None:
    (request,) = watched.tick(sensors.new_pages).asked
    watched.store_run(request, status)
    assert watched.tick(sensors.new_pages).work == []


def test_a_run_that_a_person_started_is_under_way_too(watched: Watched) -> None:
    list_seeds_and_cut(watched.holocron)
    by_hand = dg.RunRequest(job_name="crawl_batch", partition_key=SAMPLE_BATCH)
    watched.store_run(by_hand, DagsterRunStatus.STARTED)
    assert watched.tick(sensors.new_pages).work == []


def test_work_that_failed_comes_back_later_and_later_under_another_key(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    (first,) = watched.tick(sensors.new_pages).asked
    watched.store_run(first, DagsterRunStatus.FAILURE)
    waiting = watched.tick(sensors.new_pages)
    assert waiting.work == []
    assert (waiting.skipped or "").startswith("list_seeds of sample is due at ")

    later(monkeypatch, timedelta(seconds=11))
    (second,) = watched.tick(sensors.new_pages).asked
    assert second.run_key != first.run_key
    watched.store_run(second, DagsterRunStatus.FAILURE)
    assert watched.tick(sensors.new_pages).work == []
    later(monkeypatch, timedelta(seconds=21))
    assert watched.tick(sensors.new_pages).work == [("list_seeds", "sample")]


def test_work_whose_settings_changed_is_tried_at_once_after_a_failure(watched: Watched) -> None:
    (first,) = watched.tick(sensors.new_pages).asked
    watched.store_run(first, DagsterRunStatus.FAILURE)
    watched.holocron.add_source("sample", SAMPLE_EXPORT.parent / "elsewhere.xml")
    (second,) = watched.tick(sensors.new_pages).asked
    assert second.run_key != first.run_key


def test_a_manifest_that_a_crash_left_without_a_partition_is_adopted(watched: Watched) -> None:
    list_seeds_and_cut(watched.holocron)
    assert watched.instance.get_dynamic_partitions("batches") == []
    tick = watched.tick(sensors.new_pages)
    assert tick.work == [("crawl_batch", SAMPLE_BATCH)]
    assert set(watched.instance.get_dynamic_partitions("batches")) == {SAMPLE_BATCH}


def test_a_large_lake_is_adopted_in_many_ticks_and_first_what_runs_need(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adopting, "MOST_ADOPTED", 2)
    list_seeds_and_cut(watched.holocron)
    lake, older = watched.holocron.lake, [f"older-{number:06}" for number in range(1, 5)]
    for batch in older:
        write_partition(lake, BATCH_PAGES, batch, read_partition(lake, BATCH_PAGES, SAMPLE_BATCH))
    tick = watched.tick(sensors.new_pages)
    assert tick.work == [("crawl_batch", SAMPLE_BATCH)]
    assert tick.partitions == {"sample", SAMPLE_BATCH, older[0]}
    assert len(tick.events) == 2
    watched.store_run(tick.asked[0], DagsterRunStatus.STARTED)
    later = [watched.tick(sensors.new_pages) for _ in range(3)]
    assert [tick.work for tick in later] == [[], [], []]
    assert [tick.partitions for tick in later] == [set(older[1:3]), set(older[3:]), set()]


def test_batches_of_files_are_adopted_though_no_source_of_files_is_enabled(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adopting, "MOST_ADOPTED", 2)
    lake, papers = watched.holocron.lake, list_source(name="papers")
    put_list(lake, "https://a.example/x", source="papers")
    (batch,) = cut_file_batches(lake, papers, now=utc_now())
    older = [f"older-{number:06}" for number in range(1, 3)]
    for name in older:
        write_partition(lake, FILE_BATCHES, name, read_partition(lake, FILE_BATCHES, batch))
    tick = watched.tick(files.new_files)
    assert (tick.work, tick.skipped) == ([], "no source of files is enabled")
    assert tick.partitions == {"papers", *older}
    assert watched.tick(files.new_files).partitions == {batch}
    assert watched.tick(files.new_files).partitions == set()


def test_files_are_looked_for_again_only_once_something_was_written_or_some_time_has_passed(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, looked = watched.holocron.lake, []

    def looking(lake: Lake, source: FileSource, **how: Any) -> list[str]:
        looked.append(source.name)
        return cut_file_batches(lake, source, **how)

    monkeypatch.setattr(files, "cut_file_batches", looking)
    (watched.holocron.sources_folder / "papers.yaml").write_text(PAPERS, encoding="utf-8")
    put_list(lake, source="papers")
    first = watched.tick(files.new_files)
    second = watched.tick(files.new_files, first.cursor)
    assert looked == ["papers"]
    with time_machine.travel(utc_now() + timedelta(minutes=3)):
        watched.tick(files.new_files, second.cursor)
    assert looked == ["papers"] * 2
    put_list(lake, "https://a.example/x", source="papers")
    watched.tick(files.new_files, second.cursor)
    assert looked == ["papers"] * 3
    assert lake.partitions(FILE_BATCHES) == ["papers-000001"]


def test_settle_adopts_only_what_its_runs_need(
    fetched_sample: Holocron, tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    watched = Watched(fetched_sample.copy_to(tmp_path), instance)
    lake = watched.holocron.lake
    write_partition(lake, BATCH_PAGES, "older-000001", read_partition(lake, BATCH_PAGES, SAMPLE_BATCH))
    assert watched.tick(sensors.settle).partitions == {SAMPLE_BATCH}
    assert "older-000001" in watched.tick(sensors.new_pages).partitions


def test_a_disabled_source_is_never_named(watched: Watched) -> None:
    watched.holocron.add_source("sample", SAMPLE_EXPORT, enabled=False)
    tick = watched.tick(sensors.new_pages)
    assert (tick.work, tick.partitions, tick.skipped) == ([], set(), "nothing is pending")


def test_nothing_is_cut_for_a_source_that_was_disabled_after_its_seeds_were_listed(watched: Watched) -> None:
    watched.run(watched.tick(sensors.new_pages).asked[0])
    watched.holocron.add_source("sample", SAMPLE_EXPORT, enabled=False)
    assert watched.tick(sensors.new_pages).work == []
    assert watched.holocron.lake.partitions(BATCH_PAGES) == []


def test_a_batch_of_a_source_that_was_disabled_is_not_fetched(watched: Watched) -> None:
    list_seeds_and_cut(watched.holocron)
    watched.holocron.add_source("sample", SAMPLE_EXPORT, enabled=False)
    assert watched.tick(sensors.new_pages).work == []


def test_a_broken_source_file_does_not_stop_the_others(
    watched: Watched, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    (watched.holocron.sources_folder / "broken.yaml").write_text("name: broken\nenabled: perhaps\n")
    tick = watched.tick(sensors.new_pages)
    assert tick.work == [("list_seeds", "sample")]
    output = caplog.text + capsys.readouterr().err
    assert "broken.yaml, line 2, key 'enabled'" in output


def test_a_decision_about_a_template_wakes_the_settling_of_its_batches(
    finished_sample: Holocron, tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    watched = Watched(finished_sample.copy_to(tmp_path), instance)
    cursor = watched.tick(sensors.settle).cursor
    said = {"source": "sample", "author": "ada", "reason": "I know"}
    decide_shared(watched.holocron.lake, "template", name="Character", type_name="Droid", **said)
    (request,) = watched.tick(sensors.settle, cursor=cursor).asked
    assert request.partition_key == SAMPLE_BATCH


def test_a_source_whose_file_could_not_be_read_for_a_moment_is_settled_after_that(
    fetched_sample: Holocron, tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    watched = Watched(fetched_sample.copy_to(tmp_path), instance)
    file = watched.holocron.sources_folder / "sample.yaml"
    text = file.read_text(encoding="utf-8")
    file.write_text("name: [", encoding="utf-8")
    tick = watched.tick(sensors.settle)
    assert tick.work == []
    file.write_text(text, encoding="utf-8")
    assert watched.tick(sensors.settle, cursor=tick.cursor).partitions == {SAMPLE_BATCH}


def test_other_code_of_any_stage_wakes_promotion(
    finished_sample: Holocron, tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    cursor = Watched(finished_sample.copy_to(tmp_path), instance).tick(sensors.promotion).cursor
    assert [stage.name for stage in STAGES if stage.code_version not in str(cursor)] == []


def test_other_site_information_wakes_promotion(
    finished_sample: Holocron, tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    watched = Watched(finished_sample.copy_to(tmp_path), instance)
    resolved = watched.tick(sensors.promotion)
    assert resolved.work == []
    write_other_language(watched.holocron.lake)
    assert watched.tick(sensors.promotion, cursor=resolved.cursor).work == [("resolve_entities", None)]


def test_what_was_fresh_is_not_read_again_until_something_is_written(
    finished_sample: Holocron, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = finished_sample.copy_to(tmp_path).lake
    read = list[Lake]()

    def opened(lake: Lake) -> AbstractContextManager[Snapshot]:
        read.append(lake)
        return open_snapshot(lake)

    monkeypatch.setattr(work, "open_snapshot", opened)
    assert [*entities_to_resolve(lake), *entities_to_resolve(lake)] == []
    assert len(read) == 1
    assert [*sources_to_tag(lake), *sources_to_tag(lake)] == []
    assert len(read) == 2, "sources are made from more"
    write_other_language(lake)
    assert entities_to_resolve(lake)
    assert entities_to_resolve(lake), "as long as there is work, it is found"


def test_answers_that_cannot_be_read_stop_only_the_jobs_that_need_them(
    finished_sample: Holocron, tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unread(_lake: Lake) -> list[Work]:
        raise InterrogationError("template_types.yaml: cannot be read")

    watched = Watched(finished_sample.copy_to(tmp_path), instance)
    watched.holocron.lake.file(ENTITIES, "Droid").unlink()
    monkeypatch.setattr(sensors, "sources_to_tag", unread)
    tick = watched.tick(sensors.promotion, cursor='{"after": "resolve_entities"}')
    assert [request.job_name for request in tick.asked] == ["resolve_entities"]
    monkeypatch.setattr(sensors, "entities_to_resolve", unread)
    tick = watched.tick(sensors.promotion, cursor='{"after": "resolve_entities"}')
    assert "template_types.yaml: cannot be read" in (tick.skipped or "")


def test_while_answers_cannot_be_read_nothing_is_looked_for_until_something_changes(
    finished_sample: Holocron, tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[Lake] = []

    def unread(lake: Lake) -> list[Work]:
        looked.append(lake)
        raise InterrogationError("template_types.yaml: cannot be read")

    watched = Watched(finished_sample.copy_to(tmp_path), instance)
    monkeypatch.setattr(sensors, "sources_to_tag", unread)
    first = watched.tick(sensors.promotion)
    second = watched.tick(sensors.promotion, cursor=first.cursor)
    assert (len(looked), second.skipped) == (1, first.skipped)
    monkeypatch.setattr(sensors, "broken_interrogations", lambda: {"x": "another file is broken"})
    third = watched.tick(sensors.promotion, cursor=second.cursor)
    watched.holocron.lake.file(ENTITIES, "Droid").unlink()
    assert watched.tick(sensors.promotion, cursor=third.cursor).work == [("resolve_entities", None)]
    assert len(looked) == 2


def test_an_edited_infobox_rule_settles_batches_again_without_a_restart(
    finished_sample: Holocron, tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = Watched(finished_sample.copy_to(tmp_path / "holocron"), instance)
    rules = tmp_path / "infobox" / "own.yaml"
    rules.parent.mkdir()
    monkeypatch.setenv("HOLOCRON_INFOBOX_RULES", str(rules.parent))
    cursor = None
    for key in ("leaning", "outlook"):
        rule = f"{{fields: [alignment], key: {key}, kind: fact, means: FROM stands for VALUE}}"
        rules.write_text(f"rules: [{rule}]", encoding="utf-8")
        (request,) = watched.tick(sensors.settle, cursor=cursor).asked
        watched.run(request)
        settled = watched.tick(sensors.settle, cursor=cursor)
        assert (settled.work, settled.skipped) == ([], "every batch is settled")
        cursor = settled.cursor
        found = {row["key"] for row in read_partition(watched.holocron.lake, PAGE_FACTS, SAMPLE_BATCH)}
        assert {"leaning", "outlook"} & found == {key}


def test_at_most_twenty_runs_are_asked_for_in_one_tick(watched: Watched) -> None:
    for number in range(25):
        watched.holocron.add_source(f"wiki_{number}", SAMPLE_EXPORT)
    assert len(watched.tick(sensors.new_pages).asked) == 20


def test_a_fetched_batch_is_settled_once(
    fetched_sample: Holocron, tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    watched = Watched(fetched_sample.copy_to(tmp_path), instance)
    tick = watched.tick(sensors.settle)
    assert tick.partitions == {SAMPLE_BATCH}
    (request,) = tick.asked
    assert request.partition_key == SAMPLE_BATCH
    assert watched.tick(sensors.settle).asked[0].run_key == request.run_key
    assert run_job(watched.holocron, instance, "settle_batch", SAMPLE_BATCH).success
    after = watched.tick(sensors.settle)
    assert (after.work, after.skipped) == ([], "every batch is settled")


def test_a_batch_that_is_being_fetched_is_not_settled(
    fetched_sample: Holocron, tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    watched = Watched(fetched_sample.copy_to(tmp_path), instance)
    fetching = dg.RunRequest(job_name="crawl_batch", partition_key=SAMPLE_BATCH)
    watched.store_run(fetching, DagsterRunStatus.STARTED)
    assert watched.tick(sensors.settle).work == []


def test_an_unfetched_batch_is_not_settled(watched: Watched) -> None:
    list_seeds_and_cut(watched.holocron)
    assert watched.tick(sensors.settle).skipped == "every batch is settled"


def test_the_entities_of_all_types_are_resolved_in_one_run_and_sources_in_another_when_it_ended(
    finished_sample: Holocron, tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    watched = Watched(finished_sample.copy_to(tmp_path), instance)
    assert watched.tick(sensors.promotion).skipped == "every entity type is resolved"
    for name in ("Droid", "Species"):
        watched.holocron.lake.file(ENTITIES, name).unlink()
    tick = watched.tick(sensors.promotion)
    assert tick.work == [("resolve_entities", None)]
    assert tick.cursor is not None
    watched.run(tick.asked[0])
    assert watched.holocron.lake.has(ENTITIES, "Droid")
    follows = watched.tick(sensors.promotion)
    assert follows.work == [("tag_and_review", None)]
    watched.run(follows.asked[0])
    assert watched.tick(sensors.promotion).skipped == "every entity type is resolved"


def test_sources_are_reviewed_while_a_type_waits_that_failed_for_good(
    finished_sample: Holocron, tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = Watched(finished_sample.copy_to(tmp_path), instance)
    for name in ("Droid", "Species"):
        watched.holocron.lake.file(ENTITIES, name).unlink()

    def broken(snapshot: Any, name: str, **others: Any) -> Any:
        if name == "Droid":
            raise PermanentError("its policy cannot be read")
        return store_entities(snapshot, name, **others)

    monkeypatch.setattr(entity_files, "store_entities", broken)
    (request,) = watched.tick(sensors.promotion).asked
    assert not run_job(watched.holocron, instance, request.job_name or "", tags=request.tags).success
    follows = watched.tick(sensors.promotion)
    assert follows.work == [("tag_and_review", None)]
    watched.run(follows.asked[0])
    (request,) = watched.tick(sensors.promotion).asked  # less of it is left: that is other work
    assert not run_job(watched.holocron, instance, request.job_name or "", tags=request.tags).success
    waiting = watched.tick(sensors.promotion)
    assert (waiting.work, "resolve_entities is due at" in (waiting.skipped or "")) == ([], True)


def test_entities_that_are_being_resolved_are_not_asked_for_again_whatever_was_written_since(
    finished_sample: Holocron, tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    watched = Watched(finished_sample.copy_to(tmp_path), instance)
    watched.holocron.lake.file(ENTITIES, "Droid").unlink()
    (request,) = watched.tick(sensors.promotion).asked
    watched.store_run(request, DagsterRunStatus.STARTED)
    watched.holocron.lake.file(ENTITIES, "Species").unlink()
    assert watched.tick(sensors.promotion).skipped == "entities are being resolved"


def let_a_lake_be_large(monkeypatch: pytest.MonkeyPatch, most: str) -> None:
    """Let a lake have more of something than a tick reads, and let the tick fail if it reads it."""
    monkeypatch.setattr(sensors, most, -1)
    for reader in ("types_to_learn", "entities_to_resolve", "sources_to_tag"):
        monkeypatch.setattr(sensors, reader, pytest.fail)


@pytest.mark.parametrize("most", ["MOST_BATCHES_READ", "MOST_NAMES_READ"])
def test_in_a_large_lake_the_tick_does_not_check_the_entities(
    finished_sample: Holocron, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch, most: str
) -> None:
    let_a_lake_be_large(monkeypatch, most)
    assert Watched(finished_sample, instance).tick(sensors.promotion).work == [("learn_types", None)]


def test_in_a_large_lake_the_runs_check_the_entities(
    finished_sample: Holocron, tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = Watched(finished_sample.copy_to(tmp_path), instance)
    watched.holocron.lake.file(ENTITIES, "Droid").unlink()
    let_a_lake_be_large(monkeypatch, "MOST_BATCHES_READ")
    jobs, tick = [], watched.tick(sensors.promotion)
    while asked := tick.asked:
        jobs.append(asked[0].job_name)
        watched.run(asked[0])
        tick = watched.tick(sensors.promotion, cursor=tick.cursor)
    assert watched.holocron.lake.has(ENTITIES, "Droid")
    # Nothing is to be learned. They take turns, and each of the others finds nothing left in its second run.
    assert jobs == ["learn_types", *["resolve_entities", "tag_and_review"] * 2]
    assert watched.tick(sensors.promotion).skipped == "every entity type is resolved"


def test_entities_wait_for_batches_in_flight_but_not_longer_than_ten_minutes(
    finished_sample: Holocron, tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    watched = Watched(finished_sample.copy_to(tmp_path), instance)
    watched.holocron.lake.file(ENTITIES, "Droid").unlink()
    watched.holocron.lake.file(PAGES, SAMPLE_BATCH).unlink()
    first = watched.tick(sensors.promotion)
    assert (first.work, "in flight" in (first.skipped or "")) == ([], True)
    assert first.cursor is not None

    started = datetime.fromisoformat(json.loads(first.cursor)["waiting_since"])
    soon = json.dumps({"waiting_since": (started - timedelta(minutes=9)).isoformat()})
    assert watched.tick(sensors.promotion, cursor=soon).work == []
    late = json.dumps({"waiting_since": (started - timedelta(minutes=11)).isoformat()})
    assert watched.tick(sensors.promotion, cursor=late).asked != []


def test_what_is_always_to_be_learned_while_pages_are_read_keeps_no_entity_from_being_resolved(
    finished_sample: Holocron, tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched, new = Watched(finished_sample.copy_to(tmp_path), instance), count()
    watched.holocron.lake.file(ENTITIES, "Droid").unlink()
    watched.holocron.lake.file(PAGES, SAMPLE_BATCH).unlink()
    monkeypatch.setattr(sensors, "types_to_learn", lambda _: [Work("learn_types", None, f"news {next(new)}")])
    cursor: str | None = json.dumps({"waiting_since": (utc_now() - timedelta(minutes=11)).isoformat()})
    jobs = []
    for _ in range(4):
        tick = watched.tick(sensors.promotion, cursor=cursor)
        jobs += [job for job, _ in tick.work]
        for asked in tick.asked:
            watched.store_run(asked, DagsterRunStatus.SUCCESS)
        cursor = tick.cursor
    assert jobs[:2] == ["learn_types", "resolve_entities"]
    assert "learn_types" not in jobs[2:], "the next ten minutes begin"


def test_a_tick_that_found_nothing_is_not_repeated_until_something_is_written(
    finished_sample: Holocron, tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = Watched(finished_sample.copy_to(tmp_path), instance)
    ticks = {sensor: watched.tick(sensor) for sensor in (sensors.settle, sensors.promotion)}
    assert [tick.work for tick in ticks.values()] == [[], []]
    monkeypatch.setattr(sensors, "batches_to_settle", pytest.fail)
    monkeypatch.setattr(sensors, "entities_to_resolve", pytest.fail)
    for sensor, tick in ticks.items():
        assert watched.tick(sensor, cursor=tick.cursor).work == []
    monkeypatch.undo()
    for table in (PAGES, ENTITIES):
        for partition in watched.holocron.lake.partitions(table):
            watched.holocron.lake.file(table, partition).unlink()
    assert watched.tick(sensors.promotion, cursor=ticks[sensors.promotion].cursor).cursor != (
        ticks[sensors.promotion].cursor
    )


def test_a_decision_wakes_the_settling_of_its_batch(
    finished_sample: Holocron, tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    watched = Watched(finished_sample.copy_to(tmp_path), instance)
    cursor = watched.tick(sensors.settle).cursor
    assert watched.tick(sensors.settle, cursor=cursor).work == []
    decision = {"source": "sample", "title": "Issa Dorrane", "author": "ada", "reason": "I know"}
    decide_type(watched.holocron.lake, type_name="Droid", **decision)
    (request,) = watched.tick(sensors.settle, cursor=cursor).asked
    assert request.partition_key == SAMPLE_BATCH
    watched.run(request)
    assert watched.tick(sensors.settle).work == []
    watched.run(watched.tick(sensors.promotion).asked[0])
    stands = ask_lake(
        watched.holocron.lake, "from entities where title = 'Issa Dorrane' and state = 'promoted'"
    )
    assert [(row["entity_type"], row["method"]) for row in stands] == [("Droid", "person")]


def test_sensors_of_an_empty_folder_have_nothing_to_do(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    holocron = Holocron(tmp_path)
    holocron.sources_folder.mkdir()
    watched = Watched(holocron, instance)
    reasons = [watched.tick(sensor).skipped for sensor in sensors.SENSORS]
    assert reasons == [
        "nothing is pending",
        "every batch is settled",
        "every entity type is resolved",
        "the search index is up to date",
        "the views are up to date",
    ]


def test_a_lake_that_cannot_be_read_is_no_reason_to_think_nothing_is_pending(watched: Watched) -> None:
    list_seeds_and_cut(watched.holocron)
    watched.holocron.lake.file(BATCH_PAGES, SAMPLE_BATCH).write_bytes(b"no parquet")
    tick = watched.tick(sensors.new_pages)
    assert tick.partitions, "what the damaged batch was to fetch is cut into another"
    assert SAMPLE_BATCH not in watched.holocron.lake.partitions(BATCH_PAGES)
    assert list((watched.holocron.lake.root / "quarantine").iterdir())
