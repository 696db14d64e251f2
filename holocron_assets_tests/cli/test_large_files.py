"""A large file comes through a real run, with little memory."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from file_server import Asked, FileServer, Wire, answer, head

pytestmark = pytest.mark.system

PNG = b"\x89PNG\r\n\x1a\n" + b"salt" * 100
MIB = 2**20
LARGE_MIB = 300
MOST_MIB = 64

SOURCE = """
kind: http_files
name: papers
enabled: false
lists: [{file: list.csv}]
max_bytes: 400000000
private_hosts: [127.0.0.1]
politeness: {contact: tests@example.org, requests_per_second: 100}
"""

CRAWL = """
from pathlib import Path
from holocron_assets.cli.main import main
main(["crawl", "--source", "papers"], standalone_mode=False)
print(Path("/proc/self/status").read_text())
"""


def large(wire: Wire, _: Asked) -> None:
    """A picture that the server never holds as a whole."""
    named = {"Content_Length": LARGE_MIB * MIB, "Content_Type": "image/png", "ETag": '"v1"'}
    wire.sendall(head(200, named))
    wire.sendall(PNG.ljust(MIB))
    block = os.urandom(MIB)
    for _block in range(LARGE_MIB - 1):
        wire.sendall(block)


def environment(folder: Path) -> Mapping[str, str]:
    named = {name: str(folder / name.lower()) for name in ("DATA", "SOURCES", "STATE")}
    own = {f"HOLOCRON_{name}": place for name, place in named.items()}
    return {**os.environ, **own, "DAGSTER_HOME": str(folder / "dagster"), "HOLOCRON_LLM": "off"}


def peak_of_crawl(folder: Path, url: str) -> float:
    """The most memory that a crawl of one file held, in MiB."""
    (folder / "sources").mkdir(parents=True)
    (folder / "sources" / "papers.yaml").write_text(SOURCE)
    (folder / "sources" / "list.csv").write_text(f"url\n{url}\n")
    done = subprocess.run(  # noqa: S603 - our own
        [sys.executable, "-c", CRAWL], env=environment(folder), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    peak = re.search(r"VmHWM:\s*(\d+) kB", done.stdout)
    assert peak, done.stdout
    return int(peak[1]) / 1024


def test_a_run_that_fetches_a_large_file_holds_little_more_than_one_that_fetches_a_small_one(
    tmp_path: Path,
) -> None:
    with FileServer() as server:
        small = peak_of_crawl(tmp_path / "small", server.serve("/a.png", answer(200, PNG)))
        much = peak_of_crawl(tmp_path / "large", server.serve("/b.png", large))
    objects = [path for path in (tmp_path / "large").rglob("sha256/??/*") if path.is_file()]
    assert [path.stat().st_size for path in objects] == [LARGE_MIB * MIB]
    assert much - small < MOST_MIB
