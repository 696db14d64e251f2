"""Which template is the infobox, and what its fields say."""

import pytest
from signal_pages import fields, signals

LEAD = "\n'''Issa Dorrane''' was a captain."


@pytest.mark.parametrize(
    "before",
    [
        "",
        "{{Top|leg}}\n",
        "{{Top|leg|rwm|italics=1|title=''Issa''}}\n",
        "{{Quote|Stay.|Issa|<ref>[[X]]</ref>}}\n",
        "{{Youmay|the captain|the [[ship|''ship'']]|linebreak=1}}\n{{Cleanup|date=May|reason=x}}\n",
        "<!-- {{Planet\n|name=no\n|moons=no}} -->\n",
        "<nowiki>{{Planet|name=no|moons=no}}</nowiki>\n",
        "[[File:Issa.png|thumb|With {{Planet|name=no|moons=no}}]]\n",
        "{|\n|{{Planet|name=no|moons=no}}\n|}\n",
        "__NOTOC__\n\n:''See also [[Issa]].''\n",
        "{{Use British English|date=May|x=y}}\n{{Multiple image\n|image1=a\n|image2=b}}\n",
        "{{#if:x|name=no|moons=no}}",
        "{{Cleanup}}",
    ],
)
def test_the_infobox_is_found_behind_what_else_stands_at_the_top(before: str) -> None:
    row = signals(f"{before}{{{{Character\n|name=Issa Dorrane\n|species=[[Human]]\n}}}}{LEAD}")
    assert row["infobox_template"] == "Character"
    assert fields(row) == {"name": "Issa Dorrane", "species": "Human"}
    assert row["method"] == "mwparserfromhell"
    assert row["extraction_error"] is None


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("Video_game", "Video game"),
        ("infobox person", "Infobox person"),
        (" trade  route <!-- x -->", "Trade route"),
    ],
)
def test_the_template_goes_by_one_name_however_it_is_written(written: str, shown: str) -> None:
    assert signals(f"{{{{{written}\n|name=x\n|other=y}}}}")["infobox_template"] == shown


def test_one_field_on_a_line_of_its_own_is_enough() -> None:
    assert signals(f"{{{{Music\n|title=Ode}}}}{LEAD}")["infobox_template"] == "Music"


def test_a_template_called_infobox_needs_no_fields() -> None:
    assert signals(f"{{{{Infobox moon}}}}{LEAD}")["infobox_template"] == "Infobox moon"


@pytest.mark.parametrize(
    "wikitext",
    [
        LEAD,
        f"{{{{Top|leg}}}}{LEAD}",
        f"{{{{Thing|a|b=c}}}}{LEAD}",
        f"{LEAD}\n== Part ==\n{{{{Planet\n|name=x\n|moons=2}}}}",
    ],
)
def test_a_page_without_an_infobox_has_none(wikitext: str) -> None:
    row = signals(wikitext)
    assert row["infobox_template"] is None
    assert row["infobox_fields"] == []


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("[[Foo/Legends|Foo]]", "Foo"),
        ("[[Foo]]", "Foo"),
        ("''Falcon'''s [[Foo|''bar'']]", "Falcon's bar"),
        ("\n*[[A]]\n**B <ref>{{Cite|x=y}}</ref>\n*C", "A; B; C"),
        ("A<br />B<br>C", "A; B; C"),
        ("A<ref name=x/> (B)<!-- no -->", "A (B)"),
        ("[[File:A.png|250px]]", ""),
        ("", ""),
        ("{{C|approximately}} 5", "5"),
        ("{{Nowrap|5 m}}", "5 m"),
        ("a{{!}}b", "a|b"),
        ("[http://example.org The site]", "The site"),
        ("<span style='color:red'>red</span> &amp; &lt;b&gt;", "red & <b>"),
        ("<nowiki>[[Foo]]</nowiki>", "[[Foo]]"),
        ("5 < 6 and 7 > 6", "5 < 6 and 7 > 6"),
        ("{{Plainlist|\n* A\n* B\n}}", "A; B"),
        ("{{ubl|A|B}}", "A; B"),
        ("a = b", "a = b"),
        ("1.5\u00a0m&nbsp;tall", "1.5 m tall"),
        ("{{PAGENAME}}", "Issa Dorrane"),
    ],
)
def test_values_are_what_a_reader_sees(written: str, value: str) -> None:
    row = signals(f"{{{{Planet\n|name=x\n|value={written}\n|last=z\n}}}}{LEAD}")
    assert fields(row) == {"name": "x", "value": value, "last": "z"}


def test_of_a_field_given_twice_the_last_counts() -> None:
    assert fields(signals("{{Planet\n|name=x\n|name=y\n|moons=2}}")) == {"name": "y", "moons": "2"}


def test_unnamed_parameters_are_no_fields() -> None:
    assert fields(signals("{{Planet|loose\n|name=x\n|moons=2}}")) == {"name": "x", "moons": "2"}


def test_a_long_value_is_cut() -> None:
    row = signals(f"{{{{Planet\n|name=x\n|moons={'many ' * 2_000}\n}}}}")
    assert len(fields(row)["moons"]) <= 2_000


def test_an_infobox_that_is_never_closed_is_read_by_lines_and_named() -> None:
    row = signals(
        f"{{{{Ground vehicle\n|name=Crawler\n|crew=\n*[[Tchaan]]\n*2<ref>x</ref>\n|length=3 m{LEAD}"
    )
    assert row["infobox_template"] == "Ground vehicle"
    assert fields(row) == {"name": "Crawler", "crew": "Tchaan; 2", "length": "3 m"}
    assert row["method"] == "bounded"
    assert row["lead_sentence"] == "Issa Dorrane was a captain."
    assert "'Issa Dorrane'" in row["extraction_error"]
    assert "'Ground vehicle' is never closed" in row["extraction_error"]


def test_an_infobox_nested_too_deep_is_read_by_lines_and_named() -> None:
    deep = "{{a|" * 3_000 + "x" + "}}" * 3_000
    row = signals(f"{{{{Planet\n|name=Ondrel\n|moons={deep}\n|suns=1\n}}}}{LEAD}")
    assert row["infobox_template"] == "Planet"
    assert fields(row)["name"] == "Ondrel"
    assert fields(row)["suns"] == "1"
    assert row["method"] == "bounded"
    assert "'Issa Dorrane'" in row["extraction_error"]
