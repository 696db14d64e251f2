"""Which files a page shows, and which addresses its references cite."""

import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holocron_assets.lake.titles import DEFAULT_SITE
from holocron_assets.signals.file_uses import file_use_rows

_PIECES = st.sampled_from(
    [
        *(
            "[[File:A.png|",
            "]]",
            "[[",
            "|",
            "<gallery>",
            "</gallery>",
            "<imagemap>",
            "</imagemap>",
            "\nB.jpg|b\n",
            "<ref>",
            "</ref>",
        ),
        *("=C.gif\n|", "https://a.example/x.", "<!--", "-->", "thumb", " ", "{{", "}}", "[[Media:D.ogg]]"),
    ]
)


def uses(
    wikitext: str, lead_offset: int | None = None, language: str | None = None
) -> list[tuple[str, str, str | None]]:
    page = {"source": "wiki", "batch": "wiki-000001", "title": "Page", "title_key": 1, "wikitext": wikitext}
    rows = file_use_rows(page, replace(DEFAULT_SITE, language=language), lead_offset)
    assert [row["position"] for row in rows] == list(range(len(rows)))
    return [(row["role"], row["name"], row["caption"]) for row in rows]


def test_a_shown_file_has_its_canonical_title_and_its_caption() -> None:
    assert uses("[[Image: a_b.png |thumb|right|250px|alt=x|The [[Salt|salt]] of ''Verge'']]") == [
        ("text", "File:A b.png", "The salt of Verge")
    ]
    assert uses("[[File:A.png]]") == [("text", "File:A.png", None)]


@pytest.mark.parametrize(
    ("language", "options"),
    [
        ("de", "mini|links|hochkant=1.2"),
        ("de", "miniatur|rechts|hochkant|250px|alternativtext=Ein Boot|verweis=Boot"),
        ("fr", "vignette|gauche|redresse=0.8"),
        ("fr", "sans_cadre|droite|lien=Bateau|langue=fr"),
        ("es", "miniatura|izquierda|miniaturadeimagen|no"),
        ("es", "centrada|borde|enlace=Barco"),
        ("ru", "мини|слева|200\u043f\u043a\u0441"),
        ("ru", "миниатюра|справа|альт=Лодка|сверхусправа=1.3"),
        ("de", "thumb|left|upright=1.2|alt=x"),
        ("de-at", "mini|zentriert"),
        (None, "thumb|right|upright"),
    ],
)
def test_options_of_a_picture_in_the_wikis_language_are_no_caption(
    language: str | None, options: str
) -> None:
    assert uses(f"[[File:A.png|{options}]]", language=language) == [("text", "File:A.png", None)]
    assert uses(f"[[File:A.png|{options}|A boat]]", language=language) == [("text", "File:A.png", "A boat")]
    assert uses(f"[[File:A.png|A boat|{options}]]", language=language) == [("text", "File:A.png", "A boat")]


@pytest.mark.parametrize(
    ("language", "caption"),
    [
        ("de", "Mitte"),
        ("es", "Centro"),
        ("fr", "links"),
        ("de", "seite an Seite"),
        (None, "mini"),
        ("ja", "mini"),
    ],
)
def test_words_that_are_no_options_in_the_wikis_language_are_a_caption(
    language: str | None, caption: str
) -> None:
    assert uses(f"[[File:A.png|thumb|{caption}]]", language=language) == [("text", "File:A.png", caption)]


def test_what_is_shown_before_the_lead_is_in_the_infobox() -> None:
    text = "{{Box\n|image=[[File:A.png]]\n|logo = B_c.svg\n}}\n'''It''' is. [[File:D.png|thumb]]"
    assert uses(text, text.index("'''It")) == [
        ("infobox", "File:A.png", None),
        ("infobox", "File:B c.svg", None),
        ("text", "File:D.png", None),
    ]


def test_a_gallery_names_files_with_and_without_their_namespace() -> None:
    text = (
        "<gallery mode=packed>\nFile:A.png|First\nb.jpg\nNo file at all|x\nImage:C.gif|[[Salt]]\n</gallery>"
    )
    assert uses(text) == [
        ("gallery", "File:A.png", "First"),
        ("gallery", "File:B.jpg", None),
        ("gallery", "File:No file at all", "x"),
        ("gallery", "File:C.gif", "Salt"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "x\n<gallery>File:A.png|First\nFile:B.png|Second</gallery>",
        '<gallery mode="packed">File:A.png|First\nB.png|Second\n</gallery>',
        "{{Box\n|image=<gallery>A.png|First\nFile:B.png|Second\n</gallery>\n|a=b}}",
    ],
)
def test_a_file_right_behind_the_tag_of_a_gallery_is_shown(text: str) -> None:
    assert uses(text) == [("gallery", "File:A.png", "First"), ("gallery", "File:B.png", "Second")]


@pytest.mark.parametrize(
    "written",
    [
        "https://example.org/report.pdf",
        "http://example.org/a%20b.png",
        "example.org/a.pdf",
        "Plans: the ship.png",
        r"C:\plans\ship.png",
    ],
)
def test_an_address_in_a_templates_argument_is_no_file_of_the_wiki(written: str) -> None:
    text = f"{{{{Box\n|url={written}\n|image=A.png}}}}<gallery>\n{written}\n</gallery>"
    assert uses(text) == [("text", "File:A.png", None)]


def test_a_percent_encoded_name_is_that_of_the_file() -> None:
    text = "[[File:Caf%C3%A9_X.jpg|thumb|c]]{{Box|image=Caf%C3%A9 Z.jpg}}[[Media:100%.ogg]][[File:%FF.png]]"
    assert uses(f"{text}<gallery>\nFile:Caf%C3%A9 Y.jpg|d\n</gallery>") == [
        ("text", "File:Café X.jpg", "c"),
        ("text", "File:Café Z.jpg", None),
        ("media", "File:100%.ogg", None),
        ("gallery", "File:Café Y.jpg", "d"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "<imagemap>\nFile:Map.png|300px|A map\nrect 0 0 1 1 [[Foo]]\nFile:No.png\ndesc none\n</imagemap>",
        "<imagemap>\n# a comment\n<!-- x -->\n\nImage:Map.png|300px|A map\n</imagemap>",
        "<imagemap>File:Map.png|300px|A map</imagemap>",
    ],
)
def test_an_image_map_shows_the_file_of_its_first_line(text: str) -> None:
    assert uses(text) == [("text", "File:Map.png", "A map")]
    assert uses(text, len(text)) == [("infobox", "File:Map.png", "A map")]


def test_an_image_map_without_a_file_shows_none() -> None:
    assert uses("<imagemap>\nMap.png|x\n</imagemap><imagemap></imagemap><imagemap>\n#x</imagemap>") == []


def test_a_link_to_the_bytes_is_media_and_a_link_to_the_page_is_no_use() -> None:
    assert uses("[[Media:A.ogg|hear it]] [[:File:B.png]] [[Salt]]") == [("media", "File:A.ogg", None)]


def test_an_address_counts_that_a_reference_cites_without_the_sentences_end() -> None:
    text = (
        "See https://a.example/not-cited. <ref>[https://b.example/x?y=1 B], and https://c.example/z.</ref>"
        "<ref>{{Cite|url=https://d.example/|archive=https://e.example/(old)}}</ref>"
    )
    cited = [name for role, name, _ in uses(text) if role == "reference"]
    assert cited == [
        "https://b.example/x?y=1",
        "https://c.example/z",
        "https://d.example/",
        "https://e.example/(old)",
    ]


@pytest.mark.parametrize(
    ("written", "address"),
    [
        ("[https://a.example/?b=1&amp;c=2 T]", "https://a.example/?b=1&c=2"),
        ("{{Cite|url=https://a.example/?b=1&c=2|title=t}}", "https://a.example/?b=1&c=2"),
        ("https://a.example/b&nbsp;and", "https://a.example/b"),
        ("&lt;https://a.example/b&gt;", "https://a.example/b"),
        ("https://a.example/b&#60;c", "https://a.example/b"),
        ("https://a.example/b&#xA0;c", "https://a.example/b"),
        ("(see https://a.example/b).", "https://a.example/b"),
        ("https://a.example/b_(c).", "https://a.example/b_(c)"),
        ("https://a.example/?b&amp;", "https://a.example/?b&"),
        ("https://a.example/&quot;b&quot;", "https://a.example/%22b%22"),
        ("https://a.example/?b=1&copy=2", "https://a.example/?b=1&copy=2"),
    ],
)
def test_an_address_is_that_which_mediawiki_links_to(written: str, address: str) -> None:
    assert uses(f"<ref>{written}</ref>") == [("reference", address, None)]


def test_a_scheme_with_nothing_behind_it_is_no_address() -> None:
    assert uses("<ref>https://&nbsp;a https://) http://...</ref>") == []


def test_references_in_a_list_of_references_and_in_a_gallery_count() -> None:
    listed = 'It sank.<ref name="q" /><references><ref name="q">[http://q.example/1 x]</ref></references>'
    assert uses(listed) == [("reference", "http://q.example/1", None)]
    cited = ("reference", "http://a.example/z", None)
    shown = "<gallery>\nA.png|A boat<ref>http://a.example/z</ref> at sea\n</gallery>"
    assert uses(shown) == [("gallery", "File:A.png", "A boat at sea"), cited]
    linked = "[[File:A.png|thumb|A boat<ref>http://a.example/z</ref>]]"
    assert uses(linked) == [("text", "File:A.png", "A boat"), cited]


def test_a_template_in_a_caption_is_left_out_as_a_whole() -> None:
    assert uses("[[File:A.png|thumb|Issa in {{Film|IV|year}}]]") == [("text", "File:A.png", "Issa in")]
    assert uses("[[File:A.png|thumb|see {{lang|de|Der Film}} now|right]]") == [
        ("text", "File:A.png", "see now")
    ]


def test_comments_and_nowiki_show_nothing() -> None:
    assert uses("<!-- [[File:A.png]] --><nowiki>[[File:B.png]]</nowiki><pre>x=C.png|</pre>") == []


def test_a_comment_beside_the_name_of_a_file_is_no_part_of_it() -> None:
    written = (
        "{{Infobox|image = A.png <!-- free -->}}[[File:B.png<!-- x -->|thumb]]"
        "<gallery>\nC.png<!-- y -->\n</gallery>"
    )
    assert [name for _, name, _ in uses(written)] == ["File:A.png", "File:B.png", "File:C.png"]


def test_a_file_counts_once_in_each_role() -> None:
    assert uses("[[File:A.png]] [[File:A.png|thumb]] <gallery>\nA.png\n</gallery>") == [
        ("text", "File:A.png", None),
        ("gallery", "File:A.png", None),
    ]


@given(st.lists(_PIECES, max_size=40).map("".join))
def test_no_text_breaks_the_reading(wikitext: str) -> None:
    for role, name, _ in uses(wikitext):
        assert name.startswith("https://" if role == "reference" else "File:")


@pytest.mark.fault(6, "hostile wikitext about files")
@pytest.mark.parametrize(
    "piece",
    ["[[File:", "[[a|[[a|", "<gallery>", "=a", "= a.png ", "[[File:a|[[b]]", "https://", "<ref>", "|"],
)
def test_hostile_wikitext_costs_bounded_time(piece: str) -> None:
    started = time.perf_counter()
    uses(piece * (200_000 // len(piece)))
    assert time.perf_counter() - started < 5
