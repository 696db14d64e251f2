"""What an interrogation has to do in one partition, and what becomes of it: journal, answers kept, tables."""

import asyncio
import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
from asked import DIGEST, GOOD, interrogation
from fake_ollama import LARGE, SMALL, Behaviour, FakeOllama, malformed, out_of_memory
from wiki_lake import BATCH, a_wiki, write_wiki

from holocron_assets.derive.engine.calls import Outcome
from holocron_assets.derive.engine.engine import Engine, open_client
from holocron_assets.derive.evidence.queries import QueryError
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.items.items import Item
from holocron_assets.derive.items.recipe import recipe_of
from holocron_assets.derive.results.item_states import SUMMED
from holocron_assets.derive.results.partition_work import PartitionWork, journal_path
from holocron_assets.derive.results.result_journals import exchanges_path
from holocron_assets.lake.files.parquet import read_footer, read_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import LLM_ATTEMPTS, LLM_RUNS, TRACEBACKS

pytestmark = pytest.mark.system

TEXTS = {title: f"'''{title}''' is a {title.lower()} of note." for title in ("Ash", "Birch", "Cedar", "Elm")}
KINDS = interrogation(rows={})
SCOPE = f"kinds-{BATCH}"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return a_wiki(tmp_path, TEXTS)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holocron_assets.derive.engine.engine.PAUSES", (0.0, 0.0, 0.0))


def work_on(
    lake: Lake, asked: Interrogation = KINDS, batch: str = BATCH, digest: str = DIGEST
) -> PartitionWork:
    return PartitionWork(lake, asked, batch, model=SMALL, digest=digest)


def now() -> datetime:
    return datetime.now(UTC)


def subjects(items: Iterable[Item]) -> list[str]:
    return [item.subject for item in items]


async def ask_all(work: PartitionWork, fake: FakeOllama, items: Sequence[Item]) -> None:
    async with open_client(fake.url) as client:
        engine = Engine(client, run_id="run-1")
        for item in items:
            attempt = work.start(item)
            work.record(item, await engine.answer(item, model=SMALL, digest=DIGEST, attempt=attempt))


def run(work: PartitionWork, **on: Behaviour) -> int:
    """Ask about all that is ready; give the number of calls."""
    with FakeOllama(
        answer=lambda _: GOOD, on={f"What is {title}?": what for title, what in on.items()}
    ) as fake:
        asyncio.run(ask_all(work, fake, work.ready(now())))
        return len(fake.chats)


def run_and_publish(lake: Lake, work: PartitionWork) -> list[int]:
    """Ask about all that is ready; give the calls of each item."""
    run(work)
    work.publish("run-2")
    return [row["calls"] for row in runs(lake, work.scope).values()]


def too_busy(*_: object) -> str:
    raise QueryError("it took longer than 5 s", is_transient=True)


def runs(lake: Lake, scope: str = SCOPE) -> dict[str, dict[str, Any]]:
    return {row["subject"]: row for row in read_partition(lake, LLM_RUNS, scope)}


def test_a_partition_never_worked_on_has_all_its_items_ready(lake: Lake) -> None:
    work = work_on(lake)
    assert subjects(work.ready(now())) == list(TEXTS)
    assert (work.untried, work.answered, work.dead, work.dues, work.is_complete) == (4, 0, 0, [], False)
    assert not journal_path(lake, KINDS, BATCH).exists()


def test_a_partition_whose_items_are_all_answered_is_a_table(lake: Lake) -> None:
    work = work_on(lake)
    assert run(work) == 4
    footer = work.publish("run-2")
    assert footer is not None
    rows = read_partition(lake, KINDS.table, BATCH)
    assert [(row["title"], row["kind"], row["words"], row["supported"]) for row in rows] == [
        (title, "person", ["a", "b"], True) for title in TEXTS
    ]
    assert {row["run_id"] for row in rows} == {"run-2"}
    assert recipe_of(KINDS, DIGEST).differences(lake, BATCH) == ()


def test_every_item_and_every_call_is_a_row(lake: Lake) -> None:
    work = work_on(lake)
    run(work, Birch=malformed())
    work.publish("run-2")
    row, failed = (runs(lake)[title] for title in ("Ash", "Birch"))
    assert (row["status"], row["attempts"], row["calls"], json.loads(row["output"])) == ("ok", 1, 1, GOOD)
    assert (row["parse_strategy"], row["unsupported"], row["error"], row["run_id"]) == (
        "direct",
        0,
        None,
        "run-1",
    )
    assert (row["tokens_out"], row["generation_ms"], row["prompt_version"]) == (20, 2.0, KINDS.prompt_version)
    assert (failed["status"], failed["attempts"], failed["calls"], failed["output"]) == ("failed", 1, 3, None)
    assert failed["tokens_out"] == 60
    assert failed["due_at"] > now()
    calls = read_partition(lake, LLM_ATTEMPTS, SCOPE)
    assert [(call["subject"], call["try"], call["outcome"]) for call in calls] == [
        ("Ash", 1, "ok"),
        *[("Birch", number, "malformed") for number in (1, 2, 3)],
        ("Cedar", 1, "ok"),
        ("Elm", 1, "ok"),
    ]
    [kept] = read_partition(lake, TRACEBACKS, SCOPE)
    assert (kept["stage"], kept["item"]) == ("kinds", failed["item_id"])
    assert "MalformedReplyError" in kept["traceback"]


def test_the_same_again_makes_no_call_and_changes_no_file(lake: Lake) -> None:
    work = work_on(lake)
    run(work)
    first = work.publish("run-2")
    marks = [lake.listing(table).mark(SCOPE) for table in (LLM_RUNS, LLM_ATTEMPTS)]
    again = work_on(lake)
    assert (again.ready(now()), again.is_complete, again.calls_saved) == ([], True, 0)
    table = lake.listing(KINDS.table).mark(BATCH)
    assert (first is not None, again.publish("run-3")) == (True, None)
    assert lake.listing(KINDS.table).mark(BATCH) == table
    assert [lake.listing(table).mark(SCOPE) for table in (LLM_RUNS, LLM_ATTEMPTS)] == marks


def test_answers_are_in_the_table_before_all_are_there(lake: Lake) -> None:
    work = work_on(lake)
    assert work.publish_so_far("run-2") is None, "there is nothing to write"
    assert read_footer(lake, KINDS.table, BATCH) is None
    for item in work.items[:2]:
        work.start(item)
        work.record(item, Outcome("ok", GOOD))
    footer = work.publish_so_far("run-2")
    assert footer is not None
    assert footer.inputs["unanswered"] == "2"
    assert [row["title"] for row in read_partition(lake, KINDS.table, BATCH)] == ["Ash", "Birch"]
    assert list(runs(lake)) == ["Ash", "Birch"]
    assert recipe_of(KINDS, DIGEST).differences(lake, BATCH) == ("unanswered",)
    assert work.publish_so_far("run-2") is None, "nothing came since"
    run(work)
    assert work.publish_so_far("run-2") is not None
    assert recipe_of(KINDS, DIGEST).differences(lake, BATCH) == ()


def test_answers_that_a_killed_run_left_are_missing_in_the_table_until_it_is_written(lake: Lake) -> None:
    killed = work_on(lake)
    run(killed, Birch=malformed())
    later = work_on(lake)
    assert (later.ready(now()), later.is_behind) == ([], True), "what is left waits"
    assert later.publish("run-3") is not None
    assert (later.is_behind, work_on(lake).is_behind) == (False, False)


def test_an_item_that_died_leaves_the_answers_of_the_others_and_completes_the_table(lake: Lake) -> None:
    work = work_on(lake)
    for item, outcome in zip(
        work.items, [Outcome("dead", error="no"), *[Outcome("ok", GOOD)] * 2], strict=False
    ):
        work.start(item)
        work.record(item, outcome)
    assert (work.remaining, work.publish_so_far("run-2") is not None) == (1, True)
    assert [row["title"] for row in read_partition(lake, KINDS.table, BATCH)] == ["Birch", "Cedar"]
    run(work)
    footer = work.publish("run-2")
    assert footer is not None
    assert (footer.rows, "unanswered" in footer.inputs) == (3, False)


def test_answers_to_an_earlier_prompt_stand_until_each_is_replaced(lake: Lake) -> None:
    run_and_publish(lake, work_on(lake))
    changed = interrogation(rows={}, prompt="Say it otherwise.")
    work = work_on(lake, changed)
    work.start(work.items[0])
    work.record(work.items[0], Outcome("ok", {"kind": "place"}))
    footer = work.publish_so_far("run-3")
    assert footer is not None
    assert footer.inputs["unanswered"] == "3"
    rows = read_partition(lake, KINDS.table, BATCH)
    assert [row["kind"] for row in rows] == ["place", "person", "person", "person"]
    assert {row["title"]: row["run_id"] for row in rows}["Birch"] == "run-2"
    assert rows[0]["result_key"] == work.items[0].result_key(DIGEST)
    assert recipe_of(changed, DIGEST).differences(lake, BATCH) == ("unanswered",)
    for item in work.ready(now()):
        work.start(item)
        work.record(item, Outcome("dead", error="no"))
    assert work.publish("run-3") is not None
    assert [row["kind"] for row in read_partition(lake, KINDS.table, BATCH)] == ["place"]


def test_a_table_made_before_unfinished_ones_were_written_is_complete(lake: Lake) -> None:
    work = work_on(lake)
    run(work)
    work.publish("run-2")
    footer = read_footer(lake, KINDS.table, BATCH)
    assert footer is not None
    assert footer.inputs == recipe_of(KINDS, DIGEST).inputs(lake, BATCH)


def test_a_changed_page_alone_is_asked_about_again(lake: Lake) -> None:
    work = work_on(lake)
    run(work)
    work.publish("run-2")
    write_wiki(lake, TEXTS | {"Cedar": "'''Cedar''' is something else now."})
    assert subjects(work_on(lake).ready(now())) == ["Cedar"]


@pytest.mark.parametrize(
    "changed",
    [{"prompt": "Say it."}, {"question": "{{ title }}?"}, {"options": {"num_ctx": 2048, "num_predict": 9}}],
)
def test_a_changed_interrogation_asks_about_everything_and_going_back_about_nothing(
    lake: Lake, changed: dict[str, Any]
) -> None:
    work = work_on(lake)
    run(work)
    work.publish("run-2")
    changed_work = work_on(lake, interrogation(**changed))
    assert len(changed_work.ready(now())) == 4
    run(changed_work)
    changed_work.publish("run-3")
    assert work_on(lake).is_complete
    assert not work_on(lake, digest="8" * 64).is_complete


def test_a_failed_item_comes_back_when_it_is_due_and_no_sooner(lake: Lake) -> None:
    work = work_on(lake)
    run(work, Birch=malformed())
    for seen in (work, work_on(lake)):
        (due,) = seen.dues
        assert timedelta(seconds=20) < due - now() <= timedelta(seconds=30)
        assert seen.ready(due - timedelta(seconds=1)) == []
        assert subjects(seen.ready(due)) == ["Birch"]
        assert (seen.untried, seen.answered, seen.is_complete) == (0, 3, False)


def test_four_attempts_are_made_with_longer_waits_and_then_the_item_is_dead(lake: Lake) -> None:
    waits = []
    with time_machine.travel(datetime(2026, 5, 4, tzinfo=UTC), tick=False) as clock:
        for _ in range(4):
            work = work_on(lake)
            run(work, Birch=malformed())
            waits += [(due - now()).total_seconds() for due in work.dues]
            clock.shift(timedelta(minutes=11))
    assert waits == [30, 120, 600]
    last = work_on(lake)
    assert (last.dead, last.is_complete, last.ready(now())) == (1, True, [])
    assert last.publish("run-2") is not None
    assert [row["title"] for row in read_partition(lake, KINDS.table, BATCH)] == ["Ash", "Cedar", "Elm"]
    row = runs(lake)["Birch"]
    assert (row["status"], row["attempts"], row["calls"]) == ("dead", 4, 12)
    assert row["error"].startswith("Birch: the reply is no JSON object")


def test_what_kills_its_process_four_times_is_dead(lake: Lake) -> None:
    with time_machine.travel(datetime(2026, 5, 4, tzinfo=UTC), tick=False) as clock:
        for attempt in range(1, 5):
            work = work_on(lake)
            (birch,) = [item for item in work.ready(now()) if item.subject == "Birch"]
            assert work.start(birch) == attempt
            clock.shift(timedelta(minutes=11))  # and the process was killed
        work = work_on(lake)
    assert (work.dead, work.untried) == (1, 3)
    work.publish("run-2")
    row = runs(lake)["Birch"]
    assert (row["status"], row["attempts"], row["calls"]) == ("dead", 4, 0)
    assert "ended 4 times without an outcome" in row["error"]


def test_a_killed_attempt_waits_like_a_failed_one(lake: Lake) -> None:
    work = work_on(lake)
    work.start(work.items[0])
    after = work_on(lake)
    assert (len(after.ready(now())), len(after.dues), after.untried) == (3, 1, 3)
    assert len(after.ready(now() + timedelta(seconds=31))) == 4


def test_an_item_under_way_is_not_ready_in_its_own_process(lake: Lake) -> None:
    work = work_on(lake)
    work.start(work.items[0])
    assert subjects(work.ready(now())) == ["Birch", "Cedar", "Elm"]
    assert not work.is_open(work.items[0])


def test_what_the_server_or_we_broke_off_costs_no_attempt(lake: Lake) -> None:
    for _ in range(5):
        work = work_on(lake)
        run(work, Ash=out_of_memory())
        ash = work.items[0]
        assert work.is_open(ash)
        assert work.start(ash) == 1
        work.abandon(ash)
    assert subjects(work_on(lake).ready(now())) == ["Ash"]
    work.publish("run-2")
    assert "Ash" not in runs(lake)
    assert len(read_partition(lake, LLM_ATTEMPTS, SCOPE)) == 5 * 2 + 3


def test_an_item_that_cannot_be_asked_is_dead_and_holds_nothing_up(tmp_path: Path) -> None:
    lake = a_wiki(tmp_path, TEXTS)
    broken = interrogation(
        evidence=[{"source": "sql", "label": "Row", "sql": "select cast($title as integer) as number"}],
        key="broken",
        rows={},
    )
    work = work_on(lake, broken)
    assert (work.ready(now()), work.dead, work.is_complete) == ([], 4, True)
    assert work.publish("run-2") is not None
    found = runs(lake, f"broken-{BATCH}")
    assert {row["status"] for row in found.values()} == {"dead"}
    assert {subject in row["error"] for subject, row in found.items()} == {True}
    assert len({row["result_key"] for row in found.values()}) == 4
    before = lake.listing(LLM_RUNS).mark(f"broken-{BATCH}")
    work_on(lake, broken).publish("run-3")
    assert lake.listing(LLM_RUNS).mark(f"broken-{BATCH}") == before


def test_evidence_that_cannot_be_gathered_for_now_is_a_failed_attempt_and_dies_after_four(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = []
    with time_machine.travel(datetime(2026, 5, 4, tzinfo=UTC), tick=False) as clock:
        with monkeypatch.context() as machine:
            machine.setattr("holocron_assets.derive.evidence.bundles.cut_to_bytes", too_busy)
            for _ in range(3):
                work = work_on(lake)
                assert (work.dead, run(work), work.publish("run-1")) == (0, 0, None)
                waits += [(due - now()).total_seconds() for due in work.dues[:1]]
                assert work.ready(now()) == []
                clock.shift(timedelta(minutes=11))
            assert {row["status"] for row in runs(lake).values()} == {"failed"}
            last = work_on(lake)
            run(last)
            assert (last.dead, last.is_complete) == (4, True)
        assert waits == [30, 120, 600]
        work = work_on(lake)
        assert (work.untried, run(work), work.answered) == (4, 4, 4)


def test_an_unchanged_page_fetched_again_is_served_by_the_answer_of_the_old_batch(lake: Lake) -> None:
    work = work_on(lake)
    run(work)
    work.publish("run-2")
    write_wiki(lake, TEXTS | {"Fir": "'''Fir''' is new."}, "wiki-000002")
    later = work_on(lake, batch="wiki-000002")
    assert (subjects(later.ready(now())), later.calls_saved) == (["Fir"], 4)
    run(later)
    assert later.publish("run-3") is not None
    found = runs(lake, "kinds-wiki-000002")
    assert [(row["status"], row["attempts"], row["calls"]) for row in found.values()] == [
        ("ok", 0, 0)
    ] * 4 + [("ok", 1, 1)]
    assert found["Ash"]["finished_at"] == runs(lake)["Ash"]["finished_at"]
    assert len(read_partition(lake, KINDS.table, "wiki-000002")) == 5
    assert work_on(lake, batch="wiki-000002").calls_saved == 0


def test_what_a_killed_run_was_answered_serves_pages_fetched_again_before_it_wrote(lake: Lake) -> None:
    run(work_on(lake), Birch=malformed())
    write_wiki(lake, TEXTS, "wiki-000002")
    later = work_on(lake, batch="wiki-000002")
    assert (subjects(later.ready(now())), later.calls_saved) == (["Birch"], 3)
    assert run_and_publish(lake, later) == [0, 1, 0, 0]


def test_an_earlier_prompts_answers_serve_pages_fetched_again_under_another(lake: Lake) -> None:
    for asked in (KINDS, interrogation(prompt="Say it.", rows={})):
        run_and_publish(lake, work_on(lake, asked))
    write_wiki(lake, TEXTS | {"Cedar": "'''Cedar''' is something else now."}, "wiki-000002")
    back = work_on(lake, batch="wiki-000002")
    assert (subjects(back.ready(now())), back.calls_saved) == (["Cedar"], 3)


def test_a_journals_torn_line_serves_nobody(lake: Lake) -> None:
    run(work_on(lake))
    path = journal_path(lake, KINDS, BATCH)
    path.write_bytes(path.read_bytes().replace(b'"unsupported":0', b'"unsupported":1', 1))
    write_wiki(lake, TEXTS, "wiki-000002")
    assert work_on(lake, batch="wiki-000002").calls_saved == 3


def test_a_shadow_that_goes_live_asks_nothing_again(lake: Lake) -> None:
    shadow = work_on(lake, interrogation(rows={}, shadow=True))
    run(shadow)
    shadow.publish("run-2")
    live = work_on(lake)
    assert (live.calls_saved, live.ready(now())) == (4, [])
    assert live.publish("run-3")


def test_an_answer_serves_no_other_interrogation(lake: Lake) -> None:
    work = work_on(lake)
    run(work)
    work.publish("run-2")
    assert len(work_on(lake, interrogation(key="kinds2")).ready(now())) == 4


def test_answers_of_a_batch_whose_pages_moved_on_still_serve(lake: Lake) -> None:
    work = work_on(lake)
    run(work)
    work.publish("run-2")
    superseded = {(BATCH, position) for position in range(4)}
    without = PartitionWork(lake, KINDS, BATCH, model=SMALL, digest=DIGEST, superseded=superseded)
    assert (without.items, without.is_complete) == ((), True)
    assert without.publish("run-3") is not None
    assert read_partition(lake, KINDS.table, BATCH) == []
    write_wiki(lake, TEXTS, "wiki-000002")
    assert work_on(lake, batch="wiki-000002").is_complete


def test_a_failed_item_that_is_not_wanted_any_more_drops_out(lake: Lake) -> None:
    work = work_on(lake)
    run(work, Birch=malformed())
    work.publish("run-2")
    superseded = {(BATCH, 1)}
    without = PartitionWork(lake, KINDS, BATCH, model=SMALL, digest=DIGEST, superseded=superseded)
    assert without.publish("run-3") is not None
    assert list(runs(lake)) == ["Ash", "Cedar", "Elm"]


def test_after_the_journals_were_lost_the_lake_still_knows_everything(lake: Lake) -> None:
    work = work_on(lake)
    run(work, Birch=malformed())
    work.publish("run-2")
    before, calls = runs(lake), read_partition(lake, LLM_ATTEMPTS, SCOPE)
    journal_path(lake, KINDS, BATCH).unlink()
    exchanges_path(lake, SCOPE).unlink()
    after = work_on(lake)
    assert (after.answered, after.untried, after.dues) == (3, 0, [before["Birch"]["due_at"]])
    after.publish("run-3")
    assert runs(lake) == before
    assert read_partition(lake, LLM_ATTEMPTS, SCOPE) == calls
    run(after)
    assert after.start(after.items[1]) == 2


def test_two_pages_that_ask_the_same_are_asked_once(lake: Lake) -> None:
    same = interrogation(
        question="What is it?",
        evidence=[{"source": "inline", "label": "Text", "text": "It is a tree."}],
        rows={},
    )
    work = work_on(lake, same)
    assert subjects(work.ready(now())) == ["Ash"]
    with FakeOllama(answer=lambda _: GOOD) as fake:
        asyncio.run(ask_all(work, fake, work.ready(now())))
    assert (work.answered, work.is_complete) == (4, True)
    assert work.publish("run-2") is not None
    assert [row["calls"] for row in runs(lake).values()] == [1, 0, 0, 0]
    assert len(read_partition(lake, same.table, BATCH)) == 4


def test_what_another_process_recorded_is_seen_on_catching_up(lake: Lake) -> None:
    batch, question = work_on(lake), work_on(lake)
    batch.start(batch.items[1])
    birch, cedar = question.items[1:3]
    question.start(cedar)
    question.record(cedar, Outcome("ok", GOOD))
    assert batch.is_open(batch.items[2])
    batch.catch_up()
    assert not batch.is_open(batch.items[2])
    assert batch.answer_of(batch.items[2]) == GOOD
    assert not batch.is_open(batch.items[1])
    batch.record(batch.items[1], Outcome("ok", GOOD))
    question.catch_up()
    assert question.answer_of(birch) == GOOD


@pytest.mark.parametrize("begins", ["before", "after"])
@pytest.mark.parametrize("ends", ["failed", "dead", "killed"])
def test_an_answer_that_a_person_got_meanwhile_outlives_a_runs_failed_attempt(
    lake: Lake, begins: str, ends: str
) -> None:
    batch, question = work_on(lake), work_on(lake)
    ash, same = batch.items[0], question.items[0]
    if begins == "before":
        batch.start(ash)
    question.start(same)
    question.record(same, Outcome("ok", GOOD))
    if begins == "after":
        batch.start(ash)
    if ends != "killed":
        calls = ({**dict.fromkeys(SUMMED, 5), "run_id": "run-1"},)
        batch.record(ash, Outcome("dead" if ends == "dead" else "failed", error="no use", calls=calls))
    after = work_on(lake)
    assert (after.answer_of(after.items[0]), after.answered, after.dead) == (GOOD, 1, 0)
    after.publish("run-2")
    (row,) = runs(lake).values()
    assert (row["status"], row["error"], row["tokens_in"]) == ("ok", None, 0 if ends == "killed" else 5)


def test_a_partition_without_wanted_items_is_an_empty_table_and_nothing_else(lake: Lake) -> None:
    nobody = interrogation(wants={"sources": ["elsewhere"]})
    work = work_on(lake, nobody)
    assert work.is_complete
    assert work.publish("run-2") is not None
    assert read_partition(lake, nobody.table, BATCH) == []
    assert not lake.has(LLM_RUNS, SCOPE)
    assert not lake.has(LLM_ATTEMPTS, SCOPE)


def test_an_input_replaced_while_items_are_worked_on_leaves_the_table_stale(lake: Lake) -> None:
    work = work_on(lake)
    run(work)
    write_wiki(lake, TEXTS | {"Cedar": "'''Cedar''' is something else now."})
    assert work.publish("run-2") is not None
    assert recipe_of(KINDS, DIGEST).differences(lake, BATCH)


def test_half_a_surrogate_pair_of_a_model_keeps_no_batch_from_the_lake(lake: Lake) -> None:
    work = work_on(lake)
    for item in work.items:
        work.start(item)
        work.record(item, Outcome("ok", {"kind": "person", "words": ["\ud800"]}))
    assert work.publish("run-2") is not None
    assert json.loads(runs(lake)["Ash"]["output"]) == {"kind": "person", "words": ["?"]}


def test_quotes_that_are_not_in_the_text_are_counted(lake: Lake) -> None:
    quoting = interrogation()
    work = work_on(lake, quoting)
    for item, quote in zip(work.items, ["is a ash of note", "is nothing of note"] * 2, strict=True):
        work.start(item)
        work.record(item, Outcome("ok", {"kind": "person", "quote": quote}))
    work.publish("run-2")
    assert [row["unsupported"] for row in runs(lake).values()] == [0, 1, 1, 1]
    assert [row["supported"] for row in read_partition(lake, quoting.table, BATCH)] == [
        True,
        False,
        False,
        False,
    ]


def test_alternatives_ask_another_model_anew(lake: Lake) -> None:
    run(work_on(lake))
    other = PartitionWork(lake, KINDS, BATCH, model=LARGE, digest="7" * 64)
    assert len(other.ready(now())) == 4
