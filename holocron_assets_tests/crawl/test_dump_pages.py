"""Pages of an export as rows of table `pages`, and back."""

from datetime import UTC, datetime
from hashlib import sha1
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest
from dump_pages import exported_page, read_pages
from hypothesis import example, given
from hypothesis import strategies as st

from holocron_assets.crawl.dumps.export import DumpPage
from holocron_assets.crawl.dumps.pages import page_row
from holocron_assets.crawl.mediawiki import pages as api_pages
from holocron_assets.crawl.page_rows import Asked
from holocron_assets.lake.declaration.keys import content_hash, title_key
from holocron_assets.lake.tables import PAGES

FETCHED_AT = datetime(2026, 11, 21, 12, tzinfo=UTC)
SAMPLE = Path(__file__).parents[2] / "data" / "sample" / "wiki.xml"
TEXT = "Gr\u00fc\u00dfe [[Ilum]]"
SHA1 = sha1(TEXT.encode()).hexdigest()  # noqa: S324 - as MediaWiki names texts
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def asked(title: str) -> Asked:
    return Asked(
        source="sample",
        batch="sample-000001",
        position=3,
        requested_title=title,
        depth=1,
        discovered_from="Home",
        fetched_at=FETCHED_AT,
        run_id="run",
    )


def extract(text: str, **_flags: bool) -> tuple[list[str], list[str], str | None]:
    return [f"Linked from {len(text)} characters", "Other", "Other"], ["Ice: worlds"], "Target"


def page_of(folder: Path, inside: str) -> DumpPage:
    path = folder / "wiki.xml"
    path.write_text(f"<mediawiki>{inside}</mediawiki>", encoding="utf-8")
    (page,) = read_pages(path)
    return page


def page_xml(revision: str = "", *, text: str = TEXT, more: str = "") -> str:
    return (
        f"<page><title>Home</title><ns>0</ns><id>5</id>{more}<revision><id>77</id><parentid>70</parentid>"
        f"<timestamp>2026-01-02T03:04:05Z</timestamp>{revision}<text>{escape(text)}</text></revision></page>"
    )


def row_of(page: DumpPage | None, title: str = "Home") -> dict[str, Any]:
    row = page_row(page, asked(title), extract)
    PAGES.to_arrow([row], "sample-000001")
    assert row.keys() == {column.name for column in PAGES.columns}
    return row


def in_base36(number: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = DIGITS[digit] + digits
    return digits.rjust(31, "0")


def test_a_page_becomes_a_row_with_all_its_facts(tmp_path: Path) -> None:
    row = row_of(page_of(tmp_path, page_xml("<model>wikitext</model>")))
    expected = {
        "source": "sample",
        "batch": "sample-000001",
        "position": 3,
        "requested_title": "Home",
        "requested_key": title_key("sample", "Home"),
        "title": "Home",
        "title_key": title_key("sample", "Home"),
        "namespace": 0,
        "page_id": 5,
        "revision_id": 77,
        "revision_at": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        "sha1": SHA1,
        "content_hash": content_hash(TEXT),
        "content_model": "wikitext",
        "wikitext": TEXT,
        "size_bytes": 16,
        "categories": ["Ice: worlds"],
        "links": ["Linked from 14 characters", "Other"],
        "redirect_target": "Target",
        "status": "ok",
        "http_status": None,
        "attempts": 1,
        "error": None,
        "due_at": None,
        "fetched_at": FETCHED_AT,
        "depth": 1,
        "discovered_from": "Home",
        "run_id": "run",
    }
    assert {name: row[name] for name in expected} == expected


def test_the_same_page_makes_the_same_row_as_the_api(tmp_path: Path) -> None:
    slot = {"contentmodel": "wikitext", "contentformat": "text/x-wiki", "content": TEXT}
    from_api = api_pages.page_row(
        {
            "pageid": 5,
            "ns": 0,
            "title": "Home",
            "redirect": True,
            "revisions": [
                {"revid": 77, "timestamp": "2026-01-02T03:04:05Z", "sha1": SHA1, "slots": {"main": slot}}
            ],
            "categories": [{"ns": 14, "title": "Category:Ice: worlds"}],
        },
        asked("Home"),
        extract,
    )
    from_dump = row_of(page_of(tmp_path, page_xml("<model>wikitext</model>")))
    assert from_dump | {"payload": None} == from_api | {"payload": None}


@given(st.integers(0, 2**160 - 1))
@example(0)
@example(2**160 - 1)
def test_a_stated_sha1_is_written_in_hexadecimal(
    tmp_path_factory: pytest.TempPathFactory, number: int
) -> None:
    page = page_of(tmp_path_factory.mktemp("any"), page_xml(f"<sha1>{in_base36(number)}</sha1>"))
    assert row_of(page)["sha1"] == f"{number:040x}"


@pytest.mark.parametrize("stated", ["", "<sha1/>", "<sha1>not a hash</sha1>", f"<sha1>{'z' * 32}</sha1>"])
def test_a_sha1_that_is_missing_or_none_is_computed(tmp_path: Path, stated: str) -> None:
    assert row_of(page_of(tmp_path, page_xml(stated)))["sha1"] == SHA1


def test_the_exports_own_redirect_target_wins(tmp_path: Path) -> None:
    page = page_of(tmp_path, page_xml(more='<redirect title="Endor" />'))
    assert row_of(page)["redirect_target"] == "Endor"


def test_links_are_not_read_out_of_what_is_not_wikitext(tmp_path: Path) -> None:
    row = row_of(page_of(tmp_path, page_xml("<model>Scribunto</model>")))
    assert (row["links"], row["categories"], row["redirect_target"]) == ([], [], None)
    assert (row["status"], row["wikitext"], row["content_model"]) == ("ok", TEXT, "Scribunto")


def test_an_empty_page_is_a_page(tmp_path: Path) -> None:
    row = row_of(page_of(tmp_path, page_xml(text="")))
    assert (row["status"], row["wikitext"], row["size_bytes"]) == ("ok", "", 0)


def test_a_page_whose_text_was_deleted_is_dead_and_says_so(tmp_path: Path) -> None:
    row = row_of(page_of(tmp_path, page_xml().replace(f"<text>{TEXT}", '<text deleted="deleted">')))
    assert row["status"] == "dead"
    assert row["error"].startswith("Home: the text of its revision was deleted")
    assert (row["wikitext"], row["sha1"], row["revision_id"]) == (None, None, 77)


def test_a_page_without_a_title_is_invalid_and_keeps_its_text(tmp_path: Path) -> None:
    page = page_of(tmp_path, page_xml().replace("<title>Home</title>", ""))
    row = row_of(page, page.title)
    assert (row["status"], row["wikitext"]) == ("invalid", TEXT)
    assert row["error"] == "<untitled page 0>: it has no <title>"


def test_a_page_that_is_no_longer_where_it_was_listed_fails_and_can_come_back(tmp_path: Path) -> None:
    row = row_of(page_of(tmp_path, page_xml()), "Endor")
    assert (row["status"], row["title"], row["wikitext"]) == ("failed", "Endor", None)
    assert "the export has changed since it was listed: 'Home' has its place now" in row["error"]
    assert "the export ends before it now" in row_of(None)["error"]


@pytest.mark.parametrize(
    "inside",
    [
        page_xml("<model>wikitext</model><contributor><ip>192.0.2.1</ip></contributor>"),
        page_xml(text="", more='<redirect title="Endor" />'),
        page_xml().replace("<ns>0</ns>", "").replace("Home", "talk:home_page"),
        page_xml().replace("<title>Home</title>", ""),
        page_xml().replace(f"<text>{TEXT}", '<text deleted="deleted">'),
        "<page><title>Home</title></page>",
        "<page/>",
    ],
)
def test_the_page_comes_back_from_its_row(tmp_path: Path, inside: str) -> None:
    page = page_of(tmp_path, inside)
    row = row_of(page, page.title)
    assert TEXT not in row["payload"]
    (stored,) = PAGES.to_arrow([row], "sample-000001").to_pylist()
    assert exported_page(stored) == page


def test_every_page_of_the_sample_comes_back_from_its_row() -> None:
    for page in read_pages(SAMPLE):
        assert exported_page(row_of(page, page.title)) == page


@given(
    st.text(st.characters(min_codepoint=32, exclude_categories=["Cs"], exclude_characters="\x7f\ufffe\uffff"))
)
def test_any_text_is_stored_and_comes_back_unchanged(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    page = page_of(tmp_path_factory.mktemp("any"), page_xml(text=text))
    row = row_of(page)
    assert (row["wikitext"], row["size_bytes"]) == (text, len(text.encode()))
    assert row["sha1"] == sha1(text.encode()).hexdigest()  # noqa: S324 - as MediaWiki names texts
    assert exported_page(row) == page
