"""Large XML exports: large pages are read whole, and memory does not grow with the file."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from dump_pages import read_pages


def test_a_page_of_eight_megabytes_is_read(tmp_path: Path) -> None:
    text = "All work and no [[play]]. " * 320_000
    path = tmp_path / "wiki.xml"
    path.write_text(
        f"<mediawiki><page><title>Long</title><revision><text>{text}</text></revision></page></mediawiki>"
    )
    (page,) = read_pages(path)
    assert page.text == text


COUNT_PAGES_AND_PEAK_KIB = """
import re, sys
from pathlib import Path
from dump_pages import read_pages

def peak_kib():
    return int(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1])

before = peak_kib()
read = sum(1 for _ in read_pages(Path(sys.argv[1]), int(sys.argv[2])))
print(read, peak_kib() - before)
"""


def large_pages(path: Path) -> None:
    revision = (
        f"<revision><timestamp>2022-05-24T00:00:00Z</timestamp><text>{'text ' * 20_000}</text></revision>"
    )
    with path.open("w") as file:
        file.write("<mediawiki>")
        for number in range(20):
            file.write(f"<page><title>Page {number}</title><ns>0</ns>{revision * 100}</page>\n")
        file.write("</mediawiki>")


def many_revisions(path: Path) -> None:
    revisions = "<revision><text>x</text></revision>" * 500_000
    path.write_text(f"<mediawiki><page><title>Page 0</title>{revisions}</page></mediawiki>")


@pytest.mark.system
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads peak memory from Linux's /proc")
@pytest.mark.parametrize(
    ("write", "start", "pages"), [(large_pages, 0, 20), (large_pages, 20, 0), (many_revisions, 1, 0)]
)
def test_memory_is_bounded_by_a_revision_and_not_by_the_file(
    tmp_path: Path, write: Callable[[Path], None], start: int, pages: int
) -> None:
    path = tmp_path / "large.xml"
    write(path)
    counted = subprocess.run(  # noqa: S603 - a process of its own, since this one's peak is of other tests
        [sys.executable, "-c", COUNT_PAGES_AND_PEAK_KIB, path, str(start)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=True,
        capture_output=True,
        text=True,
    )
    read, grown_kib = map(int, counted.stdout.split())
    assert read == pages
    assert grown_kib < 20_000
