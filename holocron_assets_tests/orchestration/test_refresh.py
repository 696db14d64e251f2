"""The jobs that start others, run in this process: what they bring up to date, and how they fail."""

import json
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from file_server import FileServer, answer
from sample_dagster import failure_message, run_job
from sample_holocron import SAMPLE_EXPORT, Holocron, sample_holocron
from tiny_wiki import add_tiny_source, copy_of_export, tiny_wiki

from holocron_assets.decisions.controls import PAUSE, Scope, control
from holocron_assets.definitions import build_definitions
from holocron_assets.errors import PermanentError
from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.tables import BATCH_PAGES, ENTITIES, FILES, PAGES, SEED_TITLES
from holocron_assets.orchestration.jobs import refresh as refresh_module
from holocron_assets.orchestration.runs.waiting import FinishedRun, LocalRuns
from holocron_assets.planning import file_work, loop
from holocron_assets.planning.work import Work, batches_to_fetch, entities_to_resolve
from holocron_assets.retrieval.index.index import SearchIndex

pytestmark = pytest.mark.system

SMALL = Scope("source", "small")
PNG = b"\x89PNG\r\n\x1a\n" + b"salt" * 100


@pytest.fixture
def instance(monkeypatch: pytest.MonkeyPatch) -> Iterator[dg.DagsterInstance]:
    # Dagster knows the other jobs of a repository only in runs that it can load anew, which tests are not.
    monkeypatch.setattr(
        refresh_module, "_runs", lambda context, lake: LocalRuns(context.instance, lake, job_of(context))
    )
    with dg.DagsterInstance.ephemeral() as ephemeral:
        yield ephemeral


def job_of(context: dg.OpExecutionContext) -> Callable[[str], dg.JobDefinition]:
    """The jobs of the definitions that the context's run is of."""
    resources = {"lake": context.resources.lake, "sources": context.resources.sources}
    return build_definitions(resources).resolve_job_def


def refresh(
    holocron: Holocron, instance: dg.DagsterInstance, source: str | None = None, maximum_batches: int = 1000
) -> dg.ExecuteInProcessResult:
    config = {"source": source, "maximum_batches": maximum_batches}
    return run_job(holocron, instance, "refresh", config={"refresh_sources": {"config": config}})


def add_pages(
    holocron: Holocron, instance: dg.DagsterInstance, source: str, *titles: str
) -> dg.ExecuteInProcessResult:
    config = {"source": source, "titles": list(titles)}
    return run_job(holocron, instance, "add_pages", config={"add_given_pages": {"config": config}})


def jobs_run(instance: dg.DagsterInstance) -> list[tuple[str, str]]:
    """Jobs and partitions of the runs that were started, in order."""
    runs = reversed(list(instance.get_runs()))
    return [(run.job_name, run.tags["dagster/partition"]) for run in runs if "dagster/partition" in run.tags]


def count_of_runs(instance: dg.DagsterInstance, job: str) -> int:
    return instance.get_runs_count(dg.RunsFilter(job_name=job))


def small_holocron(folder: Path, *, pages: int = 6, batch_size: int = 500) -> Holocron:
    """A Holocron of one source with a few pages of the sample."""
    holocron = Holocron(folder)
    export = copy_of_export(SAMPLE_EXPORT, folder / "small.xml", pages=pages)
    holocron.add_source("small", export, more=f"batch_size: {batch_size}\n")
    return holocron


def test_refresh_lists_cuts_fetches_and_resolves_and_the_next_one_lists_seeds_anew_and_finds_nothing_else(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    holocron = small_holocron(tmp_path)
    result = refresh(holocron, instance)
    assert result.success
    assert jobs_run(instance) == [("list_seeds", "small"), ("crawl_batch", "small-000001")]
    assert count_of_runs(instance, "resolve_entities") == 1
    assert len(read_partition(holocron.lake, PAGES, "small-000001")) == 6
    assert holocron.lake.partitions(ENTITIES) != []
    assert entities_to_resolve(holocron.lake) == []
    before = len(jobs_run(instance))
    assert refresh(holocron, instance).success
    assert jobs_run(instance)[before:] == [("list_seeds", "small")]
    assert count_of_runs(instance, "resolve_entities") == 1


@pytest.mark.parametrize("source", [None, "papers"])
def test_refresh_lists_and_fetches_files(
    tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch, source: str | None
) -> None:
    with FileServer() as server:
        server.routes["/a.png"] = [answer(200, PNG, Content_Type="image/png")]
        holocron = small_holocron(tmp_path)
        quick = "politeness: {contact: tests@example.org, requests_per_second: 100}"
        listed = tmp_path / "list.jsonl"
        listed.write_text(json.dumps({"url": server.url("/a.png")}))
        text = f"kind: http_files\nname: papers\nenabled: true\nprivate_hosts: [127.0.0.1]\n{quick}\n"
        (holocron.sources_folder / "papers.yaml").write_text(f"{text}lists: [{{file: {listed}}}]\n")
        # as if pages came all the time, each of which may show other files
        monkeypatch.setattr(file_work, "list_is_due", lambda *_: True)
        result = refresh(holocron, instance, source)
        assert result.success, failure_message(result)
    assert count_of_runs(instance, "list_files") == 1
    (found,) = read_partition(holocron.lake, FILES, holocron.lake.partitions(FILES)[0])
    assert (found["source"], found["status"]) == ("papers", "ok")
    assert count_of_runs(instance, "crawl_batch") == (source is None)


def test_refresh_cuts_and_runs_at_most_the_batches_that_it_is_given(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    holocron = small_holocron(tmp_path, pages=6, batch_size=2)
    assert refresh(holocron, instance, maximum_batches=1).success
    assert [job for job, _ in jobs_run(instance)].count("crawl_batch") == 1
    assert len(holocron.lake.partitions(PAGES)) == 1
    assert len(holocron.lake.partitions(BATCH_PAGES)) == 1


def test_refresh_of_one_source_leaves_the_others(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    holocron = small_holocron(tmp_path)
    holocron.add_source("other", SAMPLE_EXPORT)
    assert refresh(holocron, instance, source="small").success
    assert holocron.lake.partitions(SEED_TITLES) == ["small"]


def test_refresh_without_an_enabled_source_does_nothing(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    holocron = Holocron(tmp_path)
    holocron.add_source("off", SAMPLE_EXPORT, enabled=False)
    assert refresh(holocron, instance).success
    assert jobs_run(instance) == []


def test_refresh_fails_when_a_run_fails_and_names_it(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    holocron = Holocron(tmp_path)
    broken = copy_of_export(SAMPLE_EXPORT, tmp_path / "broken.xml", pages=5, cut=True)
    holocron.add_source("broken", broken)
    result = refresh(holocron, instance)
    assert not result.success
    message = failure_message(result)
    assert "list_seeds of broken" in message
    assert str(broken) in message


def test_a_refresh_that_is_asked_to_stop_while_it_waits_for_runs_is_not_retried(
    tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited_for = []

    class Waiting:
        """Runs that take long; meanwhile the process that waits for them is asked to stop."""

        def finish(self, work: Sequence[Work]) -> list[FinishedRun]:
            waited_for.append(work)
            signal.raise_signal(signal.SIGINT)
            return []

    monkeypatch.setattr(refresh_module, "_runs", lambda *_: Waiting())
    result = refresh(small_holocron(tmp_path), instance)
    assert not result.success
    assert len(waited_for) == 1
    assert failure_message(result) == "it was asked to stop"


def test_refresh_fails_for_a_dump_that_is_not_there(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    holocron = Holocron(tmp_path)
    holocron.add_source("gone", tmp_path / "gone.xml")
    result = refresh(holocron, instance, source="gone")
    assert not result.success
    assert str(tmp_path / "gone.xml") in failure_message(result)


def test_a_refresh_whose_index_fails_names_the_sources_that_failed_too_and_publishes_the_views(
    tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise PermanentError("the index cannot be written")

    monkeypatch.setattr(SearchIndex, "update", full)
    holocron = small_holocron(tmp_path)
    holocron.add_source("gone", tmp_path / "gone.xml")
    message = failure_message(refresh(holocron, instance))
    assert str(tmp_path / "gone.xml") in message
    assert message.count("the index cannot be written") == 1
    assert count_of_runs(instance, "update_search") == 1
    assert holocron.lake.database.exists()


def test_one_broken_source_does_not_keep_refresh_from_the_others(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    holocron = small_holocron(tmp_path)
    holocron.add_source("a_broken_one", tmp_path / "gone.xml")
    assert not refresh(holocron, instance).success
    assert holocron.lake.partitions(PAGES) == ["small-000001"]


def test_refresh_of_an_unknown_source_says_which_file_is_missing(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    result = refresh(sample_holocron(tmp_path), instance, source="nowhere")
    assert not result.success
    assert str(tmp_path / "sources" / "nowhere.yaml") in failure_message(result)


def test_add_pages_fetches_given_pages_of_a_wiki_and_all_that_follows_and_fetches_them_again_when_asked_again(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    with tiny_wiki() as wiki:
        holocron = Holocron(tmp_path)
        add_tiny_source(holocron, wiki)
        assert add_pages(holocron, instance, "tiny", "shade", "Nobody").success
        assert jobs_run(instance)[:2] == [("ask_site", "tiny"), ("crawl_batch", "tiny-000001")]
        assert add_pages(holocron, instance, "tiny", "Shade").success
    assert holocron.lake.partitions(PAGES) == ["tiny-000001", "tiny-000002"]
    pages = read_partition(holocron.lake, PAGES, "tiny-000001")
    assert [(row["title"], row["status"]) for row in pages] == [("Shade", "ok"), ("Nobody", "missing")]
    manifest = read_partition(holocron.lake, BATCH_PAGES, "tiny-000001")
    assert {row["reason"] for row in manifest} == {"added"}
    (entity,) = read_partition(holocron.lake, ENTITIES, "LocationPlace")
    assert entity["title"] == "Shade"


def test_add_pages_refuses_a_title_that_no_page_can_have_and_cuts_nothing(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    with tiny_wiki() as wiki:
        holocron = Holocron(tmp_path)
        add_tiny_source(holocron, wiki)
        result = add_pages(holocron, instance, "tiny", "Shade", "No [brackets]")
    assert not result.success
    assert "No [brackets]" in failure_message(result)
    assert holocron.lake.partitions(BATCH_PAGES) == []


def test_add_pages_says_that_a_dump_is_read_whole(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    result = add_pages(small_holocron(tmp_path), instance, "small", "Issa Dorrane")
    assert not result.success
    assert "'small' is a dump" in failure_message(result)


def test_what_a_person_holds_back_is_left_out_and_refused_by_name(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    holocron = small_holocron(tmp_path)
    control(holocron.lake, PAUSE, SMALL, author="ada", reason="x")
    left_out = refresh(holocron, instance)
    assert left_out.success, failure_message(left_out)
    assert holocron.lake.partitions(PAGES) == []
    named = refresh(holocron, instance, "small")
    run = instance.get_run_by_id(named.run_id)
    assert run
    assert run.status == dg.DagsterRunStatus.CANCELED
    assert "`holocron resume --source small" in failure_message(named)


@pytest.mark.full
def test_a_source_that_is_paused_meanwhile_is_left_and_the_others_are_finished(
    tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    holocron = small_holocron(tmp_path, batch_size=2)
    holocron.add_source("whole", copy_of_export(SAMPLE_EXPORT, tmp_path / "whole.xml", pages=2))

    def pausing(*arguments: Any) -> list[Work]:
        control(holocron.lake, PAUSE, SMALL, author="ada", reason="x")
        return batches_to_fetch(*arguments)

    monkeypatch.setattr(loop, "batches_to_fetch", pausing)
    result = refresh(holocron, instance)
    assert result.success, failure_message(result)
    assert holocron.lake.partitions(PAGES) == ["whole-000001"]
    assert holocron.lake.partitions(ENTITIES) != []
