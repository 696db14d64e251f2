"""`holocron run` in several processes: the same rows, whichever of them dies."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Event, Thread

import dagster as dg
import pytest
from dagster_at import dagster_at
from fake_ollama import comes_true
from held import page_requests
from sample_holocron import SAMPLE_EXPORT, Holocron
from tiny_wiki import add_tiny_source, copy_of_export, tiny_wiki

from holocron_assets.exports.content_hash import hash_lake
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGES
from holocron_assets.orchestration.local import helpers as helper_module
from holocron_assets.orchestration.local.helpers import (
    Ended,
    HelperGoneError,
    Helpers,
    _finished_beside,
    _give,
    _Left,
    finished_together,
)
from holocron_assets.orchestration.runs.waiting import FinishedRun, LocalRuns
from holocron_assets.planning.work import Work

pytestmark = [pytest.mark.system, pytest.mark.long]

HOLOCRON = str(Path(sys.executable).with_name("holocron"))
SECONDS = 120


def holocron_of_many_batches(folder: Path) -> Holocron:
    holocron = Holocron(folder)
    export = copy_of_export(SAMPLE_EXPORT, folder / "export.xml", pages=16)
    holocron.add_source("sample", export, more="batch_size: 2\n")
    return holocron


def start(holocron: Holocron, processes: int, *words: str) -> "subprocess.Popen[str]":
    environment = {**os.environ, **holocron.environment, "HOLOCRON_PROCESSES": str(processes)}
    return subprocess.Popen(  # noqa: S603 - our own command
        [HOLOCRON, *words], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def finished(holocron: Holocron, processes: int, *words: str) -> str:
    """The output of a command that has to go well."""
    with start(holocron, processes, *words) as command:
        output, _ = command.communicate()
    assert command.returncode == 0, output
    return output


def helpers_of(parent: int) -> list[int]:
    """The helpers that a process started, by their ids."""
    return list(_helpers_of(parent))


def _helpers_of(parent: int) -> Iterator[int]:
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            of = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if of == parent and b"local.helpers" in (folder / "cmdline").read_bytes():
                yield int(folder.name)
        except (OSError, ValueError):
            continue  # it ended in between


def lives(process: int) -> bool:
    try:
        return (Path("/proc") / str(process) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def processes_that_ran(holocron: Holocron, job: str) -> set[str]:
    """The ids of the processes that did the runs of a job, by the runs' events."""
    with dagster_at(holocron.environment["DAGSTER_HOME"]) as instance:
        runs = [run for run in instance.get_runs() if run.job_name == job]
        texts = [entry.message for run in runs for entry in instance.all_logs(run.run_id)]
    return {pid for text in texts for pid in re.findall(r"in process \(pid: (\d+)\)", text)}


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The content hash of what one process makes of the sample."""
    alone = holocron_of_many_batches(tmp_path_factory.mktemp("alone"))
    finished(alone, 1, "run")
    assert len(processes_that_ran(alone, "crawl_batch")) == 1
    return hash_lake(alone.lake).sha256


def test_two_processes_share_the_batches_and_make_the_same_rows(tmp_path: Path, expected: str) -> None:
    holocron = holocron_of_many_batches(tmp_path)
    finished(holocron, 2, "run")
    assert len(ran := processes_that_ran(holocron, "crawl_batch")) == 2
    assert processes_that_ran(holocron, "derive_code") == ran, "a process is kept for what comes next"
    assert hash_lake(holocron.lake).sha256 == expected
    assert "Nothing to do" in finished(holocron, 2, "run")


def test_of_each_wiki_two_batches_are_under_way_at_most_and_another_wiki_need_not_wait() -> None:
    batches = {name: Work("crawl_batch", name, "", host=name[0]) for name in ("a1", "a2", "a3", "b1", "b2")}
    left = _Left(list(batches.values()), lambda _: True)
    assert [left.take() for _ in range(5)] == [*(batches[name] for name in ("a1", "a2", "b1", "b2")), None]
    left.give_back(batches["a1"])
    assert [left.take(), left.take()] == [batches["a1"], None]
    left.end(batches["a1"])
    assert [left.take(), left.take()] == [batches["a3"], None]


def test_two_processes_share_the_batches_of_a_wiki_and_ask_it_no_more_than_one_would(tmp_path: Path) -> None:
    texts = {f"Lamp {number}": f"'''Lamp {number}''' was a pilot." for number in range(16)}
    holocron = Holocron(tmp_path)
    with tiny_wiki(texts) as wiki:
        polite = "requests_per_second: 20.0, requests_in_flight: 1"
        add_tiny_source(holocron, wiki, enabled=True, polite=polite, titles=texts, more="batch_size: 2\n")
        finished(holocron, 3, "run")
    assert len(processes_that_ran(holocron, "crawl_batch")) == 2, "a third would only wait for its turn"
    assert page_requests(wiki) == dict.fromkeys(texts, 1)
    assert wiki.most_in_flight == 1
    arrived = [request.arrived_at for request in wiki.requests]
    assert arrived[-1] - arrived[0] > (len(arrived) - 1) / 20 - 0.5


@pytest.mark.fault(1, "SIGKILL of a helper of `holocron run`")
def test_the_work_of_a_helper_that_is_killed_is_done_all_the_same(tmp_path: Path, expected: str) -> None:
    holocron = holocron_of_many_batches(tmp_path)
    with start(holocron, 2, "run") as command:
        assert comes_true(lambda: len(holocron.lake.partitions(PAGES)) > 2, seconds=SECONDS)
        for helper in helpers_of(command.pid):
            os.kill(helper, signal.SIGKILL)
        output, _ = command.communicate()
    assert command.returncode == 0, output
    assert hash_lake(holocron.lake).sha256 == expected


def the_helper(helpers: Helpers, other_than: int | None = None) -> int:
    """The one helper's id.

    The system may show neither a process's command at once when it has begun, nor its end to its parent while
    some thread of it still ends. So this waits for both.
    """

    def is_seen() -> bool:
        helpers.started(1)
        return helpers_of(os.getpid()) not in ([], [other_than])

    assert comes_true(is_seen, seconds=SECONDS)
    [helper] = helpers_of(os.getpid())
    return helper


def test_helpers_are_kept_while_they_live_and_end_with_a_stage_that_fails(tmp_path: Path) -> None:
    def fail(_: Work) -> bool:
        raise KeyboardInterrupt

    with dg.DagsterInstance.ephemeral() as instance, closing(Helpers({})) as helpers:
        runs = LocalRuns(instance, Lake(tmp_path), no_job)
        assert list(finished_together(runs, [], bool, helpers, 1)) == []
        first = the_helper(helpers)
        assert the_helper(helpers) == first
        os.kill(first, signal.SIGKILL)
        second = the_helper(helpers, other_than=first)
        with pytest.raises(KeyboardInterrupt):
            list(finished_together(runs, [Work("crawl_batch", "sample-000001", "")], fail, helpers, 0))
        assert not lives(second)


class DyingHelper:
    """A helper whose process ends at its first runs, as at a page that ends each process that reads it."""

    deaths_to_come = 0

    def __init__(self, _: object) -> None:
        self.is_alive = True

    def finish(self, work: Work) -> FinishedRun:
        if DyingHelper.deaths_to_come:
            DyingHelper.deaths_to_come -= 1
            self.is_alive = False
            raise HelperGoneError
        return FinishedRun(work, "a run", None, None, {})

    def was_asked_to_end(self) -> bool:
        return False

    def close(self) -> None:
        self.is_alive = False


@pytest.mark.parametrize(("deaths", "is_done"), [(1, True), (9, True), (40, False)])
def test_a_run_that_ends_its_helper_is_done_by_new_helpers_and_not_by_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deaths: int, *, is_done: bool
) -> None:
    monkeypatch.setattr(helper_module, "Helper", DyingHelper)
    monkeypatch.setattr(DyingHelper, "deaths_to_come", deaths)
    work = Work("crawl_batch", "sample-000001", "")
    with dg.DagsterInstance.ephemeral() as instance, closing(Helpers({})) as helpers:
        left, ended, runs = _Left([work], bool), Ended(), LocalRuns(instance, Lake(tmp_path), no_job)
        _give(helpers.started(1)[0], helpers, runs, left, ended)
        assert (left.take() is None) == is_done
        assert ended.empty() != is_done


def test_runs_of_helpers_are_reported_as_they_end_while_the_command_has_none_to_do(tmp_path: Path) -> None:
    heard, ended = Event(), Ended()
    first, second = (Work("crawl_batch", name, "", host="a") for name in ("wiki-000001", "wiki-000002"))

    def work() -> None:
        ended.put(FinishedRun(first, "a run", None, None, {}))
        was_heard = heard.wait(SECONDS)
        ended.put(
            FinishedRun(second, "another", None if was_heard else "nobody heard of the first", None, {})
        )

    helper = Thread(target=work)
    helper.start()
    with dg.DagsterInstance.ephemeral() as instance:
        runs = LocalRuns(instance, Lake(tmp_path), no_job, ended=lambda _: heard.set())
        results = list(_finished_beside([helper], runs, _Left([], bool), ended))
    assert [(run.work, run.error) for run in results] == [(first, None), (second, None)]


def test_a_helper_that_was_closed_is_not_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(helper_module, "Helper", DyingHelper)
    helpers = Helpers({})
    [helper] = helpers.started(1)
    helpers.close()
    assert helpers.replaced(helper) is None


@pytest.mark.parametrize(("number", "is_replaced"), [(signal.SIGKILL, True), (signal.SIGTERM, False)])
def test_a_helper_that_died_is_replaced_and_one_that_was_asked_to_end_is_not(
    number: signal.Signals, *, is_replaced: bool
) -> None:
    with closing(Helpers({})) as helpers:
        [helper] = helpers.started(1)
        [process] = helpers_of(os.getpid())
        os.kill(process, number)
        assert (helpers.replaced(helper) is not None) == is_replaced


def no_job(name: str) -> dg.JobDefinition:
    raise AssertionError(name)


@pytest.mark.fault(1, "SIGKILL of `holocron run` while a helper works")
def test_a_helper_ends_with_the_command_that_started_it(tmp_path: Path, expected: str) -> None:
    holocron = holocron_of_many_batches(tmp_path)
    with start(holocron, 2, "run") as command:
        assert comes_true(lambda: len(holocron.lake.partitions(PAGES)) > 2, seconds=SECONDS)
        helpers = helpers_of(command.pid)
        assert len(helpers) == 1
        command.kill()
    assert comes_true(lambda: not any(map(lives, helpers)), seconds=SECONDS)
    finished(holocron, 2, "run")
    assert hash_lake(holocron.lake).sha256 == expected
