"""After the soak: nothing changes and nothing breaks any more, and what was missed is made good."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from whole_holocron import WholeHolocron

from soaking.samples import behind
from soaking.world import World, fresh_twin

_POLL_SECONDS = 5
_IDLE_SECONDS = 60
_MOST_SECONDS = 1800


@dataclass(frozen=True)
class Settled:
    """What was found once all was quiet.

    Attributes:
        seconds: until there was nothing to do any more.
        is_idle: whether that came to be.
        behind: pages that are still not as they are in the wiki.
        calls: of the model until then.
        again: calls of the model that a `holocron run` made then, which should find nothing to do.
        differing: tables whose hash is not that of a Holocron that read the same wiki from nothing.
        same: tables whose hash is.
    """

    seconds: float
    is_idle: bool
    behind: int
    calls: int
    again: int
    differing: list[str]
    same: list[str]


def settle(world: World, folder: Path, tell: Callable[[str], None]) -> Settled:
    """Let the daemon finish, and compare with the wiki and with a Holocron that starts from nothing."""
    began = monotonic()
    # Changes wait for each other for up to an hour; this is how a person who does not want to wait says so.
    is_idle = _is_idle(world, tell)
    seconds = monotonic() - began
    world.wants_ui = False
    world.end_ui()
    late, calls = behind(world), len(world.ollama.chats)
    tell(f"settled after {seconds:.0f} s, {late} pages behind; `holocron run` should find nothing to do")
    world.whole.finish()
    again = len(world.ollama.chats) - calls
    twin = fresh_twin(world, folder / "fresh")
    _bring_decisions(world.whole, twin, folder / "decisions.jsonl")
    tell("a Holocron from nothing reads the same wiki")
    twin.finish()
    same, differing = _compared(world.whole.hashes(), twin.hashes())
    return Settled(seconds, is_idle, late, calls, again, differing, same)


def _is_idle(world: World, tell: Callable[[str], None]) -> bool:
    """Wait until the daemon has nothing to do any more; say whether that came to be."""
    deadline, idle_since = monotonic() + _MOST_SECONDS, monotonic()
    asked = False
    while monotonic() < deadline:
        world.keep_ui_up()
        if world.whole.is_busy() or not asked:
            idle_since = monotonic()
        if not asked:
            done = world.whole.command("launch", "refresh")
            asked = not done.returncode
            if not asked:
                tell(f"refresh could not be launched yet: {done.stderr.strip().splitlines()[-1:]}")
        if monotonic() - idle_since > _IDLE_SECONDS:
            return True
        sleep(_POLL_SECONDS)
    return False


def _bring_decisions(of: WholeHolocron, to: WholeHolocron, file: Path) -> None:
    for whole, command in ((of, "export"), (to, "import")):
        done = whole.command("decisions", command, str(file))
        if done.returncode:
            raise RuntimeError(f"decisions {command}: {done.stderr}")


def _compared(one: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Names of the tables that are the same in both, and of those that are not, with their rows."""
    same, differing = [], []
    for name, told in one["tables"].items():
        its = other["tables"][name]
        if told == its:
            same.append(name)
        else:
            differing.append(f"{name} ({told['rows']} and {its['rows']} rows)")
    return same, differing
