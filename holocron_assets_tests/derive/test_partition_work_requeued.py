"""Items that no model could answer are dead letters, and come back by a person's decision."""

from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from asked import DIGEST, GOOD, interrogation
from asked_lake import ask_lake
from fake_ollama import SMALL
from wiki_lake import BATCH, a_wiki, write_pair, write_wiki

from holocron_assets.crawl.frontier.requeue import requeue, retry_now
from holocron_assets.derive.dispatch.backlog import backlog
from holocron_assets.derive.dispatch.pools import DispatchSettings
from holocron_assets.derive.dispatch.served import ServedModels
from holocron_assets.derive.engine.calls import Outcome
from holocron_assets.derive.gpu.open_partitions import open_partition
from holocron_assets.derive.gpu.turns import Dispatched, Supply
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.results.partition_work import PartitionWork
from holocron_assets.derive.results.requeued import requeued_partitions
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import LLM_RUNS

KINDS = interrogation(rows={})
IN_CHUNKS = interrogation(
    key="chunks", rows={}, chunk_characters=200, evidence=[{"source": "chunk", "label": "Part"}]
)
SAME = interrogation(
    key="same",
    rows={},
    over="pairs",
    question="Are they one?",
    evidence=[{"source": "page", "label": "First", "part": "text", "of": "first"}],
)
TEXTS = {
    "Ash": "An '''ash''' is a tree.",
    "Elm": "An '''elm''' is a tree.\n\n"
    + "".join(f"It is tall, {years} years old, and grows by the river. " for years in range(12)),
}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return a_wiki(tmp_path, TEXTS)


def work_on(lake: Lake, asked: Interrogation = KINDS, partition: str = BATCH) -> PartitionWork:
    return PartitionWork(lake, asked, partition, model=SMALL, digest=DIGEST)


def give_up(work: PartitionWork, *subjects: str) -> None:
    """Answer all items but some, which are given up."""
    for item in work.ready(datetime.now(UTC)):
        work.start(item)
        is_hopeless = item.subject in subjects
        work.record(item, Outcome("dead", error="it will not do") if is_hopeless else Outcome("ok", GOOD))
    work.publish("run-1")


def letters(lake: Lake) -> list[dict[str, Any]]:
    return ask_lake(lake, "select stage, title, batch, error from dead_letters order by all")


def bring_back(lake: Lake, *titles: str) -> list[str]:
    return [row["title"] for row in requeue(lake, source=None, titles=titles, author="Ann", reason="mended")]


def test_an_item_that_was_given_up_is_a_dead_letter_of_its_interrogation(lake: Lake) -> None:
    give_up(work_on(lake), "Elm")
    assert letters(lake) == [{"stage": "kinds", "title": "Elm", "batch": BATCH, "error": "it will not do"}]


def test_a_requeued_item_has_its_attempts_again_and_opens_its_partition(lake: Lake) -> None:
    give_up(work_on(lake), "Elm")
    assert requeued_partitions(lake) == frozenset()
    assert bring_back(lake, "Elm") == ["Elm"]
    assert letters(lake) == []
    assert requeued_partitions(lake) == {("kinds", BATCH)}
    work = work_on(lake)
    (elm,) = work.ready(datetime.now(UTC))
    assert (elm.subject, work.is_complete, work.start(elm)) == ("Elm", False, 1)
    work.record(elm, Outcome("ok", GOOD))
    assert work.publish("run-2") is not None
    assert requeued_partitions(lake) == frozenset()


def test_an_item_that_is_given_up_again_is_a_dead_letter_again(lake: Lake) -> None:
    give_up(work_on(lake), "Elm")
    bring_back(lake, "Elm")
    give_up(work_on(lake), "Elm")
    assert [letter["title"] for letter in letters(lake)] == ["Elm"]
    assert work_on(lake).is_complete
    assert bring_back(lake, "Elm") == ["Elm"]
    assert not work_on(lake).is_complete


def test_an_item_that_failed_is_due_at_once_when_a_person_wants_it_and_its_count_goes_on(lake: Lake) -> None:
    work = work_on(lake)
    for item in work.ready(datetime.now(UTC)):
        work.start(item)
        failed = Outcome("failed", error="not now", due_at=datetime.now(UTC) + timedelta(minutes=5))
        work.record(item, failed if item.subject == "Elm" else Outcome("ok", GOOD))
    work.publish("run-1")
    assert work_on(lake).ready(datetime.now(UTC)) == []
    (key,) = [(item.source or "", item.subject) for item in work.items if item.subject == "Elm"]
    retry_now(lake, [key], author="Ann", reason="mended")
    (waiting,) = backlog(lake, [KINDS], digests={SMALL: DIGEST}, now=datetime.now(UTC))
    assert waiting.items == 1
    assert dispatched(lake) == ["Elm"]
    again = work_on(lake)
    (elm,) = again.ready(datetime.now(UTC))
    assert (elm.subject, again.start(elm)) == ("Elm", 2)


def dispatched(lake: Lake) -> list[str]:
    """The subjects that a dispatcher's run would ask about now."""
    served = ServedModels({SMALL: DIGEST}, frozenset(), frozenset())
    agenda = Dispatched(lake, [KINDS], served, DispatchSettings(), model=SMALL)
    with closing(Supply(agenda, partial(open_partition, lake, model=SMALL, digest=DIGEST))) as supply:
        return [item.subject for _, item in supply.steps() if item]


def test_a_requeued_item_comes_back_although_the_journal_was_lost(lake: Lake) -> None:
    give_up(work_on(lake), "Elm")
    lake.journal(LLM_RUNS, f"kinds-{BATCH}").unlink()
    assert work_on(lake).dead == 1
    bring_back(lake, "Elm")
    assert [item.subject for item in work_on(lake).ready(datetime.now(UTC))] == ["Elm"]


def test_all_chunks_of_a_page_come_back_by_its_title(lake: Lake) -> None:
    work = work_on(lake, IN_CHUNKS)
    chunks = [item.subject for item in work.items if item.subject.startswith("Elm#")]
    assert len(chunks) > 1
    give_up(work, *chunks)
    assert {letter["title"] for letter in letters(lake)} == {"Elm"}
    assert len(letters(lake)) == len(chunks)
    assert bring_back(lake, "Elm") == ["Elm"]
    assert letters(lake) == []
    assert [item.subject for item in work_on(lake, IN_CHUNKS).ready(datetime.now(UTC))] == chunks


@pytest.mark.parametrize("title", ["Ash", "Elm"])
def test_any_of_several_items_with_one_question_brings_it_back(lake: Lake, title: str) -> None:
    write_wiki(lake, dict.fromkeys(TEXTS, "A tree."))
    shown = [{"source": "page", "label": "It", "part": "lead"}]
    asked = interrogation(key="trees", rows={}, question="What is it?", evidence=shown)
    give_up(work_on(lake, asked), "Ash", "Elm")
    assert bring_back(lake, title) == [title]
    assert work_on(lake, asked).ready(datetime.now(UTC))


def test_a_pair_comes_back_by_its_two_names(lake: Lake) -> None:
    write_pair(lake, "Ash", "Elm", "Species", (BATCH, BATCH))
    give_up(work_on(lake, SAME, "Species"), "Ash and Elm")
    assert [letter["title"] for letter in letters(lake)] == ["Ash and Elm"]
    assert bring_back(lake, "Ash and Elm") == ["Ash and Elm"]
    assert letters(lake) == []
    assert requeued_partitions(lake) == {("same", "Species")}
    assert work_on(lake, SAME, "Species").untried == 1
