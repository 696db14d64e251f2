"""Lists of pages: titles and addresses are read, and each line that names no page of the wiki is named."""

from pathlib import Path
from typing import Any

import pytest
from crawl_rows import LONG_AGO, dump_source, put_site, wiki_source

from holocron_assets.crawl.frontier.batches import cut_new_titles, manifest
from holocron_assets.crawl.sources.lists import ListError
from holocron_assets.crawl.sources.title_lists import read_title_list, title_of_address
from holocron_assets.errors import PermanentError
from holocron_assets.lake.files.parquet import read_partition, write_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGES, SITES
from holocron_assets.lake.titles import DEFAULT_SITE

BASE = "https://wiki.example.org/wiki/Main_Page"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path / "data")


def site(lake: Lake, base_url: str | None = BASE, article_path: str | None = None) -> dict[str, Any]:
    put_site(lake, base_url=base_url, article_path=article_path)
    (row,) = read_partition(lake, SITES, "wiki")
    return row


def titles(lake: Lake, path: Path) -> list[str]:
    return [page.title for page in read_title_list(path, wiki_source(), site(lake))]


def test_titles_and_addresses_of_json_lines_are_read_and_each_page_counts_once(
    lake: Lake, tmp_path: Path
) -> None:
    path = tmp_path / "list.jsonl"
    path.write_text(
        '"luke Skywalker"\n\n{"title": "Talk:Han_Solo#Life"}\n{"url": "Leia"}\n'
        '"https://wiki.example.org/wiki/Luke_Skywalker?action=raw#Life"\n'
        '"http://WIKI.example.org/w/index.php?title=Caf%C3%A9"\n',
        encoding="utf-8",
    )
    assert titles(lake, path) == ["Luke Skywalker", "Talk:Han Solo", "Leia", "Café"]


def test_a_table_with_a_column_of_titles_is_read(lake: Lake, tmp_path: Path) -> None:
    path = tmp_path / "list.csv"
    path.write_text("note,title\nx,Han Solo\ny,Leia\n", encoding="utf-8")
    assert titles(lake, path) == ["Han Solo", "Leia"]


def test_of_many_bad_lines_the_first_twenty_are_named(lake: Lake, tmp_path: Path) -> None:
    path = tmp_path / "list.jsonl"
    path.write_text('"a|b"\n' * 25, encoding="utf-8")
    with pytest.raises(ListError) as caught:
        titles(lake, path)
    assert "line 20: " in str(caught.value)
    assert "line 21: " not in str(caught.value)
    assert "and 5 more. Nothing was added" in str(caught.value)


@pytest.mark.parametrize(
    ("base", "address", "title"),
    [
        (BASE, "https://wiki.example.org/wiki/A/B", "A/B"),
        ("http://127.0.0.1:1/index.php/Main_Page", "http://127.0.0.1:1/index.php/A%3FB", "A?B"),
        ("http://127.0.0.1:1/index.php?title=Main", "http://127.0.0.1:1/index.php?title=A_B", "A_B"),
        (None, "http://127.0.0.1:1/index.php?title=A", "A"),
        (BASE, "https://wiki.example.org:443/wiki/A", "A"),
        (BASE, "http://wiki.example.org:80/wiki/A", "A"),
        (BASE, "https://wiki.example.org/wiki/Index.php", "Index.php"),
    ],
)
def test_an_address_gives_its_title_however_the_wiki_writes_its_addresses(
    lake: Lake, base: str | None, address: str, title: str
) -> None:
    assert title_of_address(address, wiki_source(), site(lake, base)) == title


@pytest.mark.parametrize("base", ["https://wiki.example.org/", "https://wiki.example.org/wiki/A/Main_Page"])
def test_the_path_that_a_wiki_states_counts_wherever_its_main_page_is(lake: Lake, base: str) -> None:
    known = site(lake, base, "/wiki/$1")
    assert title_of_address("https://wiki.example.org/wiki/A_B/C", wiki_source(), known) == "A_B/C"
    for path in ("/other/A", "/wiki/"):
        with pytest.raises(ListError, match="has no title"):
            title_of_address(f"https://wiki.example.org{path}", wiki_source(), known)


def test_only_title_gives_a_title_on_a_wiki_without_a_path_of_pages(lake: Lake) -> None:
    known, index = site(lake, BASE, "/index.php?title=$1"), "https://wiki.example.org/index.php"
    assert title_of_address(f"{index}?title=A", wiki_source(), known) == "A"
    with pytest.raises(ListError, match="has no title"):
        title_of_address("https://wiki.example.org/wiki/A", wiki_source(), known)


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("https://other.example.org/wiki/A", "no page of source 'wiki', whose pages are on 127.0.0.1:1 or"),
        ("https://wiki.example.org/other/A", "has no title"),
        ("https://wiki.example.org/wiki/", "has no title"),
        ("http://127.0.0.1:1/api.php", "has no title"),
        ("https://wiki.example.org:444/wiki/A", "no page of source 'wiki'"),
        ("https://[wiki.example.org/wiki/A", "is no address"),
        ("https://wiki.example.org:x/wiki/A", "is no address"),
    ],
)
def test_an_address_of_no_page_is_named(lake: Lake, address: str, problem: str) -> None:
    with pytest.raises(ListError, match=problem):
        title_of_address(address, wiki_source(), site(lake))


def test_a_script_in_the_folder_of_pages_has_no_title(lake: Lake) -> None:
    known = site(lake, "http://127.0.0.1:1/Main_Page", "/$1")
    with pytest.raises(ListError, match="has no title"):
        title_of_address("http://127.0.0.1:1/index.php", wiki_source(), known)
    assert title_of_address("http://127.0.0.1:1/Help/Index.php", wiki_source(), known) == "Help/Index.php"


def test_an_address_that_cannot_be_read_is_named_with_its_line(lake: Lake, tmp_path: Path) -> None:
    path = tmp_path / "list.jsonl"
    path.write_text('"A"\n"https://[wiki.example.org/wiki/B"\n', encoding="utf-8")
    with pytest.raises(ListError, match=r"line 2: 'https://\[wiki.example.org/wiki/B' is no address"):
        titles(lake, path)


def test_a_list_that_grew_cuts_its_new_pages_and_names_the_batches_that_are_not_fetched(lake: Lake) -> None:
    source, pages = wiki_source(batch_size=2), [DEFAULT_SITE.parse_title(name) for name in "ABCDE"]
    first = cut_new_titles(lake, source, pages[:4], now=LONG_AGO)
    assert (first.new, first.known, first.batches) == (4, 0, ["wiki-000001", "wiki-000002"])
    write_partition(lake, PAGES, "wiki-000001", [])
    again = cut_new_titles(lake, source, pages, now=LONG_AGO)
    assert (again.new, again.known, again.batches) == (1, 4, ["wiki-000003", "wiki-000002"])
    assert [row["title"] for row in manifest(lake, "wiki-000003")] == ["E"]


def test_a_list_of_pages_of_an_export_is_refused(lake: Lake, tmp_path: Path) -> None:
    with pytest.raises(PermanentError, match="'dump' is a dump"):
        cut_new_titles(lake, dump_source(tmp_path / "x.xml"), [], now=LONG_AGO)
