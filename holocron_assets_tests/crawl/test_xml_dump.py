"""XML exports as MediaWiki writes them, in every schema: what is read from them."""

import bz2
import gzip
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

import pytest
from dump_pages import list_pages, read_pages
from hypothesis import example, given
from hypothesis import strategies as st

from holocron_assets.crawl.dumps.export import DumpPage, ListedPage, read_site
from holocron_assets.lake.tables import SITES

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

SAMPLE = Path(__file__).parents[2] / "data" / "sample" / "wiki.xml"

SITE_INFO = """\
<siteinfo>
  <sitename>Das Wiki</sitename>
  <dbname>daswiki</dbname>
  <base>https://wiki.example.org/wiki/Hauptseite</base>
  <generator>MediaWiki 1.39.17</generator>
  <case>{case}</case>
  <namespaces>
    <namespace key="-2" case="first-letter">Medium</namespace>
    <namespace key="0" case="{case}" />
    <namespace key="10" case="first-letter">Vorlage</namespace>
    <namespace key="14" case="first-letter">Kategorie</namespace>
    <namespace key="110" case="first-letter">Forum</namespace>
  </namespaces>
</siteinfo>
"""

FULL_PAGE = """\
<page>
  <title>Kategorie:Monde</title>
  <ns>14</ns>
  <id>7</id>
  <redirect title="Kategorie:Trabanten" />
  <revision>
    <id>93</id>
    <parentid>92</parentid>
    <timestamp>2022-02-25T10:21:38Z</timestamp>
    <contributor><username>Pondweed</username><id>11</id></contributor>
    <minor />
    <comment>moved</comment>
    <origin>93</origin>
    <model>wikitext</model>
    <format>text/x-wiki</format>
    <text bytes="37" sha1="abc" xml:space="preserve">#REDIRECT [[:Kategorie:Trabanten]]
</text>
    <sha1>phoiac9h4m842xq45sp7s6u21eteeq1</sha1>
  </revision>
</page>
"""


def export(*pages: str, schema: str = "0.11", site_info: str = "") -> str:
    return (
        f'<mediawiki xmlns="http://www.mediawiki.org/xml/export-{schema}/" version="{schema}">\n'
        f"{site_info}{''.join(pages)}</mediawiki>\n"
    )


def page_xml(title: str, text: str = "text", *, namespace: int | None = 0, page_id: int | None = None) -> str:
    ns = "" if namespace is None else f"<ns>{namespace}</ns>"
    number = "" if page_id is None else f"<id>{page_id}</id>"
    return (
        f"<page><title>{escape(title)}</title>{ns}{number}<revision>"
        f'<timestamp>2022-05-24T00:00:00Z</timestamp><text xml:space="preserve">{escape(text)}</text>'
        "</revision></page>\n"
    )


def saved(folder: Path, text: str, name: str = "wiki.xml") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def only_page(folder: Path, text: str) -> DumpPage:
    (page,) = read_pages(saved(folder, text))
    return page


def test_everything_that_a_page_says_is_read(tmp_path: Path) -> None:
    page = only_page(tmp_path, export(FULL_PAGE, site_info=SITE_INFO.format(case="first-letter")))
    assert (page.ordinal, page.title, page.namespace, page.page_id) == (0, "Kategorie:Monde", 14, 7)
    assert page.redirect_title == "Kategorie:Trabanten"
    assert page.revision_id == 93
    assert page.timestamp == datetime(2022, 2, 25, 10, 21, 38, tzinfo=UTC)
    assert page.sha1 == "phoiac9h4m842xq45sp7s6u21eteeq1"
    assert page.model == "wikitext"
    assert page.text == "#REDIRECT [[:Kategorie:Trabanten]]\n"
    assert (page.status, page.error) == ("ok", None)


def test_elements_are_kept_whole_but_for_the_text(tmp_path: Path) -> None:
    page = only_page(tmp_path, export(FULL_PAGE, site_info=SITE_INFO.format(case="first-letter")))
    assert page.elements == {
        "title": "Kategorie:Monde",
        "ns": "14",
        "id": "7",
        "redirect": {"@title": "Kategorie:Trabanten"},
        "revision": {
            "id": "93",
            "parentid": "92",
            "timestamp": "2022-02-25T10:21:38Z",
            "contributor": {"username": "Pondweed", "id": "11"},
            "minor": "",
            "comment": "moved",
            "origin": "93",
            "model": "wikitext",
            "format": "text/x-wiki",
            "sha1": "phoiac9h4m842xq45sp7s6u21eteeq1",
            "text": {"@bytes": "37", "@sha1": "abc", "@space": "preserve", "#text": None},
        },
    }


@pytest.mark.parametrize("schema", ["0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "0.10", "0.11"])
def test_every_schema_is_read(tmp_path: Path, schema: str) -> None:
    pages = list(read_pages(saved(tmp_path, export(page_xml("A"), page_xml("B"), schema=schema))))
    assert [(page.ordinal, page.title, page.text) for page in pages] == [(0, "A", "text"), (1, "B", "text")]


def test_an_export_without_xml_namespace_or_with_a_prefix_is_read(tmp_path: Path) -> None:
    bare = export(page_xml("A")).replace(' xmlns="http://www.mediawiki.org/xml/export-0.11/"', "")
    assert only_page(tmp_path, bare).title == "A"
    prefixed = (
        '\ufeff<?xml version="1.0"?>\n<!-- made by hand -->\n<m:mediawiki xmlns:m="http://x/"><m:page>'
        "<m:title>B</m:title><m:revision><m:text>t</m:text></m:revision></m:page></m:mediawiki>"
    )
    page = only_page(tmp_path, prefixed)
    assert (page.title, page.text) == ("B", "t")


def test_ids_may_be_missing_or_senseless(tmp_path: Path) -> None:
    page = only_page(tmp_path, export(page_xml("A")))
    assert (page.page_id, page.revision_id, page.sha1, page.model) == (None, None, None, None)
    huge = export(
        "<page><title>A</title><id>99999999999999999999</id><revision><id>x</id><text/></revision></page>"
    )
    page = only_page(tmp_path, huge)
    assert (page.page_id, page.revision_id, page.status) == (None, None, "ok")


def test_without_an_ns_the_namespace_comes_from_the_title(tmp_path: Path) -> None:
    site_info = SITE_INFO.format(case="first-letter")
    pages = [
        page_xml(title, namespace=None) for title in ("Mond", "Kategorie:Monde", "Forum:Frage", "Duell: Hoth")
    ]
    found = read_pages(saved(tmp_path, export(*pages, schema="0.3", site_info=site_info)))
    assert [page.namespace for page in found] == [0, 14, 110, 0]


def test_titles_are_the_canonical_ones_that_links_meet(tmp_path: Path) -> None:
    pages = export(page_xml("ackbar_(Legends)"), page_xml("Image:x.png", namespace=6), page_xml("W:Hoth"))
    titles = [page.title for page in read_pages(saved(tmp_path, pages))]
    assert titles == ["Ackbar (Legends)", "File:X.png", "W:Hoth"]


def test_a_case_sensitive_wiki_keeps_its_small_letters(tmp_path: Path) -> None:
    text = export(page_xml("iPod"), site_info=SITE_INFO.format(case="case-sensitive"))
    assert only_page(tmp_path, text).title == "iPod"


def test_a_namespace_that_the_export_does_not_list_is_believed(tmp_path: Path) -> None:
    page = only_page(tmp_path, export(page_xml("Portal:Droids", namespace=100)))
    assert (page.title, page.namespace, page.status) == ("Portal:Droids", 100, "ok")


REVISIONS = [("2020-01-01", 5, "second"), ("2021-01-01", 9, "newest"), ("2019-01-01", 7, "first")]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (1, 2, 0)])
def test_of_several_revisions_the_newest_counts_in_any_order(tmp_path: Path, order: tuple[int, ...]) -> None:
    revisions = "".join(
        f"<revision><id>{number}</id><timestamp>{day}T00:00:00Z</timestamp><text>{text}</text></revision>"
        for day, number, text in (REVISIONS[place] for place in order)
    )
    text = export(f"<page><title>A</title><ns>0</ns>{revisions}</page>", page_xml("B"))
    first, second = read_pages(saved(tmp_path, text))
    assert (first.revision_id, first.text) == (9, "newest")
    assert (second.revision_id, second.text) == (None, "text")


def test_a_text_may_be_empty(tmp_path: Path) -> None:
    for empty in ("<text/>", '<text bytes="0" xml:space="preserve" />', "<text></text>"):
        page = only_page(tmp_path, export(f"<page><title>A</title><revision>{empty}</revision></page>"))
        assert (page.text, page.status) == ("", "ok")


def packed_plain(text: str) -> bytes:
    return text.encode()


def packed_gzip(text: str) -> bytes:
    # two members, as several dump tools write them
    middle = len(text) // 2
    return gzip.compress(text[:middle].encode()) + gzip.compress(text[middle:].encode())


def packed_bzip2(text: str) -> bytes:
    return bz2.compress(text.encode())


def packed_zstd(text: str) -> bytes:
    # two frames, as parallel packers write them
    middle = len(text) // 2
    return zstd.compress(text[:middle].encode()) + zstd.compress(text[middle:].encode())


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("wiki.xml", packed_plain),
        ("wiki", packed_plain),
        ("wiki.xml.gz", packed_gzip),
        ("WIKI.XML.GZ", packed_gzip),
        ("wiki.xml.bz2", packed_bzip2),
        ("wiki.xml.zst", packed_zstd),
    ],
)
def test_packed_exports_are_unpacked_on_the_way(
    tmp_path: Path, name: str, pack: Callable[[str], bytes]
) -> None:
    path = tmp_path / name
    path.write_bytes(pack(export(*(page_xml(f"Page {number}") for number in range(2_000)))))
    assert [page.title for page in read_pages(path)] == [f"Page {number}" for number in range(2_000)]


def test_a_slice_of_an_export_is_read_with_its_own_numbers(tmp_path: Path) -> None:
    path = saved(tmp_path, export(*(page_xml(f"Page {number}") for number in range(10))))
    assert [(page.ordinal, page.title) for page in read_pages(path, 3, 5)] == [(3, "Page 3"), (4, "Page 4")]
    assert [page.ordinal for page in read_pages(path, 8)] == [8, 9]
    assert list(read_pages(path, 10)) == []
    assert list(read_pages(path, 4, 4)) == []


def test_nothing_is_read_beyond_the_last_page_wanted(tmp_path: Path) -> None:
    pages = "".join(page_xml(f"Page {number}") for number in range(5_000))
    path = saved(tmp_path, export(pages) + "<broken")
    assert len(list(read_pages(path, 0, 10))) == 10


def test_a_listing_names_every_page_without_its_text(tmp_path: Path) -> None:
    path = saved(tmp_path, export(FULL_PAGE, page_xml("A", page_id=8), "<page></page>"))
    assert list(list_pages(path)) == [
        ListedPage(0, "Kategorie:Monde", 14, 7, 93),
        ListedPage(1, "A", 0, 8, None),
        ListedPage(2, "<untitled page 2>", 0, None, None),
    ]


def test_an_empty_wiki_has_no_pages(tmp_path: Path) -> None:
    path = saved(tmp_path, export())
    assert list(read_pages(path)) == []
    assert read_site(path, "empty")["site_name"] == "empty"


def test_a_site_says_its_name_software_case_and_namespaces(tmp_path: Path) -> None:
    path = saved(tmp_path, export(page_xml("A"), site_info=SITE_INFO.format(case="case-sensitive")))
    site = read_site(path, "wiki")
    SITES.to_arrow([site], "wiki")
    assert (site["source"], site["site_name"], site["title_case"]) == ("wiki", "Das Wiki", "case-sensitive")
    assert site["base_url"] == "https://wiki.example.org/wiki/Hauptseite"
    assert site["generator"] == "MediaWiki 1.39.17"
    assert [(space["id"], space["name"], space["canonical"]) for space in site["namespaces"]] == [
        (-2, "Medium", "Media"),
        (0, "", ""),
        (10, "Vorlage", "Template"),
        (14, "Kategorie", "Category"),
        (110, "Forum", "Forum"),
    ]


def test_a_site_says_the_case_of_each_namespace(tmp_path: Path) -> None:
    info = (
        "<siteinfo><case>case-sensitive</case><namespaces>"
        '<namespace key="0" case="case-sensitive" /><namespace key="2" case="first-letter">User</namespace>'
        '<namespace key="6" case="first-letter">File</namespace><namespace key="10">Template</namespace>'
        "</namespaces></siteinfo>"
    )
    site = read_site(saved(tmp_path, export(page_xml("A"), site_info=info)), "wiki")
    SITES.to_arrow([site], "wiki")
    assert site["case_sensitive_namespaces"] == [0, 10]


def test_without_site_info_a_wiki_is_taken_for_an_english_one(tmp_path: Path) -> None:
    site = read_site(saved(tmp_path, export(page_xml("A"))), "wiki")
    SITES.to_arrow([site], "wiki")
    names = {space["id"]: space["name"] for space in site["namespaces"]}
    assert (names[0], names[1], names[10], names[14]) == ("", "Talk", "Template", "Category")
    assert (site["site_name"], site["title_case"], site["generator"]) == ("wiki", "first-letter", None)
    assert "wikipedia" in site["interwiki_prefixes"]


def test_an_export_in_a_language_without_namespaces_has_those_of_its_language(tmp_path: Path) -> None:
    text = export(page_xml("A")).replace("<mediawiki ", '<mediawiki xml:lang="de-at" ', 1)
    site = read_site(saved(tmp_path, text), "wiki")
    SITES.to_arrow([site], "wiki")
    assert site["language"] == "de-at"
    names = {space["id"]: (space["name"], space["aliases"]) for space in site["namespaces"]}
    assert names[6] == ("Datei", ["Bild"])
    assert names[8] == ("MediaWiki", [])


def test_an_export_that_names_its_namespaces_keeps_them_and_knows_their_other_names(tmp_path: Path) -> None:
    text = export(page_xml("A"), site_info=SITE_INFO.format(case="case-sensitive"))
    site = read_site(saved(tmp_path, text.replace("<mediawiki ", '<mediawiki xml:lang="de" ', 1)), "wiki")
    names = {space["id"]: (space["name"], space["aliases"]) for space in site["namespaces"]}
    assert (names[14], names[110]) == (("Kategorie", []), ("Forum", []))
    assert site["site_name"] == "Das Wiki"


def test_the_sample_wiki_is_whole() -> None:
    pages = list(read_pages(SAMPLE))
    assert len(pages) >= 120
    assert [page.error for page in pages if page.error] == []
    assert [page.title for page in pages] == [page.title for page in list_pages(SAMPLE)]
    assert read_site(SAMPLE, "sample")["namespaces"]


XML_TEXT = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\ufffe\uffff\r").filter(
        lambda letter: letter >= " " or letter in "\t\n"
    )
)


@given(XML_TEXT)
@example("]]> &amp; <text> ' \" \u0301 \U0001f600 \x85")
def test_any_text_comes_back_unchanged(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    page = only_page(tmp_path_factory.mktemp("any"), export(page_xml("A", text)))
    assert page.text == text


@given(XML_TEXT)
@example("a/b/../c")
@example("é" * 127)
@example("é" * 128)
@example("E\u0301clair")
def test_any_title_gives_a_page_and_a_bad_one_its_error(
    tmp_path_factory: pytest.TempPathFactory, title: str
) -> None:
    text = export(page_xml(title), page_xml("Next"))
    first, second = read_pages(saved(tmp_path_factory.mktemp("any"), text))
    assert first.text == "text"
    assert (first.status == "ok") == (first.error is None)
    assert first.title
    assert (second.ordinal, second.title) == (1, "Next")


@given(st.dictionaries(st.from_regex(r"[a-z]{1,8}", fullmatch=True), XML_TEXT, max_size=4))
def test_unknown_elements_and_attributes_do_no_harm(
    tmp_path_factory: pytest.TempPathFactory, unknown: dict[str, str]
) -> None:
    names = {f"x{name}": value for name, value in unknown.items()}
    attributes = "".join(f" {name}={quoteattr(value)}" for name, value in names.items())
    children = "".join(f"<{name}{attributes}>{escape(value)}</{name}>" for name, value in names.items())
    text = export(
        f"<page{attributes}>{children}<title>A</title>{children}<revision{attributes}>{children}"
        f"<text{attributes}>t</text>{children}</revision></page>"
    )
    page = only_page(tmp_path_factory.mktemp("any"), text)
    assert (page.title, page.text, page.status) == ("A", "t", "ok")
