"""What a page is really called."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holocron_assets.lake.titles import (
    DEFAULT_SITE,
    InterwikiTitle,
    InvalidTitle,
    PageTitle,
    Site,
    decode_character_references,
)

GERMAN_ROW = {
    "title_case": "case-sensitive",
    "namespaces": [
        {"id": 0, "name": "", "canonical": "", "aliases": []},
        {"id": 2, "name": "Benutzer", "canonical": "User", "aliases": ["Benutzerin"]},
        {"id": 3, "name": "Benutzer Diskussion", "canonical": "User talk", "aliases": ["BD"]},
        {"id": 6, "name": "Datei", "canonical": "File", "aliases": ["Bild"]},
        {"id": 14, "name": "Kategorie", "canonical": "Category", "aliases": None},
        {"id": 100, "name": "Forum", "canonical": "Forum", "aliases": []},
    ],
    "interwiki_prefixes": ["en", "Wikipedia"],
}
GERMAN = Site.from_row(GERMAN_ROW)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Foo", "Foo"),
        ("foo bar", "Foo bar"),
        ("  foo__ bar\u00a0\u3000baz_ ", "Foo bar baz"),
        (":Foo", "Foo"),
        (" : foo", "Foo"),
        ("category:foo", "Category:Foo"),
        (":category:foo", "Category:Foo"),
        ("CATEGORY : foo_bar", "Category:Foo bar"),
        ("image:x.png", "File:X.png"),
        ("user_talk:jim", "User talk:Jim"),
        ("User  Talk:jim", "User talk:Jim"),
        ("Project:About", "Project:About"),
        ("Star Wars: Episode IV", "Star Wars: Episode IV"),
        ("a: b", "A: b"),
        ("Foo/Legends", "Foo/Legends"),
        ("a/b/c", "A/b/c"),
        ("...And more", "...And more"),
        ("Wait...", "Wait..."),
        ("100% sure", "100% sure"),
        ("AT&T", "AT&T"),
        ("Tom &amp; Jerry", "Tom & Jerry"),
        ("Caf&eacute;", "Café"),
        ("&#x41;&#66;", "AB"),
        ("Cafe\u0301", "Caf\u00e9"),
        ("élan", "Élan"),
        ("ßeta", "ßeta"),
        ("\u200eFoo\u200f", "Foo"),
        ("\u10d7\u10d1\u10d8\u10da\u10d8\u10e1\u10d8", "\u10d7\u10d1\u10d8\u10da\u10d8\u10e1\u10d8"),
        ("istanbul", "Istanbul"),
        ("Luke Skywalker's lightsaber", "Luke Skywalker's lightsaber"),
        ("Foo (Legends)", "Foo (Legends)"),
        ("日本", "日本"),
    ],
)
def test_a_title_is_brought_to_the_form_it_is_stored_under(text: str, title: str) -> None:
    assert DEFAULT_SITE.parse_title(text).title == title


WORDS_ROW = {
    "title_case": "case-sensitive",
    "namespaces": [
        {"id": 0, "name": "", "canonical": "", "aliases": []},
        {"id": 2, "name": "User", "canonical": "User", "aliases": []},
        {"id": 6, "name": "File", "canonical": "File", "aliases": []},
        {"id": 14, "name": "Category", "canonical": "Category", "aliases": []},
    ],
    "interwiki_prefixes": [],
}


@pytest.mark.parametrize(
    ("namespaces", "titles"),
    [
        ([0, 14], ["word", "User:Jim", "File:X.png", "Category:nouns"]),
        ([14], ["Word", "User:Jim", "File:X.png", "Category:nouns"]),
        ([], ["Word", "User:Jim", "File:X.png", "Category:Nouns"]),
        (None, ["word", "User:Jim", "File:x.png", "Category:nouns"]),  # as an earlier version kept it
    ],
)
def test_each_namespace_has_its_own_rule_for_the_first_letter(
    namespaces: list[int] | None, titles: list[str]
) -> None:
    site = Site.from_row({**WORDS_ROW, "case_sensitive_namespaces": namespaces})
    written = ("word", "user:jim", "image:x.png", "category:nouns")
    assert [site.parse_title(text).title for text in written] == titles


@pytest.mark.parametrize("language", ["tr", "az", "kaa"])
@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("istanbul", "\u0130stanbul"),
        ("kategori:istanbul", "Kategori:\u0130stanbul"),
        ("\u0131lgaz", "Ilgaz"),
        ("Isparta", "Isparta"),
        ("izmir", "\u0130zmir"),
        ("ankara", "Ankara"),
    ],
)
def test_a_small_i_becomes_a_dotted_capital_where_the_language_has_one(
    language: str, text: str, title: str
) -> None:
    turkish = {"id": 14, "name": "Kategori", "canonical": "Category", "aliases": []}
    site = Site.from_row(
        {
            "title_case": "first-letter",
            "namespaces": [turkish],
            "interwiki_prefixes": [],
            "language": language,
        }
    )
    assert site.parse_title(text).title == title
    assert site.parse_title(title).title == title


def test_a_title_is_split_into_namespace_name_and_fragment() -> None:
    assert DEFAULT_SITE.parse_title("template:foo bar#part one") == PageTitle(
        namespace=10, title="Template:Foo bar", name="Foo bar", fragment="part one"
    )


def test_a_fragment_may_hold_what_a_title_may_not() -> None:
    parsed = DEFAULT_SITE.parse_title("Foo #a<b>[c]")
    assert (parsed.title, parsed.fragment) == ("Foo", "a<b>[c]")


def test_an_empty_fragment_is_not_the_same_as_none() -> None:
    assert DEFAULT_SITE.parse_title("Foo#").fragment == ""
    assert DEFAULT_SITE.parse_title("Foo").fragment is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "___",
        ":",
        "#",
        "#part",
        "::Foo",
        "Category:",
        "Category: :x",
        "a<b",
        "a>b",
        "[x",
        "x]",
        "{x",
        "x}",
        "a|b",
        "<>[]{}|#",
        "a\x00b",
        "a\tb",
        "a\nb",
        "a\x7fb",
        "a\ufffdb",
        "%41bc",
        "a%2Fb",
        "&amp;amp;",
        "&#0;",
        ".",
        "..",
        "./a",
        "../../etc/passwd",
        "a/./b",
        "a/../b",
        "a/.",
        "a/..",
        "Template:../x",
        "a~~~b",
        "Talk:File:X.png",
        "x" * 256,
        "é" * 128,
    ],
)
def test_what_mediawiki_refuses_is_refused(text: str) -> None:
    with pytest.raises(InvalidTitle, match="is not a page title"):
        DEFAULT_SITE.parse_title(text)


@pytest.mark.fault(6, "half of a surrogate pair in a title")
def test_half_of_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(InvalidTitle):
        DEFAULT_SITE.parse_title("a\ud800b")


def test_the_longest_title_is_255_bytes_without_its_prefix() -> None:
    assert DEFAULT_SITE.parse_title("é" * 127 + "x").name == "É" + "é" * 126 + "x"
    assert DEFAULT_SITE.parse_title("Category:" + "x" * 255).namespace == 14


def test_the_error_quotes_the_title_but_not_five_megabytes_of_it() -> None:
    with pytest.raises(InvalidTitle) as caught:
        DEFAULT_SITE.parse_title("x" * 5_000_000)
    assert len(str(caught.value)) < 400


def test_a_prefix_of_another_wiki_is_distinguished_from_an_invalid_title() -> None:
    with pytest.raises(InterwikiTitle) as caught:
        DEFAULT_SITE.parse_title("Wikipedia:Foo")
    assert caught.value.prefix == "wikipedia"


def test_local_names_aliases_and_english_names_all_lead_to_the_local_title() -> None:
    for text in ("Datei:x.png", "bild:x.png", "File:x.png", "IMAGE:x.png"):
        assert GERMAN.parse_title(text).title == "Datei:x.png"
    assert GERMAN.parse_title("bd:Jim").title == "Benutzer Diskussion:Jim"
    assert GERMAN.parse_title("forum:x") == PageTitle(namespace=100, title="Forum:x", name="x")


def test_a_namespace_the_wiki_lacks_is_part_of_the_name() -> None:
    assert GERMAN.parse_title("Template:x") == PageTitle(namespace=0, title="Template:x", name="Template:x")


def test_first_letters_stay_as_written_on_a_case_sensitive_wiki_but_for_users() -> None:
    assert GERMAN.parse_title("foo").title == "foo"
    assert GERMAN.parse_title("user:jim").title == "Benutzer:Jim"


def test_interwiki_prefixes_are_those_of_the_wiki() -> None:
    with pytest.raises(InterwikiTitle):
        GERMAN.parse_title("EN:Foo")
    assert GERMAN.parse_title("commons:Foo").title == "commons:Foo"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("de:Foo", "Foo"),
        ("DE : wikiname:user:jim#x", "Benutzer:Jim"),
        (":de::Category:X", "Kategorie:X"),
        ("de:" * 5000 + "Foo", "Foo"),
    ],
)
def test_a_prefix_of_the_wiki_itself_leads_to_its_own_page(text: str, title: str) -> None:
    assert Site.from_row({**GERMAN_ROW, "own_prefixes": ["de", "WikiName"]}).parse_title(text).title == title


def test_a_prefix_of_the_wiki_itself_may_lead_to_another_wiki_or_to_nothing() -> None:
    site = replace(DEFAULT_SITE, own_prefixes=frozenset({"de"}))
    with pytest.raises(InterwikiTitle):
        site.parse_title("de:wikipedia:Foo")
    for text in ("de:", "Talk:de:Foo"):
        with pytest.raises(InvalidTitle):
            site.parse_title(text)


def test_a_namespace_is_found_by_any_of_its_names() -> None:
    assert GERMAN.namespace_number("benutzer_diskussion") == 3
    assert GERMAN.namespace_number("nonsense") is None


def test_only_known_and_closed_character_references_are_decoded() -> None:
    assert decode_character_references("&lt;&nosuch;&amp &copy;&#8212;&#xFFFFFFFFFFFFFFFFFFF;") == (
        "<&nosuch;&amp ©\u2014\ufffd"
    )


@given(st.text())
def test_any_text_is_a_title_or_is_refused_and_a_title_is_its_own_title(text: str) -> None:
    try:
        parsed = DEFAULT_SITE.parse_title(text)
    except InvalidTitle:
        return
    again = DEFAULT_SITE.parse_title(parsed.title)
    assert (again.title, again.namespace) == (parsed.title, parsed.namespace)
    assert len(parsed.name.encode()) <= 512
