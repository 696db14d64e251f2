"""Whether all of a dump is in the lake: what the check counts, and what it finds fault with."""

import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
from crawl_rows import dump_source, outcome, put_links, put_outcomes
from small_wiki import reading

from holocron_assets.crawl.dumps.check import DumpCheck, check_dumps
from holocron_assets.crawl.fetch import fetch_batch
from holocron_assets.crawl.frontier.batches import cut_batches, manifest
from holocron_assets.crawl.frontier.known_links import make_known_links
from holocron_assets.crawl.sources.seeds import store_seeds, store_site
from holocron_assets.crawl.sources.source import Source
from holocron_assets.lake.files.parquet import read_partition, write_partition
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGES


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path / "data")


def page(title: str, *, revision: int | None = None, namespace: int = 0, text: str = "text") -> str:
    identity = f"<id>{revision}</id>" if revision else ""
    return (
        f"<page><title>{title}</title><ns>{namespace}</ns><revision>{identity}"
        f"<timestamp>2026-01-01T00:00:00Z</timestamp><text>{text}</text></revision></page>"
    )


def write_export(path: Path, *pages: str, end: str = "</mediawiki>", **changes: Any) -> Source:
    path.write_text(f"<mediawiki>{''.join(pages)}{end}", encoding="utf-8")
    return dump_source(path, **changes)


def crawl(lake: Lake, source: Source) -> list[str]:
    """List the dump and read all that is pending; the titles that were read."""
    store_site(lake, source, None)
    store_seeds(lake, source, None)
    read = []
    while batches := cut_batches(lake, source, now=utc_now()):
        for batch in batches:
            with reading(lake, source, batch) as reader:
                read += [row["requested_title"] for row in fetch_batch(lake, batch, reader, "test")]
    return read


def checked(lake: Lake, source: Source) -> DumpCheck:
    return check_dumps(lake, [source])[source.name]


def test_a_dump_that_was_read_is_whole_and_its_pages_are_counted(lake: Lake, tmp_path: Path) -> None:
    source = write_export(
        tmp_path / "x.xml",
        *(page("A", revision=number) for number in (1, 3, 2)),
        page("B/Legends"),
        page("Talk:A", namespace=1),
        page("No revision").replace("<revision>", "<x>").replace("</revision>", "</x>"),
        exclude=["/Legends$"],
    )
    assert sorted(crawl(lake, source)) == ["A", "No revision"]
    assert checked(lake, source) == DumpCheck(
        {
            "pages in the file": 6,
            "in other namespaces": 1,
            "repeated titles": 2,
            "with an outcome": 2,
            "left out by patterns": 1,
            "still to be read": 0,
        },
        [],
    )


def test_a_dump_that_is_being_read_is_no_problem(lake: Lake, tmp_path: Path) -> None:
    source = write_export(tmp_path / "x.xml", page("A", revision=1), page("B"))
    store_site(lake, source, None)
    store_seeds(lake, source, None)
    found = checked(lake, source)
    assert (found.counts["still to be read"], found.counts["with an outcome"]) == (2, 0)
    assert found.problems == []


def test_wikis_and_dumps_that_were_never_listed_are_not_checked(lake: Lake, tmp_path: Path) -> None:
    assert check_dumps(lake, [write_export(tmp_path / "x.xml", page("A"))]) == {}


def test_a_listed_page_that_lost_its_outcome_is_named(lake: Lake, tmp_path: Path) -> None:
    """The frontier is asked only for why a page has no outcome, so what it overlooks is found here."""
    source = write_export(tmp_path / "x.xml", page("A"), page("B"))
    crawl(lake, source)
    (batch,) = lake.partitions(PAGES)
    put_links(lake, batch)
    make_known_links(lake, source)
    rows = read_partition(lake, PAGES, batch)
    write_partition(
        lake,
        PAGES,
        batch,
        [{**row, "fetched_at": row["fetched_at"].replace(year=2020), "status": "dead"} for row in rows],
    )
    (problem,) = checked(lake, source).problems
    assert problem == "2 listed pages have no outcome, such as 'A'"


def test_a_dump_that_breaks_off_is_not_whole_and_the_break_is_named(lake: Lake, tmp_path: Path) -> None:
    source = write_export(tmp_path / "x.xml", page("A"), page("B"), end="<page><ti")
    assert crawl(lake, source) == ["A", "B"]
    found = checked(lake, source)
    assert found.counts["pages in the file"] == found.counts["with an outcome"] == 2
    (problem,) = found.problems
    assert "the file ends too soon" in problem
    assert "2 pages were read, the last is 'B'" in problem


def test_a_dump_that_was_replaced_is_said_to_be_another(lake: Lake, tmp_path: Path) -> None:
    source = write_export(tmp_path / "x.xml", page("A"))
    crawl(lake, source)
    write_export(tmp_path / "x.xml", page("A"), page("B"))
    assert checked(lake, source).problems == [
        "its file is not the one that was listed: launch job list_seeds"
    ]


def test_a_dump_that_an_older_one_without_revision_ids_replaced_is_read_again(
    lake: Lake, tmp_path: Path
) -> None:
    source = write_export(tmp_path / "x.xml", page("A", text="newer"))
    assert crawl(lake, source) == ["A"]
    write_export(tmp_path / "x.xml", page("A", text="older"))
    os.utime(tmp_path / "x.xml", (1e9, 1e9))
    assert checked(lake, source).problems
    assert crawl(lake, source) == ["A"]
    assert [row["wikitext"] for row in read_partition(lake, PAGES, "dump-000002")] == ["older"]
    assert (checked(lake, source).counts["with an outcome"], checked(lake, source).problems) == (1, [])
    assert crawl(lake, source) == [], "it is read once"


@pytest.mark.parametrize("revision", [1, None])
def test_a_page_that_was_given_up_is_read_again_when_the_dump_is_replaced(
    lake: Lake, tmp_path: Path, revision: int | None
) -> None:
    without_text = page("A", revision=revision).replace("<text>text</text>", "")
    source = write_export(
        tmp_path / "x.xml", without_text, page("B/Legends").replace("<text>text</text>", "")
    )
    assert sorted(crawl(lake, source)) == ["A", "B/Legends"]
    assert crawl(lake, source) == [], "the same file holds no more"
    assert checked(lake, source).problems == []
    source = write_export(
        tmp_path / "x.xml", page("A", revision=revision), page("B/Legends"), exclude=["/Legends$"]
    )
    assert crawl(lake, source) == ["A"]
    assert (checked(lake, source).counts["with an outcome"], checked(lake, source).problems) == (1, [])
    assert {row["status"] for row in read_partition(lake, PAGES, "dump-000002")} == {"ok"}
    assert {row["reason"] for row in manifest(lake, "dump-000002")} == {"new"}


def test_a_page_is_given_up_once_though_the_clock_was_set_back_since_the_dump_was_listed(
    lake: Lake, tmp_path: Path
) -> None:
    source = write_export(tmp_path / "x.xml", page("A").replace("<text>text</text>", ""))
    store_site(lake, source, None)
    store_seeds(lake, source, None)
    with time_machine.travel(utc_now() - timedelta(hours=1)):
        (batch,) = cut_batches(lake, source, now=utc_now())
        with reading(lake, source, batch) as reader:
            assert [row["status"] for row in fetch_batch(lake, batch, reader, "test")] == ["dead"]
        assert cut_batches(lake, source, now=utc_now()) == []


def test_an_answer_of_a_later_revision_counts_for_an_older_dump(lake: Lake, tmp_path: Path) -> None:
    put_outcomes(lake, "dump-000001", outcome("A", source="dump", revision_id=9))
    source = write_export(tmp_path / "x.xml", page("A", revision=5))
    assert crawl(lake, source) == []
    assert checked(lake, source).counts["with an outcome"] == 1
