"""Whether and how much an interrogation is asked: `enabled`, `scale_limit` and `domain` of its file."""

import gc
from collections.abc import Sequence
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from weakref import WeakSet

import pytest
from asked import BATCH, interrogation
from fake_ollama import FakeOllama
from interrogation_files import read_interrogations
from test_code_interrogations import by_python
from test_interrogation_files import write
from test_working import DIGESTS, batches, dispatched, model_run

from holocron_assets.decisions.controls import PAUSE
from holocron_assets.derive.dispatch import scale, standing_controls
from holocron_assets.derive.dispatch.backlog import backlog, stale_partitions
from holocron_assets.derive.dispatch.choosing import Waiting, decide
from holocron_assets.derive.dispatch.pools import CODE_POOL
from holocron_assets.derive.dispatch.scale import reached_limit
from holocron_assets.derive.dispatch.served import served_by_code
from holocron_assets.derive.dispatch.standing_controls import StandingControls
from holocron_assets.derive.gpu.model_run import ModelRun, Session, work_on
from holocron_assets.derive.gpu.turns import Agenda, Given
from holocron_assets.derive.interrogations.interrogation import Interrogation, InterrogationError
from holocron_assets.derive.items.recipe import recipe_of
from holocron_assets.derive.results.partition_work import PartitionWork
from holocron_assets.derive.results.result_journals import StateJournal, abandoned, begun, journal_path
from holocron_assets.lake.journals import following, packing
from holocron_assets.lake.journals.journal import record_of
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake

HOUR = timedelta(hours=1)
KINDS = interrogation(rows={})
THREE_AN_HOUR = interrogation(rows={}, scale_limit={"hour": 3})
MORE = interrogation(rows={}, key="more", priority=100, question="What more is {{ title }}?")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> datetime:
    """The moment that limits are counted at, so that no test is disturbed by the end of an hour."""
    moment = utc_now()
    at(monkeypatch, moment)
    return moment


def at(monkeypatch: pytest.MonkeyPatch, moment: datetime) -> None:
    monkeypatch.setattr(standing_controls, "utc_now", lambda: moment)


def restart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget what this process knows of journals, as a new one does."""
    monkeypatch.setattr(scale, "_LOOKS", {})
    monkeypatch.setattr(scale, "_TRIES", {})


def work(run: ModelRun, agenda: Agenda) -> Session:
    session = Session()
    with closing(work_on(run, agenda, session)) as working:
        for _ in working:
            pass
    return session


def in_turns(lake: Lake, server: str, asked: Sequence[Interrogation]) -> Session:
    return work(model_run(lake, server), dispatched(lake, asked))


def waiting(lake: Lake, asked: Sequence[Interrogation], now: datetime) -> list[Waiting]:
    return backlog(lake, asked, digests=DIGESTS, now=now, heed=StandingControls(lake).heeded)


@pytest.mark.parametrize("change", [{"enabled": False}, {"scale_limit": {"day": 1}}, {"domain": "biology"}])
def test_no_answer_depends_on_how_much_is_asked_or_how_people_sort_it(change: dict[str, Any]) -> None:
    changed = interrogation(rows={}, **change)
    assert recipe_of(changed, "5").versions == recipe_of(KINDS, "5").versions
    assert (changed.prompt_version, changed.table) == (KINDS.prompt_version, KINDS.table)


@pytest.mark.system
def test_answers_stay_and_nothing_is_stale_when_a_file_says_how_much_is_asked(
    lake: Lake, now: datetime
) -> None:
    del now
    names = batches(lake, 1, 2)
    with FakeOllama(answer=lambda _: {"kind": "person"}) as fake:
        work(model_run(lake, fake.url), Given(KINDS, names))
    for change in ({"enabled": False}, {"scale_limit": {"hour": 1}}, {"domain": "people"}):
        assert not stale_partitions(lake, [interrogation(rows={}, **change)], digests=DIGESTS)


@pytest.mark.system
def test_no_more_items_are_asked_in_an_hour_than_the_file_says_and_the_model_serves_others(
    lake: Lake, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches(lake, 2, 4)
    with FakeOllama(answer=lambda _: {"kind": "person"}, slots=4) as fake:
        monkeypatch.setenv("OLLAMA_NUM_PARALLEL", "4")
        session = in_turns(lake, fake.url, [THREE_AN_HOUR, MORE])
        of_more = [chat for chat in fake.chats if "What more" in chat.prompt]
        assert (len(of_more), len(fake.chats)) == (8, 8 + 3)
        assert session.outcome == "paused"
        assert "its `scale_limit` of 3 items an hour is reached" in session.reason

        restart(monkeypatch)
        decision = decide(waiting(lake, [THREE_AN_HOUR, MORE], now), set(), now)
        next_hour = now.replace(minute=0, second=0, microsecond=0) + HOUR
        assert (decision.model, decision.next_due) == (None, next_hour)
        assert f"kinds is at {next_hour:%Y-%m-%d %H:%M:%S} UTC" in decision.reasons[0]
        in_turns(lake, fake.url, [THREE_AN_HOUR])
        assert len(fake.chats) == 8 + 3

        at(monkeypatch, now + HOUR)
        monkeypatch.setattr("holocron_assets.derive.gpu.turns.utc_now", lambda: now + HOUR)
        in_turns(lake, fake.url, [THREE_AN_HOUR])
        assert len(fake.chats) > 8 + 3


@pytest.mark.system
@pytest.mark.fault(8, "clock ahead while a limited interrogation was asked")
def test_tries_of_a_clock_that_was_ahead_count_for_no_limit(
    lake: Lake, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = batches(lake, 1, 4)
    with FakeOllama(answer=lambda _: {"kind": "person"}) as fake:
        work(model_run(lake, fake.url), Given(THREE_AN_HOUR, names))
    assert StandingControls(lake).holds_of_files([THREE_AN_HOUR])
    restart(monkeypatch)
    at(monkeypatch, now - timedelta(days=300))
    assert not StandingControls(lake).holds_of_files([THREE_AN_HOUR])


@pytest.mark.system
def test_a_day_has_its_own_limit_and_the_one_that_ends_later_counts(lake: Lake, now: datetime) -> None:
    names = batches(lake, 1, 4)
    limited = interrogation(rows={}, scale_limit={"hour": 2, "day": 2})
    with FakeOllama(answer=lambda _: {"kind": "person"}) as fake:
        session = work(model_run(lake, fake.url), Given(limited, names))
        assert len(fake.chats) == 2
    assert session.outcome == "paused"
    (held,) = StandingControls(lake).holds_of_files([limited, MORE])
    assert (held.action, held.scope.name) == (PAUSE, "kinds")
    tomorrow = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    assert held.resume == f"it goes on by itself at {tomorrow:%Y-%m-%d %H:%M} UTC"


@pytest.mark.system
def test_answers_that_are_known_already_take_nothing_of_a_limit(lake: Lake, now: datetime) -> None:
    del now
    names = batches(lake, 1, 4)
    with FakeOllama(answer=lambda _: {"kind": "person"}) as fake:
        work(model_run(lake, fake.url), Given(KINDS, names))
        (batch,) = names
        lake.file(KINDS.table, batch).unlink()
        limited = interrogation(rows={}, scale_limit={"hour": 5})
        assert work(model_run(lake, fake.url), Given(limited, names)).remaining == 0
        assert len(fake.chats) == 4


def test_counting_tries_reads_each_line_of_a_journal_once_however_often_it_is_asked(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited, now, read = interrogation(scale_limit={"day": 3}), utc_now(), list[bytes]()

    def reading(line: bytes) -> dict[str, Any] | None:
        read.append(line)
        return record_of(line)

    monkeypatch.setattr(following, "record_of", reading)
    path = journal_path(lake, limited, BATCH)
    journal = StateJournal(path)

    def is_reached() -> bool:
        return reached_limit(lake, limited, now, BATCH) is not None

    def lines() -> int:
        return path.read_bytes().count(b"\n")

    journal.add(begun("1", "a"), abandoned("1", "a"), begun("1", "a"))
    assert not is_reached()
    for key in "bc":
        assert not is_reached()
        journal.add(begun(key, key))
        assert len(read) < lines()
    assert is_reached()
    assert len(read) == lines() == 5
    journal.add(abandoned("c", "c"))
    assert not is_reached()
    with path.open("rb+") as file:
        *_, last = file
        file.truncate(path.stat().st_size - 9)
    assert is_reached(), "a kill tore the last line"
    with path.open("ab") as end:
        end.write(last[-9:])
    assert not is_reached()
    read.clear()
    journal.add(begun("d", "d"))
    assert is_reached()
    assert read == [path.read_bytes().splitlines(keepends=True)[-1]]
    journal.close()
    monkeypatch.setattr(packing, "_WORTH_BYTES", 0)
    monkeypatch.setattr(scale, "_LOOKS", {})
    assert packing.pack_journals(lake, now=now + timedelta(days=2)).journals == 1
    assert is_reached(), "lines that were packed count too"


def test_what_code_answers_keeps_to_its_limit_too(lake: Lake, now: datetime) -> None:
    del now
    names = batches(lake, 1, 6)
    limited = by_python(scale_limit={"hour": 4})
    served = served_by_code([limited]).digests
    run = ModelRun(lake, "", CODE_POOL, "python", served["python"], 0, "run-1", "dispatch")
    session = work(run, Given(limited, names))
    assert (session.remaining, session.outcome) == (2, "paused")


@pytest.mark.system
def test_a_run_keeps_no_partition_whose_work_is_over(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has the texts of its pages; a run may work on thousands."""
    names, opened, most = batches(lake, 6, 3), WeakSet[PartitionWork](), [0]
    begin = PartitionWork.__init__

    def counting(work: PartitionWork, *arguments: Any, **named: Any) -> None:
        begin(work, *arguments, **named)
        opened.add(work)
        gc.collect()
        most[0] = max(most[0], len(opened))

    monkeypatch.setattr(PartitionWork, "__init__", counting)
    asked = by_python()
    served = served_by_code([asked]).digests
    run = ModelRun(lake, "", CODE_POOL, "python", served["python"], 0, "run-1", "dispatch")
    session = work(run, Given(asked, names))
    assert (session.remaining, session.outcome) == (0, "complete")
    assert most[0] <= 3, "the one at work, and those before and after it"


def test_what_is_not_enabled_has_no_work_and_says_so(lake: Lake, now: datetime) -> None:
    batches(lake, 1, 1)
    off = interrogation(rows={}, enabled=False)
    assert [one.interrogation for one in waiting(lake, [off, MORE], now)] == ["more"]
    (held,) = StandingControls(lake).holds_of_files([off, MORE])
    assert str(held) == (
        "interrogation kinds is paused by its file: `enabled: false` (`enabled: true` there lets it go on)"
    )


def test_the_search_for_its_evidence_rests_with_an_interrogation(tmp_path: Path) -> None:
    search = {"source": "search", "label": "Passages", "query": "{{ name | quoted }}"}
    write(tmp_path, enabled=False, domain="people", evidence=[search])
    assert [(one.name, one.enabled, one.domain) for one in read_interrogations(tmp_path)] == [
        ("kinds", False, "people"),
        ("kinds_passages", False, "people"),
    ]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"enabled": "no"}, "enabled: Input should be a valid boolean"),
        ({"scale_limit": {}}, "scale_limit: must name hour, day or both"),
        ({"scale_limit": {"hour": 0}}, "scale_limit.hour: Input should be greater than or equal to 1"),
        ({"scale_limit": {"week": 5}}, "scale_limit.week: is no known key"),
        ({"domain": "Two words"}, "domain: String should match pattern"),
    ],
)
def test_a_wrong_value_is_named(tmp_path: Path, change: dict[str, Any], problem: str) -> None:
    write(tmp_path, **change)
    with pytest.raises(InterrogationError, match=r"kinds\.yaml: ") as caught:
        read_interrogations(tmp_path)
    assert problem in str(caught.value)
