"""Transfers of whole processes: killed in the middle, and measured."""

import hashlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from fetching_rig import rigged
from file_server import Asked, FileServer, Wire, file, head

HERE = Path(__file__).parent
PROGRAM = HERE / "fetch_and_die.py"
FILE = b"%PDF-1.7\n" + os.urandom(3_000_000)
MEGABYTE = os.urandom(1 << 20)
LARGE_MEGABYTES = 300


@pytest.fixture
def server() -> Iterator[FileServer]:
    with FileServer() as server:
        yield server


def fetching(folder: Path, url: str) -> subprocess.Popen[str]:
    """A process that fetches a file."""
    path = os.pathsep.join([str(HERE), *sys.path])
    return subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, str(PROGRAM), str(folder), url, str(10**9)],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.system
@pytest.mark.fault(4, "kill -9 in the middle of a file")
def test_a_killed_transfer_is_resumed_and_only_the_rest_is_asked(server: FileServer, tmp_path: Path) -> None:
    killed = threading.Event()

    def half(wire: Wire, _: Asked) -> None:
        wire.sendall(head(200, {"Content_Length": len(FILE), "ETag": '"v1"'}) + FILE[: len(FILE) // 2])
        killed.wait(60)

    url = server.serve("/file.pdf", half, file(FILE))
    process = fetching(tmp_path, url)
    part = wait_for_bytes(tmp_path)
    process.send_signal(signal.SIGKILL)
    process.wait(60)
    killed.set()
    assert list((tmp_path / "data").rglob(hashlib.sha256(FILE).hexdigest())) == []
    held = part.stat().st_size
    with rigged(tmp_path) as rig:
        made = rig.fetch(url)
        assert (made.verdict.reason, rig.objects(), rig.parts()) == ("http-206", [FILE], [])
    assert [one.start for one in server.asked] == [0, held]
    assert held > 1_000_000
    assert made.bytes == len(FILE) - held


def wait_for_bytes(folder: Path) -> Path:
    """The part, once it holds more than a megabyte."""
    parts = folder / "data" / "lake" / "files" / ".parts"
    checking = threading.Event()
    for _ in range(600):
        for part in parts.glob("*.part"):
            if part.stat().st_size > 1_000_000:
                return part
        checking.wait(0.05)
    raise AssertionError("no part came")


@pytest.mark.system
def test_a_large_file_takes_little_memory(server: FileServer, tmp_path: Path) -> None:
    def large(wire: Wire, _: Asked) -> None:
        wire.sendall(head(200, {"Content_Length": LARGE_MEGABYTES << 20, "ETag": '"v1"'}))
        for _number in range(LARGE_MEGABYTES):
            wire.sendall(MEGABYTE)

    said, _ = fetching(tmp_path, server.serve("/file", large)).communicate(timeout=1200)
    reason, sha256, grown_mib = said.split()
    expected = hashlib.sha256()
    for _number in range(LARGE_MEGABYTES):
        expected.update(MEGABYTE)
    assert (reason, sha256) == ("http-200", expected.hexdigest())
    assert float(grown_mib) < 64
