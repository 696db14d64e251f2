"""Interrogations that build on the answers of others: what they read, when they are asked, and why again."""

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest
from asked import DIGEST, interrogation
from fake_ollama import LARGE, SMALL, FakeOllama, malformed
from wiki_lake import BATCH, a_wiki, write_pair, write_wiki

from holocron_assets.decisions.controls import DRAIN, Scope, control
from holocron_assets.derive.dispatch.backlog import Counts, stale_partitions
from holocron_assets.derive.dispatch.pools import DispatchSettings
from holocron_assets.derive.dispatch.served import ServedModels
from holocron_assets.derive.dispatch.standing_controls import StandingControls
from holocron_assets.derive.dispatch.tallies import stale_rows, wanted_counts
from holocron_assets.derive.engine.calls import Outcome
from holocron_assets.derive.gpu.model_run import ModelRun, Session, work_on
from holocron_assets.derive.gpu.question import Question
from holocron_assets.derive.gpu.turns import Dispatched
from holocron_assets.derive.interrogations.chains import ChainError, linked, upstream_tables
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.items import query_digests
from holocron_assets.derive.items.recipe import derivation_of
from holocron_assets.derive.results.partition_work import PartitionWork
from holocron_assets.errors import PermanentError
from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.place.paths import Lake

pytestmark = pytest.mark.system

TITLES = ("Ash", "Birch", "Cedar", "Elm")
TEXTS = {title: f"'''{title}''' is a {title.lower()} of note." for title in TITLES}
PLAIN: dict[str, Any] = {"rows": {}, "alternatives": []}
READS: dict[str, Any] = {
    "key": "sayings",
    "inputs": ["kinds"],
    "evidence": [{"source": "answers", "of": "kinds"}, {"source": "page", "part": "lead"}],
    "question": "{{ title }} is a {{ inputs.kinds[0].kind if inputs.kinds else 'riddle' }}: what is it?",
    **PLAIN,
}


def chain(*more: Mapping[str, Any]) -> tuple[Interrogation, ...]:
    """`kinds` of pages, and what builds on it."""
    found = linked([interrogation(**PLAIN), *(interrogation(**settings) for settings in more)])
    return tuple(found)


KINDS, SAYINGS = chain(READS)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = a_wiki(tmp_path, TEXTS)
    return Lake(lake.root, (KINDS.table, SAYINGS.table))


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holocron_assets.derive.engine.engine.PAUSES", (0.0, 0.0, 0.0))
    monkeypatch.setattr("holocron_assets.derive.gpu.working.WRITE_SECONDS", 0.1)
    monkeypatch.setattr("holocron_assets.derive.items.query_digests.REST", 0.0)


def work_of(lake: Lake, asked: Interrogation) -> PartitionWork:
    return PartitionWork(lake, asked, BATCH, model=SMALL, digest=DIGEST)


def answer(
    lake: Lake, asked: Interrogation, titles: Iterable[str] = TITLES, kind: str = "place"
) -> list[str]:
    """Answer what is ready about some pages; give their titles."""
    work, done = work_of(lake, asked), []
    for item in work.ready(datetime.now(UTC)):
        if item.subject in titles:
            work.start(item)
            work.record(item, Outcome("ok", {"kind": kind}))
            done.append(item.subject)
    work.publish("run")
    return done


def ready(lake: Lake, asked: Interrogation) -> list[str]:
    return [item.subject for item in work_of(lake, asked).ready(datetime.now(UTC))]


def why_stale(lake: Lake, asked: Interrogation) -> list[tuple[str, ...]]:
    found = stale_partitions(lake, [asked], digests={SMALL: DIGEST}, most_opened=None)
    return [part.differences for part in found]


def test_a_question_and_its_evidence_show_what_the_input_was_answered(lake: Lake) -> None:
    answer(lake, KINDS)
    item = work_of(lake, SAYINGS).items[0]
    assert item.question == "Ash is a place: what is it?"
    shown = item.bundle.items[0]
    assert (shown.source, shown.label) == ("answers", "answers of kinds")
    assert shown.text == "kind | words | quote | supported\nplace |  |  | true"


def test_an_item_can_be_asked_about_as_soon_as_its_own_input_is_answered(lake: Lake) -> None:
    assert ready(lake, SAYINGS) == []
    answer(lake, KINDS, ["Birch", "Elm"])
    work = work_of(lake, SAYINGS)
    assert [item.subject for item in work.ready(datetime.now(UTC))] == ["Birch", "Elm"]
    assert [item.waits_for for item in work.items] == ["kinds", None, "kinds", None]
    assert (work.untried, work.dead, work.awaiting, work.remaining) == (2, 0, 2, 4)
    assert answer(lake, SAYINGS) == ["Birch", "Elm"]
    assert not work_of(lake, SAYINGS).is_complete, "two wait for their inputs"
    answer(lake, KINDS)
    assert ready(lake, SAYINGS) == ["Ash", "Cedar"]


def test_an_input_that_was_given_up_or_never_wanted_keeps_nobody_waiting(lake: Lake) -> None:
    kinds, sayings = linked(
        [interrogation(**PLAIN, wants={"sql": "title not in ('Elm')"}), interrogation(**READS)]
    )
    work = work_of(lake, kinds)
    work.start(work.items[0])
    work.record(work.items[0], Outcome("dead", error="no"))
    work.publish("run")
    found = {item.subject: item for item in work_of(lake, sayings).items}
    assert {title: item.waits_for for title, item in found.items()} == {
        "Ash": None,
        "Birch": "kinds",
        "Cedar": "kinds",
        "Elm": None,
    }
    assert found["Ash"].question == "Ash is a riddle: what is it?"


def test_what_waits_for_its_inputs_is_no_work_for_a_model(lake: Lake) -> None:
    assert why_stale(lake, SAYINGS) == [], "nothing was answered that it could build on"
    answer(lake, KINDS, ["Ash"])
    answer(lake, SAYINGS)
    (part,) = stale_partitions(lake, [SAYINGS], digests={SMALL: DIGEST}, most_opened=None)
    assert part.counts == Counts(1, 0, 0, (), awaiting=3)
    assert (part.is_to_write, part.waiting_since(datetime.now(UTC))) == (False, None)


def test_a_partition_never_begun_is_opened_to_be_counted_while_its_inputs_lack_answers(lake: Lake) -> None:
    answer(lake, KINDS, ["Ash"])
    (part,) = stale_partitions(lake, [SAYINGS], digests={SMALL: DIGEST})
    assert part.counts == Counts(0, 0, 1, (), awaiting=3)
    answer(lake, KINDS)
    (part,) = stale_partitions(lake, [SAYINGS], digests={SMALL: DIGEST})
    assert part.counts is None, "all of it can be asked about, however much it is"


def test_an_input_that_is_given_up_lets_the_process_that_counted_before_count_what_builds_on_it(
    lake: Lake,
) -> None:
    answer(lake, KINDS, ["Ash"])
    answer(lake, SAYINGS)
    (part,) = stale_partitions(lake, [SAYINGS], digests={SMALL: DIGEST})
    assert part.counts == Counts(1, 0, 0, (), awaiting=3)
    work = work_of(lake, KINDS)
    birch = next(item for item in work.items if item.subject == "Birch")
    work.start(birch)
    work.record(birch, Outcome("dead", error="no"))
    work.publish("run")
    (part,) = stale_partitions(lake, [SAYINGS], digests={SMALL: DIGEST})
    assert part.counts == Counts(1, 0, 1, (), awaiting=2)


def test_a_drain_begins_no_partition_whose_inputs_lack_answers(lake: Lake) -> None:
    answer(lake, KINDS, ["Ash"])
    control(lake, DRAIN, Scope("interrogation", SAYINGS.name), author="Kim", reason="enough")
    controls = StandingControls(lake)

    def heeded() -> list[str]:
        stale = stale_partitions(lake, [SAYINGS], digests={SMALL: DIGEST}, most_opened=None)
        return [part.partition for part in controls.heeded(stale)]

    assert heeded() == []
    assert controls.hold_of(SAYINGS, BATCH)
    answer(lake, SAYINGS, ["Ash"])
    answer(lake, KINDS)
    assert heeded() == [BATCH], "it is begun, so it is finished"


def test_a_changed_answer_asks_again_about_the_items_that_read_it_and_no_others(lake: Lake) -> None:
    answer(lake, KINDS)
    answer(lake, SAYINGS)
    assert why_stale(lake, SAYINGS) == []
    changed, sayings = linked([interrogation(**PLAIN, prompt="Say it anew."), interrogation(**READS)])
    work = work_of(lake, changed)
    for item in work.ready(datetime.now(UTC)):
        work.start(item)
        work.record(item, Outcome("ok", {"kind": "person" if item.subject == "Cedar" else "place"}))
    work.publish("run")
    assert why_stale(lake, sayings) == [("derived_kinds",)]
    assert ready(lake, sayings) == ["Cedar"]
    answer(lake, sayings)
    assert why_stale(lake, sayings) == []


def test_items_that_a_changed_answer_asks_again_are_counted_without_making_them(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(lake, KINDS)
    answer(lake, SAYINGS)
    changed, sayings = linked([interrogation(**PLAIN, prompt="Say it anew."), interrogation(**READS)])
    work = work_of(lake, changed)
    for item in work.ready(datetime.now(UTC)):
        work.start(item)
        work.record(item, Outcome("ok", {"kind": "person" if item.subject == "Cedar" else "place"}))
    work.publish("run")
    monkeypatch.setattr("holocron_assets.derive.results.partition_work.PartitionWork", pytest.fail)
    [row] = stale_rows(lake, [sayings], {SMALL: DIGEST})
    assert (row["why"], row["to_ask"], row["kept"], row["dead"]) == (["derived_kinds"], 1, 3, 0)


def test_the_same_answers_again_leave_what_builds_on_them_as_it_is(lake: Lake) -> None:
    answer(lake, KINDS)
    answer(lake, SAYINGS)
    changed, sayings = linked([interrogation(**PLAIN, prompt="Say it anew."), interrogation(**READS)])
    answer(lake, changed)
    assert why_stale(lake, sayings) == []


def test_while_an_input_is_asked_again_old_answers_stand_and_nothing_is_asked_twice(lake: Lake) -> None:
    answer(lake, KINDS)
    answer(lake, SAYINGS)
    changed, sayings = linked([interrogation(**PLAIN, prompt="Say it anew."), interrogation(**READS)])
    answer(lake, changed, ["Cedar"], kind="person")
    work = work_of(lake, sayings)
    assert [item.subject for item in work.ready(datetime.now(UTC))] == ["Cedar"]
    assert work.awaiting == 3
    work.publish("run")
    assert len(read_partition(lake, sayings.table, BATCH)) == 4


def test_a_query_makes_those_partitions_stale_for_which_it_gives_other_rows(lake: Lake) -> None:
    write_wiki(lake, {"Fir": "A '''fir''' is a tree."}, "other-000001")
    sql = "select kind from derived_kinds where title_key = $title_key order by item_id, position"
    kinds, counts = chain(
        {**READS, "inputs": [], "evidence": [{"source": "sql", "sql": sql}], "question": "{{ title }}?"}
    )
    batches = (BATCH, "other-000001")

    def ask(asked: Interrogation, kind: str) -> list[str]:
        done = []
        for batch in batches:
            work = PartitionWork(lake, asked, batch, model=SMALL, digest=DIGEST)
            for item in work.ready(datetime.now(UTC)):
                work.start(item)
                work.record(item, Outcome("ok", {"kind": kind if item.subject == "Cedar" else "place"}))
                done.append(item.subject)
            work.publish("run")
        return done

    def stale() -> list[tuple[str, tuple[str, ...]]]:
        found = stale_partitions(lake, [counts], digests={SMALL: DIGEST}, most_opened=0)
        return [(part.partition, part.differences) for part in found]

    ask(kinds, "place")
    assert len(ask(counts, "place")) == 5
    assert stale() == []
    ask(interrogation(**PLAIN, prompt="Say it anew."), "person")
    assert stale() == [(BATCH, ("queries",))]
    assert ask(counts, "place") == ["Cedar"]
    assert stale() == []


def test_an_error_that_passes_makes_no_partition_stale_and_is_forgotten(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    sql = "title_key in (select title_key from derived_kinds where kind = 'person')"
    lead = [{"source": "page", "part": "lead"}]
    reads = {**READS, "inputs": [], "evidence": lead, "question": "What?", "wants": {"sql": sql}}
    kinds, chosen = chain(reads)
    answer(lake, kinds, ["Ash"], kind="person")
    answer(lake, chosen)
    assert why_stale(lake, chosen) == []
    answer(lake, kinds, ["Cedar"], kind="person")

    def fails(*_: Any) -> None:
        raise duckdb.IOException("the file was replaced")

    with monkeypatch.context() as patched:
        patched.setattr(query_digests, "_computed", fails)
        before = query_digests.query_digests(lake, chosen)
        assert before
        assert why_stale(lake, chosen) == []
        patched.setattr(query_digests, "_KNOWN", {})  # as in a process that was just started
        assert query_digests.query_digests(lake, chosen) == before
    assert query_digests.query_digests(lake, chosen) != before


def test_queries_are_not_asked_before_there_are_answers_that_they_may_make_stale(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds, chosen = chain({**READS, "wants": {"sql": "title_key in (select title_key from derived_kinds)"}})
    answer(lake, kinds)
    with monkeypatch.context() as patched:
        patched.setattr(query_digests, "_computed", pytest.fail)
        assert why_stale(lake, chosen) == [("new",)]
    answer(lake, chosen)
    assert why_stale(lake, chosen) == []


def test_a_query_that_takes_too_long_is_interrupted_and_makes_no_partition_stale(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    sql = """
        select kind, sum(numbers.range % 7)
        from derived_kinds, range(50_000_000) as numbers
        where title_key = $title_key
        group by kind
    """
    shown = {"evidence": [{"source": "sql", "sql": sql}], "question": "{{ title }}?"}
    kinds, sums = chain({**READS, "inputs": [], **shown})
    answer(lake, kinds)
    answer(lake, sums)
    answer(lake, interrogation(**PLAIN, prompt="Say it anew."), kind="person")
    with monkeypatch.context() as patched:
        patched.setattr(query_digests, "LONGEST_SECONDS", 0.2)
        assert why_stale(lake, sums) == []
    assert why_stale(lake, sums) == [("queries",)]


def test_a_condition_that_takes_too_long_is_interrupted(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    sums = "select title_key from derived_kinds, range(500_000_000_000) as numbers"
    slow = f"title_key in ({sums} group by title_key having sum(numbers.range % 7) > 0)"
    shown = {"evidence": [{"source": "page", "part": "lead"}], "question": "What?"}
    kinds, chosen = chain({**READS, "inputs": [], **shown, "wants": {"sql": slow}})
    answer(lake, kinds)
    monkeypatch.setattr(query_digests, "LONGEST_SECONDS", 0.2)
    assert query_digests.query_digests(lake, chosen) == {}


@pytest.mark.parametrize(
    "sql",
    [
        "title_key in (select title_key from derived_kinds where kind = 'person')",
        "exists (from derived_kinds as k where k.title_key = wanted_rows.title_key and kind = 'person')",
    ],
)
def test_what_was_answered_can_choose_the_pages(lake: Lake, sql: str) -> None:
    kinds, chosen = chain(
        {
            **READS,
            "inputs": [],
            "evidence": [{"source": "page", "part": "lead"}],
            "question": "What?",
            "wants": {"sql": sql},
        }
    )
    assert [table.name for table in upstream_tables(chosen).same_partition] == ["derived_kinds"]
    answer(lake, kinds, ["Ash"], kind="place")
    assert work_of(lake, chosen).publish("run"), "nobody is wanted yet"
    assert why_stale(lake, chosen) == []
    answer(lake, kinds, ["Birch", "Elm"], kind="person")
    assert why_stale(lake, chosen) == [("queries",)]
    assert [item.subject for item in work_of(lake, chosen).items] == ["Birch", "Elm"]
    assert wanted_counts(lake, [chosen]) == {("sayings", BATCH): 2}


@pytest.fixture
def read_by_a_query(lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Interrogation, ...]:
    """Two interrogations: a query over the first's answers chooses the second's pages. Digests are kept."""
    monkeypatch.setenv("HOLOCRON_STATE", str(tmp_path / "state"))
    kinds, chosen = chain({**READS, "wants": {"sql": "title_key in (select title_key from derived_kinds)"}})
    answer(lake, kinds, ["Ash"])
    assert query_digests.query_digests(lake, chosen)
    return kinds, chosen


def test_what_one_process_computed_of_the_same_tables_the_next_one_reads(
    lake: Lake, read_by_a_query: tuple[Interrogation, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds, chosen = read_by_a_query
    found = query_digests.query_digests(lake, chosen)

    def next_process(*, wanted: bool) -> query_digests.Digests:
        query_digests._KNOWN.clear()  # noqa: SLF001 - as in a new process
        with monkeypatch.context() as patched:
            if not wanted:
                patched.setattr(query_digests, "_computed", pytest.fail)
            return query_digests.query_digests(lake, chosen)

    assert next_process(wanted=False) == found
    answer(lake, kinds, ["Birch"])
    newer = next_process(wanted=True)
    assert newer != found
    assert next_process(wanted=False) == newer


def test_a_persons_question_leaves_the_digests_that_a_process_kept_as_they_are(
    lake: Lake, read_by_a_query: tuple[Interrogation, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, chosen = read_by_a_query
    found = query_digests.query_digests(lake, chosen)
    with FakeOllama(answer=lambda _: {"kind": "place"}) as fake:
        [answered] = asyncio.run(Question(lake, chosen, "wiki", "Ash").answers(fake.url))
    assert answered.answer
    monkeypatch.setattr(query_digests, "_computed", pytest.fail)
    assert query_digests.query_digests(lake, chosen) == found
    query_digests._KNOWN.clear()  # noqa: SLF001 - as in a new process
    assert query_digests.query_digests(lake, chosen) == found


def test_a_chain_of_three_goes_on_in_one_run_of_one_model(lake: Lake) -> None:
    third = {
        **READS,
        "key": "thirds",
        "inputs": ["sayings"],
        "question": "{{ inputs.sayings[0].kind }}: {{ title }}?",
    }
    third["evidence"] = [{"source": "answers", "of": "sayings"}]
    named = chain(READS, third)
    lake = Lake(lake.root, tuple(one.table for one in named))
    agenda = Dispatched(
        lake, named, ServedModels({SMALL: DIGEST}, frozenset(), frozenset()), DispatchSettings(), model=SMALL
    )
    with FakeOllama(answer=lambda _: {"kind": "place"}, delay_seconds=0.05) as fake:
        run = ModelRun(lake, fake.url, "gpu", SMALL, DIGEST, 4096, "run-1", "person")
        session = Session()
        with closing(work_on(run, agenda, session)) as working:
            complete = [
                one.opened.work.interrogation.name for one in working if one.footer and one.is_complete
            ]
        assert (len(fake.chats), fake.loads[SMALL]) == (12, 1)
    assert complete == ["kinds", "sayings", "thirds"]
    assert (session.outcome, session.items, session.remaining) == ("complete", 12, 0)


def test_a_chain_goes_on_page_by_page_while_an_item_of_its_start_waits(lake: Lake) -> None:
    agenda = Dispatched(
        lake,
        (KINDS, SAYINGS),
        ServedModels({SMALL: DIGEST}, frozenset(), frozenset()),
        DispatchSettings(),
        model=SMALL,
    )
    with FakeOllama(answer=lambda _: {"kind": "place"}, on={"What is Birch?": malformed()}) as fake:
        run = ModelRun(lake, fake.url, "gpu", SMALL, DIGEST, 4096, "run-1", "person")
        session = Session()
        list(work_on(run, agenda, session))
    rows = read_partition(lake, SAYINGS.table, BATCH)
    assert [row["title"] for row in rows] == ["Ash", "Cedar", "Elm"]
    assert "2 of 8 remain, 1 of them until their inputs are answered, due" in session.reason


def test_another_models_turn_waits_for_a_chain_that_is_more_urgent(lake: Lake) -> None:
    other = interrogation(key="other", model=LARGE, alternatives=[], priority=400, rows={})
    named = linked([KINDS, interrogation(**READS), other])
    served = ServedModels({SMALL: DIGEST, LARGE: "7" * 64}, frozenset(), frozenset())
    agenda = Dispatched(lake, named, served, DispatchSettings(), model=SMALL)
    with FakeOllama(answer=lambda _: {"kind": "place"}, delay_seconds=0.05) as fake:
        run = ModelRun(lake, fake.url, "gpu", SMALL, DIGEST, 4096, "run-1", "person")
        session = Session()
        list(work_on(run, agenda, session))
        assert len(fake.chats) == 8, "both of the chain were asked before the other model"
    assert "another model's turn" in session.reason


def test_a_question_whose_inputs_are_not_answered_says_what_to_ask_first(lake: Lake) -> None:
    with FakeOllama(answer=lambda _: {"kind": "place"}) as fake:
        with pytest.raises(PermanentError, match="`holocron ask kinds 'Ash'` asks for it"):
            asyncio.run(Question(lake, SAYINGS, "wiki", "Ash").answers(fake.url))
        assert fake.chats == []


def test_a_pair_builds_on_what_was_answered_about_the_same_pair(lake: Lake) -> None:
    over = {"over": "pairs", "evidence": [{"source": "page", "part": "lead", "of": "first"}], **PLAIN}
    both = "{{ first.title }} and {{ second.title }}"
    first, second = linked(
        [
            interrogation(**{**over, "question": f"{both}?"}),
            interrogation(
                **{**over, "key": "sayings", "inputs": ["kinds"], "question": "{{ inputs.kinds }}?"}
            ),
        ]
    )
    write_pair(lake, "Ash", "Birch", "Species", (BATCH, BATCH))
    for asked, expected in ((second, 1), (first, 0), (second, 0)):
        work = PartitionWork(lake, asked, "Species", model=SMALL, digest=DIGEST)
        assert work.awaiting == expected
        for item in work.ready(datetime.now(UTC)):
            work.start(item)
            work.record(item, Outcome("ok", {"kind": "place"}))
        work.publish("run")
    assert "place" in work.items[0].question


def test_the_tables_that_an_interrogation_reads_are_listed_for_the_lineage() -> None:
    sql = "with derived_kinds as (from derived_kinds) select name from derived_kinds, entities, page_links"
    _, sayings = chain(
        {**READS, "inputs": [], "question": "What?", "evidence": [{"source": "sql", "sql": sql}]}
    )
    upstream = upstream_tables(sayings)
    assert [table.name for table in upstream.same_partition] == ["derived_kinds"]
    assert {"entities", "page_links"} <= {table.name for table in upstream.whole}
    assert [table.name for table in upstream_tables(SAYINGS).same_partition] == ["derived_kinds"]
    assert [table.name for table in derivation_of(SAYINGS).inputs] == ["pages", "page_signals", "page_types"]


@pytest.mark.parametrize(
    ("first", "second", "cycle"),
    [
        ({"inputs": ["kinds"]}, {}, "kinds <- kinds"),
        ({"inputs": ["sayings"]}, {"inputs": ["kinds"]}, "kinds <- sayings <- kinds"),
        (
            {"inputs": ["sayings"]},
            {"evidence": [{"source": "sql", "sql": "select 1 from (from lake.derived_kinds)"}]},
            "kinds <- sayings <- kinds",
        ),
    ],
)
def test_answers_that_are_made_from_themselves_are_refused(
    first: dict[str, Any], second: dict[str, Any], cycle: str
) -> None:
    with pytest.raises(ChainError, match=cycle):
        linked([interrogation(**PLAIN, **first), interrogation(key="sayings", **PLAIN, **second)])


def test_a_cycle_is_found_through_tables_that_are_made_from_answers() -> None:
    reads = [{"source": "sql", "sql": "select name from entities where title_key = $title_key"}]
    with pytest.raises(ChainError, match="entity_extraction <- entity_extraction"):
        linked([interrogation(key="entity_extraction", evidence=reads, **PLAIN)])


@pytest.mark.parametrize(
    ("inputs", "problem"),
    [
        (["nobody"], "'nobody' is no interrogation that counts; there are kinds, sayings"),
        (["pairs"], "asked of pairs"),
    ],
)
def test_inputs_that_cannot_be_read_are_refused(inputs: list[str], problem: str) -> None:
    evidence = [{"source": "page", "part": "lead", "of": "first"}]
    others = [interrogation(**PLAIN)]
    if inputs == ["pairs"]:
        others.append(interrogation(key="pairs", over="pairs", evidence=evidence, **PLAIN))
    with pytest.raises(ChainError, match=problem):
        linked([*others, interrogation(key="sayings", inputs=inputs)])


def test_an_earlier_batch_of_the_same_page_answers_nobody(lake: Lake) -> None:
    answer(lake, KINDS)
    write_wiki(lake, TEXTS, "wiki-000002")
    work = PartitionWork(lake, SAYINGS, "wiki-000002", model=SMALL, digest=DIGEST)
    assert work.awaiting == 4
