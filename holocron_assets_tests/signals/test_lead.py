"""The lead: where it starts, what it says, where it is cut."""

from dataclasses import replace

import pytest

from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.titles import DEFAULT_SITE
from holocron_assets.signals.lead import Lead
from holocron_assets.signals.top import read_top

SENTENCE = "'''Issa Dorrane''' was a captain."
CLEAN = "Issa Dorrane was a captain."


def lead(wikitext: str) -> Lead:
    found = read_top(wikitext, DEFAULT_SITE, "Issa Dorrane").lead
    assert found is not None
    return found


@pytest.mark.parametrize(
    "before",
    [
        "",
        "{{Top|leg}}\n{{Character\n|name=Issa '''Dorrane'''\n|species=Human\n}}\n",
        "{{Character|name=Issa|species=Human}}",
        "{{Quote|I '''am''' Issa Dorrane.|Issa}}\n",
        "[[File:Issa.png|thumb|'''Issa Dorrane''' in [[Pell]]\nin spring]]\n",
        "{|\n! '''Issa Dorrane'''\n|-\n| A table row of prose. It goes on.\n|}\n",
        "<!-- '''Issa Dorrane''' was not. -->\n",
        "<ref>'''Issa Dorrane'''</ref>\n",
        ":''This is about the captain. For the ship, see [[Issa]].''\n",
        "''This is about the captain. For the ship, see [[Issa]].''\n",
        "This notice has no bold title. It is long enough to be a lead.\n\n",
        "* A list item\n# '''Issa''' in a list\n; Term: more\n",
        "__NOTOC__\n----\n",
        '<div class="noprint">\nA box.\n</div>\n\n',
        "[[Category:Captains]]\n\n",
        "{{Unclosed\n|name=x\n|text=y\n\n",
        "<gallery>\nA.png|'''Issa'''\n</gallery>\n",
        "<youtube>dQw4w9WgXcQ</youtube>\n",
        '<youtube width="200">dQw4w9WgXcQ</youtube>',
    ],
)
def test_the_lead_starts_with_the_paragraph_that_has_the_title_in_bold(before: str) -> None:
    wikitext = f"{before}{SENTENCE} She sailed."
    found = lead(wikitext)
    assert found.sentence == CLEAN
    assert found.excerpt == f"{CLEAN} She sailed."
    assert found.method == "bold_title"
    assert wikitext[found.offset :] == f"{SENTENCE} She sailed."
    assert found.hash == content_hash(found.excerpt)


@pytest.mark.parametrize(
    ("wikitext", "sentence"),
    [
        (
            "The '''Maw''' was a group of {{formatnum:1200}} holes of {{circa|1900}}. It was far.",
            "The Maw was a group of 1200 holes of c. 1900.",
        ),
        (
            "The '''Maw''' was a [[cluster|group]] of holes.<ref>x</ref> It was far.",
            "The Maw was a group of holes.",
        ),
        (
            "'''Pell''' (''[[Brinish]]'': {{lang|br|Pel}}; {{IPA|x}}) was a moon.",
            "Pell (Brinish: Pel;) was a moon.",
        ),
        ("'''Pell''' ({{IPA|x}}) was a moon .", "Pell was a moon."),
        ("'''Pell''' (born 1968 (or 9) in X)<ref name=a/> was, by St. John, a moon.", None),
        ("'''{{PAGENAME}}''' was a moon.", "Issa Dorrane was a moon."),
        ("<b>Pell</b> was a<br>moon.", "Pell was a moon."),
        ("[[Pell|'''Pell''']] was a moon.", "Pell was a moon."),
        ("'''Pell''' was\na moon.\nIt shone.", "Pell was a moon."),
        ("'''Pell''' was <nowiki>[[no link]]</nowiki> &amp; a moon.", "Pell was [[no link]] & a moon."),
        (
            "'''Pell''' weighed {{Convert|5|t}} of 6&nbsp;tons, {{Unknown|7}}or more.",
            "Pell weighed 5 t of 6 tons, or more.",
        ),
        ("The ''Heron''{{'s}} deck was wet.", "The Heron's deck was wet."),
        ("'''بيل''' كان قمرا. كان بعيدا.", "بيل كان قمرا."),
        ("<youtube>dQw4w9WgXcQ</youtube>\n'''Pell''' was a moon.", "Pell was a moon."),
        ("__KEIN_INHALTSVERZEICHNIS__\n'''Pell''' was a moon.", "Pell was a moon."),
        (
            "''Pell'' is a film, and the sequel of ''Pell One''.",
            "Pell is a film, and the sequel of Pell One.",
        ),
    ],
)
def test_the_first_sentence_is_clean_text(wikitext: str, sentence: str | None) -> None:
    found = lead(wikitext)
    assert found.sentence == (sentence or "Pell (born 1968 (or 9) in X) was, by St. John, a moon.")


@pytest.mark.parametrize(
    "before",
    [
        "<noinclude>{{Top|leg}}</noinclude>",
        "<noinclude>",
        '<div style="float:right">{{Character\n|name=Issa\n|species=Human\n}}</div>',
        "<center>[[File:Issa.png]]</center> ",
        "<DIV><div>{{Top}}</div> {{Top}}</DIV>",
        "{{Character\n|name=Issa\n|species=Human\n}}</div>",
        '<div class="noprint">\nA box.\n</div>',
    ],
)
def test_the_lead_may_start_behind_tags_of_the_layout(before: str) -> None:
    found = lead(f"{before}{SENTENCE} She sailed.")
    assert found.excerpt == f"{CLEAN} She sailed."
    assert found.offset == len(before)


@pytest.mark.parametrize(
    "box",
    [
        "<center>'''Issa Dorrane'''</center>",
        "<div class='box'><div>'''Note:''' This is old.</div></div>",
        "<td>'''Issa Dorrane''' in a cell",
        "<div>Words in a box.",
        "<div class='infobox'><center>'''Issa Dorrane'''<br/>\nSpecies: Human<br/>\n</center></div>",
        "<center>'''Dorrane family'''<br/>\nline\n</center>",
        "<div class=n>'''Spoilers about Issa''' follow.\n</div>",
    ],
)
def test_a_box_on_a_line_is_no_lead(box: str) -> None:
    assert lead(f"{box}\n{SENTENCE}").excerpt == CLEAN


@pytest.mark.parametrize(
    ("template", "subject"),
    [
        ("{{nihongo|'''Issa Dorrane'''|\u30a4\u30c3\u30b5|Issa|lead=yes}}", "Issa Dorrane"),
        ("{{nihongo|'''''Issa Dorrane''''' (captain)|{{lang|ja|x}}}}", "Issa Dorrane (captain)"),
        ("{{lang|br|'''Issa Dorrane'''}}", "Issa Dorrane"),
        ("{{Own name|'''Issa D'Orrane'''|{{lang|br|Isa}}|b}}", "Issa D'Orrane"),
        ("{{Own name|'''[[Dorrane|Issa]]'''}}", "Issa"),
        ("{{Character|name=Issa\n|age=9\n}}{{Own name|'''Issa'''}}<ref>x</ref>", "Issa"),
    ],
)
def test_a_template_with_a_name_in_bold_begins_the_sentence_after_it(template: str, subject: str) -> None:
    found = lead(f"{{{{Top|leg}}}}\n{template} was a captain. She sailed.")
    assert found.sentence == f"{subject} was a captain."
    assert found.method == "bold_title"


@pytest.mark.parametrize(
    "before",
    [
        "{{Otheruses|'''Issa'''}}\n",
        "{{Character\n|'''Issa Dorrane'''\n|Human}}",
        "{{Character|'''Issa Dorrane'''|Human}}",
        "{{Character|name='''Issa Dorrane'''|species=Human}}",
    ],
)
def test_a_template_before_a_sentence_with_its_own_subject_is_no_part_of_it(before: str) -> None:
    assert lead(f"{before}{SENTENCE}").sentence == CLEAN


def test_without_a_bold_title_the_lead_is_the_first_paragraph() -> None:
    found = lead("{{Top}}\nA moon shone. It set.\n\nAnother '''word''' is bold.")
    assert found.sentence == "A moon shone."
    assert found.method == "first_paragraph"
    assert found.offset == 8


@pytest.mark.parametrize(
    "wikitext",
    [
        "",
        "{{Top|leg}}\n{{Planet\n|name=x\n|moons=2}}",
        "* [[A]]\n* [[B]]",
        "{|\n|a\n|}",
        "== A ==\n== B ==",
        "...",
    ],
)
def test_a_page_without_prose_has_no_lead(wikitext: str) -> None:
    assert read_top(wikitext, DEFAULT_SITE, "Issa Dorrane").lead is None


WIKI = replace(
    DEFAULT_SITE, interwiki_prefixes=frozenset({"pl", "pt-br", "nds-nl", "ceb", "wikipedia", "mw", "en"})
)


@pytest.mark.parametrize(
    "links",
    [
        "[[pl:Issa]]\n[[Pt-br:Issa]]",
        "[[pl:Issa]] [[ pt-br :Issa|Issa]]",
        "[[pl:Issa]][[de:Issa]]",
        "[[ceb:Issa]]\n[[nds-nl:Issa]]",
    ],
)
@pytest.mark.parametrize(
    "around", ["{} She sailed.\n{}", "{} She sailed.\n\n{}", "{1}\n{0} She sailed.", "{} She sailed. {}"]
)
def test_links_to_the_page_in_other_languages_are_no_prose(around: str, links: str) -> None:
    found = read_top(around.format(SENTENCE, links), WIKI, "Issa Dorrane").lead
    assert found is not None
    assert found.excerpt == f"{CLEAN} She sailed."
    assert read_top(f"{{{{Top}}}}\n\n{links}", WIKI, "Issa Dorrane").lead is None


@pytest.mark.parametrize(
    ("wikitext", "excerpt"),
    [
        ("A [[wikipedia:Ship|ship]] and a [[wikipedia:Mast]].", "A ship and a wikipedia:Mast."),
        ("See [[:pl:Issa]] and [[:pl:Issa|hers]].", "See pl:Issa and hers."),
        ("See [[mw:Help|help]].", "See help."),
        ("See [[ast:Issa|hers]].", "See hers."),
        ("It is of [[en:Issa|the wiki's own language]].", "It is of the wiki's own language."),
        ("A film called [[It: Chapter Two]].", "A film called It: Chapter Two."),
    ],
)
def test_a_link_that_only_looks_like_one_to_another_language_shows_its_text(
    wikitext: str, excerpt: str
) -> None:
    found = read_top(wikitext, WIKI, "Issa Dorrane").lead
    assert found is not None
    assert found.excerpt == excerpt


@pytest.mark.parametrize(
    "links", ["[[fi:Issa]]\n[[it:Issa]] [[ja:イサ]]", "[[pl:Issa]][[pt-br:Issa]]", "[[de:Issa]]"]
)
@pytest.mark.parametrize("around", ["{} She sailed.\n\n{}", "{1}\n{0} She sailed.", "{} She sailed. {}"])
def test_links_to_other_languages_are_no_prose_on_a_wiki_that_states_no_prefixes(
    around: str, links: str
) -> None:
    assert lead(around.format(SENTENCE, links)).excerpt == f"{CLEAN} She sailed."


@pytest.mark.parametrize(
    ("link", "shown"),
    [
        ("[[It: Chapter Two]]", "It: Chapter Two"),
        ("[[it: chapter two]]", "it: chapter two"),
        ("[[It:Issa]]", "It:Issa"),
        ("[[it:Issa|hers]]", "hers"),
        ("[[en:Issa]]", "en:Issa"),
        ("[[xx:Issa]]", "xx:Issa"),
    ],
)
def test_a_title_that_begins_like_a_language_shows_its_text(link: str, shown: str) -> None:
    assert lead(f"{SENTENCE} See {link}.").excerpt == f"{CLEAN} See {shown}."


def test_a_short_lead_is_continued_with_prose_of_the_sections_until_it_is_long_enough() -> None:
    body = "She sailed far. " * 30
    found = lead(f"{SENTENCE}\n\n== Life ==\n* a list\n{body}\n\n{body}\n\n{body}\n== More ==\n{body}")
    assert found.excerpt == f"{CLEAN}\n\n" + "\n\n".join([body.strip()] * 3)


@pytest.mark.parametrize("heading", ["Behind the scenes", "''Notes and references''", "SOURCES"])
def test_a_short_lead_is_not_continued_with_closing_sections(heading: str) -> None:
    found = lead(f"{SENTENCE}\n\n=={heading}==\nThe film was made in a barn.\n==Life==\nShe sailed.")
    assert found.excerpt == CLEAN


def test_a_long_lead_ends_with_the_lead_section() -> None:
    body = "She sailed far. " * 70
    assert "Elsewhere" not in lead(f"{SENTENCE} {body}\n==Life==\nElsewhere.").excerpt


def test_a_lead_of_100_000_characters_is_cut_at_a_sentence_before_8_000() -> None:
    found = lead(f"{SENTENCE} " + "She sailed far. " * 6_000)
    assert 7_900 < len(found.excerpt) <= 8_000
    assert found.excerpt.endswith("far.")


def test_a_lead_without_any_sentence_end_is_cut_at_12_000() -> None:
    found = lead(f"'''Issa Dorrane''' {'word ' * 20_000}")
    assert 11_900 < len(found.excerpt) <= 12_000
    assert len(found.sentence) <= 1_000


def test_the_lead_is_found_behind_an_infobox_longer_than_the_first_part_that_is_read() -> None:
    infobox = "{{Battle\n" + "".join(f"|unit{n}=[[Unit {n}]]{' long' * 20}\n" for n in range(290)) + "}}\n"
    found = lead(f"{infobox}{SENTENCE}\n== Life ==\nShe sailed.")
    assert len(infobox) > 30_000
    assert found.sentence == CLEAN
    infobox_found = read_top(f"{infobox}{SENTENCE}\n== Life ==", DEFAULT_SITE, "Issa").infobox
    assert infobox_found is not None
    assert len(infobox_found.fields) == 290
