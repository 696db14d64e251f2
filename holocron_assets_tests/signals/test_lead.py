"""The lead: where it starts, what it says, where it is cut."""

import pytest
from signal_pages import signals

from holocron_assets.lake.keys import content_hash

SENTENCE = "'''Issa Dorrane''' was a captain."
CLEAN = "Issa Dorrane was a captain."


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
    ],
)
def test_the_lead_starts_with_the_paragraph_that_has_the_title_in_bold(before: str) -> None:
    wikitext = f"{before}{SENTENCE} She sailed."
    row = signals(wikitext)
    assert row["lead_sentence"] == CLEAN
    assert row["lead_excerpt"] == f"{CLEAN} She sailed."
    assert row["lead_method"] == "bold_title"
    assert wikitext[row["lead_offset"] :] == f"{SENTENCE} She sailed."
    assert row["lead_length"] == len(row["lead_excerpt"])
    assert row["lead_hash"] == content_hash(row["lead_excerpt"])


@pytest.mark.parametrize(
    ("wikitext", "sentence"),
    [
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
        ("'''Pell''' weighed {{Convert|5|t}} of 6&nbsp;tons.", "Pell weighed of 6 tons."),
        ("The ''Heron''{{'s}} deck was wet.", "The Heron's deck was wet."),
        ("'''بيل''' كان قمرا. كان بعيدا.", "بيل كان قمرا."),
    ],
)
def test_the_first_sentence_is_clean_text(wikitext: str, sentence: str | None) -> None:
    row = signals(wikitext)
    assert row["lead_sentence"] == (sentence or "Pell (born 1968 (or 9) in X) was, by St. John, a moon.")


def test_without_a_bold_title_the_lead_is_the_first_paragraph() -> None:
    row = signals("{{Top}}\nA moon shone. It set.\n\nAnother '''word''' is bold.")
    assert row["lead_sentence"] == "A moon shone."
    assert row["lead_method"] == "first_paragraph"
    assert row["lead_offset"] == 8


@pytest.mark.parametrize(
    "wikitext",
    [
        "",
        None,
        "{{Top|leg}}\n{{Planet\n|name=x\n|moons=2}}",
        "* [[A]]\n* [[B]]",
        "{|\n|a\n|}",
        "== A ==\n== B ==",
        "...",
    ],
)
def test_a_page_without_prose_has_no_lead(wikitext: str | None) -> None:
    row = signals(wikitext)
    assert row["lead_method"] == "none"
    assert row["lead_length"] == 0
    assert row["lead_excerpt"] is row["lead_sentence"] is row["lead_offset"] is row["lead_hash"] is None


def test_a_short_lead_is_continued_with_prose_of_the_sections_until_it_is_long_enough() -> None:
    body = "She sailed far. " * 30
    row = signals(f"{SENTENCE}\n\n== Life ==\n* a list\n{body}\n\n{body}\n\n{body}\n== More ==\n{body}")
    assert row["lead_excerpt"] == f"{CLEAN}\n\n" + "\n\n".join([body.strip()] * 3)


@pytest.mark.parametrize("heading", ["Behind the scenes", "''Notes and references''", "SOURCES"])
def test_a_short_lead_is_not_continued_with_closing_sections(heading: str) -> None:
    row = signals(f"{SENTENCE}\n\n=={heading}==\nThe film was made in a barn.\n==Life==\nShe sailed.")
    assert row["lead_excerpt"] == CLEAN


def test_a_long_lead_ends_with_the_lead_section() -> None:
    body = "She sailed far. " * 70
    assert "Elsewhere" not in signals(f"{SENTENCE} {body}\n==Life==\nElsewhere.")["lead_excerpt"]


def test_a_lead_of_100_000_characters_is_cut_at_a_sentence_before_8_000() -> None:
    row = signals(f"{SENTENCE} " + "She sailed far. " * 6_000)
    assert 7_900 < row["lead_length"] <= 8_000
    assert row["lead_excerpt"].endswith("far.")


def test_a_lead_without_any_sentence_end_is_cut_at_12_000() -> None:
    row = signals(f"'''Issa Dorrane''' {'word ' * 20_000}")
    assert 11_900 < row["lead_length"] <= 12_000
    assert len(row["lead_sentence"]) <= 1_000


def test_the_lead_is_found_behind_an_infobox_longer_than_the_first_look() -> None:
    infobox = "{{Battle\n" + "".join(f"|unit{n}=[[Unit {n}]]{' long' * 20}\n" for n in range(290)) + "}}\n"
    row = signals(f"{infobox}{SENTENCE}\n== Life ==\nShe sailed.")
    assert len(infobox) > 30_000
    assert row["lead_sentence"] == CLEAN
    assert len(row["infobox_fields"]) == 290
