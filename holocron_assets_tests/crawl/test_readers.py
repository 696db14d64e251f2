"""Reading batches of a wiki and of an export, from the first listing to a replaced file."""

import os
from importlib.metadata import version
from pathlib import Path

import pytest
from crawl_rows import LONG_AGO, dump_source, put_manifest, put_seeds, statuses
from small_wiki import reading, small_wiki, source_of_wiki

from holocron_assets.crawl.fetch import fetch_batch
from holocron_assets.crawl.frontier.batches import cut_batches
from holocron_assets.crawl.sources.seeds import seeds_are_stale, store_seeds, store_site
from holocron_assets.crawl.sources.settings import Politeness
from holocron_assets.crawl.sources.source import Source
from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import HTTP_ATTEMPTS


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path / "data")


def write_export(path: Path, **texts: tuple[int | None, str]) -> Source:
    """An export of pages with revision id and text."""
    pages = [
        f"<page><title>{title}</title><ns>0</ns><id>{number + 1}</id><revision>"
        f"{f'<id>{revision}</id>' if revision else ''}<timestamp>2026-01-01T00:00:00Z</timestamp>"
        f"<text>{text}</text></revision></page>"
        for number, (title, (revision, text)) in enumerate(texts.items())
    ]
    path.write_text(f"<mediawiki>{''.join(pages)}</mediawiki>", encoding="utf-8")
    return dump_source(path, batch_size=2)


def list_and_cut(lake: Lake, source: Source) -> list[str]:
    if seeds_are_stale(lake, source):
        store_site(lake, source, None)
        store_seeds(lake, source, None)
    return cut_batches(lake, source, now=utc_now())


def fetch(lake: Lake, source: Source, batches: list[str]) -> dict[str, str | None]:
    """Texts by title, or the error."""
    found = {}
    for batch in batches:
        with reading(lake, source, batch) as reader:
            rows = fetch_batch(lake, batch, reader, "test")
        found.update({row["requested_title"]: row["wikitext"] or row["error"] for row in rows})
    return found


def test_an_export_is_read_whole_in_its_batches_and_then_never_again(lake: Lake, tmp_path: Path) -> None:
    source = write_export(tmp_path / "x.xml", B=(1, "b"), A=(2, "a"), C=(3, "c"))
    batches = list_and_cut(lake, source)
    assert batches == ["dump-000001", "dump-000002"]
    assert fetch(lake, source, batches) == {"B": "b", "A": "a", "C": "c"}
    assert list_and_cut(lake, source) == []


def test_of_a_newer_export_only_what_changed_is_read(lake: Lake, tmp_path: Path) -> None:
    source = write_export(tmp_path / "x.xml", A=(1, "a"), B=(2, "b"), Gone=(3, "c"))
    fetch(lake, source, list_and_cut(lake, source))
    write_export(tmp_path / "x.xml", New=(9, "n"), A=(1, "a"), B=(8, "newer"))
    assert fetch(lake, source, list_and_cut(lake, source)) == {"New": "n", "B": "newer"}
    assert list_and_cut(lake, source) == []
    assert set(statuses(lake, source).values()) == {"done"}


def test_an_export_without_revision_ids_is_read_again_when_its_file_changes_and_only_then(
    lake: Lake, tmp_path: Path
) -> None:
    source = write_export(tmp_path / "x.xml", A=(None, "a"))
    fetch(lake, source, list_and_cut(lake, source))
    assert list_and_cut(lake, source) == []
    store_seeds(lake, source, None)
    assert list_and_cut(lake, source) == []
    write_export(tmp_path / "x.xml", A=(None, "changed"))
    assert fetch(lake, source, list_and_cut(lake, source)) == {"A": "changed"}
    assert list_and_cut(lake, source) == []


def test_an_export_from_the_future_is_not_read_for_ever(lake: Lake, tmp_path: Path) -> None:
    source = write_export(tmp_path / "x.xml", A=(None, "a"))
    os.utime(source.origin, (4e9, 4e9))
    fetch(lake, source, list_and_cut(lake, source))
    assert list_and_cut(lake, source) == []


def test_pages_that_moved_within_a_replaced_export_come_back_with_their_new_place(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holocron_assets.lake.attempts.DELAYS", (LONG_AGO - LONG_AGO,))
    source = write_export(tmp_path / "x.xml", A=(1, "a"), Gone=(2, "g"))
    batches = list_and_cut(lake, source)
    write_export(tmp_path / "x.xml", New=(3, "n"), A=(1, "a"))
    assert fetch(lake, source, batches) == {
        "A": "A: the export has changed since it was listed: 'New' has its place now",
        "Gone": "Gone: the export has changed since it was listed: 'A' has its place now",
    }
    assert fetch(lake, source, list_and_cut(lake, source)) == {"New": "n", "A": "a"}
    assert statuses(lake, source) == {"New": "done", "A": "done", "Gone": "skipped"}


def test_a_dump_that_moved_is_read_where_it_is_now(lake: Lake, tmp_path: Path) -> None:
    source = write_export(tmp_path / "old.xml", A=(1, "a"))
    batches = list_and_cut(lake, source)
    moved = Path(source.origin).rename(tmp_path / "new.xml")
    assert fetch(lake, dump_source(moved, batch_size=2), batches) == {"A": "a"}


def test_requests_name_the_project_and_the_contact_and_are_recorded_under_the_batch(lake: Lake) -> None:
    put_seeds(lake, "A")
    put_manifest(lake, "wiki-000001", "A")
    with small_wiki({"A": "text"}) as wiki:
        contact = Politeness(contact="ann@example.org", requests_per_second=100.0)
        assert fetch(lake, source_of_wiki(wiki, politeness=contact), ["wiki-000001"]) == {"A": "text"}
        (request,) = wiki.fake.requests
    assert request.headers["User-Agent"] == f"Holocron/{version('holocron-assets')} (ann@example.org)"
    robots, row = read_partition(lake, HTTP_ATTEMPTS, "wiki-000001")
    assert (row["source"], row["scope"], row["titles"], row["outcome"]) == ("wiki", "wiki-000001", 1, "ok")
    assert (robots["url"], robots["status"]) == (f"http://{wiki.fake.host}/robots.txt", 404)
