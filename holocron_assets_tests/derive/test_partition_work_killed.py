"""A process that works on a partition is killed at any moment: what was answered stays."""

import os
import subprocess
import sys
import tempfile
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import time_machine
from asked import DIGEST, GOOD, interrogation
from fake_ollama import SMALL, FakeOllama, comes_true
from hypothesis import given, settings
from hypothesis import strategies as st
from wiki_lake import BATCH, a_wiki
from work_and_die import AT_ONCE

from holocron_assets.derive.engine.calls import Outcome
from holocron_assets.derive.results.item_states import ItemState
from holocron_assets.derive.results.partition_work import PartitionWork, journal_path
from holocron_assets.derive.results.result_journals import StateJournal, abandoned, begun, ended
from holocron_assets.lake.attempts import MAX_ATTEMPTS
from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.place.paths import Lake

pytestmark = pytest.mark.system

HERE = Path(__file__).parent
KINDS = interrogation(rows={})
OK, FAILED, DEAD = Outcome("ok", GOOD), Outcome("failed", error="it failed"), Outcome("dead", error="it died")
BROKEN_OFF = Outcome("failed", counts=False)
NOW = datetime(2026, 5, 4, tzinfo=UTC)

BEGINS = ("begun", "begun together")
ACTIONS = st.sampled_from([*BEGINS, "ok", "failed", "broken off", "abandoned"])


def write(journal: StateJournal, key: str, action: str) -> None:
    match action:
        case "begun" | "begun together":
            journal.add(begun(key, key, is_alone=action == "begun"))
        case "abandoned":
            journal.add(abandoned(key, key))
        case _:
            outcome = {"ok": OK, "failed": FAILED, "broken off": BROKEN_OFF}[action]
            journal.add(ended(key, key, outcome, unsupported=0))


def test_a_journal_cut_at_any_byte_keeps_every_answer_that_was_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    journal = StateJournal(path)
    answered: list[tuple[int, str]] = []
    for key in ("a", "b", "c"):
        for action in ("begun", "failed", "begun", "ok"):
            write(journal, key, action)
            if action == "ok":
                answered.append((path.stat().st_size, key))
    journal.close()
    whole = path.read_bytes()
    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        states = {key: state.settled() for key, state in StateJournal(path).states().items()}
        assert {key for end, key in answered if end <= cut} <= {
            key for key, state in states.items() if state.status == "ok" and state.answer == GOOD
        }
        assert all(1 <= state.attempts <= 2 for state in states.values())


@given(st.lists(st.tuples(st.sampled_from("ab"), ACTIONS), max_size=30))
def test_whatever_happens_attempts_are_counted_and_the_fourth_is_the_last(
    happened: list[tuple[str, str]],
) -> None:
    """The test counts attempts without the journal: an attempt ends, is broken off, or was a crash.

    One that began together with others counts when it ends.
    """
    with tempfile.TemporaryDirectory() as folder:
        journal = StateJournal(Path(folder) / "journal.jsonl")
        attempts, is_open, is_answered = Counter[str](), dict[str, str](), set[str]()
        for key, action in happened:
            if (action in BEGINS and attempts[key] == MAX_ATTEMPTS) or key in is_answered:
                continue
            if (action in BEGINS) == (key in is_open):
                continue
            write(journal, key, action)
            if action in BEGINS:
                is_open[key] = action
                attempts[key] += action == "begun"
            elif is_open.pop(key) == "begun":
                attempts[key] -= action in {"broken off", "abandoned"}
            else:
                attempts[key] += action in {"ok", "failed"}
            if action == "ok":
                is_answered.add(key)
        journal.close()
        states = {key: state.settled() for key, state in journal.states().items()}
    for key in "ab":
        state = states.get(key, ItemState(key))
        assert state.attempts == attempts[key]
        assert (state.status == "ok") == (key in is_answered)
        if is_open.get(key) == "begun":
            assert (state.status == "dead") == (attempts[key] == MAX_ATTEMPTS)


def test_a_dead_item_that_a_person_brought_back_has_four_attempts_again() -> None:
    with time_machine.travel(NOW, tick=False) as clock, tempfile.TemporaryDirectory() as folder:
        journal = StateJournal(Path(folder) / "journal.jsonl")
        for _ in range(MAX_ATTEMPTS):
            journal.add(begun("a", "a"))
        journal.add(ended("a", "a", DEAD, unsupported=0))
        dead = journal.states()["a"]
        assert (dead.status, dead.requeued(NOW - timedelta(seconds=1)).status) == ("dead", "dead")
        clock.shift(timedelta(seconds=1))
        back = dead.requeued(NOW + timedelta(seconds=1))
        assert (back.status, back.attempts) == ("untried", 0)
        journal.add(begun("a", "a"))
        journal.add(ended("a", "a", FAILED, unsupported=0))
        again = journal.states()["a"]
        assert (again.status, again.attempts) == ("failed", 1)
        assert again.requeued(NOW + timedelta(seconds=1)) == again


def work_on(lake: Lake) -> PartitionWork:
    return PartitionWork(lake, KINDS, BATCH, model=SMALL, digest=DIGEST)


@settings(deadline=None, max_examples=20)
@given(st.data())
def test_a_partition_whose_journal_was_cut_asks_again_about_what_was_not_answered(
    data: st.DataObject,
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        lake = a_wiki(Path(folder), {"Ash": "An '''ash''' is a tree.", "Elm": "An '''elm''' is a tree."})
        work = work_on(lake)
        path = journal_path(lake, KINDS, BATCH)
        sizes = {}
        for item in work.items:
            work.start(item)
            work.record(item, OK)
            sizes[item.subject] = path.stat().st_size
        cut = data.draw(st.integers(0, path.stat().st_size))
        os.truncate(path, cut)
        after = work_on(lake)
        open_items = {item.subject for item in after.ready(datetime.now(UTC) + timedelta(seconds=31))}
        # The end of a line may be cut off and the record be whole.
        assert open_items <= {subject for subject, size in sizes.items() if size > cut}
        assert {subject for subject, size in sizes.items() if size - 1 > cut} <= open_items
        for item in after.ready(datetime.now(UTC) + timedelta(seconds=31)):
            after.start(item)
            after.record(item, OK)
        assert after.publish("run-2") is not None
        assert len(read_partition(lake, KINDS.table, BATCH)) == 2


@pytest.mark.fault(9, "SIGKILL of a process that asks, again and again")
def test_a_killed_process_loses_the_calls_under_way_and_nothing_else(tmp_path: Path) -> None:
    titles = [f"Tree {number}" for number in range(20)]
    lake = a_wiki(tmp_path, {title: f"'''{title}''' is a tree." for title in titles})
    path = [str(HERE), *sys.path]
    with FakeOllama(answer=lambda _: GOOD, slots=AT_ONCE, delay_seconds=0.05) as fake:
        program = [sys.executable, str(HERE / "work_and_die.py"), str(tmp_path), fake.url]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
        killed = subprocess.Popen(program, env=environment)  # noqa: S603 - our own program
        assert comes_true(lambda: len(fake.chats) >= 8, seconds=60)
        killed.kill()
        killed.wait()
        before = work_on(lake)
        assert before.answered >= len(fake.chats) - AT_ONCE
        assert len(before.dues) <= AT_ONCE
        second = subprocess.run(program, env=environment, check=False, timeout=60)  # noqa: S603 - the same
        assert second.returncode == 0
        left = work_on(lake)
        assert left.answered == 20 - len(before.dues)
        assert len(fake.chats) <= 20
        assert max(Counter(fake.prompts).values()) == 1
    assert {item.subject for item in left.ready(datetime.now(UTC) + timedelta(seconds=31))} <= set(titles)
