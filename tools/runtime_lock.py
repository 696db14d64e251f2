"""Print the part of requirements.lock that running needs: without what only development asked for.

`python tools/runtime_lock.py > runtime.lock`; the image is made of it (deploy/docker/Dockerfile).
"""

import sys
from collections.abc import Iterator
from pathlib import Path

LOCK = Path(__file__).resolve().parents[1] / "requirements.lock"
_PROJECT = "holocron-assets (pyproject.toml)"


def runtime_lock(lock: str) -> str:
    """The requirements of a lock, with their hashes, that the project asks for itself or through others."""
    blocks = [(block.partition("==")[0].partition("[")[0], block) for block in _blocks(lock)]
    asked_by: dict[str, set[str]] = {}
    for name, block in blocks:  # several of one name where Pythons need versions of their own
        asked_by.setdefault(name, set()).update(_asked_by(block))
    wanted = {name for name, parents in asked_by.items() if _PROJECT in parents}
    while more := {name for name, parents in asked_by.items() if name not in wanted and parents & wanted}:
        wanted |= more
    return "".join(block for name, block in blocks if name in wanted)


def _blocks(lock: str) -> Iterator[str]:
    """Each requirement, with the lines that belong to it."""
    lines: list[str] = []
    for line in lock.splitlines(keepends=True):
        if line[0].isalnum() and lines:
            yield "".join(lines)
            lines = []
        if lines or line[0].isalnum():
            lines.append(line)
    yield "".join(lines)


def _asked_by(block: str) -> set[str]:
    """Who asked for a requirement: what stands after `# via`, on the same line or on those that follow."""
    notes = [line.strip().lstrip("# ") for line in block.splitlines() if line.lstrip().startswith("#")]
    return {note.removeprefix("via").strip() for note in notes} - {""}


if __name__ == "__main__":
    sys.stdout.write(runtime_lock(LOCK.read_text(encoding="utf-8")))
