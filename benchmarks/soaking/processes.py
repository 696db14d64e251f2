"""The processes of one Holocron, distinguished by what they do, and what each of them holds."""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_ROLES = {
    "holocron_assets.orchestration.runtime.web_ui": "web UI",
    "dagster_webserver": "web UI",
    "holocron_assets.orchestration.runtime.supervisor": "supervisor",
    "dagster._daemon": "daemon",
    "code-server": "code server",
    "grpc": "code",
    "multiprocessing.resource_tracker": "tracker",
    "multiprocessing.spawn": "run",
    "multiprocessing.forkserver": "run",
}
"""What a command line holds, and whose it is then; the first that fits."""

LONG_LIVED = ("holocron ui", "supervisor", "web UI", "daemon", "code server", "code")
"""Those that live as long as nobody kills them."""


@dataclass(frozen=True)
class Process:
    """A process as it is now.

    Attributes:
        pid: its number.
        role: what it does, of `LONG_LIVED`, or `run`, `tracker`, `command`.
        memory: bytes that it holds, shared ones by their share.
        files: that it has open.
    """

    pid: int
    role: str
    memory: int
    files: int


def processes_of(data_folder: Path) -> list[Process]:
    """All processes whose environment names this data folder."""
    return list(_found(f"HOLOCRON_DATA={data_folder}".encode()))


def _found(mark: bytes) -> Iterator[Process]:
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it ended meanwhile, or is another user's
            if mark not in (folder / "environ").read_bytes().split(b"\0"):
                continue
            words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
            files = sum(1 for _ in (folder / "fd").iterdir())
            yield Process(int(folder.name), _role(words), _proportional_bytes(folder), files)


def _role(words: list[str]) -> str:
    line = " ".join(words)
    for part, role in _ROLES.items():
        if part in line:
            return role
    return "holocron ui" if "ui" in words else "command"


def _proportional_bytes(folder: Path) -> int:
    """Its share of memory; all that it has mapped where the kernel gives no shares (in some sandboxes)."""
    if not (folder / "smaps_rollup").exists():
        return int((folder / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    for line in (folder / "smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return 0
