"""A Holocron in a folder of its own, its wiki and model server on loopback, and its `holocron ui`."""

import json
import os
import shutil
import socket
import threading
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from signal import SIGKILL, SIGTERM, Signals
from subprocess import Popen, TimeoutExpired
from time import monotonic, sleep
from typing import Any

import httpx
from fake_mediawiki import FakeWiki
from fake_ollama import Chat, FakeOllama
from local_wiki.changing import ChangingWiki
from local_wiki.changing_api import ChangingApi
from local_wiki.objects import API_PATH
from sample_holocron import Holocron
from whole_holocron import MODEL, WholeHolocron, steady_answer

from holocron_assets.settings import PROJECT_FOLDER
from soaking.processes import processes_of

SOURCE = "soak"
_INTERROGATIONS = ("page_classification", "entity_facts", "identity_check")
_SOURCE_FILE = """\
name: {name}
enabled: true
kind: mediawiki_api
address: {address}
private_hosts: [127.0.0.1]
seeds: {{all_pages: true}}
changes: {{every_minutes: 1}}
batch_size: {batch_size}
politeness: {{contact: soak@example.org, requests_per_second: 100, requests_in_flight: 4}}
"""
_SECONDS_A_CALL = 0.3  # long enough for kills to find some under way
_SECONDS_TO_END = 90
_CHARACTERS = 1500


class Always(deque[Any]):
    """A script of a fake that is never used up."""

    def popleft(self) -> Any:
        """The same behaviour, again and again."""
        return self[0]


@dataclass
class World:
    """All that takes part.

    Attributes:
        whole: the Holocron, its fakes and its processes.
        wiki: what the fake wiki shows; `changing` is held while it changes.
        answered: how often each question to the model was answered.
        port: of the web UI.
        ui: the `holocron ui` that was started last.
        starts: how often one was started.
        wants_ui: whether one is to be running.
    """

    whole: WholeHolocron
    wiki: ChangingWiki
    changing: threading.Lock
    answered: Counter[str]
    port: int
    ui: "Popen[bytes] | None" = None
    starts: int = 0
    wants_ui: bool = True

    @property
    def ollama(self) -> FakeOllama:
        """The model server."""
        return self.whole.ollama

    @property
    def data(self) -> Path:
        """The data folder."""
        return self.whole.lake.root

    def let_change(self) -> None:
        """Let people change one thing in the wiki."""
        with self.changing:
            self.wiki.change(datetime.now(UTC))

    def texts(self) -> dict[str, str]:
        """The texts of the wiki's pages now, by title."""
        with self.changing:
            return {title: page.newest.text for title, page in self.wiki.pages.items()}

    def keep_ui_up(self) -> bool:
        """Start `holocron ui` if it should run and does not, as a service manager would; say if it did."""
        if not self.wants_ui or (self.ui and self.ui.poll() is None):
            return False
        self.ui = self.whole.start("ui", "--port", str(self.port))
        self.starts += 1
        return True

    def end_ui(self, number: Signals = SIGTERM) -> int | None:
        """Signal `holocron ui` and wait for it; give its exit code, or None if it does not end."""
        if self.ui is None:
            return None
        self.ui.send_signal(number)
        with suppress(TimeoutExpired):
            return self.ui.wait(_SECONDS_TO_END)
        return None

    def graphql(self, query: str, **variables: Any) -> Mapping[str, Any]:
        """Ask the web UI, as its pages do."""
        answer = httpx.post(
            f"http://127.0.0.1:{self.port}/graphql",
            json={"query": query, "variables": variables},
            timeout=30,
            trust_env=False,
        )
        answer.raise_for_status()
        said: Mapping[str, Any] = answer.json()
        return said

    def end(self) -> None:
        """End every process of this Holocron, whatever started it."""
        self.wants_ui = False
        self.end_ui()
        deadline = monotonic() + _SECONDS_TO_END
        while (left := processes_of(self.data)) and monotonic() < deadline:
            for process in left:
                with suppress(ProcessLookupError):
                    os.kill(process.pid, SIGKILL)
            self.whole.end()
            sleep(0.5)


@contextmanager
def world(folder: Path, seed: int, *, pages: int, batch_size: int) -> Iterator[World]:
    """A wiki of so many pages, and an empty Holocron that shall keep up with it."""
    chance = Random(f"{seed} wiki")  # noqa: S311 - repeats, guards nothing
    wiki, changing, answered = ChangingWiki(chance, _CHARACTERS), threading.Lock(), Counter[str]()
    wiki.fill(pages, datetime.now(UTC))
    api = ChangingApi(wiki)

    def say(asked: Mapping[str, str]) -> dict[str, Any]:
        with changing:
            said: dict[str, Any] = json.loads(api.answer(API_PATH, asked) or b"{}")
            return said

    def answer(chat: Chat) -> Any:
        if chat.options.get("num_predict") != 1:  # which asks how the server does, and nothing else
            answered[chat.prompt] += 1
        return steady_answer(chat)

    models = {MODEL: "5" * 64}
    with (
        FakeWiki(answer=say) as server,
        FakeOllama(models=models, answer=answer, slots=2, delay_seconds=_SECONDS_A_CALL) as ollama,
    ):
        whole = WholeHolocron(Holocron(folder), server, ollama)
        whole.environment = {
            "HOLOCRON_LLM": "auto",
            "OLLAMA_HOST": ollama.url,
            "HOLOCRON_INTERROGATIONS": str(folder / "interrogations"),
        }
        _furnish(folder, server.api_url, batch_size)
        it = World(whole, wiki, changing, answered, _free_port())
        try:
            yield it
        finally:
            it.end()


def fresh_twin(of: World, folder: Path) -> WholeHolocron:
    """An empty Holocron that asks the same wiki and model server."""
    whole = WholeHolocron(Holocron(folder), of.whole.wiki, of.ollama, dict(of.whole.environment))
    _furnish(folder, of.whole.wiki.api_url, 500)
    return whole


def _furnish(folder: Path, address: str, batch_size: int) -> None:
    (folder / "sources").mkdir(parents=True)
    text = _SOURCE_FILE.format(name=SOURCE, address=address, batch_size=batch_size)
    (folder / "sources" / f"{SOURCE}.yaml").write_text(text, encoding="utf-8")
    for key in _INTERROGATIONS:
        shutil.copytree(PROJECT_FOLDER / "data" / "interrogations" / key, folder / "interrogations" / key)


def _free_port() -> int:
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port
