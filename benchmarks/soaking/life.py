"""An hour or more in which people work on the wiki, somebody decides now and then, and things go wrong."""

import json
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from subprocess import SubprocessError
from time import monotonic, time

import httpx

from soaking.faults import Moment, deck_of
from soaking.samples import Sample, sample
from soaking.world import World

_SAMPLE_SECONDS = 15
_MOST_SECONDS_BETWEEN_FAULTS = 120
_FAULTS_AT_LEAST = 8
_SHARE_WITH_RESTARTS = 0.6  # afterwards processes live on, so that one sees whether they grow
_SECONDS_BETWEEN_DECISIONS = 90
_TROUBLES = (httpx.HTTPError, OSError, KeyError, TypeError, ValueError, sqlite3.Error, SubprocessError)
"""What requests and faults meet where something is broken."""

_TYPES = ("PersonCharacter", "Droid", "Species", "LocationPlace", "VehicleCraft", "Organization", "Concept")
_RUNS_OF_UI = (
    "{ runsOrError(limit: 25) { ... on Runs { results { runId status } } } instance { daemonHealth { id } } }"
)


@dataclass(frozen=True)
class Injected:
    """A fault that was done.

    Attributes:
        at: seconds since the soak began.
        name: what was done.
        hit: what it hit.
        in_flight: calls of the model that were under way then.
        restarts: whether processes that should live for long were ended.
    """

    at: float
    name: str
    hit: str
    in_flight: int
    restarts: bool


@dataclass
class Life:
    """What happened so far.

    Attributes:
        world: to whom.
        seed: of all chance.
        seconds: that it shall last.
        folder: where samples and faults are written as they come.
        between_changes: seconds between two changes of the wiki, on average.
        samples: taken so far.
        faults: done so far.
        decided: how often somebody decided something.
        opened: how often somebody opened the web UI.
        troubles: what nobody expected, in a line each.
        began_at: by the clock of the day.
    """

    world: World
    seed: int
    seconds: float
    folder: Path
    between_changes: float
    samples: list[Sample] = field(default_factory=list)
    faults: list[Injected] = field(default_factory=list)
    decided: int = 0
    opened: int = 0
    troubles: list[str] = field(default_factory=list)
    began_at: float = field(default_factory=time)
    _over: threading.Event = field(default_factory=threading.Event)
    _began: float = field(default_factory=monotonic)

    def now(self) -> float:
        """Seconds since it began."""
        return monotonic() - self._began

    def live(self, report: Callable[[str], None]) -> None:
        """Live until the time is over, or somebody interrupts; nothing is broken afterwards."""
        doing = [self._change, self._break, self._decide, self._open_ui]
        threads = [threading.Thread(target=one) for one in doing]
        for thread in threads:
            thread.start()
        try:
            while self.now() < self.seconds:
                self.world.keep_ui_up()
                self.take_sample()
                report(self._summary())
                self._over.wait(_SAMPLE_SECONDS - self.now() % _SAMPLE_SECONDS)
        finally:
            self._over.set()
            for thread in threads:
                thread.join()

    def take_sample(self) -> Sample:
        """Take a sample now."""
        taken = sample(self.world, self.now())
        self.samples.append(taken)
        with (self.folder / "samples.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(taken)) + "\n")
        return taken

    def _change(self) -> None:
        chance = self._chance("changes")
        while not self._over.wait(chance.expovariate(1 / self.between_changes)):
            self.world.let_change()

    def _break(self) -> None:
        chance = self._chance("faults")
        between = min(_MOST_SECONDS_BETWEEN_FAULTS, self.seconds / _FAULTS_AT_LEAST)
        for fault in deck_of(chance, may_restart=lambda: self.now() < self.seconds * _SHARE_WITH_RESTARTS):
            if self._over.wait(chance.uniform(between / 2, between * 3 / 2)):
                return
            at, in_flight = self.now(), self.world.ollama.in_flight
            try:
                hit = fault.do(Moment(self.world, chance, self._over.wait))
            except _TROUBLES as error:  # such as a web UI that is down since the last fault
                hit = f"could not: {type(error).__name__}"
            if hit is not None:
                self._write_down(Injected(at, fault.name, hit, in_flight, fault.restarts))

    def _write_down(self, fault: Injected) -> None:
        self.faults.append(fault)
        with (self.folder / "faults.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(fault)) + "\n")

    def _decide(self) -> None:
        chance = self._chance("decisions")
        while not self._over.wait(min(_SECONDS_BETWEEN_DECISIONS, self.seconds / 4)):
            title = chance.choice(sorted(self.world.texts()))
            words = ("decide", "classify", title, "--type", chance.choice(_TYPES))
            try:
                done = self.world.whole.command(*words, "--author", "Soak", "--reason", "a look at the page")
            except SubprocessError as error:
                self.troubles.append(f"decide at {self.now():.0f} s: {error}")
                continue
            self.decided += done.returncode == 0
            if "Traceback" in done.stderr:
                self.troubles.append(f"decide at {self.now():.0f} s: {done.stderr.strip().splitlines()[-1]}")

    def _open_ui(self) -> None:
        while not self._over.wait(10):
            try:
                self.opened += "errors" not in self.world.graphql(_RUNS_OF_UI)
            except _TROUBLES:
                continue

    def _chance(self, what: str) -> Random:
        return Random(f"{self.seed} {what}")  # noqa: S311 - repeats, guards nothing

    def _summary(self) -> str:
        last = self.samples[-1]
        memory, files = sum(last.memory.values()) / 2**20, sum(last.files.values())
        return (
            f"{last.at:6.0f} s  {memory:6.0f} MiB  {files:4} files  runs {dict(last.runs or {})}"
            f"  behind {last.behind}  faults {len(self.faults)}"
        )
