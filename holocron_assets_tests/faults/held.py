"""Servers that keep a request waiting, so that a test can kill a process while its request is under way."""

import re
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fake_mediawiki import FakeWiki
from fake_ollama import Chat, FakeOllama


@dataclass
class Gate:
    """Who comes waits until it is opened.

    Attributes:
        arrived: set once somebody waits, or went through.
        opened: whether nobody has to wait any more.
    """

    arrived: threading.Event = field(default_factory=threading.Event)
    opened: threading.Event = field(default_factory=threading.Event)

    def pass_through(self) -> None:
        """Wait until the gate is open; a test that forgets to open it fails within minutes."""
        self.arrived.set()
        self.opened.wait(300)

    def somebody_waits(self) -> None:
        """Wait for the process that is to be disturbed."""
        assert self.arrived.wait(240), "nobody came to the gate"


def hold_pages(wiki: FakeWiki) -> Gate:
    """Keep every request for pages of the wiki waiting."""
    gate, answer = Gate(), wiki.answer

    def held(asked: Mapping[str, str]) -> dict[str, Any]:
        if "titles" in asked:
            gate.pass_through()
        return answer(asked)

    wiki.answer = held
    return gate


def hold_chats(ollama: FakeOllama) -> Gate:
    """Keep every call of the model waiting."""
    gate, answer = Gate(), ollama.answer

    def held(chat: Chat) -> Any:
        gate.pass_through()
        return answer(chat)

    ollama.answer = held
    return gate


def page_requests(wiki: FakeWiki) -> Counter[str]:
    """How often each page was asked for."""
    return Counter(
        title
        for request in wiki.requests
        if "titles" in request.parameters
        for title in request.parameters["titles"].split("|")
    )


def processes_of(folder: Path) -> dict[int, str]:
    """The live processes that work for the Holocron in a folder, with their command lines; from /proc.

    They are known by their environment, which all that is started from a process gets too.
    """
    mark = f"HOLOCRON_DATA={folder / 'data'}".encode()
    found = {}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            if re.search(r"^State:\s+Z", status.read_text(), re.MULTILINE):
                continue
            environment = (status.parent / "environ").read_bytes().split(b"\0")
            if mark in environment:
                command = (status.parent / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                found[int(status.parent.name)] = command.strip()
        except OSError:  # it ended meanwhile, or is another user's
            continue
    return found


def process_with(folder: Path, *parts: str) -> int:
    """The one process of a Holocron whose command line holds some parts."""
    found = [pid for pid, command in processes_of(folder).items() if all(part in command for part in parts)]
    assert len(found) == 1, f"{len(found)} processes with {parts}: {processes_of(folder)}"
    return found[0]
