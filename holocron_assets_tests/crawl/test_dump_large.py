"""A dump of hundreds of megabytes: listed and read in memory that does not grow with it."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from dump_files import END, HEAD, opened_for_writing, page_xml

LIST_AND_READ = """
import re, sys
from pathlib import Path
from crawl_rows import dump_source
from holocron_assets.crawl.dumps.listing import usable_index
from holocron_assets.crawl.sources.seeds import store_seeds, store_site
from holocron_assets.lake.place.paths import Lake

def peak_kib():
    return int(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1])

lake, source = Lake(Path(sys.argv[1])), dump_source(Path(sys.argv[2]))
store_site(lake, source, None)
listed = store_seeds(lake, source, None).footer.rows
read = 0
for start in range(0, listed, 500):
    read += sum(1 for _ in usable_index(lake, source).read(range(start, start + 500)))
print(listed, read, peak_kib())
"""
PAGES_OF_4_MB = 400


def pages(count: int) -> Iterator[bytes]:
    text = "a word and a [[link]] to follow, " * 320
    for number in range(count):
        yield page_xml(f"page {number}", f"{number} {text}", number).encode()


def peak_of(folder: Path, suffix: str, count: int) -> int:
    """Peak memory in KiB of a process that lists a dump of so many pages and reads all its batches."""
    path = folder / f"{count}.xml{suffix}"
    with opened_for_writing(path) as file:
        file.write(HEAD.encode())
        for page in pages(count):
            file.write(page)
        file.write(END.encode())
    done = subprocess.run(  # noqa: S603 - a process of its own, since this one's peak is of other tests
        [sys.executable, "-c", LIST_AND_READ, folder / f"data-{count}", path],
        check=True,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent,
    )
    listed, read, peak = map(int, done.stdout.split())
    assert listed == read == count
    return peak


@pytest.mark.full
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads peak memory from Linux's /proc")
@pytest.mark.parametrize("suffix", ["", ".zst"])
def test_memory_is_the_same_for_a_dump_a_hundred_times_as_large(tmp_path: Path, suffix: str) -> None:
    small = peak_of(tmp_path, suffix, PAGES_OF_4_MB)
    large = peak_of(tmp_path, suffix, PAGES_OF_4_MB * 100)
    assert (tmp_path / f"40000.xml{suffix}").stat().st_size > (400e6 if not suffix else 0)
    assert large - small < 60_000
