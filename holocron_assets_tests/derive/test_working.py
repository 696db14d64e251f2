"""Working on one model's items: slots kept full, turns, questions in between, and every way to be stopped."""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest
from asked import interrogation
from fake_ollama import (
    LARGE,
    SMALL,
    Chat,
    FakeOllama,
    Handler,
    answers,
    fails,
    malformed,
    out_of_memory,
    refused_url,
)
from wiki_lake import write_wiki

from holocron_assets.derive.dispatch.pools import DispatchSettings
from holocron_assets.derive.dispatch.served import ServedModels
from holocron_assets.derive.engine.calls import Outcome
from holocron_assets.derive.engine.engine import Engine
from holocron_assets.derive.engine.problems import (
    ModelMissingError,
    ModelServerUnavailable,
    ModelTooLargeError,
)
from holocron_assets.derive.gpu.model_run import ModelRun, Session, work_on
from holocron_assets.derive.gpu.question import Question
from holocron_assets.derive.gpu.slots import GpuLock, NotedLock
from holocron_assets.derive.gpu.turns import Agenda, Dispatched, Given
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.results import answer_tables
from holocron_assets.derive.results.partition_work import PartitionWork
from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import GPU_RUNS, LLM_RUNS

pytestmark = pytest.mark.system

DIGESTS = {SMALL: "5" * 64, LARGE: "7" * 64}
KINDS = interrogation(rows={})
GOOD = {"kind": "person"}


def batches(lake: Lake, count: int, pages: int) -> list[str]:
    """Write batches of pages, each of a source of its own and each page of another title."""
    names = [f"wiki{number}-000001" for number in range(1, count + 1)]
    for place, name in enumerate(names, 1):
        titles = [f"Page {place} {number}" for number in range(pages)]
        write_wiki(lake, {title: f"'''{title}''' is a pilot." for title in titles}, name)
    return names


def model_run(lake: Lake, server: str, model: str = SMALL) -> ModelRun:
    return ModelRun(lake, server, "gpu", model, DIGESTS[model], 4096, "run-1", "person")


def dispatched(lake: Lake, interrogations: Sequence[Interrogation], **settings: Any) -> Dispatched:
    served = ServedModels(DIGESTS, frozenset(), frozenset())
    return Dispatched(lake, interrogations, served, DispatchSettings(**settings), model=SMALL)


def work(run: ModelRun, agenda: Agenda) -> tuple[Session, list[str]]:
    """Do it all; give what it came to, and the tables that became complete."""
    session = Session()
    with closing(work_on(run, agenda, session)) as working:
        complete = [
            f"{one.opened.work.interrogation.name} of {one.opened.work.partition}"
            for one in working
            if one.footer and one.is_complete
        ]
    return session, complete


def answered(lake: Lake, asked: Interrogation, partition: str) -> int:
    return PartitionWork(lake, asked, partition, model=SMALL, digest=DIGESTS[SMALL]).answered


def logged(lake: Lake) -> list[dict[str, Any]]:
    """Rows of `gpu_runs`, in order."""
    return [row for name in lake.partitions(GPU_RUNS) for row in read_partition(lake, GPU_RUNS, name)]


def until(condition: Callable[[], bool]) -> None:
    deadline = monotonic() + 30
    while not condition():
        assert monotonic() < deadline
        sleep(0.01)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


@pytest.fixture(autouse=True)
def no_pauses_and_little_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holocron_assets.derive.gpu.working.PREPARED", 2)
    monkeypatch.setattr("holocron_assets.derive.engine.engine.PAUSES", (0.0, 0.0, 0.0))
    monkeypatch.setenv("OLLAMA_NUM_PARALLEL", "2")


def test_every_item_is_asked_about_once_and_every_partition_completed(lake: Lake) -> None:
    names = batches(lake, 3, 5)
    with FakeOllama(answer=lambda _: GOOD, slots=2) as fake:
        session, complete = work(model_run(lake, fake.url), Given(KINDS, names))
    assert sorted(complete) == [f"kinds of {name}" for name in names]
    assert Counter(chat.prompt for chat in fake.chats).most_common(1)[0][1] == 1
    assert (len(fake.chats), fake.loads[SMALL]) == (15, 1)
    assert (session.outcome, session.items, session.remaining) == ("complete", 15, 0)
    (row,) = logged(lake)
    assert (row["calls"], row["items"], row["partitions_completed"], row["outcome"]) == (
        15,
        15,
        3,
        "complete",
    )


def test_requests_are_under_way_at_all_times_also_from_one_partition_to_the_next(lake: Lake) -> None:
    names = batches(lake, 6, 4)
    with FakeOllama(answer=lambda _: GOOD, slots=2, delay_seconds=0.15) as fake:
        session, _ = work(model_run(lake, fake.url), Given(KINDS, names))
    assert fake.most_in_flight == 3, "one waits for a slot"
    assert session.tally.busy_share > 0.97


def test_one_more_request_is_under_way_than_the_server_has_slots(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_NUM_PARALLEL", "3")
    with FakeOllama(answer=lambda _: GOOD, slots=8, delay_seconds=0.05) as fake:
        work(model_run(lake, fake.url), Given(KINDS, batches(lake, 2, 8)))
    assert fake.most_in_flight == 4


def test_what_is_answered_already_loads_no_model(lake: Lake) -> None:
    names = batches(lake, 2, 3)
    with FakeOllama(answer=lambda _: GOOD) as fake:
        work(model_run(lake, fake.url), Given(KINDS, names))
    lake.file(KINDS.table, names[1]).unlink()
    with FakeOllama(answer=lambda _: GOOD) as fake:
        session, complete = work(model_run(lake, fake.url), Given(KINDS, names))
        assert (fake.chats, dict(fake.loads)) == ([], {})
    assert complete == [f"kinds of {names[1]}"], "the other's file says the same already"
    assert session.outcome == "complete"
    assert len(logged(lake)) == 1, "nothing was asked the second time"


def test_answers_are_in_the_table_while_the_batch_goes_on(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holocron_assets.derive.gpu.working.WRITE_SECONDS", 0.1)
    (name,) = batches(lake, 1, 12)
    seen: list[tuple[int, int]] = []
    with FakeOllama(answer=lambda _: GOOD, delay_seconds=0.1) as fake:
        run = model_run(lake, fake.url)
        with closing(work_on(run, Given(KINDS, [name]), Session())) as working:
            for one in working:
                if one.footer is None:  # the last answers were written just before the work ended
                    assert (one.is_over, one.remaining) == (True, 0)
                    continue
                seen.append((one.footer.rows, one.remaining))
                assert one.footer.inputs.get("unanswered", "0") == str(one.remaining)
                assert len(read_partition(lake, KINDS.table, name)) >= one.footer.rows
    assert len(seen) > 3
    assert seen == sorted(seen)
    assert {rows + remaining for rows, remaining in seen} == {12}
    assert seen[-1] == (12, 0)


def test_the_model_waits_for_no_table(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holocron_assets.derive.gpu.working.WRITE_SECONDS", 0.05)
    written = answer_tables.write_answers

    def slowly(*arguments: Any, **named: Any) -> Any:
        sleep(0.5)
        return written(*arguments, **named)

    monkeypatch.setattr("holocron_assets.derive.results.partition_work.write_answers", slowly)
    (name,) = batches(lake, 1, 16)
    with FakeOllama(answer=lambda _: GOOD, slots=2, delay_seconds=0.15) as fake:
        session, _ = work(model_run(lake, fake.url), Given(KINDS, [name]))
    assert session.tally.busy_share > 0.9


def test_what_a_killed_run_left_in_the_journal_is_written_before_anything_is_asked(lake: Lake) -> None:
    (name,) = batches(lake, 1, 4)
    killed = PartitionWork(lake, KINDS, name, model=SMALL, digest=DIGESTS[SMALL])
    for item in killed.items[:2]:
        killed.start(item)
        killed.record(item, Outcome(status="ok", answer=GOOD))
    with FakeOllama(answer=lambda _: GOOD, delay_seconds=0.5) as fake:
        working = work_on(model_run(lake, fake.url), Given(KINDS, [name]), Session())
        first = next(working)
        assert (first.footer and first.footer.rows, first.is_over, first.remaining) == (2, False, 2)
        assert len(fake.chats) <= 2
        last = list(working)[-1]
    assert (last.footer and last.footer.rows, last.is_over, last.is_complete) == (4, True, True)


def test_an_item_that_waits_hides_no_answer_and_a_rerun_writes_nothing(lake: Lake) -> None:
    (name,) = batches(lake, 1, 3)
    on = {"Page 1 1": malformed()}
    with FakeOllama(answer=lambda _: GOOD, on=on) as fake:
        session, complete = work(model_run(lake, fake.url), Given(KINDS, [name]))
        mark = lake.listing(KINDS.table).mark(name)
        (again,) = work_on(model_run(lake, fake.url), Given(KINDS, [name]), Session())
    assert (complete, session.remaining, len(read_partition(lake, KINDS.table, name))) == ([], 1, 2)
    assert (again.footer, again.is_over, again.remaining) == (None, True, 1)
    assert lake.listing(KINDS.table).mark(name) == mark


def test_interrogations_of_equal_priority_take_turns_and_a_higher_one_goes_first(lake: Lake) -> None:
    batches(lake, 2, 10)
    first = interrogation(key="first", priority=900, rows={}, question="FIRST {{ title }}?")
    left = interrogation(key="left", rows={}, question="LEFT {{ title }}?")
    right = interrogation(key="right", rows={}, question="RIGHT {{ title }}?")
    with FakeOllama(answer=lambda _: GOOD) as fake:
        session, complete = work(
            model_run(lake, fake.url), dispatched(lake, [left, first, right], items_a_turn=10)
        )
    asked = [
        "FIRST" if "FIRST" in prompt else "LEFT" if "LEFT" in prompt else "RIGHT" for prompt in fake.prompts
    ]
    assert asked[:19] == ["FIRST"] * 19, "one more or less: two are under way at once"
    equals = asked[21:]
    for place in range(0, len(equals), 10):
        assert abs(equals[:place].count("LEFT") - equals[:place].count("RIGHT")) <= 6
    assert (len(complete), session.outcome, len(fake.chats)) == (6, "complete", 60)


def test_a_run_stops_when_another_models_turn_has_come_and_keeps_its_answers(lake: Lake) -> None:
    batches(lake, 1, 10)
    other = interrogation(key="other", model=LARGE, alternatives=[], priority=900, rows={})
    agenda = dispatched(lake, [KINDS], items_a_turn=4)

    def answer(_: Any) -> dict[str, str]:
        agenda.interrogations = [KINDS, other]
        return GOOD

    with FakeOllama(answer=answer) as fake:
        session, complete = work(model_run(lake, fake.url), agenda)
        asked = len(fake.chats)
    assert complete == []
    assert session.outcome == "stopped"
    assert "another model's turn: large:7b has the highest priority, 900" in session.reason
    assert 4 <= asked < 10, "the turns that were prepared are ended"
    assert answered(lake, KINDS, "wiki1-000001") == asked


def test_a_run_that_had_its_time_stops_before_the_next_turn(lake: Lake) -> None:
    batches(lake, 1, 10)
    agenda = dispatched(lake, [KINDS], items_a_turn=4)

    def answer(_: Any) -> dict[str, str]:
        agenda.deadline = monotonic() - 1
        return GOOD

    with FakeOllama(answer=answer) as fake:
        session, _ = work(model_run(lake, fake.url), agenda)
    assert session.outcome == "stopped"
    assert "time is over" in session.reason
    assert 4 <= len(fake.chats) < 10, "the turns that were prepared are ended"


def test_an_item_that_fails_leaves_the_others_done_and_says_when_it_is_due(lake: Lake) -> None:
    (name,) = batches(lake, 1, 5)
    with FakeOllama(answer=lambda _: GOOD, on={"Page 1 3": malformed()}) as fake:
        session, complete = work(model_run(lake, fake.url), Given(KINDS, [name]))
    assert complete == []
    assert (session.outcome, session.items, session.remaining) == ("partial", 5, 1)
    assert session.due_at is not None
    assert session.reason == f"1 of 5 remain, due {session.due_at:%H:%M} UTC"
    assert answered(lake, KINDS, name) == 4


def test_an_interrogation_whose_schema_the_server_refuses_keeps_no_other_from_being_asked(lake: Lake) -> None:
    (name,) = batches(lake, 1, 6)
    bad = interrogation(key="notes", rows={}, prompt="Take notes.", priority=600)

    def refuse_lists(handler: Handler, chat: Chat) -> None:
        is_refused = "maxItems" in str(chat.body["format"])
        does = fails(400, "failed to parse grammar") if is_refused else answers(GOOD)
        does(handler, chat)

    with FakeOllama(answer=lambda _: GOOD, on={"Take notes.": refuse_lists}) as fake:
        session, complete = work(model_run(lake, fake.url), dispatched(lake, [bad, KINDS]))
    assert (complete, session.problem, session.remaining) == ([f"kinds of {name}"], None, 6)
    rows = [row for scope in lake.partitions(LLM_RUNS) for row in read_partition(lake, LLM_RUNS, scope)]
    errors = [row["error"] for row in rows if row["interrogation"] == "notes"]
    assert len(errors) == 6
    assert all("of notes because of its answer_schema" in error for error in errors)


@pytest.mark.parametrize("lacking", ["memory", "server", "model"])
def test_a_server_at_fault_ends_the_work_and_costs_no_item_an_attempt(lake: Lake, lacking: str) -> None:
    (name,) = batches(lake, 1, 6)
    with FakeOllama(answer=lambda _: GOOD) as fake:
        url = fake.url
        if lacking == "memory":
            fake.on = {"Page": out_of_memory()}
        elif lacking == "model":
            del fake.models[SMALL]
        else:
            url = refused_url()
        session, complete = work(model_run(lake, url), Given(KINDS, [name]))
    errors = {"memory": ModelTooLargeError, "server": ModelServerUnavailable, "model": ModelMissingError}
    assert isinstance(session.problem, errors[lacking])
    assert (complete, session.outcome, session.remaining) == ([], "partial", 6)
    left = PartitionWork(lake, KINDS, name, model=SMALL, digest=DIGESTS[SMALL])
    assert (left.untried, left.dues, left.dead) == (6, [], 0)
    asyncio.run(GpuLock(lake, "the next").take(seconds=0))


@pytest.mark.parametrize("slots", [1, 4])
def test_pages_that_always_fail_keep_the_pages_behind_them_waiting_for_few_runs(
    lake: Lake, slots: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_NUM_PARALLEL", str(slots))
    (name,) = batches(lake, 1, 12)
    first = {f"Page 1 {number}?": fails(500) for number in range(5)}
    with FakeOllama(answer=lambda _: GOOD, slots=slots, delay_seconds=0.1, on=first) as fake:
        for _ in range(6):
            work(model_run(lake, fake.url), Given(KINDS, [name]))
    left = PartitionWork(lake, KINDS, name, model=SMALL, digest=DIGESTS[SMALL])
    assert (left.answered, left.untried, len(left.dues)) == (7, 0, 5)


def test_a_partition_that_cannot_be_opened_keeps_no_other_from_its_end(lake: Lake) -> None:
    names = batches(lake, 2, 2)
    with FakeOllama(answer=lambda _: GOOD) as fake:
        session, complete = work(model_run(lake, fake.url), Given(KINDS, ["gone-000001", *names]))
    assert sorted(complete) == [f"kinds of {name}" for name in names]
    assert list(session.problems) == [("kinds", "gone-000001")]
    assert session.outcome == "partial"


def test_a_partition_that_another_process_works_on_is_left_to_it(lake: Lake) -> None:
    names = batches(lake, 2, 2)
    with FakeOllama(answer=lambda _: GOOD, delay_seconds=0.3) as fake:
        run = model_run(lake, fake.url)
        with closing(work_on(run, Given(KINDS, names[:1]), Session())) as first:
            thread = threading.Thread(target=list, args=(first,))
            thread.start()
            until(lambda: bool(fake.chats))
            _, complete = work(run, Given(KINDS, names))
            thread.join()
    assert complete == [f"kinds of {names[1]}"]
    assert len(fake.chats) == 4


def test_an_interrupted_run_keeps_every_answer_and_gives_the_locks_back(lake: Lake) -> None:
    (name,) = batches(lake, 1, 12)
    write_wiki(lake, {"Alone": "'''Alone''' is a pilot."}, "alone-000001")
    with FakeOllama(answer=lambda _: GOOD, delay_seconds=0.1) as fake:
        working = work_on(model_run(lake, fake.url), Given(KINDS, ["alone-000001", name]), Session())
        next(working)
        until(lambda: len(fake.chats) > 5)
        with pytest.raises(KeyboardInterrupt):
            working.throw(KeyboardInterrupt())
    asked = len(fake.chats) - 1
    assert 2 <= asked < 12
    left = PartitionWork(lake, KINDS, name, model=SMALL, digest=DIGESTS[SMALL])
    assert asked - 3 <= left.answered <= asked, "at most the calls under way are lost"
    assert (left.untried, left.dues) == (12 - left.answered, []), "who was interrupted is not to blame"
    (row,) = logged(lake)
    assert (row["outcome"], row["reason"]) == ("stopped", "it was interrupted")
    assert not NotedLock(lake, "gpu-gpu").is_held()
    with FakeOllama(answer=lambda _: GOOD) as fake:
        session, _ = work(model_run(lake, fake.url), Given(KINDS, [name]))
    assert session.outcome == "complete"
    assert len(fake.chats) == 12 - left.answered


def test_a_question_goes_between_two_requests_and_the_batch_does_not_ask_it_again(lake: Lake) -> None:
    (name,) = batches(lake, 1, 40)
    with FakeOllama(answer=lambda _: GOOD, delay_seconds=0.1, slots=2) as fake:
        sessions: list[Session] = []
        batch = threading.Thread(
            target=lambda: sessions.append(work(model_run(lake, fake.url), Given(KINDS, [name]))[0])
        )
        batch.start()
        until(lambda: len(fake.chats) >= 3)
        question = Question(lake, KINDS, "wiki1", "Page 1 39")
        (answer,) = asyncio.run(question.answers(fake.url))
        place = [index for index, chat in enumerate(fake.chats) if "Page 1 39" in chat.prompt]
        batch.join()
    assert (answer.answer, answer.is_new) == (GOOD, True)
    assert place
    assert place[0] < 36, "it did not wait for the batch's end"
    assert len(fake.chats) == 40, "the batch did not ask it again"
    assert sessions[0].outcome == "complete"
    assert fake.loads[SMALL] == 1
    assert [row["started_by"] for row in logged(lake)] in (["ask", "person"], ["person", "ask"])


def test_a_question_to_another_model_costs_two_more_loads(lake: Lake) -> None:
    (name,) = batches(lake, 1, 60)
    other = interrogation(key="other", model=LARGE, alternatives=[], rows={})
    with FakeOllama(answer=lambda _: GOOD, delay_seconds=0.05, slots=2, load_seconds=0.25) as fake:
        sessions: list[Session] = []
        batch = threading.Thread(
            target=lambda: sessions.append(work(model_run(lake, fake.url), Given(KINDS, [name]))[0])
        )
        batch.start()
        until(lambda: len(fake.chats) >= 3)
        (answer,) = asyncio.run(Question(lake, other, "wiki1", "Page 1 0").answers(fake.url))
        batch.join()
        (again,) = asyncio.run(Question(lake, other, "wiki1", "Page 1 0").answers(fake.url))
    assert (answer.is_new, again.is_new, again.answer) == (True, False, GOOD)
    assert (fake.loads[SMALL], fake.loads[LARGE], len(fake.chats)) == (2, 1, 61)
    assert sessions[0].tally.loads == 2
    assert sessions[0].outcome == "complete"


def test_requests_that_wait_to_be_tried_again_leave_their_slot_to_others(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holocron_assets.derive.engine.engine.PAUSES", (1.0, 1.0, 1.0))
    monkeypatch.setenv("OLLAMA_NUM_PARALLEL", "1")
    (name,) = batches(lake, 1, 10)
    with FakeOllama(answer=lambda _: GOOD, delay_seconds=0.05) as fake:
        fake.script.append(malformed())
        started = datetime.now(UTC)
        session, _ = work(model_run(lake, fake.url), Given(KINDS, [name]))
    retried = fake.chats[-1].arrived_at - started.timestamp()
    assert (len(fake.chats), session.outcome) == (11, "complete")
    assert [chat.arrived_at - started.timestamp() < retried for chat in fake.chats].count(True) == 10


def test_a_question_that_was_answered_while_it_waited_is_not_asked_again(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    (name,) = batches(lake, 1, 1)

    async def answered_meanwhile(*_: object) -> float:
        other = PartitionWork(lake, KINDS, name, model=SMALL, digest=DIGESTS[SMALL])
        for item in other.items:
            other.start(item)
            other.record(item, Outcome(status="ok", answer=GOOD))
        return 0.0

    monkeypatch.setattr(Engine, "warm_up", answered_meanwhile)
    with FakeOllama(answer=lambda _: {"kind": "place"}) as fake:
        question = Question(lake, KINDS, "wiki1", "Page 1 0")
        (found,) = asyncio.run(question.answers(fake.url))
    assert (found.answer, found.is_new, fake.chats) == (GOOD, False, [])


@pytest.mark.parametrize("served", [SMALL, LARGE])
def test_a_question_takes_the_place_of_the_model_that_is_served(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, served: str
) -> None:
    batches(lake, 1, 1)
    monkeypatch.setenv("HOLOCRON_DISPATCH", str(tmp_path / "dispatch.yaml"))
    (tmp_path / "dispatch.yaml").write_text(f"pools: {{remote: {{models: ['{SMALL}'], limit: 4}}}}")
    held = []

    def answer(_: Chat) -> dict[str, str]:
        held.append(NotedLock(lake, "gpu-gpu").is_held())
        return GOOD

    with FakeOllama(answer=answer, models={served: DIGESTS[served]}) as fake:
        (found,) = asyncio.run(Question(lake, KINDS, "wiki1", "Page 1 0").answers(fake.url))
    assert (found.model, held) == (served, [served == LARGE])
