"""Interrogations over entities: an item is an entity that stands, a partition an entity type."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from asked import DIGEST, GOOD, interrogation
from fake_ollama import SMALL, FakeOllama
from interrogation_files import read_interrogations
from test_code_interrogations import answered, by_python, by_sql, rows
from test_interrogation_files import write
from wiki_lake import BATCH, a_wiki, write_entities, write_wiki

from holocron_assets.derive.dispatch.tallies import wanted_counts
from holocron_assets.derive.engine.engine import Engine, open_client
from holocron_assets.derive.interrogations.chains import linked
from holocron_assets.derive.interrogations.interrogation import Interrogation, InterrogationError
from holocron_assets.derive.items.items import Item, wanted_items
from holocron_assets.derive.items.recipe import derivation_of
from holocron_assets.derive.repeat.sample import sample_items
from holocron_assets.derive.results.partition_work import PartitionWork
from holocron_assets.lake.files.parquet import MissingPartitionError, read_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import ENTITIES

PEOPLE = "PersonCharacter"
PAGES = {"Varn": "'''Varn''' was a pilot of [[Moor]].", "Ash": "'''Ash''' was a pilot, too."}
QUESTION = {"question": "Who is {{ title }}, a {{ entity_type }}?"}
WHERE_FROM = "select title as word from page_signals where title_key = $title_key and batch = $batch"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = a_wiki(tmp_path, PAGES)
    write_entities(lake, PEOPLE, {"e1": "Varn", "e2": "Ash"})
    return lake


def of_entities(**changes: Any) -> Interrogation:
    return interrogation(over="entities", **{**QUESTION, **changes})


def items(lake: Lake, **changes: Any) -> dict[str, Item]:
    """The items of the people, by their ids."""
    return {item.item_id: item for item in wanted_items(lake, of_entities(**changes), PEOPLE)}


def ask_all(lake: Lake, asked: Interrogation) -> int:
    """Ask about all that waits, write the tables, and give how many calls that took."""
    work = PartitionWork(lake, asked, PEOPLE, model=SMALL, digest=DIGEST)

    async def ask(fake: FakeOllama) -> None:
        async with open_client(fake.url) as client:
            for item in work.items:
                if work.is_open(item):
                    attempt = work.start(item)
                    outcome = await Engine(client).answer(item, model=SMALL, digest=DIGEST, attempt=attempt)
                    work.record(item, outcome)

    with FakeOllama(answer=lambda _: GOOD) as fake:
        asyncio.run(ask(fake))
    work.publish("run-1")
    return len(fake.chats)


def table(lake: Lake, asked: Interrogation) -> list[dict[str, Any]]:
    return read_partition(Lake(lake.root, (asked.table,)), asked.table, PEOPLE)


def test_every_entity_that_stands_is_asked_about_with_its_page_and_its_variables(lake: Lake) -> None:
    found = items(lake)
    assert list(found) == ["e1", "e2"]
    assert found["e1"].question == "Who is Varn, a PersonCharacter?"
    assert "Varn was a pilot of Moor." in found["e1"].user
    assert (found["e2"].subject, found["e2"].source, found["e2"].partition) == ("Ash", "wiki", PEOPLE)


def test_the_answers_are_rows_of_a_table_by_entity_type(lake: Lake) -> None:
    asked = of_entities(rows={})
    assert ask_all(lake, asked) == 2
    assert asked.table.partition_column == "entity_type"
    assert [
        (row["entity_type"], row["entity_id"], row["name"], row["title"]) for row in table(lake, asked)
    ] == [
        (PEOPLE, "e1", "Varn", "Varn"),
        (PEOPLE, "e2", "Ash", "Ash"),
    ]
    assert derivation_of(asked).inputs == (ENTITIES,)


def test_queries_name_the_entitys_values_and_are_enough_without_its_page(lake: Lake) -> None:
    query = {"source": "sql", "label": "Known", "sql": "select $entity_id || ' ' || $name as told"}
    found = items(lake, evidence=[query], rows={})
    assert "e1 Varn" in found["e1"].user
    assert "pilot" not in found["e1"].user


def test_only_what_is_wanted_is_asked_about(lake: Lake) -> None:
    assert items(lake, wants={"sql": "name = 'Ash' and state = 'promoted'"}).keys() == {"e2"}
    assert items(lake, wants={"types": ["Droid"]}) == {}
    assert items(lake, wants={"sources": ["other"]}) == {}
    assert items(lake, wants={"confidence_below": 0.9}) == {}
    assert items(lake, wants={"confidence_from": 0.9}).keys() == {"e1", "e2"}


def test_what_all_entities_want_is_counted_in_one_query(lake: Lake) -> None:
    write_entities(lake, PEOPLE, {"e1": "Varn", "e2": "Ash", "e3": "Moor>e1"})
    assert wanted_counts(lake, [of_entities()]) == {("kinds", PEOPLE): 2}


def test_a_type_without_entities_is_not_there_yet(lake: Lake) -> None:
    with pytest.raises(MissingPartitionError):
        list(wanted_items(lake, of_entities(), "Droid"))


def test_an_entity_whose_page_is_gone_names_the_page(lake: Lake) -> None:
    write_entities(lake, PEOPLE, {"e1": "Nobody"})
    assert items(lake)["e1"].problem == (
        f"Nobody: batch {BATCH} holds no page 'Nobody' with signals; make the entities again"
    )


def test_code_answers_about_entities_too(lake: Lake) -> None:
    asked = by_sql(WHERE_FROM, over="entities")
    answered(lake, asked, PEOPLE)
    assert rows(lake, asked, "entity_id", "word", partition=PEOPLE) == [("e1", "Varn"), ("e2", "Ash")]
    asked = by_python("code_functions:kind_of_page", over="entities", rows={"quotes": ["quote"]})
    answered(lake, asked, PEOPLE)
    assert rows(lake, asked, "entity_id", "kind", "supported", partition=PEOPLE) == [
        ("e1", "person", True),
        ("e2", "person", True),
    ]


def test_the_entity_that_a_merge_leaves_keeps_its_answers_and_finds_those_to_the_same_question(
    lake: Lake,
) -> None:
    asked = of_entities(rows={})
    assert ask_all(lake, asked) == 2
    write_entities(lake, PEOPLE, {"e1": "Varn>e2", "e2": "Ash"})
    assert ask_all(lake, asked) == 0
    assert [row["entity_id"] for row in table(lake, asked)] == ["e2"]
    # The page of what was merged now stands for the entity that is left, under the other's id.
    write_entities(lake, PEOPLE, {"e2": "Varn"})
    assert ask_all(lake, asked) == 0
    assert [row["title"] for row in table(lake, asked)] == ["Varn"]


def test_an_entity_that_is_of_another_type_now_finds_its_answer(lake: Lake) -> None:
    asked = interrogation(over="entities", question="Who is {{ title }}?", rows={})
    ask_all(lake, asked)
    write_entities(lake, "Droid", {"e1": "Varn"})
    assert PartitionWork(lake, asked, "Droid", model=SMALL, digest=DIGEST).answered == 1


def test_entities_build_on_what_others_were_answered_about_them(lake: Lake) -> None:
    sizes = by_sql(WHERE_FROM, over="entities", key="sizes")
    evidence = [{"source": "answers", "of": "sizes"}]
    asked = of_entities(inputs=["sizes"], evidence=evidence, rows={})
    _, kinds = linked([sizes, asked])
    answered(lake, sizes, PEOPLE)
    known = Lake(lake.root, (sizes.table, asked.table))
    [varn, ash] = wanted_items(known, kinds, PEOPLE)
    assert "word | size | supported\nVarn |  | true" in varn.user
    assert "Ash |  | true" in ash.user


def test_a_sample_of_entities_is_drawn(lake: Lake) -> None:
    assert {item.item_id for item in sample_items(lake, of_entities(), 5)} == {"e1", "e2"}


def test_the_same_pages_in_another_batch_are_not_asked_about_again(lake: Lake) -> None:
    asked = of_entities(rows={})
    ask_all(lake, asked)
    write_wiki(lake, PAGES, "wiki-000002")
    write_entities(lake, PEOPLE, {"e1": "Varn", "e2": "Ash"}, "wiki-000002")
    assert ask_all(lake, asked) == 0


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"question": "{{ confidence }}"}, "question: 'confidence' is undefined"),
        (
            {"evidence": [{"source": "page", "part": "lead", "of": "first"}]},
            "of first: over entities, there is",
        ),
        ({"evidence": [{"source": "sql", "sql": "select $pair_id"}]}, "no value is called"),
        ({"wants": {"sql": "is_list"}}, "wants.sql"),
        (
            {"chunk_characters": 500, "evidence": [{"source": "chunk"}]},
            "chunk_characters: only pages are read in chunks, and no entities",
        ),
    ],
)
def test_what_no_entity_has_is_refused_at_load(tmp_path: Path, change: dict[str, Any], problem: str) -> None:
    path = write(tmp_path, over="entities", **change)
    with pytest.raises(InterrogationError, match=f"{path}: .*{problem}"):
        read_interrogations(tmp_path)
