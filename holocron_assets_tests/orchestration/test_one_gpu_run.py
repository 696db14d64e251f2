"""One run at a time asks models of the GPU, by tag, by pool and by lock: each of the three holds alone."""

import json
import os
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path
from textwrap import dedent
from time import sleep, time
from typing import Any

import dagster as dg
import pytest
import yaml
from asked_holocron import AskedHolocron, asked_holocron, write_interrogation
from dagster import DagsterRunStatus
from fake_ollama import LARGE, SMALL, Chat, FakeOllama
from whole_holocron import BIN, kill_group, start_group, until

from holocron_assets.derive.gpu.gpu_log import Span
from holocron_assets.derive.gpu.slots import GPU_POOL
from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.files.people_yaml import load_yaml
from holocron_assets.lake.tables import LLM_ATTEMPTS
from holocron_assets.orchestration.assets.partitions import BATCHES
from holocron_assets.planning.job_names import GPU_JOB, GPU_MODEL_TAG
from holocron_assets.settings import PROJECT_FOLDER

pytestmark = pytest.mark.full

THIRD, FOURTH, PERSONS = "third:1b", "fourth:1b", "persons:1b"
PAGES = 15
CALL_SECONDS = 0.1
LONG_ENOUGH = 10.0
"""Seconds after which a run that has begun would ask, if nothing kept it from that."""
MANY = 4

OWN_LOCKS = """
    import os
    from holocron_assets.derive.gpu import slots

    named = slots.GpuLock.__init__

    def named_for_this_process(self, lake, what, *, pool=slots.GPU_POOL):
        named(self, lake, what, pool=f"{pool}-{os.getpid()}")

    slots.GpuLock.__init__ = named_for_this_process
"""
"""Gives each process a lock of its own, which keeps nobody out."""

BACKFILL = """
    mutation ($params: LaunchBackfillParams!) {
      launchPartitionBackfill(backfillParams: $params) { __typename ... on Error { message } }
    }
"""


@dataclass
class Contest:
    """A Holocron with a real run queue, whose runs ask models that are slow enough for runs to meet.

    Attributes:
        asked: the Holocron.
        folder: its folder.
        calls: model and time of each call that was answered.
        goes_on: until it is set, the first call of all is under way.
    """

    asked: AskedHolocron
    folder: Path
    calls: list[tuple[str, Span]] = field(default_factory=list)
    goes_on: threading.Event = field(default_factory=threading.Event)

    def answer(self, chat: Chat) -> Any:
        """Answer a question, and note from when to when it was under way."""
        if chat is self.asked.ollama.chats[0]:
            self.goes_on.wait(300)
        arrived = datetime.fromtimestamp(chat.arrived_at, UTC)
        self.calls.append((chat.model, (arrived, datetime.fromtimestamp(time(), UTC))))
        return {"kind": "person"}

    def command(self, *command: str) -> str:
        done = subprocess.run(  # noqa: S603 - our own command
            [str(BIN / command[0]), *command[1:]],
            cwd=PROJECT_FOLDER,
            capture_output=True,
            text=True,
            timeout=1200,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def job_launch(self, model: str) -> None:
        config = json.dumps({"resources": {"what_to_ask": {"config": {"model": model}}}})
        launched = ("dagster", "job", "launch", "-w", "workspace.yaml", "-j", GPU_JOB)
        self.command(*launched, "--config-json", config)

    def backfill(self, *assets: str) -> None:
        """Start a backfill over several assets as the UI does."""
        params = {
            "assetSelection": [{"path": [asset]} for asset in assets],
            "partitionNames": list(self.asked.batches),
        }
        asks = ("dagster-graphql", "-w", "workspace.yaml", "-t", dedent(BACKFILL))
        said = self.command(*asks, "-v", json.dumps({"params": params}))
        assert "LaunchBackfillSuccess" in said, said

    @contextmanager
    def question(self, title: str) -> Iterator[None]:
        """Ask about a page, once a run asks, while the block goes on; at its end the answer must come."""
        until(self.models_asked, "a run asks", seconds=300)
        log = self.folder / "question.log"
        asking = start_group([str(BIN / "holocron"), "ask", "persons", title], os.environ, log)
        try:
            yield
            assert asking.wait(120) == 0, log.read_text()
        finally:
            kill_group(asking)

    def models_asked(self) -> set[str]:
        """The models that something was asked, be it answered or not."""
        return {chat.model for chat in self.asked.ollama.chats}

    def wait_for_runs(self, started: int, queued: int = 0) -> None:
        """Wait until so many runs have begun, and give them time to ask; the others must be queued."""
        until(self.models_asked, "a run asks", seconds=300)
        wanted = Counter({DagsterRunStatus.STARTED: started, DagsterRunStatus.QUEUED: queued})
        with self.instance() as instance:
            until(lambda: statuses(instance) == +wanted, f"{started} have begun", seconds=300, every=0.5)
            sleep(LONG_ENOUGH)
            assert statuses(instance) == +wanted

    def finish(self, *models: str) -> None:
        """Let the runs go on until models have answered all that there is, and until none asks any more."""
        self.goes_on.set()
        until(lambda: min(map(self.answered, models)) >= 2 * PAGES, "all is answered", seconds=300)
        with self.instance() as instance:
            until(
                lambda: statuses(instance).keys() <= {DagsterRunStatus.SUCCESS, DagsterRunStatus.FAILURE},
                "no run is under way",
                seconds=300,
                every=0.5,
            )
            assert statuses(instance).keys() == {DagsterRunStatus.SUCCESS}

    def answered(self, model: str) -> int:
        return sum(one == model for one, _ in self.calls)

    @staticmethod
    def instance() -> dg.DagsterInstance:
        return dg.DagsterInstance.from_config(os.environ["DAGSTER_HOME"])

    def meetings(self) -> list[tuple[Span, Span]]:
        """Calls of different models that were under way at once, as the model server saw it."""
        return [
            (one, other)
            for (model, one), (another, other) in combinations(self.calls, 2)
            if model != another and meet(one, other)
        ]

    def runs_that_met(self) -> list[tuple[str, str]]:
        """Runs that had calls under way at once, by table `llm_attempts`."""
        lake = self.asked.holocron.lake
        spans: dict[str, list[Span]] = {}
        for name in lake.partitions(LLM_ATTEMPTS):
            for row in read_partition(lake, LLM_ATTEMPTS, name):
                ended = row["started_at"] + timedelta(milliseconds=row["total_ms"])
                spans.setdefault(row["run_id"], []).append((row["started_at"], ended))
        return pairs_that_met(spans)

    def sessions_that_met(self) -> list[tuple[str, str]]:
        """Runs of Dagster of which one made its first call before another made its last, by `gpu_runs`."""
        spans: dict[str, list[Span]] = {}
        for row in self.asked.gpu_runs:
            if row["started_by"] != "ask":  # its question is asked between two of a run
                spans.setdefault(row["run_id"], []).append((row["started_at"], row["ended_at"]))
        return pairs_that_met(spans)


def pairs_that_met(spans: Mapping[str, Sequence[Span]]) -> list[tuple[str, str]]:
    return [
        (one, other)
        for one, other in combinations(spans, 2)
        if any(meet(first, second) for first in spans[one] for second in spans[other])
    ]


def meet(one: Span, other: Span) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def statuses(instance: dg.DagsterInstance) -> Counter[DagsterRunStatus]:
    """Runs that ask models, by status."""
    return Counter(run.status for run in instance.get_runs() if is_asking(run))


def is_asking(run: dg.DagsterRun) -> bool:
    chosen = {key.to_user_string() for key in run.asset_selection or ()}
    return run.job_name == GPU_JOB or any(name.startswith("derived_") for name in chosen)


@pytest.fixture
def contest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Contest]:
    """The sensor that dispatches launches nothing: the tests choose which runs start."""
    models = {"first": SMALL, "second": LARGE, "third": THIRD, "fourth": FOURTH}
    for number, (key, model) in enumerate(models.items()):
        write_interrogation(
            tmp_path,
            key,
            model,
            500 - number,
            prompt=f"Be {key} to say what it is about.",
            timeout_seconds=300,
        )
    # It wants none of the pages: only a person asks it.
    write_interrogation(tmp_path, "persons", PERSONS, 400, wants={"types": ["Droid"]})
    (tmp_path / "dispatch.yaml").write_text("mode: shadow\n")
    every = {model: f"{number}" * 64 for number, model in enumerate([*models.values(), PERSONS])}
    with FakeOllama(models=every, slots=8, most_loaded=5, delay_seconds=CALL_SECONDS) as ollama:
        asked = asked_holocron(tmp_path, ollama, monkeypatch, batches=2, pages=PAGES)
        made = Contest(asked, tmp_path)
        ollama.answer = made.answer
        yield made


@pytest.fixture
def daemon(contest: Contest) -> Iterator["Daemon"]:
    starting = Daemon(contest.folder)
    yield starting
    starting.end()


@dataclass
class Daemon:
    """The daemon, once it is started; it leads a group of processes, which its runs are in."""

    folder: Path
    process: "subprocess.Popen[bytes] | None" = None

    def start(self) -> None:
        command = [str(BIN / "dagster-daemon"), "run", "-w", "workspace.yaml"]
        self.process = start_group(command, os.environ, self.folder / "daemon.log")

    def end(self) -> None:
        if self.process:
            kill_group(self.process)


def prepare(contest: Contest, monkeypatch: pytest.MonkeyPatch, guards: Sequence[str]) -> None:
    """Make Dagster's home, with some of the guards `tag`, `pool` and `lock`, and without the others."""
    contest.command("holocron", "home")
    if "tag" not in guards:
        forget_tag_limit(Path(os.environ["DAGSTER_HOME"]) / "dagster.yaml")
    with contest.instance() as instance:
        instance.add_dynamic_partitions(str(BATCHES.name), list(contest.asked.batches))
        if "pool" not in guards:
            instance.event_log_storage.set_concurrency_slots(GPU_POOL, MANY)
    if "lock" not in guards:
        folder = contest.folder / "without_lock"
        folder.mkdir()
        (folder / "sitecustomize.py").write_text(dedent(OWN_LOCKS))
        monkeypatch.setenv("PYTHONPATH", str(folder))


def forget_tag_limit(file: Path) -> None:
    settings = load_yaml(file.read_text())
    runs = settings["concurrency"]["runs"]
    kept = [one for one in runs["tag_concurrency_limits"] if one["key"] != GPU_MODEL_TAG]
    assert len(kept) == len(runs["tag_concurrency_limits"]) - 1
    runs["tag_concurrency_limits"] = kept
    file.write_text(yaml.safe_dump(settings))


def expect_guards(contest: Contest, guards: Sequence[str]) -> None:
    """What was switched off is off to the end."""
    with contest.instance() as instance:
        limit = instance.event_log_storage.get_concurrency_info(GPU_POOL).slot_count
    assert limit == (1 if "pool" in guards else MANY)
    limited = GPU_MODEL_TAG in (Path(os.environ["DAGSTER_HOME"]) / "dagster.yaml").read_text()
    assert limited == ("tag" in guards)
    own_locks = [lock.name for lock in contest.asked.holocron.lake.locks.glob("gpu-gpu-[0-9]*")]
    assert bool(own_locks) == ("lock" not in guards)


def expect_turns(contest: Contest, *, whole_sessions: bool = True) -> None:
    assert contest.meetings() == []
    assert contest.runs_that_met() == []
    if whole_sessions:
        assert contest.sessions_that_met() == []
    assert max(contest.asked.asked().values()) == 1, "nothing is asked twice"


def test_the_limit_of_the_tag_alone_lets_two_launched_runs_ask_one_after_the_other(
    contest: Contest, daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(contest, monkeypatch, ["tag"])
    contest.job_launch(SMALL)
    contest.job_launch(LARGE)
    daemon.start()
    contest.wait_for_runs(started=1, queued=1)
    contest.finish(SMALL, LARGE)
    expect_turns(contest)
    expect_guards(contest, ["tag"])


def test_the_pool_alone_lets_launched_runs_and_a_backfill_over_two_models_ask_one_after_the_other(
    contest: Contest, daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(contest, monkeypatch, ["pool"])
    contest.job_launch(SMALL)
    contest.job_launch(LARGE)
    contest.backfill("derived_third", "derived_fourth")
    daemon.start()
    contest.wait_for_runs(started=1, queued=2)  # no slot is free, so Dagster begins none
    assert len(contest.models_asked()) == 1
    contest.finish(SMALL, LARGE, THIRD, FOURTH)
    expect_turns(contest)
    expect_guards(contest, ["pool"])


def test_the_lock_alone_lets_launched_runs_a_backfill_and_a_person_ask_one_after_the_other(
    contest: Contest, daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(contest, monkeypatch, ["lock"])
    contest.job_launch(SMALL)
    contest.job_launch(LARGE)
    contest.backfill("derived_third", "derived_fourth")
    daemon.start()
    with contest.question("Page wiki2 3"):
        contest.wait_for_runs(started=3)
        assert len(contest.models_asked()) == 1
        contest.goes_on.set()
    before = len(contest.calls)
    contest.finish(SMALL, LARGE, THIRD, FOURTH)
    assert contest.answered(PERSONS) == 1
    assert before < len(contest.calls), "the question was answered while runs had more to ask"
    # Who waits for the lock may get it after a question, before the run that let the question pass.
    expect_turns(contest, whole_sessions=False)
    expect_guards(contest, ["lock"])


def test_without_any_guard_two_launched_runs_ask_at_once(
    contest: Contest, daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(contest, monkeypatch, [])
    contest.job_launch(SMALL)
    contest.job_launch(LARGE)
    daemon.start()
    until(lambda: contest.models_asked() == {SMALL, LARGE}, "both runs ask", seconds=300)
    contest.finish(SMALL, LARGE)
    assert contest.meetings()
    assert contest.runs_that_met()
    assert contest.sessions_that_met()
    expect_guards(contest, [])


def test_the_sensor_a_launch_a_backfill_over_two_models_and_a_person_take_turns(
    contest: Contest, daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(contest, monkeypatch, ["tag", "pool", "lock"])
    (contest.folder / "dispatch.yaml").write_text("mode: live\n")
    daemon.start()
    until(contest.models_asked, "the sensor's run asks", seconds=300)
    contest.job_launch(LARGE)
    contest.backfill("derived_third", "derived_fourth")
    with contest.question("Page wiki2 3"):
        contest.wait_for_runs(started=1, queued=2)
        assert len(contest.models_asked()) == 1
        contest.goes_on.set()
    contest.finish(SMALL, LARGE, THIRD, FOURTH)
    assert contest.answered(PERSONS) == 1
    expect_turns(contest)
    expect_guards(contest, ["tag", "pool", "lock"])
    with contest.instance() as instance:
        runs = [run for run in instance.get_runs() if is_asking(run)]
    assert any(run.tags.get("dagster/sensor_name") == "model_dispatch" for run in runs)
    assert any("dagster/backfill" in run.tags for run in runs)
