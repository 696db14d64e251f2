"""The real Holocron of a history: its folder, the wiki and the model server it asks, and its processes."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from commit_points import CommitPoints
from fake_ollama import Chat, FakeOllama
from history_wiki import HistoryWiki
from model import SAYS
from waited import Waited

from holocron_assets.settings import PROJECT_FOLDER

SOURCE = "live"
MODEL = "qwen2.5-coder:1.5b"
_PROGRAM = Path(__file__).with_name("worker.py")
_PATH = [PROJECT_FOLDER, Path(__file__).parents[1] / "faults"]
_INTERROGATIONS = PROJECT_FOLDER / "data" / "interrogations"
_SOURCE_FILE = """\
name: {name}
enabled: true
kind: mediawiki_api
address: {address}
private_hosts: [127.0.0.1]
seeds: {{all_pages: true}}
depth: unlimited
politeness: {{contact: test@example.org, requests_per_second: 100, requests_in_flight: 2}}
"""
_OWN_RULE = """\
confidence: 0.95
rules:
  - {{fields: [emblem], key: emblem_{letter}, kind: fact, means: FROM has VALUE for its emblem}}
"""


class DiedError(Exception):
    """The process died at the commit point that was chosen for it."""


@dataclass(frozen=True)
class Setting:
    """What people wrote and a history changes: the question to the model, and a rule for infoboxes."""

    question: int = 0
    rule: int = 0


class Life:
    """A process of Holocron, which lives until it dies at a commit point or is ended."""

    def __init__(self, address: Path, skew: float) -> None:
        self._connection = socket.socket(socket.AF_UNIX)
        self._connection.connect(str(address))
        self._connection.sendall(f"{skew}".encode())
        self._lines = self._connection.makefile("rw", encoding="utf-8")
        self._lines.readline()

    def __call__(self, do: str, *given: object) -> Any:
        """Let it do something; see the methods of `worker.Life`."""
        try:
            self._lines.write(f"{json.dumps([do, *given])}\n")
            self._lines.flush()
            line = self._lines.readline()
        except ConnectionError:
            line = ""
        if not line:
            raise DiedError
        answer = json.loads(line)
        assert "raised" not in answer, answer["raised"]
        return answer["is"]

    def end(self) -> None:
        self._lines.close()
        self._connection.close()


@dataclass
class Driven:
    """The Holocron of one history after the other, each in the same folder.

    Attributes:
        folder: of everything.
        wiki: what its source is.
        ollama: the model server.
        setting: what people wrote.
        answered: how often each prompt was answered since the history began, or a backup was restored.
        skew: by how many seconds the machine's clock is wrong.
    """

    folder: Path
    wiki: HistoryWiki
    ollama: FakeOllama
    setting: Setting = field(default_factory=Setting)
    skew: float = 0.0
    _life: Life | None = None
    _programs: dict[Setting, "subprocess.Popen[bytes]"] = field(default_factory=dict)
    _deaths: int = 0

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def _kept(self) -> Path:
        return self.folder / "kept"

    @property
    def data(self) -> Path:
        return self.home / "data"

    @property
    def waited(self) -> Waited:
        """The time that passed in which nothing was done, for the processes and the wiki alike."""
        return Waited(self.folder)

    def begin(self) -> bool:
        """Forget everything: a new history, of an empty wiki and the Holocron that was kept, if one was.

        Returns:
            Whether one was kept.
        """
        self.end_life()
        shutil.rmtree(self.home, ignore_errors=True)
        if is_kept := self._kept.exists():
            shutil.copytree(self._kept, self.home)
        else:
            self.data.mkdir(parents=True)
        self.setting, self.skew = Setting(), 0.0
        self.waited.reset()
        anew = vars(HistoryWiki(waited=self.waited))
        vars(self.wiki).update({name: value for name, value in anew.items() if name != "fake"})
        self.wiki.recover()
        self.wiki.fake.requests.clear()
        self.ollama.chats.clear()
        return is_kept

    def keep(self) -> None:
        """Keep the Holocron as it is now: further histories begin with it."""
        self.end_life()
        shutil.copytree(self.home, self._kept)

    def keep_found(self) -> None:
        """Keep the Holocron of a history that went wrong, in folder `found`."""
        shutil.copytree(self.home, self.folder / "found", dirs_exist_ok=True)

    def life(self) -> Life:
        """The process that does what is to be done; another one if the last is gone."""
        if self._life is None:
            self._life = Life(self._address(), self.skew)
        return self._life

    def do(self, do: str, *given: object) -> Any:
        """Let the process do something.

        Raises:
            DiedError: it died meanwhile, as it was told to.
        """
        try:
            return self.life()(do, *given)
        except DiedError:
            self.end_life()
            raise

    def command(self, *arguments: str) -> tuple[int, str]:
        """Do a command of `holocron`; give its exit code and what it printed."""
        done = self.do("command", *arguments)
        self.wiki.log.append(f"  holocron {' '.join(arguments)}: {done['code']}")
        return done["code"], done["said"]

    def run_and_die(self, at: int, when: str, match: str) -> str | None:
        """Do `holocron run` in a process that dies at a commit point; give the point, or None if it lived."""
        self.end_life()
        self._deaths += 1
        points = CommitPoints(self.folder / f"points{self._deaths}", match)
        points.folder.mkdir()
        try:
            self.do("dies", at, when, match, str(points.folder))
            self.command("run")
        except DiedError:
            died = points.died()
            self.wiki.log.append(f"  died {when} {died}")
            return died
        finally:
            self.end_life()
            shutil.rmtree(points.folder)
        return None

    def end_life(self) -> None:
        """End the process, as a command ends: the next one knows only what is on the disk."""
        if self._life:
            self._life.end()
        self._life = None

    def set(self, setting: Setting) -> None:
        """Write other settings. A process that starts from now on reads them."""
        self.end_life()
        self.setting = setting

    def lose_everything(self) -> None:
        """The disk with the lake is gone, and so is Dagster's history."""
        self.end_life()
        for folder in (self.data, self.home / "dagster"):
            shutil.rmtree(folder)
        self.data.mkdir()

    def damage(self, file: Path, how: str) -> None:
        """Damage a file of the data folder."""
        path = self.data / file
        content = path.read_bytes()
        middle = len(content) // 2
        self.wiki.log.append(f"  {file} is damaged: {how}")
        flipped = content[:middle] + bytes([content[middle] ^ 4]) + content[middle + 1 :]
        path.write_bytes({"empty": b"", "cut": content[:middle], "flipped": flipped}[how])

    def set_clock(self, skew: float) -> None:
        """Set the machine's clock, which all processes go by that start from now on."""
        self.end_life()
        self.skew = skew

    def pass_a_day(self) -> None:
        """A day passes in which nothing is done."""
        self.end_life()
        self.waited.add(timedelta(days=1).total_seconds())

    def is_of_the_future(self, decision: str) -> bool:
        """Whether a decision was made more than ten minutes after the present, by the machine's clock."""
        at = datetime.strptime(decision.partition("-")[0], "%Y%m%dT%H%M%S%f").replace(tzinfo=UTC)
        return at > datetime.now(UTC) + timedelta(seconds=self.skew + self.waited.seconds, minutes=10)

    @contextmanager
    def another(self) -> Iterator[None]:
        """For now, there is an empty Holocron in place of this one."""
        self.end_life()
        aside = self.home.rename(self.folder / "aside")
        self.data.mkdir(parents=True)
        try:
            yield
        finally:
            self.end_life()
            shutil.rmtree(self.home)
            aside.rename(self.home)

    def chats(self) -> list[Chat]:
        """The questions to the model so far, without those that only ask how the server does."""
        return [chat for chat in self.ollama.chats if chat.options.get("num_predict") != 1]

    def _address(self) -> Path:
        """Where the program listens that forks processes of the present settings."""
        address = self.folder / f"door-{self.setting.question}-{self.setting.rule}"
        if self.setting not in self._programs:
            with (self.folder / "programs.log").open("ab") as log:
                self._programs[self.setting] = subprocess.Popen(  # noqa: S603 - our own
                    [sys.executable, str(_PROGRAM), str(address)],
                    stdin=subprocess.PIPE,
                    stdout=log,
                    stderr=log,
                    env=os.environ | self._environment(),
                )
            while not address.exists():
                assert self._programs[self.setting].poll() is None, (self.folder / "programs.log").read_text()
        return address

    def _environment(self) -> Mapping[str, str]:
        questions = self.folder / f"interrogations-{self.setting.question}"
        rules = self.folder / f"infobox-{self.setting.rule}"
        if not questions.exists():
            _write_question(questions, self.setting.question)
        rules.mkdir(exist_ok=True)
        (rules / "own.yaml").write_text(_OWN_RULE.format(letter="ab"[self.setting.rule]))
        return {
            "PYTHONPATH": os.pathsep.join(map(str, _PATH)),
            "HOLOCRON_DATA": str(self.data),
            "HOLOCRON_SOURCES": str(self.folder / "sources"),
            "HOLOCRON_STATE": str(self.home / "state"),
            "DAGSTER_HOME": str(self.home / "dagster"),
            "HOLOCRON_PROCESSES": "1",
            "HOLOCRON_LLM": "auto",
            "OLLAMA_HOST": self.ollama.url,
            "OLLAMA_NUM_PARALLEL": "2",
            "HOLOCRON_INTERROGATIONS": str(questions),
            "HOLOCRON_SPACES": str(self.folder / "spaces"),
            "HOLOCRON_INFOBOX_RULES": str(rules),
            "HOLOCRON_DISPATCH": str(self.folder / "dispatch.yaml"),
        }

    def end(self) -> None:
        """End all processes."""
        self.end_life()
        for program in self._programs.values():
            program.communicate()


def _write_question(folder: Path, number: int) -> None:
    """The shipped questions about pages and pairs, the first with another prompt or another schema."""
    for name in ("page_classification", "identity_check"):
        shutil.copytree(_INTERROGATIONS / name, folder / name)
    prompt, schema = (folder / "page_classification" / name for name in ("prompt.md", "schema.json"))
    prompt.write_text(f"{prompt.read_text()}\nThis is wording {number}.\n")
    if number == 2:
        schema.write_text(schema.read_text().replace('"maxLength": 160', '"maxLength": 159'))


def _answer(chat: Chat) -> dict[str, Any]:
    """What the recorded model says: of each two pages, that they are one."""
    wording = re.search(r"This is wording (\d)", chat.prompt)
    if not wording:
        return {"agreements": [], "contradictions": [], "same_entity": True, "confidence": 0.9}
    edition = re.search(r"Edition (\d)", chat.messages[-1]["content"])
    number = int(wording[1]) + int(edition[1] if edition else 0)
    return {
        "rationale": "It is said so.",
        "primary_type": SAYS[number % len(SAYS)],
        "types": [],
        "work_medium": None,
        "canon_context": None,
        "description": "A thing.",
        "tags": [],
        "confidence": 0.9,
        "needs_review": False,
    }


@contextmanager
def driven(folder: Path) -> Iterator[Driven]:
    """A Holocron to drive, with its wiki and its model server."""
    wiki = HistoryWiki(waited=Waited(folder))
    wiki.fake.answer = wiki.answer
    with ExitStack() as stack:
        stack.enter_context(wiki.fake)
        ollama = stack.enter_context(FakeOllama(models={MODEL: "5" * 64}, answer=_answer, slots=2))
        for name in ("sources", "spaces"):
            (folder / name).mkdir()
        text = _SOURCE_FILE.format(name=SOURCE, address=wiki.fake.api_url)
        (folder / "sources" / f"{SOURCE}.yaml").write_text(text)
        holocron = Driven(folder, wiki, ollama)
        stack.callback(holocron.end)
        yield holocron
