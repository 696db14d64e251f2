"""Listing an export: killed for real and going on, with copies of packed ones that may be lost or damaged."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pytest
from crawl_rows import dump_source
from dump_files import PACKERS, many_pages, page_xml, write_export
from dump_pages import read_pages
from small_wiki import reading

from holocron_assets.crawl.dumps import listing as dump_listing
from holocron_assets.crawl.dumps.export import DumpError
from holocron_assets.crawl.dumps.listing import list_dump, load_index, usable_index
from holocron_assets.crawl.dumps.parser import PageParser
from holocron_assets.crawl.fetch import fetch_batch
from holocron_assets.crawl.frontier.batches import cut_batches
from holocron_assets.crawl.sources.seeds import SeedListing, store_seeds, store_site
from holocron_assets.crawl.sources.source import Source
from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.journals.journal import Journal
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import DUMP_INDEX, SEED_TITLES

pytestmark = pytest.mark.system

PROGRAM = Path(__file__).with_name("list_and_die.py")
SIGKILLED = -9


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path / "data")


def listed(lake: Lake, source: Source) -> SeedListing:
    store_site(lake, source, None)
    return store_seeds(lake, source, None)


def seeds(lake: Lake) -> list[dict[str, Any]]:
    return [{**row, "listed_at": None} for row in read_partition(lake, SEED_TITLES, "dump")]


def copy_of(lake: Lake) -> Path:
    return lake.dump_copy(DUMP_INDEX, "dump")


def run_and_die(lake: Lake, export: Path, most_bytes: int) -> int:
    command = [sys.executable, str(PROGRAM), str(lake.root), str(export), str(most_bytes)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603 - our own program
    assert done.returncode in {0, SIGKILLED}, done.stderr
    return done.returncode


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_listing_that_is_killed_again_and_again_ends_as_one_that_never_was(
    tmp_path: Path, lake: Lake, suffix: str
) -> None:
    pages = [*many_pages(1_500), page_xml("page 3", "newer", 90_000)]
    export = write_export(tmp_path / f"wiki.xml{suffix}", pages)
    chance = Random(suffix)  # noqa: S311 - when to die
    kills = 0
    while run_and_die(lake, export, chance.randrange(400_000, 1_500_000)):
        kills += 1
        assert kills < 12, "each time it must come further"
    assert kills >= 2
    undisturbed = Lake(tmp_path / "undisturbed")
    counts = listed(undisturbed, dump_source(export)).counts
    assert counts == {"listed": 1_501, "repeated": 1, "elsewhere": 0}
    assert seeds(lake) == seeds(undisturbed)
    assert not lake.journal(DUMP_INDEX, "dump").exists()
    index = load_index(lake, dump_source(export))
    assert index is not None
    assert list(index.read(range(1_501))) == list(read_pages(export))


def test_a_killed_listing_does_not_parse_again_what_was_listed(tmp_path: Path, lake: Lake) -> None:
    export = write_export(tmp_path / "wiki.xml.gz", many_pages(1_500))
    assert run_and_die(lake, export, 2_000_000) == SIGKILLED
    parsed = 0

    class CountingParser(PageParser):
        def feed(self, fed: bytes) -> None:
            nonlocal parsed
            parsed += len(fed)
            super().feed(fed)

    with patch.object(dump_listing, "PageParser", CountingParser):
        assert listed(lake, dump_source(export)).counts["listed"] == 1_500
    unpacked = sum(len(page) for page in many_pages(1_500))
    assert parsed < unpacked - 1_800_000


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_listing_that_a_person_stops_goes_on_from_where_it_was(
    tmp_path: Path, lake: Lake, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    export = write_export(tmp_path / f"wiki.xml{suffix}", many_pages(1_500))
    monkeypatch.setattr(dump_listing, "_CHECKPOINT_BYTES", 1 << 16)
    monkeypatch.setattr(dump_listing, "_PLACE_SPACING_BYTES", 1 << 16)
    source, stops = dump_source(export), [0]
    store_site(lake, source, None)

    def stop() -> None:
        stops[0] += 1
        raise KeyError("a person paused it")

    for _ in range(3):
        with pytest.raises(KeyError):
            store_seeds(lake, source, None, stop)
    assert stops == [3]
    records = Journal(lake.journal(DUMP_INDEX, "dump")).records()
    titles = [title for record in records for title in record.get("titles", ())]
    assert 0 < len(titles) == len(set(titles)) < 1_500, "each time it came further, and listed nothing twice"
    assert listed(lake, source).counts == {"listed": 1_500, "repeated": 0, "elsewhere": 0}
    undisturbed = Lake(tmp_path / "undisturbed")
    listed(undisturbed, source)
    assert seeds(lake) == seeds(undisturbed)


def test_a_killed_listing_of_an_export_that_was_replaced_starts_anew(tmp_path: Path, lake: Lake) -> None:
    export = write_export(tmp_path / "wiki.xml.gz", many_pages(1_500))
    assert run_and_die(lake, export, 2_000_000) == SIGKILLED
    write_export(export, many_pages(20, seed=8))
    assert listed(lake, dump_source(export)).counts["listed"] == 20
    assert [page.text for page in usable_index(lake, dump_source(export)).read(range(20))] == [
        page.text for page in read_pages(export)
    ]


def test_a_killed_listing_whose_copy_was_removed_starts_anew(tmp_path: Path, lake: Lake) -> None:
    export = write_export(tmp_path / "wiki.xml.gz", many_pages(1_500))
    assert run_and_die(lake, export, 2_000_000) == SIGKILLED
    copy_of(lake).unlink()
    assert listed(lake, dump_source(export)).counts["listed"] == 1_500
    assert len(list(usable_index(lake, dump_source(export)).read(range(1_500)))) == 1_500


def test_a_cut_off_export_is_listed_to_its_break_also_after_a_kill(tmp_path: Path, lake: Lake) -> None:
    export = write_export(tmp_path / "wiki.xml", many_pages(1_500), end="<page><title>half")
    assert run_and_die(lake, export, 2_000_000) == SIGKILLED
    listing = listed(lake, dump_source(export))
    assert listing.counts["listed"] == 1_500
    assert "1500 pages were read, the last is 'page 1499'" in (listing.problem or "")
    assert len(list(usable_index(lake, dump_source(export)).read(range(1_600)))) == 1_500


def test_an_unchanged_dump_is_not_read_again_to_be_listed(tmp_path: Path, lake: Lake) -> None:
    source = dump_source(write_export(tmp_path / "wiki.xml", many_pages(3), end=""))
    first = listed(lake, source)
    with patch("holocron_assets.crawl.sources.seeds.list_dump", side_effect=AssertionError):
        assert listed(lake, source) == first
    assert first.problem


def test_a_plain_export_has_no_copy_and_one_of_a_packed_one_goes_with_it(tmp_path: Path, lake: Lake) -> None:
    listed(lake, dump_source(write_export(tmp_path / "wiki.xml.bz2", many_pages(30))))
    assert copy_of(lake).stat().st_size > 10_000
    listed(lake, dump_source(write_export(tmp_path / "wiki.xml", many_pages(30))))
    assert not copy_of(lake).exists()


def damaged(copy: Path) -> None:
    with copy.open("rb+") as file:
        file.seek(copy.stat().st_size // 2)
        file.write(b"damage!")


def cut(copy: Path) -> None:
    os.truncate(copy, copy.stat().st_size - 100)


@pytest.mark.parametrize("spoil", [damaged, cut, Path.unlink])
def test_a_copy_that_is_lost_or_damaged_is_made_again(
    tmp_path: Path, lake: Lake, spoil: Callable[[Path], None]
) -> None:
    export = write_export(tmp_path / "wiki.xml.zst", many_pages(400))
    source = dump_source(export)
    listed(lake, source)
    spoil(copy_of(lake))
    (batch,) = cut_batches(lake, source, now=utc_now())
    with reading(lake, source, batch) as reader:
        rows = fetch_batch(lake, batch, reader, "test")
    assert [row["wikitext"] for row in rows] == [page.text for page in read_pages(export)]
    assert not lake.journal(DUMP_INDEX, "dump").exists()


def test_a_batch_of_an_export_that_is_gone_says_so(tmp_path: Path, lake: Lake) -> None:
    export = write_export(tmp_path / "wiki.xml.gz", many_pages(10))
    source = dump_source(export)
    listed(lake, source)
    export.unlink()
    with pytest.raises(DumpError, match=r"wiki\.xml\.gz: cannot be read: No such file"):
        usable_index(lake, source)


def test_what_is_no_export_does_not_cost_a_killed_listing(tmp_path: Path, lake: Lake) -> None:
    export = write_export(tmp_path / "wiki.xml", many_pages(1_500))
    assert run_and_die(lake, export, 2_000_000) == SIGKILLED
    journaled = lake.journal(DUMP_INDEX, "dump").read_bytes()
    away = export.rename(tmp_path / "away.xml")
    with pytest.raises(DumpError):
        list_dump(lake, dump_source(export))
    away.rename(export)
    assert lake.journal(DUMP_INDEX, "dump").read_bytes() == journaled


def test_pages_of_an_export_that_grew_shorter_than_its_batch_are_left_out(tmp_path: Path, lake: Lake) -> None:
    index = usable_index(lake, dump_source(write_export(tmp_path / "wiki.xml", many_pages(5))))
    assert [page.ordinal for page in index.read([4, 5, 600])] == [4]
    assert list(index.read([])) == []
