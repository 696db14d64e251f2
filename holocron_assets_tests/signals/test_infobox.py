"""Which template is the infobox, and what its fields say."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from text_templates import MEASURES_AND_DATES

from holocron_assets.lake.titles import DEFAULT_SITE
from holocron_assets.signals.top import Top, read_top

LEAD = "\n'''Issa Dorrane''' was a captain."


def top(wikitext: str) -> Top:
    return read_top(wikitext, DEFAULT_SITE, "Issa Dorrane")


def template(wikitext: str) -> str | None:
    infobox = top(wikitext).infobox
    return infobox.template if infobox else None


def fields(wikitext: str) -> dict[str, str]:
    infobox = top(wikitext).infobox
    return dict(infobox.fields) if infobox else {}


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
    text = f"{before}{{{{Character\n|name=Issa Dorrane\n|species=[[Human]]\n}}}}{LEAD}"
    assert template(text) == "Character"
    assert fields(text) == {"name": "Issa Dorrane", "species": "Human"}
    assert top(text).problems == ()


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("Video_game", "Video game"),
        ("infobox person", "Infobox person"),
        (" trade  route <!-- x -->", "Trade route"),
    ],
)
def test_the_template_goes_by_one_name_however_it_is_written(written: str, shown: str) -> None:
    assert template(f"{{{{{written}\n|name=x\n|other=y}}}}") == shown


@pytest.mark.parametrize(
    "before",
    [
        "{{Tabs|a=1|b=2}}\n",
        "{{Character tabs\n|one=Issa\n|two=Issa/Gallery\n}}\n",
        "{{Pageheader|show=yes|kind=2}}\n",
        "{{Pageheader|show=yes|kind=2}} {{Iconbar|hero=1|seen=2|met=3}}",
    ],
)
@pytest.mark.parametrize(
    "infobox",
    [
        "{{Character|name=Issa Dorrane|species=[[Human]]|gender=Female|home=[[Osk]]}}",
        "{{Character\n|name=Issa Dorrane\n}}",
    ],
)
def test_a_small_template_above_the_infobox_is_not_taken_for_it(before: str, infobox: str) -> None:
    assert template(f"{before}{infobox}{LEAD}") == "Character"


def test_of_two_templates_on_lines_or_of_one_size_the_first_is_the_infobox() -> None:
    assert template(f"{{{{Moon\n|name=x}}}}\n{{{{Lists\n|a=1\n|b=2\n|c=3}}}}{LEAD}") == "Moon"
    assert template(f"{{{{Moon|name=x|suns=2}}}} {{{{Lists|a=1|b=2}}}}{LEAD}") == "Moon"


def test_one_field_on_a_line_of_its_own_is_enough() -> None:
    assert template(f"{{{{Music\n|title=Ode}}}}{LEAD}") == "Music"


def test_a_template_called_infobox_needs_no_fields() -> None:
    assert template(f"{{{{Infobox moon}}}}{LEAD}") == "Infobox moon"


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
    assert top(wikitext).infobox is None


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
        ("{{Unbulleted list\n | 2 = B\n | 1 = A=a\n | 10 = C | class = x}}", "A=a; B; C"),
        ("{{ubl|1=x|A|2=B|0=x|01=x}}", "A; B"),
        ("{{Nowrap|1=A}} {{lang|2=B|1=fr}}", "A B"),
        ("{{Birth date and age|1=1980|2=5|3=3}}", "1980-05-03"),
        ("a = b", "a = b"),
        ("1.5\u00a0m&nbsp;tall", "1.5 m tall"),
        ("{{PAGENAME}}", "Issa Dorrane"),
        ("{{Circa|1900}}", "c. 1900"),
        ("{{circa}} 1900", "c. 1900"),
        ("{{formatnum:12345}} m", "12345 m"),
        ("{{Formatnum: {{Nowrap|12345}} |R}} m", "12345 m"),
        ("{{Birth date and age|df=yes|1980|5|3}}", "1980-05-03"),
        ("{{Start date|1980|05|month=x}}", "1980-05"),
        ("{{Birth date|3 May}}", ""),
        *MEASURES_AND_DATES,
        ("{{date|3|5|1921}}", "1921-05-03"),
        ("{{unit|Zergling}}", ""),
        ("{{val|1.5|e=6|u=km}}", ""),
        ("{{val|5|u=km|up=s}}", ""),
        ("{{height|m=}}", ""),
        ("{{convert}}", ""),
        ("{{URL|example.org|Home}}", "example.org"),
        ("{{marriage|[[Varn]]|12 BY|19 BY}}", "Varn"),
        ("{{lc:12345}}", ""),
    ],
)
def test_values_are_what_a_reader_sees(written: str, value: str) -> None:
    text = f"{{{{Planet\n|name=x\n|value={written}\n|last=z\n}}}}{LEAD}"
    assert fields(text) == {"name": "x", "value": value, "last": "z"}


@pytest.mark.parametrize(
    ("written", "value"),
    [
        (" *[[Varn]]\n*[[Thuum]]", "Varn; Thuum"),
        (" # 1", "# 1"),
        ("\t# one\n# two", "one; two"),
        (" <!-- both -->*A\n*B", "A; B"),
        (" <nowiki>*</nowiki>A", "*A"),
        (" A\n*B * C", "A; B * C"),
    ],
)
def test_the_first_item_of_a_list_has_no_mark_wherever_the_list_begins(written: str, value: str) -> None:
    text = f"{{{{Planet\n| value ={written}\n| last =z"
    assert fields(f"{text}\n}}}}{LEAD}") == {"value": value, "last": "z"}
    assert fields(f"{text}{LEAD}") == {"value": value, "last": "z"}


def test_of_a_field_given_twice_the_last_counts() -> None:
    assert fields("{{Planet\n|name=x\n|name=y\n|moons=2}}") == {"name": "y", "moons": "2"}


def test_unnamed_parameters_are_no_fields() -> None:
    assert fields("{{Planet|loose\n|name=x\n|moons=2}}") == {"name": "x", "moons": "2"}


def test_a_long_value_is_cut() -> None:
    assert len(fields(f"{{{{Planet\n|name=x\n|moons={'many ' * 2_000}\n}}}}")["moons"]) <= 2_000


def test_an_infobox_that_is_never_closed_is_read_by_lines_and_named() -> None:
    text = f"{{{{Ground vehicle\n|name=Crawler\n|crew=\n*[[Tchaan]]\n*2<ref>x</ref>\n|length=3 m{LEAD}"
    assert template(text) == "Ground vehicle"
    assert fields(text) == {"name": "Crawler", "crew": "Tchaan; 2", "length": "3 m"}
    assert top(text).problems == ("template 'Ground vehicle' is never closed, read by lines",)
    lead = top(text).lead
    assert lead is not None
    assert lead.sentence == "Issa Dorrane was a captain."


def test_an_infobox_nested_too_deep_is_read_by_lines_and_named() -> None:
    deep = "{{a|" * 3_000 + "x" + "}}" * 3_000
    text = f"{{{{Planet\n|name=Ondrel\n|moons={deep}\n|suns=1\n}}}}{LEAD}"
    assert template(text) == "Planet"
    assert fields(text) == {"name": "Ondrel", "moons": "", "suns": "1"}
    assert top(text).problems[-1] == "template 'Planet' is too large or nested too deep, read by lines"


@pytest.mark.parametrize(
    ("wikitext", "name", "read"),
    [
        (
            "{{Primary sources|section=yes|date=May}}\n{{Infobox planet|name=Varn}}",
            "Infobox planet",
            {"name": "Varn"},
        ),
        ("{{Template:Infobox planet|name=Varn}}", "Infobox planet", {"name": "Varn"}),
        ("{{Infobox planet|<!-- its name -->name=Varn}}", "Infobox planet", {"name": "Varn"}),
    ],
)
def test_a_template_that_is_called_an_infobox_is_read_before_others(
    wikitext: str, name: str, read: dict[str, str]
) -> None:
    assert (template(wikitext), fields(wikitext)) == (name, read)


def test_an_infobox_that_is_never_closed_is_read_before_the_templates_in_it() -> None:
    assert template("{{Infobox planet|date={{Start date|df=yes|br=no}}\n| name = Varn\n") == "Infobox planet"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{|{{Infobox moon begin}}\n{{Infobox image\n|image=[[File:A.png]]\n}}\n", "\n|}"),
        ("{| align=right\n|\n", "\n|}"),
        ("{{Tabs|", "}}"),
        ("{{Own wrapper|", "}}"),
        ("{{#if:x|", "}}"),
    ],
)
def test_an_infobox_that_a_table_or_a_template_encloses_is_found(before: str, after: str) -> None:
    text = f"{before}{{{{Infobox moon\n|name=Varn\n|suns=[[Osk]]\n}}}}{after}{LEAD}"
    assert (template(text), fields(text)) == ("Infobox moon", {"name": "Varn", "suns": "Osk"})


@pytest.mark.parametrize("outer", ["Moon", "Infobox moon"])
def test_an_infobox_that_nothing_encloses_counts_before_one_inside_of_it(outer: str) -> None:
    inner = "{{Infobox image|image=a|caption=b|alt=c}}"
    text = f"{{|\n|{inner}\n|}}\n{{{{{outer}\n|name=Varn\n|picture={inner}\n}}}}{LEAD}"
    assert template(text) == outer


_PIECES = (
    *(
        "|",
        "|a=",
        "\n|b =",
        "=",
        "\n",
        " ",
        "c",
        "Varn",
        "''",
        "&amp;",
        "(",
        "<!-- c -->",
        "<br>",
        ">",
        "* d",
    ),
    *(
        "{{C|e}}",
        "{{C}}",
        "{{nowrap|f=1|g}}",
        "{{circa|2}}",
        "{{cvt|2|m}}",
        "{{!}}",
        "{{",
        "}}",
        "[[h]]",
        "[[i|j]]",
        "]]",
    ),
    *("http://k.l", "[http://k.l m]", "mailto:", "\n*", "\n==", "\n;", "\n{|", "{{Age|{{C|n}}}}", "{{{o|}}}"),
)


@given(st.sampled_from(["Planet", "Planet>", "Planet\nof"]), st.lists(st.sampled_from(_PIECES)).map("".join))
@example("Planet>", "|a=b")
@example("Planet", "|{{C}}{{C}}c=d")
@example("Planet", "|a=b\n; ; ; c : d")
@example("Planet", "|a=mailto:{{nowrap|e}}{{nowrap|f}}")
@example("Planet", "|a={{C|e}} {{nowrap|1=f}}|a=\n* {{circa|2}}\n* * g")
def test_fields_that_need_no_parser_are_those_that_the_parser_finds(name: str, body: str) -> None:
    ends = ("p q", "p:q")  # what looks like an address is left to the parser
    plain, parsed = (fields(f"{{{{{name}\n|name=Varn{body}\n|last={end}\n}}}}") for end in ends)
    assert plain == {field: value.replace("p:q", "p q") for field, value in parsed.items()}
