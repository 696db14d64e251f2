"""The chain that is shipped: dated events of pages, an entity's timeline, and two sentences about it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from fake_ollama import Chat, FakeOllama
from interrogation_files import read_interrogations
from test_code_interrogations import answered
from wiki_lake import BATCH, a_wiki, write_entities

from holocron_assets.derive.dispatch.served import served_by_code
from holocron_assets.derive.engine.engine import Engine, open_client
from holocron_assets.derive.items.items import wanted_items
from holocron_assets.derive.items.recipe import recipe_of
from holocron_assets.derive.results.partition_work import PartitionWork
from holocron_assets.derive.results.settled import waiting_subjects
from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.settings import PROJECT_FOLDER

SHIPPED = {one.key: one for one in read_interrogations(PROJECT_FOLDER / "data" / "interrogations")}
EVENTS, TIMELINE, SUMMARY = (SHIPPED[key] for key in ("page_events", "entity_timeline", "entity_summary"))
MODEL, DIGEST = "qwen2.5-coder:1.5b", "1" * 64
PEOPLE = "PersonCharacter"
PERSON = "{{{{Character\n|name={0}\n}}}}\n'''{0}''' was a captain who was born in the year {1}. {2}"
PAGES = {
    "Ifa Roon": PERSON.format("Ifa Roon", 2, "In the year 12 she took Sallow. She left it."),
    "Captain Roon": PERSON.format("Captain Roon", 2, "In the year 7 she went to sea."),
    "Bel Arno": PERSON.format("Bel Arno", 5, ""),
}
SAID = {
    "Ifa Roon": [
        ("In the year 12 she took Sallow", 12),
        ("born in the year 2", 2),
        ("died in the year 90", 90),
    ],
    "Captain Roon": [("In the year 7 she went to sea", 7)],
    "Bel Arno": [],
}


def events(chat: Chat) -> dict[str, Any]:
    """What a model says of the page that it is asked about; what is not on the page is made up."""
    asked = chat.messages[-1]["content"].rpartition("What happened to")[2]
    said = next(found for title, found in SAID.items() if f'"{title}"' in asked)
    return {
        "events": [
            {"evidence": words, "event": f"{words}, it says", "date": f"the year {year}", "year": year}
            for words, year in said
        ]
    }


def ask(lake: Lake, key: str, partition: str, answer: Any) -> list[Chat]:
    """Have a model answer all that waits; give what it was asked."""
    asked = SHIPPED[key]
    waits = waiting_subjects(lake, asked, partition)
    work = PartitionWork(lake, asked, partition, model=MODEL, digest=DIGEST)
    assert [item for item in wanted_items(lake, asked, partition, waits_for=waits) if item.waits_for] == []

    async def ask_all(fake: FakeOllama) -> None:
        async with open_client(fake.url) as client:
            for item in work.items:
                if work.is_open(item):
                    attempt = work.start(item)
                    outcome = await Engine(client).answer(item, model=MODEL, digest=DIGEST, attempt=attempt)
                    assert outcome.status == "ok", outcome.error
                    work.record(item, outcome)

    with FakeOllama(answer=answer, models={MODEL: DIGEST}) as fake:
        asyncio.run(ask_all(fake))
    work.publish("run-1")
    return fake.chats


def timeline(lake: Lake) -> dict[str, list[tuple[int, str]]]:
    """Years of each entity's events and the pages that name them, in their order."""
    answered(lake, TIMELINE, PEOPLE)
    found: dict[str, list[tuple[int, str]]] = {}
    for row in read_partition(lake, TIMELINE.table, PEOPLE):
        found.setdefault(row["entity_id"], []).append((row["year"], row["told_by"]))
    return found


@pytest.fixture(autouse=True)
def queries_are_asked_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holocron_assets.derive.items.query_digests.REST", 0.0)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = Lake(a_wiki(tmp_path, PAGES).root, tuple(one.table for one in SHIPPED.values()))
    write_entities(lake, PEOPLE, {"e1": "Ifa Roon", "e2": "Captain Roon", "e3": "Bel Arno"})
    return lake


@pytest.mark.system
def test_events_become_a_timeline_and_the_timeline_two_sentences(lake: Lake) -> None:
    assert len(ask(lake, "page_events", BATCH, events)) == 3
    # What is not on the page is in no timeline, and an entity without events has none.
    assert timeline(lake) == {"e1": [(2, "Ifa Roon"), (12, "Ifa Roon")], "e2": [(7, "Captain Roon")]}
    chats = ask(lake, "entity_summary", PEOPLE, lambda _: {"summary": "She took Sallow. Then she left."})
    assert len(chats) == 2
    prompt = chats[0].messages[-1]["content"]
    assert 'Sum up the 2 events of "Ifa Roon".' in prompt
    assert prompt.index("born in the year 2") < prompt.index("she took Sallow")
    rows = read_partition(lake, SUMMARY.table, PEOPLE)
    assert [(row["entity_id"], row["summary"]) for row in rows] == [
        ("e1", "She took Sallow. Then she left."),
        ("e2", "She took Sallow. Then she left."),
    ]


@pytest.mark.system
def test_a_merge_joins_the_timelines_and_asks_only_about_what_it_changed(lake: Lake) -> None:
    ask(lake, "page_events", BATCH, events)
    timeline(lake)
    ask(lake, "entity_summary", PEOPLE, lambda _: {"summary": "She took Sallow."})
    write_entities(lake, PEOPLE, {"e1": "Ifa Roon", "e2": "Captain Roon>e1", "e3": "Bel Arno"})
    [digest] = served_by_code([TIMELINE]).digests.values()
    assert "entities" in recipe_of(TIMELINE, digest).differences(lake, PEOPLE)
    assert timeline(lake) == {"e1": [(2, "Ifa Roon"), (7, "Captain Roon"), (12, "Ifa Roon")]}
    assert len(ask(lake, "entity_summary", PEOPLE, lambda _: {"summary": "She went to sea."})) == 1


@pytest.mark.system
def test_an_event_that_changes_makes_the_timeline_and_its_summary_stale(lake: Lake) -> None:
    ask(lake, "page_events", BATCH, events)
    timeline(lake)
    ask(lake, "entity_summary", PEOPLE, lambda _: {"summary": "She took Sallow."})
    [digest] = served_by_code([TIMELINE]).digests.values()
    of_timeline, of_summary = recipe_of(TIMELINE, digest), recipe_of(SUMMARY, DIGEST)
    assert of_timeline.differences(lake, PEOPLE) == of_summary.differences(lake, PEOPLE) == ()
    nothing: dict[str, list[Any]] = {"events": []}
    a_wiki(lake.root, {**PAGES, "Captain Roon": PERSON.format("Captain Roon", 3, "")})
    ask(lake, "page_events", BATCH, lambda _: nothing)
    assert of_timeline.differences(lake, PEOPLE) == ("queries",)
    assert timeline(lake).keys() == {"e1"}
    assert "derived_entity_timeline" in of_summary.differences(lake, PEOPLE)
