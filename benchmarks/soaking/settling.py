"""After the soak: nothing changes and nothing breaks any more, and what was missed is made good."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from whole_holocron import WholeHolocron

from soaking.same_but_ids import same_but_ids
from soaking.samples import behind
from soaking.world import World, fresh_twin

_POLL_SECONDS = 10
_IDLE_SECONDS = 60
_MOST_SECONDS = 1800


class UnsettledError(Exception):
    """It could not be compared; the message says why."""


@dataclass(frozen=True)
class Settled:
    """What was found once all was quiet.

    Attributes:
        seconds: until there was nothing to do any more.
        is_idle: whether that came to be.
        behind: pages that are still not as they are in the wiki.
        left: calls of the model that a `holocron run` made then, which should find nothing to do.
        twice: answers of the model to questions that it had answered before.
        differing: tables whose hash is not that of a Holocron that read the same wiki from nothing.
        same: tables whose hash is.
        renamed: tables that differ by the ids of so many moved pages only.
    """

    seconds: float
    is_idle: bool
    behind: int
    left: int
    twice: int
    differing: list[str]
    same: list[str]
    renamed: dict[str, int]


def settle(
    world: World, folder: Path, report: Callable[[str], None], take_sample: Callable[[], object]
) -> Settled:
    """Let the daemon finish, and compare with the wiki and with a Holocron that starts from nothing.

    Args:
        world: in which nothing changes and nothing is broken any more.
        folder: for the Holocron that starts from nothing.
        report: called with each line of progress.
        take_sample: called now and then until all is quiet.

    Raises:
        UnsettledError: a command failed.
    """
    began = monotonic()
    is_idle = _is_idle(world, report, take_sample)
    seconds = monotonic() - began
    world.wants_ui = False
    world.end_ui()
    late, calls = behind(world), len(world.ollama.chats)
    report(f"quiet after {seconds:.0f} s, {late} pages wait to be asked for again; `holocron run` does so")
    _finish(world.whole)
    late = behind(world)
    left, twice = len(world.ollama.chats) - calls, answered_twice(world)
    twin = fresh_twin(world, folder / "fresh")
    _bring_decisions(world.whole, twin, folder / "decisions.jsonl")
    report("a Holocron from nothing reads the same wiki")
    _finish(twin)
    same, differing = _compared(world.whole.hashes(), twin.hashes())
    renamed = same_but_ids(world.whole.lake, twin.lake, [*differing], folder / "exports")
    left_over = [differing_rows for name, differing_rows in differing.items() if name not in renamed]
    return Settled(seconds, is_idle, late, left, twice, left_over, same, renamed)


def answered_twice(world: World) -> int:
    """Answers to questions that had been answered before."""
    return world.answered.total() - len(world.answered)


def _is_idle(world: World, report: Callable[[str], None], take_sample: Callable[[], object]) -> bool:
    """Wait until the daemon has nothing to do any more; say whether that came to be."""
    deadline = monotonic() + _MOST_SECONDS
    while monotonic() < deadline:
        world.keep_ui_up()
        # Changes wait for each other for up to an hour; this is how a person says not to wait.
        done = world.whole.command("launch", "refresh")
        if not done.returncode:
            break
        report(f"refresh could not be launched yet: {done.stderr.strip().splitlines()[-1:]}")
        sleep(_POLL_SECONDS)
    idle_since = monotonic()
    while monotonic() < deadline:
        world.keep_ui_up()
        take_sample()
        sleep(_POLL_SECONDS)
        if world.whole.is_busy():
            idle_since = monotonic()
        elif monotonic() - idle_since > _IDLE_SECONDS:
            return True
    return False


def _finish(whole: WholeHolocron) -> None:
    done = whole.command("run", seconds=_MOST_SECONDS)
    if done.returncode:
        raise UnsettledError(
            f"`holocron run` ended with {done.returncode}: {(done.stdout + done.stderr)[-2000:]}"
        )


def _bring_decisions(of: WholeHolocron, to: WholeHolocron, file: Path) -> None:
    for whole, command in ((of, "export"), (to, "import")):
        done = whole.command("decisions", command, str(file))
        if done.returncode:
            raise UnsettledError(f"decisions {command}: {done.stderr}")


def _compared(one: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[list[str], dict[str, str]]:
    """Names of the tables that are the same in both, and those that are not, with their numbers of rows."""
    same, differing = [], {}
    for name, ours in one["tables"].items():
        its = other["tables"][name]
        if ours == its:
            same.append(name)
        else:
            differing[name] = f"{name} ({ours['rows']} and {its['rows']} rows)"
    return same, differing
