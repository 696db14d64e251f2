"""What there is to ask, read from a real lake: which batches, why, and what is left of those begun."""

import os
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import wiki_lake
from asked import interrogation
from asked_lake import ask_lake
from fake_ollama import SMALL
from sample_holocron import SAMPLE_BATCH, Holocron
from wiki_lake import BATCH, a_wiki, write_wiki

from holocron_assets.derive.dispatch.backlog import (
    Counts,
    StalePartition,
    backlog,
    stale_partitions,
    waiting_of,
)
from holocron_assets.derive.engine.calls import Outcome
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.items.recipe import recipe_of
from holocron_assets.derive.results.answer_tables import UNANSWERED
from holocron_assets.derive.results.partition_work import PartitionWork
from holocron_assets.lake.files.parquet import read_partition, write_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGE_SIGNALS, PAGE_TYPES

NOW = datetime(2030, 1, 1, tzinfo=UTC)
DIGESTS = {"small:1b": "1" * 64}
WANTS = {"wants": {"types": ["PersonCharacter"]}}
KINDS = interrogation(**WANTS)


@pytest.fixture
def lake(tmp_path: Path, finished_sample: Holocron) -> Lake:
    return finished_sample.copy_to(tmp_path).lake


def make(
    lake: Lake, asked: Interrogation = KINDS, digest: str = DIGESTS["small:1b"], *, unanswered: int = 0
) -> None:
    """Write the table of an interrogation that found nothing, or that lacks some answers."""
    recipe = recipe_of(asked, digest)
    inputs = dict(recipe.inputs(lake, SAMPLE_BATCH) or {})
    if unanswered:
        inputs[UNANSWERED] = str(unanswered)
    write_partition(
        lake,
        asked.table,
        SAMPLE_BATCH,
        [],
        code_version=recipe.derivation.code_version,
        inputs=inputs,
    )


def stale(lake: Lake, asked: Interrogation = KINDS, **more: Any) -> list[StalePartition]:
    return stale_partitions(lake, [asked], digests=DIGESTS, **more)


def why(
    lake: Lake, asked: Interrogation = KINDS, digests: Mapping[str, str] = DIGESTS
) -> list[tuple[str, ...]]:
    return [part.differences for part in stale_partitions(lake, [asked], digests=digests)]


def test_a_batch_that_was_never_counted_is_work_of_an_unknown_amount(lake: Lake) -> None:
    (waiting,) = backlog(lake, [KINDS], digests=DIGESTS, now=NOW)
    assert (waiting.interrogation, waiting.model, waiting.priority) == ("kinds", "small:1b", 500)
    assert (waiting.items, waiting.uncounted, waiting.completions, waiting.due) == (0, 1, 0, None)


def test_a_batch_waits_from_when_the_last_thing_it_needs_was_written(lake: Lake) -> None:
    moment = datetime(2029, 5, 1, tzinfo=UTC)
    os.utime(lake.file(PAGE_TYPES, SAMPLE_BATCH), (moment.timestamp(), moment.timestamp()))
    (waiting,) = backlog(lake, [KINDS], digests=DIGESTS, now=NOW)
    assert waiting.waiting_since == moment


def test_a_batch_that_is_being_answered_waits_as_long_as_before(lake: Lake) -> None:
    (before,) = backlog(lake, [KINDS], digests=DIGESTS, now=NOW)
    make(lake, unanswered=7)
    later = datetime(2029, 5, 1, tzinfo=UTC).timestamp()
    os.utime(lake.file(KINDS.table, SAMPLE_BATCH), (later, later))
    (after,) = backlog(lake, [KINDS], digests=DIGESTS, now=NOW)
    assert after.waiting_since == before.waiting_since


def test_what_was_given_up_of_a_page_that_was_read_again_is_no_dead_letter_and_has_no_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = a_wiki(tmp_path, {"Elm": "An '''elm''' is a tree.", "Ash": "An '''ash''' is a tree."})
    asked = interrogation(rows={})
    work = PartitionWork(lake, asked, BATCH, model=SMALL, digest="1" * 64)
    for item in work.ready(NOW):
        work.start(item)
        work.record(item, Outcome("dead", error="no answer fits", traceback="Traceback"))
    work.publish("run-1")
    for view in ("dead_letters", "tracebacks"):
        shown = ask_lake(lake, f"select title from {view} order by title")  # noqa: S608 - views of our own
        assert shown == [{"title": "Ash"}, {"title": "Elm"}]
    monkeypatch.setattr(wiki_lake, "_NOW", datetime(2026, 5, 9, tzinfo=UTC))
    write_wiki(lake, {"Elm": "An '''elm''' is a tall tree."}, "wiki-000002")
    for view in ("dead_letters", "tracebacks"):
        assert ask_lake(lake, f"select title from {view}") == [{"title": "Ash"}]  # noqa: S608 - the same


def test_a_batch_that_is_not_typed_yet_is_no_work(lake: Lake) -> None:
    lake.file(PAGE_TYPES, SAMPLE_BATCH).unlink()
    assert stale(lake) == []


def test_a_batch_whose_table_is_there_is_no_work(lake: Lake) -> None:
    make(lake)
    assert stale(lake) == []


@pytest.mark.parametrize(
    ("change", "reasons"),
    [
        ({"prompt": "Say what kind of thing it is."}, [("prompt",)]),
        ({"question": "What could {{ title }} be?"}, [("prompt",)]),
        ({"options": {"num_ctx": 4096, "num_predict": 120, "seed": 7}}, [("options",)]),
        ({"wants": {"types": ["Species"]}}, [("wants",)]),
        ({"rows": {}}, [("rows",)]),
        ({"priority": 900, "timeout_seconds": 5}, []),
    ],
)
def test_what_an_interrogation_says_of_its_questions_is_named_when_it_changes(
    lake: Lake, change: dict[str, Any], reasons: list[tuple[str, ...]]
) -> None:
    make(lake)
    assert why(lake, interrogation(**{**WANTS, **change})) == reasons


def test_another_model_is_named(lake: Lake) -> None:
    make(lake)
    assert why(lake, digests={"small:1b": "2" * 64}) == [("model",)]
    assert why(lake, digests={"large:7b": "3" * 64}) == [("model",)]


def test_changed_pages_are_named(lake: Lake) -> None:
    make(lake)
    rows = read_partition(lake, PAGE_SIGNALS, SAMPLE_BATCH)
    write_partition(lake, PAGE_SIGNALS, SAMPLE_BATCH, rows[:-1])
    assert why(lake) == [("page_signals",)]


def test_without_its_model_an_interrogation_is_left_out_unless_asked_for(lake: Lake) -> None:
    assert stale_partitions(lake, [KINDS], digests={}) == []
    (part,) = stale_partitions(lake, [KINDS], digests={}, without_models=True)
    assert (part.differences, part.model) == (("new",), "")
    make(lake)
    assert stale_partitions(lake, [KINDS], digests={}, without_models=True) == []


def test_a_second_check_reads_no_footer(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    make(lake)
    changed = interrogation(prompt="Else.", **WANTS)
    assert why(lake, changed) == [("prompt",)]
    monkeypatch.setattr("holocron_assets.derive.items.recipe.read_footer", pytest.fail)
    monkeypatch.setattr("holocron_assets.lake.freshness.read_footer", pytest.fail)
    assert why(lake, changed) == [("prompt",)]


def part_with(counts: Counts | None) -> StalePartition:
    since = NOW - timedelta(days=1)
    return StalePartition(KINDS, SAMPLE_BATCH, "small:1b", "1" * 64, ("new",), since, (), counts)


def test_items_that_failed_for_now_count_when_they_are_due() -> None:
    early, late = NOW - timedelta(minutes=1), NOW + timedelta(minutes=5)
    (waiting,) = waiting_of([part_with(Counts(3, 1, 0, (early, late)))], NOW)
    assert (waiting.items, waiting.due, waiting.waiting_since) == (1, late, early)


def test_a_batch_in_which_everything_waits_is_no_work_yet() -> None:
    (waiting,) = waiting_of([part_with(Counts(3, 1, 0, (NOW + timedelta(minutes=5),)))], NOW)
    assert (waiting.is_due, waiting.waiting_since, waiting.due) == (False, None, NOW + timedelta(minutes=5))


def test_answers_that_no_table_has_are_written_while_the_other_items_wait() -> None:
    dues = (NOW + timedelta(minutes=5),)
    (waiting,) = waiting_of([part_with(Counts(3, 1, 0, dues, is_behind=True))], NOW)
    assert (waiting.is_due, waiting.completions, waiting.waiting_since) == (True, 1, NOW - timedelta(days=1))


def test_a_batch_of_which_every_item_is_answered_or_dead_is_to_be_completed() -> None:
    (waiting,) = waiting_of([part_with(Counts(3, 1, 0, ()))], NOW)
    assert (waiting.items, waiting.completions, waiting.waiting_since) == (0, 1, NOW - timedelta(days=1))


def test_the_batches_of_one_interrogation_add_up() -> None:
    parts = [part_with(None), part_with(Counts(0, 0, 5, ())), part_with(Counts(1, 0, 7, ()))]
    (waiting,) = waiting_of(parts, NOW)
    assert (waiting.items, waiting.uncounted) == (12, 1)
