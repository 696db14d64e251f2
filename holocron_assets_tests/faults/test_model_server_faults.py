"""The model server fails in the middle of a run: the next runs make of it what a clean one makes."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any, NamedTuple

import pytest
from fake_ollama import Behaviour, Chat, Handler, answers, fails, out_of_memory
from hostile_ollama import CHUNKED, chunk, goes_on_with, line, sends
from whole_holocron import MODEL, WholeHolocron, until, whole_holocron

from holocron_assets.lake.tables import LLM_RUNS, RULE_CLASSIFICATIONS

pytestmark = pytest.mark.full

THINGS = [f"Thing {word}" for word in ("Alder", "Birch", "Cedar", "Elm", "Fir")]
TEXTS = {thing: f"'''{thing}''' is all that is left of it." for thing in THINGS}
"""Pages that rules cannot type: a model is asked about each."""


class Clean(NamedTuple):
    """What an undisturbed run came to: the hash of each table, and how often each prompt was sent."""

    hashes: dict[str, Any]
    prompts: Counter[str]


@contextmanager
def asking(folder: Path) -> Iterator[WholeHolocron]:
    """A Holocron of these pages, which asks a model."""
    asked = ("page_classification",)
    with whole_holocron(folder, texts=TEXTS, pages=0, interrogations=asked) as whole:
        file = whole.holocron.sources_folder / "tiny.yaml"
        file.write_text(file.read_text().replace("[Lamp]", json.dumps(THINGS)))
        yield whole


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Clean:
    with asking(tmp_path_factory.mktemp("clean")) as whole:
        whole.finish()
        assert len(whole.ollama.chats) == len(THINGS)
        return Clean(whole.hashes(), Counter(chat.prompt for chat in whole.ollama.chats))


def from_the_second_chat_on(whole: WholeHolocron, behaviour: Behaviour) -> None:
    """Answer one chat well, and then none."""
    answer = whole.ollama.answer

    def once(handler: Handler, chat: Chat) -> None:
        whole.ollama.on[""] = behaviour
        answers(answer(chat))(handler, chat)

    whole.ollama.on[""] = once


def recovers(whole: WholeHolocron, clean: Clean) -> None:
    """Run until it is as after a clean run; what failed is due after half a minute."""
    deadline = monotonic() + 960
    while (found := whole.hashes()) != clean.hashes:
        assert monotonic() < deadline, {
            name: value
            for name, value in found["tables"].items()
            if value != clean.hashes["tables"].get(name)
        }
        whole.finish()
        sleep(1)
    assert {row["status"] for row in whole.rows(LLM_RUNS)} == {"ok"}


BROKEN: dict[str, Behaviour] = {
    "half a reply, then gone": sends(CHUNKED + chunk(line('{"rationale', model=MODEL))),
    "errors 500": fails(500),
    "out of memory": out_of_memory(),
    "white space without end": goes_on_with(CHUNKED, chunk(line(" \n" * 20, model=MODEL))),
}
"""What the server does, from the second chat on, until it is well again."""


@pytest.mark.fault(9, "the model server, broken from the second answer of a run on")
@pytest.mark.parametrize("how", BROKEN)
def test_after_a_broken_server_is_well_again_the_next_runs_give_the_clean_result(
    tmp_path: Path, clean: Clean, how: str
) -> None:
    with asking(tmp_path) as whole:
        from_the_second_chat_on(whole, BROKEN[how])
        broken = whole.command("run")
        assert "Traceback" not in broken.stdout + broken.stderr, "the server's fault is named in words"
        begun = len(whole.ollama.chats)
        assert begun > 1
        whole.ollama.on.clear()
        recovers(whole, clean)
        again = Counter(chat.prompt for chat in whole.ollama.chats[begun:])
    assert again.keys() <= clean.prompts.keys()
    assert again.total() < clean.prompts.total(), "what was answered before was asked again"


@pytest.mark.fault(9, "the model removed in the middle of a run")
def test_a_model_that_is_removed_and_comes_back_costs_no_hand(tmp_path: Path, clean: Clean) -> None:
    with asking(tmp_path) as whole:
        answer, models = whole.ollama.answer, dict(whole.ollama.models)

        def last_words(chat: Chat) -> Any:
            whole.ollama.models.clear()
            whole.ollama.loaded.clear()
            return answer(chat)

        whole.ollama.answer = last_words
        broken = whole.command("run")
        assert f"ollama pull {MODEL}" in broken.stdout + broken.stderr
        whole.ollama.answer = answer
        whole.ollama.models.update(models)
        recovers(whole, clean)


@pytest.mark.fault(9, "the model server gone for a while, twice, and nobody there")
def test_the_daemon_goes_on_by_itself_when_the_server_is_back(tmp_path: Path, clean: Clean) -> None:
    with asking(tmp_path) as whole:
        ollama, answer = whole.ollama, whole.ollama.answer

        def away_after_two(chat: Chat) -> Any:
            if len(ollama.chats) == 2:
                ollama.is_away = True  # until the test brings it back, whatever was sent before
            return answer(chat)

        ollama.is_away, ollama.answer = True, away_after_two
        whole.start_daemon()
        until(lambda: whole.rows(RULE_CLASSIFICATIONS) and ollama.refused > 1, "work for models", seconds=400)
        ollama.is_away = False
        until(lambda: ollama.chats and ollama.is_away, "the first question", seconds=300)
        before = ollama.refused
        until(lambda: ollama.refused > before + 1, "another question", seconds=300)
        ollama.answer, ollama.is_away = answer, False
        until(lambda: whole.hashes() == clean.hashes, "the clean result", seconds=500, every=3)
        assert {row["status"] for row in whole.rows(LLM_RUNS)} == {"ok"}
        assert len(ollama.chats) <= len(THINGS) + 2
