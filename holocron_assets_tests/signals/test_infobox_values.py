"""Infobox values with their links, remarks, references and places; and what hostile wikitext costs."""

import time
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from text_templates import MEASURES_AND_DATES

from holocron_assets.lake.titles import DEFAULT_SITE
from holocron_assets.signals.infobox.values import InfoboxValue, Link, infobox_values

_MARKUP = "{}[]|=<>'\"*#:;!\n &/-abcX(),"
_PIECES = st.sampled_from(
    ["{{", "}}", "[[", "]]", "|", "=", "\n|a=", "<ref>", "</ref>", "<br>", "<!--", "-->", "<nowiki>", "''"]
)


def never(_field: str) -> bool:
    return False


def always(_field: str) -> bool:
    return True


def values_of(field: str, *, commas: bool = False) -> list[InfoboxValue]:
    """The values of one field with this wikitext."""
    text = f"{{{{Box\n|name=X\n|it={field}\n}}}}\n'''X''' is."
    found = infobox_values(text, "Box", DEFAULT_SITE, always if commas else never)
    return [value for value in found if value.field == "it"]


def texts(field: str, *, commas: bool = False) -> list[str]:
    return [value.text for value in values_of(field, commas=commas)]


def test_list_items_lines_and_semicolons_part_values() -> None:
    assert texts("*Salt\n*Bell glass\n**Sand") == ["Salt", "Bell glass", "Sand"]
    assert texts("Salt<br />Sand<br>Glass") == ["Salt", "Sand", "Glass"]
    assert texts("Salt; Sand") == ["Salt", "Sand"]
    assert texts("{{Plainlist|\n*Salt\n*Sand}}") == ["Salt", "Sand"]
    assert texts("{{ubl|Salt|Sand}}") == ["Salt", "Sand"]


def test_commas_part_values_only_where_the_caller_says_so() -> None:
    assert texts("Salt, sand, 1,400 bells") == ["Salt, sand, 1,400 bells"]
    assert texts("Salt, sand, 1,400 bells", commas=True) == ["Salt", "sand", "1,400 bells"]


def test_nothing_that_a_link_shows_or_parentheses_hold_parts_a_value() -> None:
    assert texts("[[Ondrel, Sons; Co|Ondrel, Sons; Co]], [[Salt]]", commas=True) == [
        "Ondrel, Sons; Co",
        "Salt",
    ]
    assert texts("Salt (white, fine; dear), sand", commas=True) == ["Salt", "sand"]


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("''Falcon'''s crew", "Falcon's crew"),
        ("''Falcon''''s crew", "Falcon''s crew"),
        ("L'''[[Salt]]'' glass", "L'Salt glass"),
        ("'''Salt''' and '''''glass'''''", "Salt and glass"),
    ],
)
def test_an_apostrophe_before_marks_of_italics_is_text(written: str, shown: str) -> None:
    assert texts(written) == [shown]


def test_the_end_of_a_possessive_is_not_in_italics() -> None:
    [value] = values_of("''Falcon'''s crew ([[Salt]])")
    assert value.work is None, "only a title in italics is that of a work"


def test_a_link_may_have_its_pipe_from_a_template() -> None:
    [value] = values_of("[[Salt (glass){{!}}Salt]]")
    assert (value.text, value.links) == ("Salt", (Link("Salt", "Salt (glass)"),))


def test_a_work_is_known_by_a_reference_that_a_list_defines() -> None:
    listed = "<references>\n<ref name=a>''[[Sand]]''</ref>\n</references>"
    text = f"{{{{Box\n|name=X\n|it=Salt<ref name=a />\n}}}}\nX is.\n{listed}"
    found = infobox_values(text, "Box", DEFAULT_SITE, never)
    assert [value.work for value in found] == [None, "Sand"]


def test_a_link_leads_to_the_canonical_title() -> None:
    [value] = values_of("the [[ salt_of the Verge#Taste |''salt'']]s")
    assert value.text == "the salts"
    assert value.links == (Link("salt", "Salt of the Verge#Taste"),)


@pytest.mark.parametrize(
    ("written", "shown", "title"),
    [
        ("[[Heist on [[Osk]]|heist on Osk]]", "heist on Osk", "Heist on Osk"),
        ("[[Fall of [[Osk/Legends|Osk]]|Fall]] of Osk", "Fall of Osk", "Fall of Osk"),
        ("[[Heist on [[Osk|the moon]]]]", "Heist on the moon", "Heist on the moon"),
        ("[[Salt|white [[Osk|Oskian]] salt]]", "white Oskian salt", "Salt"),
        ("[[A [[B [[C|c]]|b c]]|a]]", "a", "A b c"),
        ("[[Salt|]]", "Salt", "Salt"),
    ],
)
def test_a_link_inside_a_link_is_part_of_its_title_or_of_its_text(
    written: str, shown: str, title: str
) -> None:
    [value] = values_of(written)
    assert (value.text, value.links) == (shown, (Link(shown.split(" of ", maxsplit=1)[0], title),))


def test_links_to_other_wikis_files_and_impossible_titles_lead_nowhere() -> None:
    assert [value.links for value in values_of("[[wikipedia:Paris|Paris]]")] == [()]
    assert texts("[[File:X.png|20px|a [[Salt]] mine]]") == []
    assert [(value.text, value.links) for value in values_of("[[a<b|Salt]]")] == [("Salt", ())]


def test_parentheses_are_a_remark_on_the_value_that_they_follow() -> None:
    [first, second] = values_of("*[[Grey Guard]] (formerly)\n*[[Lamplighters]] {{C|[[12 AF]]-[[14 AF]]}}")
    assert (first.text, first.qualifier, first.whole) == ("Grey Guard", "formerly", "Grey Guard (formerly)")
    assert (second.text, second.qualifier) == ("Lamplighters", "12 AF-14 AF")
    assert [link.title for link in second.links] == ["Lamplighters"], "links in parentheses are apart"


def test_what_stands_in_parentheses_alone_is_the_value() -> None:
    assert [(value.text, value.qualifier) for value in values_of("(unknown)")] == [("unknown", None)]


def test_a_remark_on_a_line_of_its_own_is_one_on_the_value_before_it() -> None:
    found = values_of(
        "Sun Runner<br>(False)<br />[[Tatooine]]; [[Thuum]]\n**([[Osk|once]])<ref>x</ref>\nGlass"
    )
    assert [(value.text, value.qualifier, value.whole) for value in found] == [
        ("Sun Runner", "False", "Sun Runner (False)"),
        ("Tatooine", None, "Tatooine"),
        ("Thuum", "once", "Thuum (once)"),
        ("Glass", None, "Glass"),
    ]
    assert [link.title for value in found for link in value.links] == ["Tatooine", "Thuum"]
    assert texts("Salt; (white), [[Sand]]; (fine; dear)", commas=True) == ["Salt", "Sand"]
    assert texts("(white) (fine)\n(a) salt\n(red) or (grey)") == ["white; fine", "salt", "or"]


def test_a_remark_on_a_line_of_its_own_is_in_the_place_of_its_value() -> None:
    text = "{{Box\n|it=Salt<ref>''[[Wardens]]''</ref><br>(white &amp; fine)<ref>x</ref>\n}}"
    [value] = infobox_values(text, "Box", DEFAULT_SITE, never)
    assert text[value.start : value.end] == "Salt<ref>''[[Wardens]]''</ref><br>(white &amp; fine)"
    assert value.work == "Wardens"


def test_a_template_shows_its_argument_whether_or_not_a_named_one_goes_before() -> None:
    assert texts("{{Nowrap|1=Salt}}") == ["Salt"]
    assert texts("{{Font|text=Salt}}, {{Font|color=red|text=[[Sand]]}}", commas=True) == ["Salt", "Sand"]
    assert texts("{{ubl|class=small|Salt|Sand}}") == ["Salt", "Sand"]


def test_an_argument_with_a_number_has_the_place_that_the_number_says() -> None:
    assert texts("{{Unbulleted list|1=Salt|2=Sand}}") == ["Salt", "Sand"]
    assert texts("{{ubl\n | 2 = Sand\n | 10 = Glass | 1 = a=b\n}}") == ["a=b", "Sand", "Glass"]
    assert texts("{{ubl|Salt|2=Sand|class=x|0=No|01=No|x1=No}}") == ["Salt", "Sand"]
    assert texts("{{ubl|1=No|Salt}} {{Nowrap|1=No|Salt}} {{Nowrap|No|1=Salt}}") == ["Salt Salt Salt"]
    assert texts("{{Start date|1=1977|2=5|3=25|df=yes}}") == ["1977-05-25"]
    assert texts(f"{{{{ubl|{'9' * 5000}=No|Salt}}}}") == ["Salt"]
    (value,) = values_of("Salt {{C|1=''a=b''}}")
    assert (value.text, value.qualifier) == ("Salt", "a=b")


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("{{Circa|[[1900]]}}", "c. 1900"),
        ("{{circa}} 1900", "c. 1900"),
        ("{{formatnum:12345}}", "12345"),
        ("{{Formatnum: {{Nowrap|12345}} |R}} m", "12345 m"),
        ("{{Birth date and age|df=yes|1980|5|3}}", "1980-05-03"),
        ("{{Start date|1980|05|month=x}}", "1980-05"),
        *MEASURES_AND_DATES,
        ("{{date|3 May 1921}}", "3 May 1921"),
        ("{{Film date|Osk|1977|5|25}}", "1977-05-25"),
        ("{{Start date|1977|Osk|5}}", "1977"),
        ("{{langx|fr|''Sel''}}", "Sel"),
    ],
)
def test_templates_of_dates_and_numbers_show_them(written: str, shown: str) -> None:
    assert texts(written) == [shown]


@pytest.mark.parametrize(
    ("language", "written", "shown"),
    [
        ("es", "{{Fecha|3|5|1921|edad}}", "1921-05-03"),
        ("es", "{{fecha|3|mayo|1921}}", "3 mayo 1921"),
        ("es", "{{fallecimiento|3|5|1990|1|2|1920}}", "1990-05-03"),
        ("es", "{{unidad|12|km}}", "12 km"),
        ("fr", "{{Date de naissance|3|mai|1921}}", "3 mai 1921"),
        ("fr", "{{date de décès-|3|5|1990|1|2|1920}}", "1990-05-03"),
        ("fr", "{{unité|12000|km}}", "12000 km"),
        ("fr", "{{unité|12&nbsp;000|km|2}}", "12 000 km\u00b2"),
        ("fr", "{{unité|9.8|m|s|-2}}", None),
        ("fr", "{{unité|5|m|3|s|-1}}", None),
        ("fr", "{{unité|3|e=6|km}}", None),
        ("fr", "{{date||mai|1921}}", "mai 1921"),
        ("fr", "{{date|lundi|3|mai|1921}}", "3 mai 1921"),
        ("fr", "{{date|5|25|1977}}", "1977-05-25"),
        ("fr", "{{langue|en|Salt}}", "Salt"),
        ("ru", "{{Дата рождения|3|5|1921}}", "1921-05-03"),
        ("ru", "{{Флагификация|Оск}}", "Оск"),
        ("en", "{{Fecha|3|5|1921|edad}}", None),
    ],
)
def test_templates_of_a_language_show_their_text_on_its_wikis(
    language: str, written: str, shown: str | None
) -> None:
    text = f"{{{{Box\n|name=X\n|it={written}\n}}}}\nX is."
    found = infobox_values(text, "Box", replace(DEFAULT_SITE, language=language), never)
    assert [value.text for value in found if value.field == "it"] == ([shown] if shown else [])


def test_comments_references_and_tags_are_not_part_of_a_value_and_nowiki_is_text() -> None:
    assert texts('<small>Salt</small><!-- [[No]] --><ref name="A">No</ref>') == ["Salt"]
    assert texts("Salt <nowiki>[[and]]</nowiki> &amp; sand") == ["Salt [[and]] & sand"]
    assert texts("{{Unknown template|Salt}}") == []


def test_a_reference_names_the_work_wherever_it_is_defined() -> None:
    text = (
        '{{Box\n|it=*[[Salt]]<ref name="A" />\n*[[Sand]]'
        "<ref name='B'>[[Atlas (2019)|''Atlas'']]</ref>\n*Glass\n"
        "|that=Oil (''[[Wardens]]'')}}\nText.<ref name=A>''[[Salt of the Verge]]'', page 3</ref>"
    )
    found = infobox_values(text, "Box", DEFAULT_SITE, never)
    assert [(value.text, value.work) for value in found] == [
        ("Salt", "Salt of the Verge"),
        ("Sand", "Atlas (2019)"),
        ("Glass", None),
        ("Oil", "Wardens"),
    ]


def test_a_value_says_where_it_stands_in_the_wikitext() -> None:
    first, second = "[[Salt|White salt]] (fine)", "Sand &amp; glass"
    text = f"<!-- note -->{{{{Top|can}}}}\n{{{{Box\n|it= * {first}<ref>x</ref>\n* {second} \n}}}}"
    found = infobox_values(text, "Box", DEFAULT_SITE, never)
    assert [text[value.start : value.end] for value in found] == [first, second]


def test_the_place_of_an_uncertain_year_is_that_of_its_whole_template() -> None:
    text = "{{Box\n|it=[[Salt]] {{circa|1900}} \n}}"
    [value] = infobox_values(text, "Box", DEFAULT_SITE, never)
    assert text[value.start : value.end] == "[[Salt]] {{circa|1900}}"


def test_of_a_field_given_twice_the_last_counts_and_fields_without_name_do_not() -> None:
    text = "{{Box|Salt|it=Sand|it=Glass|[[a=b]]}}"
    found = infobox_values(text, "Box", DEFAULT_SITE, never)
    assert [(value.field, value.text) for value in found] == [("it", "Glass")]


def test_only_the_infobox_that_the_signals_name_is_read() -> None:
    text = "{{Other|it=No}}{{box_ two\n|it=Yes}}"
    assert [value.text for value in infobox_values(text, "Box two", DEFAULT_SITE, never)] == ["Yes"]
    assert infobox_values(text, "Box three", DEFAULT_SITE, never) == []


@pytest.mark.parametrize(("before", "after"), [("{| align=right\n|\n", "\n|}"), ("{{Tabs|one|", "}}")])
def test_an_infobox_that_a_table_or_a_template_encloses_is_read_in_its_place(before: str, after: str) -> None:
    box = "{{Infobox moon\n|it=[[Salt]]\n|that=\n* Sand\n* Glass\n}}"
    text = f"<!-- note -->\n{before}{{{{Infobox moon|it=No}}}}\n{box}{after}\n'''X''' is."
    found = infobox_values(text, "Infobox moon", DEFAULT_SITE, never)
    assert [(value.field, value.text) for value in found] == [
        ("it", "Salt"),
        ("that", "Sand"),
        ("that", "Glass"),
    ]
    assert [text[value.start : value.end] for value in found] == ["[[Salt]]", "Sand", "Glass"]


def test_an_infobox_that_is_never_closed_is_read_by_lines() -> None:
    text = "{{Box\n|it=[[Salt]]\n|that=Sand\n\n'''X''' is a thing | it=no."
    found = infobox_values(text, "Box", DEFAULT_SITE, never)
    assert [(value.field, value.text) for value in found] == [("it", "Salt"), ("that", "Sand")]


def test_an_infobox_beyond_the_first_part_that_is_read_is_found() -> None:
    text = f"{{{{Box\n|long={'salt ' * 8_000}\n|it=Sand}}}}"
    assert infobox_values(text, "Box", DEFAULT_SITE, never)[-1].text == "Sand"


@pytest.mark.fault(6, "an infobox made to take for ever")
@pytest.mark.parametrize(
    "field",
    [
        "[[" * 100_000,
        "{{" * 100_000,
        "[[a|" * 60_000,
        "{{a|" * 60_000 + "}}" * 60_000,
        "[[a|" * 60_000 + "]]" * 60_000,
        "(" * 200_000,
        "(a" * 100_000 + ")",
        "<ref" * 60_000,
        "<ref name=" * 30_000,
        "''" * 150_000,
        "[http://a " * 30_000,
        "1" * 300_000,
        "a; " * 100_000,
        "*" * 300_000,
    ],
    ids=lambda field: f"{field[:8]!r} over and over",
)
def test_hostile_wikitext_costs_bounded_time(field: str) -> None:
    started = time.process_time()
    infobox_values(f"{{{{Box\n|it={field}\n}}}}", "Box", DEFAULT_SITE, always)
    assert time.process_time() - started < 4


@given(st.lists(st.one_of(_PIECES, st.text(_MARKUP, max_size=6)), max_size=40).map("".join))
@example("{{Box|it=}}{{Box|it=[[a|]]")
def test_no_wikitext_raises_and_every_place_is_inside_the_text(field: str) -> None:
    text = f"{{{{Box\n|it={field}"
    for value in infobox_values(text, "Box", DEFAULT_SITE, always):
        assert 0 <= value.start < value.end <= len(text)
        assert value.text.strip() == value.text != ""
