"""Pages of whose type the learned model is sure: a language model is not asked about them."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from asked import DIGEST, interrogation
from fake_ollama import SMALL
from test_partition_work import now, run, runs, subjects
from wiki_lake import BATCH, SOURCE, a_wiki

from holocron_assets.derive.dispatch.tallies import wanted_counts
from holocron_assets.derive.dispatch.work_order import WorkOrder
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.items.recipe import QUERIES, recipe_of
from holocron_assets.derive.results import partition_work
from holocron_assets.derive.results.partition_work import PartitionWork
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.files.parquet import read_partition, write_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import TYPE_PREDICTIONS

pytestmark = pytest.mark.system

TEXTS = {title: f"'''{title}''' is a {title.lower()} of note." for title in ("Ash", "Birch", "Cedar", "Elm")}
SPARING = interrogation(rows={}, wants={"unpredicted": True})


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return a_wiki(tmp_path, TEXTS)


def predict(lake: Lake, sureness: Mapping[str, float]) -> None:
    """Write what the learned model says: how sure it is of each page."""
    rows = [
        {
            "source": SOURCE,
            "batch": BATCH,
            "title": title,
            "title_key": title_key(SOURCE, title),
            "revision_id": 1,
            "primary_type": "Concept",
            "probability": probability,
            "second_type": "Droid",
            "second_probability": 0.01,
            "is_familiar": True,
            "abstains": probability < 0.8,
            "reasons": [],
            "model_version": "1",
        }
        for title, probability in sureness.items()
    ]
    write_partition(lake, TYPE_PREDICTIONS, SOURCE, rows)


def work_on(lake: Lake, asked: Interrogation = SPARING) -> PartitionWork:
    return PartitionWork(lake, asked, BATCH, model=SMALL, digest=DIGEST)


def wanted(lake: Lake) -> int:
    return wanted_counts(lake, [SPARING]).get((SPARING.name, BATCH), 0)


def test_a_page_that_the_learned_model_is_sure_of_is_not_asked_about(lake: Lake) -> None:
    predict(lake, {"Ash": 0.95, "Birch": 0.6})
    work = work_on(lake)
    assert subjects(work.items) == ["Birch", "Cedar", "Elm"]
    assert run(work) == 3
    work.publish("run-1")
    assert work.is_complete
    assert sorted(runs(lake, work.scope)) == ["Birch", "Cedar", "Elm"]
    assert wanted(lake) == 3


def test_without_a_learned_model_every_page_is_asked_about(lake: Lake) -> None:
    assert subjects(work_on(lake).items) == list(TEXTS)
    assert wanted(lake) == len(TEXTS)


def test_pages_that_the_learned_model_is_least_sure_of_come_first(lake: Lake) -> None:
    predict(lake, {"Ash": 0.7, "Birch": 0.4, "Cedar": 0.5})
    ready = work_on(lake).ready(now())
    assert subjects(WorkOrder(lake).items(ready)) == ["Elm", "Birch", "Cedar", "Ash"]


def test_pages_of_one_template_wait_until_each_template_had_its_turn(tmp_path: Path) -> None:
    boxes = {"Ash": "Planet", "Birch": "Planet", "Cedar": "Character", "Elm": "Character"}
    texts = {title: f"{{{{{box}\n|name={title}\n}}}}\n'''{title}''' is old." for title, box in boxes.items()}
    lake = a_wiki(tmp_path, {**texts, "Fir": "'''Fir''' is old.", "Yew": "'''Yew''' is old."})
    predict(lake, {"Ash": 0.3, "Birch": 0.4, "Cedar": 0.6, "Elm": 0.5, "Fir": 0.7, "Yew": 0.2})
    ready = work_on(lake).ready(now())
    assert subjects(WorkOrder(lake).items(ready)) == ["Yew", "Ash", "Elm", "Fir", "Birch", "Cedar"]


def test_an_answer_stays_when_the_learned_model_is_sure_since(lake: Lake) -> None:
    work = work_on(lake)
    run(work)
    work.publish("run-1")
    assert recipe_of(SPARING, DIGEST).differences(lake, BATCH) == ()
    predict(lake, {"Ash": 0.95})
    assert recipe_of(SPARING, DIGEST).differences(lake, BATCH) == (QUERIES,)
    again = work_on(lake)
    assert again.is_complete
    again.publish("run-2")
    assert [row["title"] for row in read_partition(lake, SPARING.table, BATCH)] == list(TEXTS)
    assert recipe_of(SPARING, DIGEST).differences(lake, BATCH) == ()
    assert wanted(lake) == len(TEXTS)


def test_a_page_is_asked_about_once_the_learned_model_is_not_sure_any_more(lake: Lake) -> None:
    predict(lake, {"Ash": 0.95})
    work = work_on(lake)
    run(work)
    work.publish("run-1")
    predict(lake, {"Ash": 0.5})
    assert recipe_of(SPARING, DIGEST).differences(lake, BATCH) == (QUERIES,)
    again = work_on(lake)
    assert subjects(again.ready(now())) == ["Ash"]


def test_only_what_asks_about_pages_can_be_spared() -> None:
    with pytest.raises(ValueError, match="unpredicted: the learned model types pages, not entities"):
        interrogation(over="entities", wants={"unpredicted": True})


def test_a_page_that_the_learned_model_is_sure_of_meanwhile_is_not_asked_about(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partition_work, "_SURE_SECONDS", 0.0)
    work = work_on(lake)
    first = work.ready(now())[0]
    assert work.is_open(first)
    predict(lake, {first.subject: 0.95})
    assert not work.is_open(first)
    assert work.remaining == len(TEXTS)
    assert work_on(lake).remaining == len(TEXTS) - 1
