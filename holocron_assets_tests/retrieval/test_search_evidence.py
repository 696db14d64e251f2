"""Evidence that a search finds: what is shown and written down, and when it is searched and asked again."""

import asyncio
import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from asked import DIGEST, GOOD, interrogation
from embedded import DIGEST as VECTOR_DIGEST
from embedded import embedded_lake, space, word_vector
from fake_ollama import SMALL, FakeOllama
from interrogation_files import read_interrogations
from test_interrogation_files import write
from test_spaces import cut
from wiki_lake import BATCH, a_wiki, write_entities, write_pair, write_wiki

from holocron_assets.derive.code.answering import CodeAnswerer
from holocron_assets.derive.dispatch.backlog import stale_partitions
from holocron_assets.derive.dispatch.served import served_by_code
from holocron_assets.derive.engine.engine import Engine, open_client
from holocron_assets.derive.interrogations.chains import ChainError, linked
from holocron_assets.derive.interrogations.interrogation import Interrogation, InterrogationError
from holocron_assets.derive.interrogations.loading import load_interrogations
from holocron_assets.derive.interrogations.searches import with_search
from holocron_assets.derive.items.items import wanted_items
from holocron_assets.derive.results.partition_work import PartitionWork
from holocron_assets.lake.files.parquet import read_partition, write_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGE_SIGNALS, PAGES
from holocron_assets.retrieval.index.index import SearchIndex

TEXTS = {
    "Varn": "'''Varn''' was a pilot of the Grey Moor.",
    "Moor": "The '''Moor''' is grey. [[Varn]] the pilot flew there.\n\n== Winters ==\nVarn was seen in snow.",
    "Ash": "'''Ash''' was a cook, and knew Varn from a distant harbour where many ships lay.",
    "Oll": "'''Oll''' was a mason.",
}
PEOPLE = "PersonCharacter"
SEARCH: dict[str, Any] = {"source": "search", "query": '"{{ name }}"', "limit": 3}


def asking(search: Mapping[str, Any] = SEARCH, **changes: Any) -> tuple[Interrogation, Interrogation]:
    """An interrogation that shows what a search finds, and the one that finds it."""
    asked = interrogation(
        **{
            "evidence": [search],
            "rows": {},
            "alternatives": [],
            "wants": {"sql": "title = 'Varn'"},
            **changes,
        }
    )
    first, second, _ = linked([*with_search(asked), space()])
    return first, second


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Four pages, cut into passages and indexed."""
    return indexed(a_wiki(tmp_path / "data", TEXTS), *asking())


def indexed(lake: Lake, *interrogations: Interrogation) -> Lake:
    """The lake with the tables of these interrogations, and its passages in the index."""
    cut(lake)
    SearchIndex(lake).update()
    return Lake(lake.root, tuple(one.table for one in interrogations))


def find(lake: Lake, search: Interrogation, partition: str = BATCH) -> list[dict[str, Any]]:
    """Have the search answer, and give the rows of its table."""
    [(kind, digest)] = served_by_code([search]).digests.items()
    work = PartitionWork(lake, search, partition, model=kind, digest=digest)
    for item in work.ready(datetime.now(UTC)):
        attempt = work.start(item)
        outcome = asyncio.run(CodeAnswerer("run").answer(item, model=kind, digest=digest, attempt=attempt))
        work.record(item, outcome)
    work.publish("run")
    return read_partition(lake, search.table, partition)


def ask(lake: Lake, asked: Interrogation, partition: str = BATCH) -> int:
    """Ask about all that is open, write the table, and give how many calls that took."""
    work = PartitionWork(lake, asked, partition, model=SMALL, digest=DIGEST)

    async def answer(fake: FakeOllama) -> None:
        async with open_client(fake.url) as client:
            for item in work.ready(datetime.now(UTC)):
                attempt = work.start(item)
                work.record(
                    item, await Engine(client).answer(item, model=SMALL, digest=DIGEST, attempt=attempt)
                )

    with FakeOllama(answer=lambda _: GOOD) as fake:
        asyncio.run(answer(fake))
    work.publish("run")
    return len(fake.chats)


def stale(lake: Lake, *interrogations: Interrogation) -> set[str]:
    digests = {SMALL: DIGEST, **served_by_code(interrogations).digests}
    return {part.interrogation.name for part in stale_partitions(lake, interrogations, digests=digests)}


def changed(lake: Lake, **texts: str) -> None:
    """The wiki with other texts, indexed again."""
    write_wiki(lake, {**TEXTS, **texts})
    cut(lake)
    SearchIndex(lake).update()


def test_passages_of_other_pages_are_shown_the_best_first_with_their_titles(lake: Lake) -> None:
    asked, search = asking()
    rows = find(lake, search)
    [item] = wanted_items(lake, asked, BATCH)
    assert [row["from_title"] for row in rows] == ["Moor", "Ash"]
    assert [piece.label for piece in item.bundle.items] == ["passage", "passage"]
    assert item.bundle.items[0].text.startswith("Moor")
    assert "Ash\nAsh was a cook, and knew Varn" in item.bundle.items[1].text
    assert "pilot of the Grey Moor" not in item.user, "that is its own page"


def test_its_own_page_is_shown_where_the_file_says_so(lake: Lake) -> None:
    _, search = asking({**SEARCH, "same_page": True})
    assert "Varn" in {row["from_title"] for row in find(lake, search)}


def test_no_more_than_the_limit_are_shown_and_only_of_the_types_that_are_named(lake: Lake) -> None:
    assert len(find(lake, asking({**SEARCH, "limit": 1})[1])) == 1
    assert find(lake, asking({**SEARCH, "types": ["VehicleCraft"]}, version=2)[1]) == []


def test_what_was_found_is_written_down_with_its_place_and_why_it_ranks_there(lake: Lake) -> None:
    _, search = asking()
    rows = find(lake, search)
    assert [row["score"] for row in rows] == sorted((row["score"] for row in rows), reverse=True)
    assert {row["matched_by"] for row in rows} == {"words"}
    for row in rows:
        [page] = [one for one in read_partition(lake, PAGES, BATCH) if one["title"] == row["from_title"]]
        assert row["from_revision_id"] == page["revision_id"]
        assert row["end_offset"] - row["start_offset"] == len(row["text"])


def test_a_question_waits_until_its_passages_were_searched(lake: Lake) -> None:
    asked, search = asking()
    assert ask(lake, asked) == 0
    find(lake, search)
    assert ask(lake, asked) == 1


def test_nothing_is_searched_before_anything_is_indexed(tmp_path: Path) -> None:
    asked, search = asking()
    lake = Lake(a_wiki(tmp_path, TEXTS).root, (asked.table, search.table))
    assert search.name not in stale(lake, asked, search)
    indexed(lake)
    assert search.name in stale(lake, asked, search)


def test_another_index_searches_again_and_asks_again_only_if_other_passages_are_shown(lake: Lake) -> None:
    write_entities(lake, PEOPLE, {"e1": "Varn"})
    asked, search = asking(over="entities", wants={})
    find(lake, search, PEOPLE)
    assert ask(lake, asked, PEOPLE) == 1
    assert stale(lake, asked, search) == set()

    changed(lake, Oll="'''Oll''' was a mason of renown.")
    assert stale(lake, search) == {search.name}
    find(lake, search, PEOPLE)
    assert stale(lake, asked, search) == set(), "it would be shown the same"

    changed(lake, Ash="'''Ash''' was a baker, and knew Varn.")
    find(lake, search, PEOPLE)
    assert stale(lake, asked) == {asked.name}
    assert ask(lake, asked, PEOPLE) == 1


def test_an_index_that_is_gone_fails_the_items_for_now_and_says_what_to_do(lake: Lake) -> None:
    _, search = asking()
    shutil.rmtree(lake.root / "search")
    [item] = wanted_items(lake, search, BATCH)
    assert item.is_transient
    assert item.problem == "Varn: nothing is indexed yet: `holocron run` makes the search index"


def test_a_page_without_a_revision_is_shown_too(tmp_path: Path) -> None:
    wiki = a_wiki(tmp_path, TEXTS)
    for table in (PAGES, PAGE_SIGNALS):
        rows = read_partition(wiki, table, BATCH)
        write_partition(wiki, table, BATCH, [{**row, "revision_id": None} for row in rows])
    _, search = asking()
    found = find(indexed(wiki, *asking()), search)
    assert [(row["from_title"], row["from_revision_id"]) for row in found] == [("Moor", None), ("Ash", None)]


def test_a_quote_of_a_passage_that_was_shown_is_supported(lake: Lake) -> None:
    asked, search = asking(rows={"quotes": ["quote"]})
    find(lake, search)
    [item] = wanted_items(lake, asked, BATCH)
    assert item.bundle.supports("knew Varn from a distant harbour")
    assert not item.bundle.supports("was a pilot of the Grey Moor")


def test_entities_without_a_page_and_pairs_are_searched_for_too(lake: Lake) -> None:
    write_entities(lake, PEOPLE, {"e1": "Varn"})
    _, search = asking(over="entities", wants={})
    assert [row["from_title"] for row in find(lake, search, PEOPLE)] == ["Moor", "Ash"]
    write_pair(lake, "Varn", "Moor", PEOPLE, (BATCH, BATCH))
    query = {**SEARCH, "query": "{{ first.title }} {{ second.title }}"}
    _, search = asking(
        query, over="pairs", wants={}, question="Are {{ first.title }} and {{ second.title }} one?"
    )
    assert "Ash" in {row["from_title"] for row in find(lake, search, PEOPLE)}
    assert not {"Varn", "Moor"} & {row["from_title"] for row in find(lake, search, PEOPLE)}


def test_a_space_finds_by_meaning_too_and_a_server_that_is_away_is_waited_for(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedded_lake(lake.root, space())
    SearchIndex(Lake(lake.root, (space().table,))).update()
    _, search = asking({**SEARCH, "query": "a pilot of snow", "space": "words"})
    (tmp_path / "spaces").mkdir()
    (tmp_path / "interrogations").mkdir()
    file = {"key": "words", "version": 1, "title": "Words", "model": "words:1", "priority": 100}
    written = {**file, "embedding": {"dimensions": 96}, "timeout_seconds": 60}
    (tmp_path / "spaces" / "words.yaml").write_text(f"{written}", encoding="utf-8")
    monkeypatch.setenv("HOLOCRON_SPACES", str(tmp_path / "spaces"))
    monkeypatch.setenv("HOLOCRON_INTERROGATIONS", str(tmp_path / "interrogations"))
    monkeypatch.setenv("HOLOCRON_LLM", "off")
    [item] = wanted_items(lake, search, BATCH)
    assert item.is_transient
    assert item.problem is not None
    assert item.problem.startswith("Varn: space words cannot be searched now: ")
    with FakeOllama(models={"words:1": VECTOR_DIGEST}, vector=word_vector) as ollama:
        monkeypatch.setenv("OLLAMA_HOST", ollama.url)
        monkeypatch.delenv("HOLOCRON_LLM")
        assert any("meaning" in row["matched_by"] for row in find(lake, search))


def test_with_models_off_no_space_is_searched_for_evidence(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, by_words = asking()
    _, by_meaning = asking({**SEARCH, "space": "words"})
    monkeypatch.setenv("HOLOCRON_LLM", "off")
    assert stale(lake, by_words) == {by_words.name}
    assert stale(lake, by_meaning) == set()


def test_what_the_index_is_made_from_cannot_build_on_a_search() -> None:
    asked = interrogation(key="identity_check", evidence=[SEARCH], rows={})
    with pytest.raises(ChainError, match="it reads what is made from its own answers"):
        linked(with_search(asked))


@pytest.mark.parametrize(
    ("evidence", "problem"),
    [
        ([SEARCH, {**SEARCH, "limit": 2}], "a second search"),
        ([{**SEARCH, "query": "{{ nothing }}"}], "evidence.query: .*nothing"),
        ([{**SEARCH, "types": ["Robot"]}], "not in the taxonomy: Robot"),
        ([{**SEARCH, "limit": 21}], "limit"),
        ([{**SEARCH, "of": "others"}], "of: is no known key"),
        ([{**SEARCH, "space": "minilm"}], "space 'minilm': there is none; there are"),
    ],
)
def test_a_search_that_cannot_be_made_is_refused_at_load(
    tmp_path: Path, evidence: list[dict[str, Any]], problem: str
) -> None:
    with pytest.raises(InterrogationError, match=problem):
        read_interrogations(write(tmp_path, evidence=evidence, rows={}).parent)


def test_the_shipped_one_describes_what_has_no_page() -> None:
    known = {one.name: one for one in load_interrogations()}
    assert known["mention_summary"].inputs == ("mention_summary_passages",)
    assert known["mention_summary_passages"].wants.sql == "origin = 'mention'"
