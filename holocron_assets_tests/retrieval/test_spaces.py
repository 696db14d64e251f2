"""Spaces: their files, and how a model embeds the passages of pages."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from embedded import DIMENSIONS, space, word_vector
from fake_ollama import Behaviour, Chat, FakeOllama, Handler, fails, hangs
from wiki_lake import write_wiki

from holocron_assets.derive.dispatch.pools import DispatchSettings
from holocron_assets.derive.dispatch.served import ServedModels
from holocron_assets.derive.dispatch.work_order import WorkOrder, most_linked
from holocron_assets.derive.engine.calls import Outcome
from holocron_assets.derive.engine.embedding import EmbeddingEngine, packed_vector, unpacked_vectors
from holocron_assets.derive.engine.engine import open_client
from holocron_assets.derive.gpu.model_run import ModelRun, Session, work_on
from holocron_assets.derive.gpu.turns import Dispatched
from holocron_assets.derive.interrogations.files import read_each
from holocron_assets.derive.interrogations.loading import load_interrogations
from holocron_assets.derive.items.item import Item
from holocron_assets.derive.items.items import wanted_items
from holocron_assets.derive.items.recipe import recipe_of
from holocron_assets.derive.server.errors import ModelServerError
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.files.parquet import read_partition, write_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGE_CHUNKS, PAGE_LINKS, PAGE_SIGNALS, PAGES, SITES
from holocron_assets.lake.titles import Site
from holocron_assets.planning.batch_steps import readable_pages
from holocron_assets.retrieval import asking
from holocron_assets.retrieval.asking import (
    NoVectorError,
    query_vector,
    server_for_queries,
    server_in_background,
)
from holocron_assets.retrieval.passages import passage_rows

BATCH = "wiki-000001"
DIGEST = "9" * 64
FILE = {
    "key": "words",
    "version": 1,
    "title": "Words of a passage",
    "model": "words:1",
    "priority": 100,
    "embedding": {"dimensions": DIMENSIONS},
    "timeout_seconds": 60,
}


@pytest.fixture
def ollama() -> Iterator[FakeOllama]:
    with FakeOllama(models={"words:1": DIGEST}, vector=word_vector) as fake:
        yield fake


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Two pages, cut into passages."""
    made = Lake(tmp_path / "data", (space().table,))
    write_wiki(made, {"Varn": "'''Varn''' flew.\n\n== Life ==\nVarn sang.", "Empty": "{{Stub}}"}, BATCH)
    cut(made)
    return made


def cut(lake: Lake, batch: str = BATCH) -> None:
    [site] = read_partition(lake, SITES, batch.rpartition("-")[0])
    names = {row["title_key"]: row["name"] for row in read_partition(lake, PAGE_SIGNALS, batch)}
    rows = [
        row
        for page in readable_pages(read_partition(lake, PAGES, batch))
        for row in passage_rows(page, Site.from_row(site), names[page["title_key"]])
    ]
    write_partition(lake, PAGE_CHUNKS, batch, rows)


def items(lake: Lake, **changes: Any) -> dict[str, Item]:
    return {item.subject: item for item in wanted_items(lake, space(**changes), BATCH)}


def asked(fake: FakeOllama, item: Item) -> Outcome:
    async def ask() -> Outcome:
        async with open_client(fake.url) as client:
            engine = EmbeddingEngine(client, run_id="run")
            return await engine.answer(item, model="words:1", digest=DIGEST, attempt=1)

    return asyncio.run(ask())


def write(folder: Path, **changes: object) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "words.yaml").write_text(json.dumps({**FILE, **changes}), encoding="utf-8")
    return folder


def test_the_shipped_space_has_a_table_of_its_own() -> None:
    (shipped,) = [one for one in load_interrogations() if one.is_space]
    assert shipped.table.name == "chunk_embeddings_minilm"
    assert shipped.models == ("all-minilm:22m",)


def test_a_space_always_asks_its_own_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLOCRON_MODEL", "writer:7b")
    assert space().models == ("words:1",)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (
            {"embedding": {"dimensions": 7}},
            "embedding.dimensions: Input should be a multiple of 8",
        ),
        ({"embedding": {"dimensions": 8, "colour": 1}}, "embedding.colour: is no known key"),
        ({"prompt": "x"}, "prompt: is no known key"),
        ({"key": "other"}, "key: must be 'words', as the file is called"),
        ({"model": None}, "model: Input should be a valid string"),
    ],
)
def test_a_wrong_file_is_refused_with_its_name_and_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, object], problem: str
) -> None:
    folder = write(tmp_path / "spaces", **changes)
    monkeypatch.setenv("HOLOCRON_SPACES", str(folder))
    (reason,) = read_each(folder).broken.values()
    assert reason.startswith(f"{folder / 'words.yaml'}: {problem}")


def test_a_space_among_interrogations_is_refused_with_its_right_place(tmp_path: Path) -> None:
    folder = write(tmp_path / "interrogations", kind="embedding")
    (reason,) = read_each(folder).broken.values()
    assert "kind: a space is a file of its own in" in reason


def test_each_page_is_asked_about_once_with_its_title_and_headings(lake: Lake, ollama: FakeOllama) -> None:
    outcome = asked(ollama, items(lake)["Varn"])
    assert outcome.status == "ok"
    assert [chat.body["input"] for chat in ollama.embeds] == [["Varn\nVarn flew.", "Varn - Life\nVarn sang."]]
    ids = [row["passage_id"] for row in read_partition(lake, PAGE_CHUNKS, BATCH)]
    assert outcome.answer
    assert [row["passage_id"] for row in outcome.answer["passages"]] == ids


def test_a_page_without_a_text_costs_no_call(lake: Lake, ollama: FakeOllama) -> None:
    outcome = asked(ollama, items(lake)["Empty"])
    assert (outcome.status, outcome.answer) == ("ok", {"passages": []})
    assert ollama.embeds == []


def test_the_most_linked_pages_are_embedded_first_and_the_batch_that_holds_the_most_linked_one(
    lake: Lake, ollama: FakeOllama
) -> None:
    second = "tale-000001"
    names = [*(f"Ada {number}" for number in range(12)), "Bix", "Cor"]
    write_wiki(lake, {name: f"'''{name}''' flew." for name in names}, second)
    cut(lake, second)
    for batch, links in ((BATCH, {"Varn": 1}), (second, {"Cor": 3, "Bix": 2})):
        write_partition(lake, PAGE_LINKS, batch, _links(batch, links))
    served = ServedModels({"words:1": DIGEST}, frozenset(), frozenset())
    agenda = Dispatched(lake, [space()], served, DispatchSettings(), model="words:1")
    [share] = agenda.shares({})
    assert share.partitions == [second, BATCH]
    run = ModelRun(lake, ollama.url, "gpu", "words:1", DIGEST, 512, "run-1", "person", is_of_space=True)
    with closing(work_on(run, agenda, Session())) as working:
        assert {one.opened.work.partition for one in working if one.is_complete} == {second, BATCH}
    leads = [call.body["input"][0].split("\n")[0] for call in ollama.embeds if call.body["input"]]
    # Three requests are prepared at once, so that some may overtake each other.
    assert {"Cor", "Bix"} <= set(leads[:5])
    assert "Varn" in leads[-4:]
    ordered = WorkOrder(lake).items(wanted_items(lake, space(), second))
    assert [item.subject for item in ordered][:2] == ["Cor", "Bix"]


def test_of_some_sources_only_their_pages_are_the_most_linked(lake: Lake) -> None:
    write_partition(lake, PAGE_LINKS, BATCH, _links(BATCH, {"Varn": 1}))
    assert most_linked(lake, 1, ["wiki"]) == [(title_key("wiki", "Varn"), BATCH)]
    assert most_linked(lake, 9, ["another"]) == []


def _links(batch: str, links: dict[str, int]) -> list[dict[str, Any]]:
    source = batch.rpartition("-")[0]
    return [
        {
            "source": source,
            "batch": batch,
            "kind": "link",
            "target_namespace": 0,
            "position": 0,
            "from_key": number,
            "from_title": str(number),
            "target": target,
            "target_key": title_key(source, target),
        }
        for target, several in links.items()
        for number in range(several)
    ]


def test_prefixes_go_before_passages(lake: Lake) -> None:
    embedding = {"dimensions": DIMENSIONS, "passage_prefix": "passage: ", "headings": False}
    given = items(lake, embedding=embedding)["Varn"].given
    assert list(getattr(given, "texts", {}).values()) == ["passage: Varn flew.", "passage: Varn sang."]


def test_the_key_changes_with_passages_space_and_model_and_with_nothing_else(lake: Lake) -> None:
    item = items(lake)["Varn"]
    key = item.result_key(DIGEST)
    assert items(lake, title="Other words", priority=5, timeout_seconds=9.0)["Varn"].result_key(DIGEST) == key
    assert item.result_key("8" * 64) != key
    assert items(lake, version=2)["Varn"].result_key(DIGEST) != key
    changed = {"dimensions": DIMENSIONS, "passage_prefix": "p"}
    assert items(lake, embedding=changed)["Varn"].result_key(DIGEST) != key
    # The query's prefix is part of the space too: vectors of queries and passages must fit.
    rows = [dict(row) for row in read_partition(lake, PAGE_CHUNKS, BATCH)]
    rows[0]["text"] = "Varn swam."
    write_partition(lake, PAGE_CHUNKS, BATCH, rows)
    assert items(lake)["Varn"].result_key(DIGEST) != key


def test_a_batch_is_stale_when_its_passages_change(lake: Lake) -> None:
    recipe = recipe_of(space(), DIGEST)
    assert PAGE_CHUNKS in recipe.derivation.inputs
    write_partition(
        *(lake, space().table, BATCH, []),
        code_version=recipe.derivation.code_version,
        inputs=recipe.inputs(lake, BATCH),
    )
    assert recipe.differences(lake, BATCH) == ()
    rows = [dict(row) for row in read_partition(lake, PAGE_CHUNKS, BATCH)]
    write_partition(lake, PAGE_CHUNKS, BATCH, rows[:1])
    assert recipe.differences(lake, BATCH) == ("page_chunks",)


def embeds(**said: Any) -> Behaviour:
    """Embeds each text, and says something else about it."""

    def reply(handler: Handler, chat: Chat) -> None:
        vectors = [word_vector(text) for text in chat.body["input"]]
        handler.send(200, {"model": "words:1", "embeddings": vectors, **said})

    return reply


def test_impossible_figures_of_a_server_are_bounded(lake: Lake, ollama: FakeOllama) -> None:
    ollama.script.append(embeds(prompt_eval_count=10**30, total_duration=-(10**30)))
    outcome = asked(ollama, items(lake)["Varn"])
    (call,) = outcome.calls
    assert (outcome.status, call["prompt_ms"]) == ("ok", 0.0)
    assert 0 < call["tokens_in"] < 2**63


def test_the_vectors_of_another_model_are_no_answer(lake: Lake, ollama: FakeOllama) -> None:
    ollama.script.append(embeds(model="other:1"))
    outcome = asked(ollama, items(lake)["Varn"])
    assert (outcome.status, outcome.counts) == ("failed", False)
    assert "other:1 answered" in str(outcome.problem)


def test_a_vector_of_another_size_is_no_answer(lake: Lake, ollama: FakeOllama) -> None:
    ollama.vector = lambda _: [1.0, 2.0]
    outcome = asked(ollama, items(lake)["Varn"])
    assert outcome.status == "failed"
    assert "Varn" in (outcome.error or "")


def test_a_vector_without_a_direction_is_no_answer(lake: Lake, ollama: FakeOllama) -> None:
    ollama.vector = lambda _: [0.0] * DIMENSIONS
    assert asked(ollama, items(lake)["Varn"]).status == "failed"


def test_a_server_that_fails_ends_the_run_and_costs_the_item_nothing(lake: Lake, ollama: FakeOllama) -> None:
    ollama.script.extend([fails(500)] * 9)
    outcome = asked(ollama, items(lake)["Varn"])
    assert (outcome.status, outcome.counts) == ("failed", False)


def test_a_call_that_hangs_ends_at_its_time(lake: Lake, ollama: FakeOllama) -> None:
    ollama.script.extend([hangs])
    outcome = asked(ollama, items(lake, timeout_seconds=0.3)["Varn"])
    assert outcome.status == "failed"


def test_packing_keeps_the_direction_of_a_vector() -> None:
    vectors = np.random.default_rng(7).standard_normal((50, DIMENSIONS))
    unpacked = unpacked_vectors(map(packed_vector, vectors), DIMENSIONS).astype(float)
    cosines = (vectors * unpacked).sum(axis=1)
    cosines /= np.linalg.norm(vectors, axis=1) * np.linalg.norm(unpacked, axis=1)
    assert cosines.min() > 0.999


def test_what_is_searched_is_embedded_with_the_querys_prefix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ollama: FakeOllama
) -> None:
    folder = write(tmp_path / "spaces", embedding={"dimensions": DIMENSIONS, "query_prefix": "query: "})
    monkeypatch.setenv("HOLOCRON_SPACES", str(folder))
    environment = {"HOLOCRON_LLM": "auto", "OLLAMA_HOST": ollama.url}
    found = query_vector("who sang?", {"words": 3}, environment)
    assert (found.space, found.digest) == ("words", DIGEST)
    assert ollama.embeds[0].body["input"] == "query: who sang?"


def test_a_model_that_is_named_without_its_tag_embeds_what_is_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLOCRON_SPACES", str(write(tmp_path / "spaces", model="words")))
    with FakeOllama(models={"words:latest": DIGEST}, vector=word_vector) as fake:
        found = query_vector("who sang?", {"words": 3}, {"HOLOCRON_LLM": "auto", "OLLAMA_HOST": fake.url})
    assert found.digest == DIGEST


def test_a_search_goes_on_where_no_model_server_can_be_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(_environment: object) -> None:
        raise ModelServerError("the embedded model server did not start")

    monkeypatch.setattr(asking, "_is_here", lambda _: True)
    monkeypatch.setattr(asking, "running_server", lambda _: None)
    monkeypatch.setattr(asking, "model_server", broken)
    for have in (server_for_queries, server_in_background):
        with have({}):
            pass


def test_of_two_spaces_the_one_with_more_vectors_is_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ollama: FakeOllama
) -> None:
    folder = write(tmp_path / "spaces")
    (folder / "newer.yaml").write_text(json.dumps({**FILE, "key": "newer", "priority": 500}))
    monkeypatch.setenv("HOLOCRON_SPACES", str(folder))
    environment = {"HOLOCRON_LLM": "auto", "OLLAMA_HOST": ollama.url}
    assert query_vector("x", {"words": 9, "newer": 8}, environment).space == "words"
    assert query_vector("x", {"words": 9, "newer": 9}, environment).space == "newer"


@pytest.mark.parametrize(
    ("embedded", "environment", "reason"),
    [
        ({}, {}, "no passage is embedded yet"),
        ({"minilm": 1}, {"HOLOCRON_LLM": "off"}, "no model server runs"),
        ({"minilm": 1}, {"HOLOCRON_LLM": "what"}, "HOLOCRON_LLM is 'what'"),
        ({"minilm": 1}, {"OLLAMA_HOST": "127.0.0.1:9"}, "no model server answers"),
    ],
)
def test_without_a_vector_the_reason_is_given(
    embedded: dict[str, int], environment: dict[str, str], reason: str
) -> None:
    with pytest.raises(NoVectorError, match=reason):
        query_vector("x", embedded, environment)
