"""`holocron ask`: a person's question about one page, kept so that no batch asks it again."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from asked_holocron import AskedHolocron, asked_holocron, write_interrogation
from click.testing import CliRunner, Result
from crawl_rows import wiki_source
from fake_ollama import LARGE, SMALL, FakeOllama, malformed, refused_url
from wiki_lake import write_entities

from holocron_assets.cli.main import main
from holocron_assets.derive.dispatch.pools import DispatchSettings
from holocron_assets.derive.gpu.slots import NotedLock
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.operations.why.answers import Answer
from holocron_assets.operations.why.asking import why_asked
from holocron_assets.operations.why.fetching import Page


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AskedHolocron]:
    monkeypatch.setattr("holocron_assets.derive.engine.engine.PAUSES", (0.0, 0.0, 0.0))
    # It wants none of the pages: a person may ask about any.
    write_interrogation(tmp_path, "kinds", SMALL, 500, wants={"types": ["Droid"]})
    write_interrogation(tmp_path, "other", LARGE, 400)
    both = [{"source": "page", "label": side, "part": "text", "of": side} for side in ("first", "second")]
    write_interrogation(tmp_path, "twins", SMALL, 400, over="pairs", question="One?", evidence=both)
    with FakeOllama() as ollama:
        yield asked_holocron(tmp_path, ollama, monkeypatch, batches=2, pages=2)


def ask(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["ask", *arguments])


def answers(*arguments: str) -> list[dict[str, Any]]:
    done = ask(*arguments, "--json")
    assert done.exit_code == 0, done.output
    found: list[dict[str, Any]] = json.loads(done.output)
    return found


def test_an_answer_is_printed_and_kept(asked: AskedHolocron) -> None:
    (first,) = answers("kinds", "Page wiki1 0")
    (again,) = answers("kinds", "page", "wiki1", "0")
    assert (first["answer"], first["is_new"], first["model"]) == ({"kind": "person"}, True, SMALL)
    assert (again["answer"], again["is_new"]) == ({"kind": "person"}, False)
    assert len(asked.ollama.chats) == 1
    (row,) = asked.gpu_runs
    assert (row["started_by"], row["calls"], row["outcome"]) == ("ask", 1, "complete")


def test_a_person_may_ask_though_the_limit_of_a_time_is_reached(
    asked: AskedHolocron, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_interrogation(tmp_path, "kinds", SMALL, 500, scale_limit={"day": 1})
    (tmp_path / "interrogations").rename(tmp_path / "limited")
    monkeypatch.setenv("HOLOCRON_INTERROGATIONS", str(tmp_path / "limited"))
    for number in range(2):
        assert answers("kinds", f"Page wiki1 {number}")[0]["is_new"]
    assert len(asked.ollama.chats) == 2


def test_an_answer_is_shown_in_words(asked: AskedHolocron) -> None:
    done = ask("other", "Page wiki1 1")
    assert done.exit_code == 0, done.output
    assert "Page wiki1 1: other by large:7b, asked now" in done.output
    assert "person" in done.output
    assert "known already: no call was made" in ask("other", "Page wiki1 1").output
    assert asked.models_asked() == [LARGE]


def test_a_second_question_is_refused_while_one_is_asked(asked: AskedHolocron) -> None:
    lock = NotedLock(asked.holocron.lake, "gpu-gpu-reserved")
    assert lock.try_take("other about Tatooine")
    done = ask("kinds", "Page wiki1 0")
    lock.give_back()
    assert done.exit_code == 1
    assert "one question at a time: other about Tatooine (process " in done.output
    assert asked.ollama.chats == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["kind", "Page wiki1 0"], "no interrogation is called 'kind'; there are kinds, other, twins"),
        (["twins", "Page wiki1 0"], "twins asks about pairs of entities; about a page ask kinds, other"),
        (["kinds", "Nowhere"], "no page is called 'Nowhere'"),
    ],
)
def test_a_wrong_question_is_refused_with_what_to_do(
    asked: AskedHolocron, arguments: list[str], message: str
) -> None:
    done = ask(*arguments)
    assert done.exit_code in {1, 2}
    assert message in done.output
    assert asked.ollama.chats == []


def test_code_answers_a_question_without_a_model(
    asked: AskedHolocron, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLOCRON_LLM", "off")
    size = {"type": "integer", "minimum": 0, "maximum": 99, "description": "Its title's length"}
    sizes = {
        "key": "sizes",
        "version": 1,
        "title": "How long a title is",
        "kind": "sql",
        "priority": 1,
        "sql": "select length($title) as size",
        "answer_schema": {"type": "object", "properties": {"size": size}, "required": ["size"]},
    }
    (tmp_path / "interrogations" / "sizes.yaml").write_text(json.dumps(sizes), encoding="utf-8")
    (first,) = answers("sizes", "Page wiki1 0")
    (again,) = answers("sizes", "Page wiki1 0")
    assert (first["model"], first["is_new"], again["is_new"]) == ("sql", True, False)
    assert first["answer"] == again["answer"] == {"size": 12}
    assert asked.ollama.chats == []


def test_the_entity_of_a_page_can_be_asked_about(asked: AskedHolocron, tmp_path: Path) -> None:
    write_interrogation(tmp_path, "people", SMALL, 400, over="entities", question="Who is {{ name }}?")
    batch = asked.batches[0]
    titles = {"e1": "Page wiki1 0", "e2": "Page wiki1 1>e1"}
    write_entities(asked.holocron.lake, "PersonCharacter", titles, batch)
    (first,) = answers("people", "Page wiki1 0")
    assert (first["item_id"], first["answer"], first["is_new"]) == ("e1", {"kind": "person"}, True)
    (chat,) = asked.ollama.chats
    assert chat.prompt.endswith("Who is Page wiki1 0?")
    done = ask("people", "Page wiki1 1")
    assert done.exit_code == 1
    assert "has no entity, or one that was merged or suppressed; " in done.output


def test_the_reason_why_an_entity_is_not_asked_about_is_shown(asked: AskedHolocron, tmp_path: Path) -> None:
    write_interrogation(tmp_path, "people", SMALL, 400, over="entities", question="Who is {{ name }}?")
    lake, batch = asked.holocron.lake, asked.batches[0]
    write_entities(lake, "PersonCharacter", {"e1": "Page wiki1 0", "e2": "Page wiki1 1>e1"}, batch)

    def answer_about(title: str, **entity: Any) -> Answer:
        topics = {"signals": [{"batch": batch}], "entities": [{"entity_type": "PersonCharacter", **entity}]}
        page = Page(wiki_source(), title, title_key("wiki1", title), topics)
        [answer] = [one for one in why_asked(lake, page, DispatchSettings()) if one.about == "people"]
        return answer

    stands = answer_about("Page wiki1 0", entity_id="e1", merged_into=None)
    assert stands.says == "Asked for, and not answered yet."
    merged = answer_about("Page wiki1 1", entity_id="e2", merged_into="e1", merged_into_name="Page wiki1 0")
    assert merged.says == "Not asked any more: the entity was merged."
    assert merged.because[0] == "it is asked about as 'Page wiki1 0', e1"


def test_no_answer_is_an_error_that_names_the_page(asked: AskedHolocron) -> None:
    asked.ollama.on["Page wiki1 0"] = malformed()
    done = ask("kinds", "Page wiki1 0")
    assert done.exit_code == 1
    assert "Page wiki1 0" in done.output
    assert "Error" in done.output


def test_without_a_server_it_says_what_to_do(asked: AskedHolocron, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", refused_url())
    done = ask("kinds", "Page wiki1 0")
    assert done.exit_code == 1
    assert "start it (`ollama serve`), or see OLLAMA_HOST" in done.output
    monkeypatch.setenv("HOLOCRON_LLM", "off")
    assert "HOLOCRON_LLM is off" in ask("kinds", "Page wiki1 0").output
    assert asked.ollama.chats == []
