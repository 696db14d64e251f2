"""Listing what a source starts from: named titles, categories, all pages, or a dump."""

import gzip
import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from crawl_rows import dump_source, put_site
from small_wiki import SmallWiki, asking, small_wiki, source_of_wiki

from holocron_assets.crawl.changes.revision_check import start_pass
from holocron_assets.crawl.dumps.export import DumpError
from holocron_assets.crawl.errors import WikiRefused, WikiUnavailable
from holocron_assets.crawl.frontier.pending import pending_pages
from holocron_assets.crawl.sources.seeds import (
    SeedListing,
    load_site,
    seeds_are_stale,
    seeds_are_usable,
    store_seeds,
    store_site,
)
from holocron_assets.crawl.sources.source import Seeds, Source
from holocron_assets.crawl.sources.wiki_seeds import asked_before_listing
from holocron_assets.errors import PermanentError
from holocron_assets.lake.files.parquet import MissingPartitionError, read_partition
from holocron_assets.lake.journals.journal import Journal
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import SEED_TITLES

HOUR = timedelta(hours=1)
PAGES = ["A", "B", "C", "D", "E"]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


@pytest.fixture
def wiki() -> Iterator[SmallWiki]:
    with small_wiki(PAGES) as wiki:
        yield wiki


def listed(lake: Lake, source: Source) -> SeedListing:
    put_site(lake, source.name)
    with asking(lake, source) as client:
        return store_seeds(lake, source, client)


def origins(lake: Lake, name: str = "wiki") -> dict[str, str]:
    return {row["title"]: row["origin"] for row in read_partition(lake, SEED_TITLES, name)}


def break_after(wiki: SmallWiki, requests: int) -> None:
    """Serve so many more requests; then nothing."""
    last = len(wiki.fake.requests) + requests
    wiki.refuses = lambda _: len(wiki.fake.requests) > last


# Wikis.


def test_titles_categories_and_all_pages_are_listed_each_title_once_by_its_first_origin(
    lake: Lake, wiki: SmallWiki
) -> None:
    seeds = Seeds(titles=("a", "A", "new#Part", "Template:T"), categories=("Moons",), all_pages=False)
    listing = listed(lake, source_of_wiki(wiki, seeds=seeds))
    assert listing.problem is None
    assert origins(lake) == {
        "A": "title",
        "New": "title",
        "Template:T": "title",
        **dict.fromkeys("BCDE", "category:Moons"),
    }
    assert wiki.listings()[0]["cmtitle"] == "Category:Moons"


def test_all_pages_are_those_of_each_namespace_redirects_too(lake: Lake, wiki: SmallWiki) -> None:
    listed(lake, source_of_wiki(wiki, seeds=Seeds(all_pages=True), namespaces=(0, 14)))
    assert origins(lake) == dict.fromkeys(PAGES, "all_pages")
    assert {request["apnamespace"] for request in wiki.listings()} == {"0", "14"}
    assert not any("apfilterredir" in request for request in wiki.listings())


@pytest.mark.parametrize("category", ["Moons", "Category:Moons", "category:moons"])
def test_a_category_may_be_named_with_or_without_its_prefix(
    lake: Lake, wiki: SmallWiki, category: str
) -> None:
    listed(lake, source_of_wiki(wiki, seeds=Seeds(categories=(category,))))
    assert wiki.listings()[0]["cmtitle"] == "Category:Moons"


def test_an_empty_wiki_has_no_seeds_nothing_pending_and_no_error(lake: Lake) -> None:
    with small_wiki([]) as wiki:
        source = source_of_wiki(wiki, seeds=Seeds(all_pages=True))
        listing = listed(lake, source)
    assert (listing.footer.rows, listing.problem) == (0, None)
    assert not seeds_are_stale(lake, source)
    assert pending_pages(lake, source, limit=9) == []


def test_a_seed_that_is_no_title_is_named_and_the_others_are_kept(lake: Lake, wiki: SmallWiki) -> None:
    listing = listed(lake, source_of_wiki(wiki, seeds=Seeds(titles=("A", "B|C", "../x"))))
    assert list(origins(lake)) == ["A"]
    assert listing.problem is not None
    assert "source 'wiki', seed of title: 'B|C' is not a page title" in listing.problem
    assert "'../x' is not a page title" in listing.problem


def test_a_category_that_cannot_be_called_so_is_refused_naming_source_and_category(
    lake: Lake, wiki: SmallWiki
) -> None:
    with pytest.raises(PermanentError, match=r"source 'wiki', seed category: 'A\[B\]' is not a page title"):
        listed(lake, source_of_wiki(wiki, seeds=Seeds(categories=("A[B]",))))


def test_without_the_wikis_title_rules_nothing_is_listed(lake: Lake) -> None:
    with pytest.raises(MissingPartitionError, match="sites"):
        load_site(lake, "wiki")


def test_a_listing_that_was_cut_short_goes_on_where_it_was(
    lake: Lake, wiki: SmallWiki, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holocron_assets.crawl.http.polite_requests._MOST_TRIES", 1)
    source = source_of_wiki(wiki, seeds=Seeds(titles=("Z",), categories=("Moons",), all_pages=True))
    wiki.failure = 500
    # a category of 3 requests is whole, and the first request of all pages was answered
    break_after(wiki, 4)
    with pytest.raises(Exception, match="HTTP 500"):
        listed(lake, source)
    assert not lake.has(SEED_TITLES, "wiki")
    wiki.refuses = lambda _: False
    wiki.fake.requests.clear()
    listed(lake, source)
    assert [(request["list"], request.get("place")) for request in wiki.listings()] == [
        ("allpages", "2"),
        ("allpages", "4"),
    ]
    assert origins(lake) == {"Z": "title", **dict.fromkeys(PAGES, "category:Moons")}
    assert not lake.journal(SEED_TITLES, "wiki").exists()


def test_a_listing_for_other_settings_starts_anew(lake: Lake, wiki: SmallWiki) -> None:
    source = source_of_wiki(wiki, seeds=Seeds(categories=("Moons",)))
    journal_of(
        lake, {"listing": {"settings": "others"}}, {"list": "category:Moons", "titles": ["Old"], "next": None}
    )
    listed(lake, source)
    assert list(origins(lake)) == PAGES


def test_a_journal_without_its_beginning_is_thrown_away(lake: Lake, wiki: SmallWiki) -> None:
    journal_of(lake, {"list": "category:Moons", "titles": ["Old"], "next": None})
    listed(lake, source_of_wiki(wiki, seeds=Seeds(categories=("Moons",))))
    assert list(origins(lake)) == PAGES


def test_a_place_that_the_wiki_does_not_know_any_more_does_not_keep_the_listing_from_starting_anew(
    lake: Lake, wiki: SmallWiki
) -> None:
    source = source_of_wiki(wiki, seeds=Seeds(all_pages=True))
    break_after(wiki, 1)
    with pytest.raises(WikiRefused):
        listed(lake, source)
    wiki.refuses = lambda _: False
    listed(lake, source)
    assert list(origins(lake)) == PAGES
    assert [request.get("place") for request in wiki.listings()[2:]] == [None, "2", "4"]


def broken_off(lake: Lake, wiki: SmallWiki, source: Source) -> None:
    """List the first two of all pages; then the wiki stops answering."""
    wiki.failure = 500
    break_after(wiki, 1)
    with pytest.raises(WikiUnavailable, match="HTTP 500"):
        listed(lake, source)
    wiki.refuses = lambda _: False
    wiki.fake.requests.clear()


def test_a_listing_that_began_before_a_check_of_all_pages_starts_anew(
    lake: Lake, wiki: SmallWiki, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holocron_assets.crawl.http.polite_requests._MOST_TRIES", 1)
    source = source_of_wiki(wiki, seeds=Seeds(all_pages=True))
    broken_off(lake, wiki, source)
    start_pass(lake, "wiki", "gap", utc_now())
    listed(lake, source)
    assert [request.get("place") for request in wiki.listings()] == [None, "2", "4"]


def test_a_killed_listing_whose_titles_were_written_is_not_written_again(
    lake: Lake, wiki: SmallWiki, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = source_of_wiki(wiki, seeds=Seeds(all_pages=True))
    with monkeypatch.context() as killed:
        killed.setattr(Journal, "remove", lambda _: None)
        listed(lake, source)
    assert lake.journal(SEED_TITLES, "wiki").exists()
    wiki.pages = {**wiki.pages, "F": "text"}
    listed(lake, source)
    assert list(origins(lake)) == [*PAGES, "F"]


def test_changes_count_from_the_beginning_of_a_listing_that_was_cut_short(
    lake: Lake, wiki: SmallWiki, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holocron_assets.crawl.http.polite_requests._MOST_TRIES", 1)
    source = source_of_wiki(wiki, seeds=Seeds(all_pages=True))
    first = utc_now() - timedelta(days=1)
    put_site(lake, fetched_at=first, wiki_time=first + HOUR)
    with asking(lake, source) as client:
        wiki.failure = 500
        break_after(wiki, 1)
        with pytest.raises(WikiUnavailable):
            store_seeds(lake, source, client)
    wiki.refuses = lambda _: False
    put_site(lake, fetched_at=utc_now(), wiki_time=utc_now() + HOUR)
    assert asked_before_listing(lake, "wiki") != (first, first + HOUR), "nothing is listed yet"
    with asking(lake, source) as client:
        store_seeds(lake, source, client)
    assert asked_before_listing(lake, "wiki") == (first, first + HOUR)


def journal_of(lake: Lake, *records: dict[str, Any]) -> None:
    with Journal(lake.journal(SEED_TITLES, "wiki")) as journal:
        for record in records:
            journal.append(record)


def test_seeds_are_stale_until_listed_and_when_settings_that_matter_change(
    lake: Lake, wiki: SmallWiki
) -> None:
    source = source_of_wiki(wiki)
    assert seeds_are_stale(lake, source)
    listed(lake, source)
    assert not seeds_are_stale(lake, source)
    assert not seeds_are_stale(
        lake, source.model_copy(update={"depth": 2, "batch_size": 7, "enabled": False})
    )
    assert seeds_are_stale(lake, source.model_copy(update={"seeds": Seeds(titles=("B",))}))
    assert seeds_are_stale(lake, source.model_copy(update={"namespaces": (0, 1)}))


# Dumps.


def page(title: str, revision: int | None = None, namespace: int = 0) -> str:
    identity = f"<id>{revision}</id>" if revision else ""
    return (
        f"<page><title>{title}</title><ns>{namespace}</ns><revision>{identity}"
        "<timestamp>2026-01-01T00:00:00Z</timestamp><text>text</text></revision></page>"
    )


def write_export(path: Path, *pages: str, end: str = "</mediawiki>") -> Source:
    path.write_text(f"<mediawiki>{''.join(pages)}{end}", encoding="utf-8")
    return dump_source(path)


def listed_dump(lake: Lake, source: Source) -> SeedListing:
    store_site(lake, source, None)
    return store_seeds(lake, source, None)


def held(lake: Lake) -> dict[str, tuple[int, int | None]]:
    rows = read_partition(lake, SEED_TITLES, "dump")
    return {row["title"]: (row["ordinal"], row["revision_id"]) for row in rows}


def test_a_dump_lists_the_pages_of_its_namespaces_with_place_and_revision(lake: Lake, tmp_path: Path) -> None:
    source = write_export(tmp_path / "x.xml", page("A", 5), page("Template:T", 6, 10), page("B"))
    assert listed_dump(lake, source).problem is None
    assert held(lake) == {"A": (0, 5), "B": (2, None)}


@pytest.mark.parametrize("order", [(7, 9), (9, 7)])
def test_of_two_pages_with_one_title_the_newest_revision_is_kept(
    lake: Lake, tmp_path: Path, order: tuple[int, int]
) -> None:
    listed_dump(lake, write_export(tmp_path / "x.xml", *(page("A", revision) for revision in order)))
    assert held(lake) == {"A": (order.index(9), 9)}


def test_a_dump_that_breaks_off_keeps_the_pages_before_and_says_where(lake: Lake, tmp_path: Path) -> None:
    source = write_export(tmp_path / "cut.xml", page("A", 1), page("B", 2), end="<page><title>C</ti")
    listing = listed_dump(lake, source)
    assert held(lake) == {"A": (0, 1), "B": (1, 2)}
    assert listing.problem is not None
    assert "cut.xml" in listing.problem
    assert "'B'" in listing.problem
    assert seeds_are_usable(lake, source), "the pages before the break are crawled"
    assert seeds_are_stale(lake, source), "each run says so again, until the file is repaired"
    write_export(tmp_path / "cut.xml", page("A", 1), page("B", 2), page("C", 3))
    assert seeds_are_stale(lake, source)


def test_a_compressed_dump_that_breaks_off_is_no_different(lake: Lake, tmp_path: Path) -> None:
    path = tmp_path / "cut.xml.gz"
    packed = gzip.compress(f"<mediawiki>{page('A', 1)}{'<!-- ' + os.urandom(50_000).hex() + ' -->'}".encode())
    path.write_bytes(packed[:-20_000])
    assert listed_dump(lake, dump_source(path)).problem is not None
    assert held(lake) == {"A": (0, 1)}


@pytest.mark.parametrize("content", ["", "<html>no export</html>", "<mediawiki><page><title>A", "{}"])
def test_a_dump_without_any_page_before_its_break_is_an_error_and_lists_nothing(
    lake: Lake, tmp_path: Path, content: str
) -> None:
    path = tmp_path / "empty.xml"
    path.write_text(content)
    put_site(lake, "dump")
    with pytest.raises(DumpError, match=r"empty\.xml"):
        store_seeds(lake, dump_source(path), None)
    assert not lake.has(SEED_TITLES, "dump")


def test_a_dump_of_an_empty_wiki_is_no_error(lake: Lake, tmp_path: Path) -> None:
    source = write_export(tmp_path / "x.xml")
    assert listed_dump(lake, source).footer.rows == 0
    assert pending_pages(lake, source, limit=9) == []


def test_a_dump_that_may_not_be_looked_at_is_stale_as_a_missing_one_and_named_when_it_is_read(
    lake: Lake, tmp_path: Path
) -> None:
    source = dump_source(tmp_path / ("x" * 300))  # no file system has such a name
    assert seeds_are_stale(lake, source)
    with pytest.raises(DumpError, match="xxx"):
        listed_dump(lake, source)


def test_a_missing_dump_is_an_error_and_stale_until_it_was_listed_once(lake: Lake, tmp_path: Path) -> None:
    source = write_export(tmp_path / "x.xml", page("A", 1))
    Path(source.origin).unlink()
    assert seeds_are_stale(lake, source)
    with pytest.raises(DumpError, match=r"x\.xml"):
        listed_dump(lake, source)
    listed_dump(lake, write_export(tmp_path / "x.xml", page("A", 1)))
    Path(source.origin).unlink()
    assert not seeds_are_stale(lake, source)
    write_export(tmp_path / "x.xml", page("A", 1), page("B", 1))
    assert seeds_are_stale(lake, source)
