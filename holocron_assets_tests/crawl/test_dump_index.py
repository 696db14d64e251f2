"""Reading an export from its middle: the same pages as reading it whole, however it is packed."""

import os
import tempfile
from contextlib import AbstractContextManager
from pathlib import Path
from unittest.mock import patch

import pytest
from crawl_rows import dump_source
from dump_files import PACKERS, many_pages, page_xml, write_export
from dump_pages import read_pages
from hypothesis import given, settings
from hypothesis import strategies as st

from holocron_assets.crawl.dumps import listing as dump_listing
from holocron_assets.crawl.dumps import parser as dump_parser
from holocron_assets.crawl.dumps.listing import DumpIndex, usable_index
from holocron_assets.crawl.dumps.parser import PageParser
from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import DUMP_INDEX


def indexed(folder: Path, export: Path) -> DumpIndex:
    return usable_index(Lake(folder / "data"), dump_source(export))


def place_spacing(size: int) -> AbstractContextManager[int]:
    return patch.object(dump_listing, "_PLACE_SPACING_BYTES", size)


text = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\ufffe\uffff\r", min_codepoint=32)
)
pages = st.lists(
    st.builds(page_xml, text, st.one_of(text, text.map(lambda some: some * 50)), st.integers(0, 99)),
    max_size=12,
)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    st.data(),
    pages,
    st.sampled_from(sorted(PACKERS)),
    st.sampled_from((1, 300)),
    st.sampled_from((64, 1 << 16)),
)
def test_any_pages_of_any_export_are_those_that_reading_it_whole_gives(
    data: st.DataObject, written: list[str], suffix: str, spacing: int, chunk: int
) -> None:
    wanted = data.draw(st.sets(st.integers(0, len(written) + 2)))
    with (
        tempfile.TemporaryDirectory() as name,
        place_spacing(spacing),
        patch.object(dump_parser, "_CHUNK_BYTES", chunk),
    ):
        export = write_export(Path(name) / f"wiki.xml{suffix}", written)
        whole = list(read_pages(export))
        index = indexed(Path(name), export)
        assert index.pages == len(whole) == len(written)
        assert list(index.read(wanted)) == [page for page in whole if page.ordinal in wanted]


@pytest.mark.system
@pytest.mark.parametrize("suffix", PACKERS)
def test_a_batch_costs_what_it_holds_wherever_it_lies(tmp_path: Path, suffix: str) -> None:
    export = write_export(tmp_path / f"wiki.xml{suffix}", many_pages(3_000))
    index = indexed(tmp_path, export)
    assert 10 < len(index.places) < 40, "a place each 256 KiB of 6 MB"
    parsed = 0

    class CountingParser(PageParser):
        def feed(self, fed: bytes) -> None:
            nonlocal parsed
            parsed += len(fed)
            super().feed(fed)

    with patch("holocron_assets.crawl.dumps.listing.PageParser", CountingParser):
        batch = list(index.read(range(2_900, 2_950)))
    assert [page.title for page in batch] == [f"page {number}" for number in range(2_900, 2_950)]
    assert parsed < 600_000


def test_pages_far_apart_are_read_without_what_lies_between(tmp_path: Path) -> None:
    export = write_export(tmp_path / "wiki.xml", many_pages(3_000))
    index = indexed(tmp_path, export)
    middle, status = export.read_bytes().index(b"<title>page 1500<"), export.stat()
    with export.open("rb+") as file:
        file.seek(middle)
        file.write(b"<ti<le>")
    os.utime(export, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert [page.ordinal for page in index.read([3, 2_990])] == [3, 2_990]


def test_an_export_whose_pages_are_larger_than_what_is_read_at_once_has_places_too(tmp_path: Path) -> None:
    pages = [page_xml(f"Page {number}", "word " * 60_000, number) for number in range(12)]
    index = indexed(tmp_path, write_export(tmp_path / "wiki.xml.gz", pages))
    assert [index.places["ordinal"][row].as_py() for row in range(len(index.places))] == list(range(13))
    assert [page.title for page in index.read([11])] == ["Page 11"]


def test_titles_are_read_by_the_rules_that_stand_at_the_exports_start(tmp_path: Path) -> None:
    with place_spacing(1):
        index = indexed(tmp_path, write_export(tmp_path / "wiki.xml", many_pages(50)))
    (page,) = index.read([49])
    assert page.title == "page 49", "the wiki is case-sensitive"


def test_the_index_is_a_table_of_places(tmp_path: Path) -> None:
    with place_spacing(1):
        index = indexed(tmp_path, write_export(tmp_path / "wiki.xml", many_pages(3)))
    content = index.path.read_bytes()
    rows = read_partition(Lake(tmp_path / "data"), DUMP_INDEX, "dump")
    assert [row["ordinal"] for row in rows] == [0, 1, 2, 3]
    for row in rows[:3]:
        assert content[row["unpacked_offset"] :].startswith(b"<page>\n<title>page ")
    assert [row["file_offset"] for row in rows] == [0, *(row["unpacked_offset"] for row in rows[1:])]
    assert rows[3]["unpacked_offset"] == len(content)
