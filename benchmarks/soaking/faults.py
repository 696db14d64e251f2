"""What goes wrong in a soak, one thing at a time, drawn from a shuffled deck."""

import sqlite3
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from os import kill
from pathlib import Path
from random import Random
from signal import SIGKILL, SIGTERM, Signals
from threading import Event
from typing import Any

from fake_mediawiki import hang, page, reset, truncated
from fake_ollama import Chat, drops_the_connection, fails, out_of_memory
from fake_ollama import Handler as ModelHandler

from holocron_assets.lake.files.damage import DATA_FILE
from holocron_assets.lake.files.listing import JOURNAL_FILE
from soaking.processes import processes_of
from soaking.world import Always, World

_TERMINATE = """
mutation ($run: String!) { terminateRun(runId: $run, terminatePolicy: SAFE_TERMINATE) { __typename } }
"""
_UNDER_WAY = """
{ runsOrError(filter: {statuses: [STARTED]}) { ... on Runs { results { runId } } } }
"""
_DERIVED_LAYERS = ("signals", "classify", "resolve", "tags")
"""Whose files hold nothing that is not somewhere else."""


@dataclass(frozen=True)
class Moment:
    """When and how a fault is done.

    Attributes:
        world: to what.
        chance: decides what the fault itself leaves open.
        wait: for so many seconds, or until all ends.
    """

    world: World
    chance: Random
    wait: Callable[[float], object]


@dataclass(frozen=True)
class Fault:
    """One way in which things go wrong.

    Attributes:
        name: what was done.
        do: does it and takes it back, and gives what it hit; None where there was nothing to hit.
        restarts: whether processes that should live for a month are ended by it.
    """

    name: str
    do: Callable[[Moment], str | None]
    restarts: bool = False


def deck_of(chance: Random, *, may_restart: Callable[[], bool]) -> Iterator[Fault]:
    """Faults for ever: all kinds in a random order, then all again in another."""
    while True:
        for fault in chance.sample(FAULTS, len(FAULTS)):
            if may_restart() or not fault.restarts:
                yield fault


def _signals(role: str, number: Signals, now: Moment) -> str | None:
    found = [process for process in processes_of(now.world.data) if process.role == role]
    if not found:
        return None
    chosen = now.chance.choice(found)
    kill(chosen.pid, number)
    return f"process {chosen.pid}, one of {len(found)}"


def _kills_everything(now: Moment) -> str | None:
    found = [process for process in processes_of(now.world.data) if process.role != "command"]
    for process in found:
        with suppress(ProcessLookupError):  # it died with another
            kill(process.pid, SIGKILL)
    return f"{len(found)} processes"


def _ends_ui(number: Signals, now: Moment) -> str | None:
    code = now.world.end_ui(number)
    return f"it ended with {code}"


def _terminates(now: Moment) -> str | None:
    found = now.world.graphql(_UNDER_WAY)["data"]["runsOrError"]["results"]
    if not found:
        return None
    run = now.chance.choice(found)["runId"]
    answer = now.world.graphql(_TERMINATE, run=run)["data"]["terminateRun"]["__typename"]
    return f"run {run[:8]}: {answer}"


def _wiki(behaviour: Any, now: Moment) -> str:
    seconds = now.chance.uniform(10, 40)
    now.world.whole.wiki.script = Always([behaviour])
    now.wait(seconds)
    now.world.whole.wiki.script = deque()
    return f"for {seconds:.0f} s"


def _model(behaviour: Any, now: Moment) -> str:
    seconds = now.chance.uniform(10, 40)
    now.world.ollama.script = Always([behaviour])
    now.wait(seconds)
    now.world.ollama.script = deque()
    return f"for {seconds:.0f} s"


def _model_hangs(now: Moment) -> str:
    over = Event()

    def hangs(handler: ModelHandler, chat: Chat) -> None:
        over.wait()
        drops_the_connection(handler, chat)

    hit = _model(hangs, now)
    over.set()
    return hit


def _damages(how: Callable[[bytes, Random], bytes], now: Moment) -> str | None:
    """Damage a file that can be made again, behind everybody's back: its time stays as it is, too."""
    lake = now.world.whole.lake
    files = [
        file
        for layer in _DERIVED_LAYERS
        for file in sorted((lake.layers / layer).glob(f"*/*/{DATA_FILE}"))
        if file.stat().st_size
    ]
    if not files:
        return None
    file = now.chance.choice(files)
    try:
        content = file.read_bytes()
        file.write_bytes(how(content, now.chance))
    except FileNotFoundError:  # packed meanwhile
        return None
    return str(file.parent.relative_to(lake.layers))


def _flipped(content: bytes, chance: Random) -> bytes:
    place = chance.randrange(4, len(content) - 4)
    return content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :]


def _cut(content: bytes, chance: Random) -> bytes:
    return content[: chance.randrange(len(content))]


def _tears(now: Moment) -> str | None:
    """Leave half a line at a journal's end, as a crash of the machine does."""
    journals = sorted(now.world.whole.lake.layers.glob(f"*/*/*/{JOURNAL_FILE}"))
    if not journals:
        return None
    journal = now.chance.choice(journals)
    with journal.open("ab") as file:
        file.write(b'{"torn": "her')
    return str(journal.parent.relative_to(now.world.whole.lake.layers))


def _locks_database(now: Moment) -> str | None:
    """Hold one of Dagster's databases, as a backup or another tool may."""
    home = Path(now.world.whole.holocron.environment["DAGSTER_HOME"])
    found = [*home.glob("history/runs.db"), *home.glob("history/runs/index.db"), *home.glob("schedules/*.db")]
    if not found:
        return None
    database, seconds = now.chance.choice(sorted(found)), now.chance.uniform(5, 20)
    with closing(sqlite3.connect(database, timeout=30, isolation_level=None)) as connection:
        connection.execute("begin exclusive")
        now.wait(seconds)
        connection.execute("rollback")
    return f"{database.name} for {seconds:.0f} s"


def _kill(role: str, number: Signals = SIGKILL, *, restarts: bool = True) -> Fault:
    return Fault(f"{number.name} of {role}", partial(_signals, role, number), restarts=restarts)


FAULTS = (
    _kill("run", restarts=False),
    _kill("run", SIGTERM, restarts=False),
    _kill("code"),
    _kill("code server"),
    _kill("daemon"),
    _kill("web UI"),
    _kill("supervisor"),
    Fault("SIGKILL of holocron ui", partial(_ends_ui, SIGKILL), restarts=True),
    Fault("SIGTERM of holocron ui", partial(_ends_ui, SIGTERM), restarts=True),
    Fault("SIGKILL of everything", _kills_everything, restarts=True),
    Fault("Terminate in the web UI", _terminates),
    Fault("wiki: 503", partial(_wiki, page(503, "Service Unavailable", Retry_After="10"))),
    Fault("wiki: garbage", partial(_wiki, page(200, "<html>garbage"))),
    Fault("wiki: cut answers", partial(_wiki, truncated)),
    Fault("wiki: resets", partial(_wiki, reset)),
    Fault("wiki: hangs", partial(_wiki, hang)),
    Fault("model: out of memory", partial(_model, out_of_memory())),
    Fault("model: 500", partial(_model, fails(500))),
    Fault("model: hangs up", partial(_model, drops_the_connection)),
    Fault("model: hangs", _model_hangs),
    Fault("flipped byte in a derived file", partial(_damages, _flipped)),
    Fault("cut derived file", partial(_damages, _cut)),
    Fault("torn journal", _tears),
    Fault("locked database", _locks_database),
)
