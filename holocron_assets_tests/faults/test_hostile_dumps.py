"""XML exports made to fill the memory or the disk, or to make one page pass for another."""

import bz2
import gzip
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from dump_pages import list_pages, read_pages
from hostile_wiki import END, START, lake_of, page_xml, rows_of

from holocron_assets.crawl.dumps import parser as dump_parser
from holocron_assets.crawl.dumps.export import DumpError
from holocron_assets.lake.tables import ENTITIES, PAGES

pytestmark = pytest.mark.system

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PACKINGS: Mapping[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".zst": zstd.compress,
}
MIB = 1 << 20
BOMB_BYTES = 40 * MIB
MOST_MEMORY_KB = 160_000

READ_IT = """
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from dump_pages import list_pages, read_pages
from holocron_assets.crawl.dumps.export import DumpError
path = Path(sys.argv[1])
try:
    for page in read_pages(path):
        print(page.title, page.status, page.error)
    print(len(list(list_pages(path))), "listed")
except DumpError as error:
    print("refused:", error.problem)
status = Path("/proc/self/status").read_text()
print(status.partition("VmHWM:")[2].split()[0])
"""


def bomb(folder: Path, before: str, after: str, filling: bytes = b"{{") -> Path:
    """A small file that unpacks to `BOMB_BYTES` between two texts."""
    path = folder / "wiki.xml.zst"
    with zstd.open(path, "wb") as file:
        file.write(f"{START}{page_xml('Before')}{before}".encode())
        for _ in range(BOMB_BYTES // MIB):
            file.write(filling * (MIB // len(filling)))
        file.write(f"{after}{page_xml('After')}{END}".encode())
    assert path.stat().st_size < MIB
    return path


def read_in_a_process(path: Path) -> tuple[list[str], int]:
    """What a process of its own reads, and the most memory that it took, in KB."""
    command = [sys.executable, "-c", READ_IT, str(path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(  # noqa: S603 - our own program
        command, env=environment, capture_output=True, text=True, timeout=600, check=True
    )
    *lines, memory = done.stdout.splitlines()
    return lines, int(memory)


PAGE = page_xml("Bomb").partition("A text.")
TITLE = page_xml("Bomb").partition("Bomb")


@pytest.mark.full
@pytest.mark.fault(6, "an export of 30 KB unpacks to a page of 40 MiB")
@pytest.mark.parametrize(
    ("before", "after", "filling"),
    [
        (PAGE[0], PAGE[2], b"{{"),
        ("<page><title>Bomb</title><ns>0</ns><id>1</id>", "</page>", b"<x/>"),
        (
            "<page><title>Bomb</title><ns>0</ns><id>1</id><revision>",
            "</revision></page>",
            b"<comment>a</comment>",
        ),
    ],
    ids=["text", "elements", "comments"],
)
def test_a_page_that_would_fill_the_memory_is_dead_and_the_others_are_read(
    tmp_path: Path, before: str, after: str, filling: bytes
) -> None:
    filling = filling * (MIB // len(filling)) if MIB % len(filling) else filling
    lines, memory = read_in_a_process(bomb(tmp_path, before, after, filling))
    assert lines == [
        "Before ok None",
        "Bomb dead it holds more than 33,554,432 bytes: no page is so long",
        "After ok None",
        "3 listed",
    ]
    assert memory < MOST_MEMORY_KB


@pytest.mark.full
@pytest.mark.fault(6, "an export of 30 KB unpacks to a title, tag or comment of 40 MiB")
@pytest.mark.parametrize(
    ("before", "after"),
    [("<!--", "-->"), ('<page a="', '"></page>'), ("<![CDATA[", "]]>"), (TITLE[0], TITLE[2])],
    ids=["comment", "attribute", "cdata", "title"],
)
def test_nothing_else_in_an_export_can_fill_the_memory(tmp_path: Path, before: str, after: str) -> None:
    lines, memory = read_in_a_process(bomb(tmp_path, before, after, b"ab"))
    assert lines[0] == "Before ok None"
    assert memory < MOST_MEMORY_KB
    assert lines[1:] in (
        ["refused: has a tag or comment without an end: refused"],
        ["<untitled page 1> invalid it has no <title>", "After ok None", "3 listed"],
        ["After ok None", "2 listed"],
    )


@pytest.mark.fault(6, "an export unpacks to hundreds of times its size")
@pytest.mark.parametrize(
    "suffix",
    [pytest.param(".gz", marks=pytest.mark.full), pytest.param(".bz2", marks=pytest.mark.full), ".zst"],
)
def test_an_export_that_would_fill_the_disk_is_refused_and_says_how_to_read_it_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    monkeypatch.setattr(dump_parser, "_ANY_RATIO_BYTES", MIB)
    content = f"{START}{page_xml('Again') * 60_000}{END}".encode()
    path = tmp_path / f"wiki.xml{suffix}"
    path.write_bytes(PACKINGS[suffix](content))
    ratio = len(content) / path.stat().st_size
    monkeypatch.setattr(dump_parser, "_LARGEST_RATIO", ratio / 2)
    with pytest.raises(DumpError, match="unpack it and read that"):
        list(list_pages(path))
    monkeypatch.setattr(dump_parser, "_LARGEST_RATIO", ratio * 2)
    assert len(list(list_pages(path))) == 60_000
    plain = tmp_path / "wiki.xml"
    plain.write_bytes(content)
    assert len(list(list_pages(plain))) == 60_000


@pytest.mark.fault(6, "a packed export in two streams, one after the other")
@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".zst"])
def test_streams_one_after_the_other_are_one_export(tmp_path: Path, suffix: str) -> None:
    pack = PACKINGS[suffix]
    path = tmp_path / f"wiki.xml{suffix}"
    path.write_bytes(pack(f"{START}{page_xml('One')}".encode()) + pack(f"{page_xml('Two')}{END}".encode()))
    assert [page.title for page in read_pages(path)] == ["One", "Two"]


@pytest.mark.fault(6, "an export with pages of one title, of one id, and numbers and dates out of all reason")
def test_pages_that_pass_for_others_are_each_a_row_and_no_batch_fails(tmp_path: Path) -> None:
    pilot = "{{Character|name=X|species=Human|gender=Female}}\n'''X''' was a human pilot."
    holocron = lake_of(
        tmp_path,
        page_xml("Twin", 1, text=pilot)
        + page_xml("Twin", 2, text="A liar.")
        + page_xml("twin", 3, text="A liar.")
        + page_xml("Same id", 1, text=pilot)
        + page_xml("Below zero", -5, text=pilot)
        + page_xml("Huge number", 10**30, text=pilot)
        + page_xml("Year zero", 6, time="0000-00-00T00:00:00Z", text=pilot)
        + page_xml("Year one", 7, time="0001-01-01T00:00:00+14:00", text=pilot)
        + page_xml("Year 9999", 8, time="9999-12-31T23:59:59-14:00", text=pilot)
        + page_xml("Wrong hash", 9, text=pilot).replace("<text>", "<sha1>zz!</sha1><text>"),
    )
    rows = list(rows_of(holocron, PAGES))
    assert {row["status"] for row in rows} == {"ok"}
    titles = [row["title"] for row in rows]
    assert titles == list(dict.fromkeys(titles))
    assert {"Twin", "Same id", "Below zero", "Huge number", "Year zero", "Year 9999", "Wrong hash"} <= set(
        titles
    )
    entities = list(rows_of(holocron, ENTITIES))
    assert len({row["entity_id"] for row in entities}) == len(entities)


PATHS = ("../../etc/passwd", "/etc/passwd", "..", "Data.parquet", ".packs", "C:\\x", "*", "%2e%2e", "'; drop")


@pytest.mark.fault(6, "titles in an export that would be paths or statements")
def test_no_title_leads_to_a_path(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    holocron = lake_of(
        tmp_path / "in", "".join(page_xml(title, number) for number, title in enumerate(PATHS))
    )
    rows = {row["requested_title"]: row["status"] for row in rows_of(holocron, PAGES)}
    assert set(PATHS) - {"%2e%2e"} <= rows.keys()
    refused = {"../../etc/passwd", ".."}  # MediaWiki knows no such pages either
    assert {title for title in PATHS if rows.get(title) == "invalid"} >= refused
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    partitions = {path.name for path in (holocron.lake.root / "lake").glob("*/*/*")}
    assert all(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", name) for name in partitions)
