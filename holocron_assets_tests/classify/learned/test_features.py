"""What the learned model sees of a page."""

import math

import pytest
from pages_read import fields, signals, typed

from holocron_assets.classify.learned.features import Features, infobox_is_known, page_features

LEAD = "Vessa is a moon of [[Thuum]]."
INFOBOX = "{{Planet\n|region=[[Outer Reach]]\n}}\n"


def seen(wikitext: str = LEAD, *, hides_infobox: bool = False, **changed: object) -> Features:
    row = {"sections": [], "lead_offset": wikitext.find(LEAD), **signals("Vessa (moon)", LEAD, **changed)}
    return page_features(row, wikitext, hides_infobox=hides_infobox)


def test_an_infobox_that_a_rule_read_is_known_and_another_is_not() -> None:
    assert infobox_is_known(typed("Vessa", infobox_template="Planet", infobox_fields=fields("region")))
    assert not infobox_is_known(typed("Vessa", infobox_template="Schablone"))


def test_a_hidden_infobox_leaves_no_trace() -> None:
    without = seen()
    hidden = seen(
        INFOBOX + LEAD,
        hides_infobox=True,
        infobox_template="Planet",
        infobox_fields=fields("region"),
    )
    assert hidden == without


def test_an_infobox_that_no_rule_knows_is_seen() -> None:
    found = seen(INFOBOX + LEAD, infobox_template="Planet", infobox_fields=fields("region"))
    assert {"infobox: Planet", "infobox word: planet", "field: region"} <= found.keys()
    assert "link: Outer Reach" not in found, "links before the lead belong to the infobox"


def test_a_page_with_an_infobox_and_no_lead_shows_none_of_its_text() -> None:
    row = {"sections": [], "lead_offset": None, **signals("Vessa", infobox_template="Planet")}
    found = page_features(row, INFOBOX, hides_infobox=True)
    assert not [name for name in found if name.startswith(("link", "template"))]


@pytest.mark.parametrize(
    "feature",
    [
        "qualifier: moon",
        "title word: vessa",
        "title part: sa$",
        "words of the title: 1",
        "lead: moon",
        "lead words: a moon",
        "link: Thuum",
        "category: Moons of Thuum",
        "category word: moons",
        "heading: history",
        "template: Stub",
    ],
)
def test_a_page_shows_its_title_lead_links_categories_headings_and_templates(feature: str) -> None:
    text = f"{LEAD} {{{{stub|place}}}} [[Category:Moons of Thuum]]"
    row = {
        **signals("Vessa (moon)", LEAD, categories=["Moons of Thuum"]),
        "sections": [{"level": 2, "title": "History"}],
        "lead_offset": 0,
    }
    found = page_features(row, text, hides_infobox=False)
    assert feature in found
    assert "link: Category:Moons of Thuum" not in found


def test_a_page_shows_the_fields_that_name_it() -> None:
    row = {"sections": [], "lead_offset": 0, **signals("Vessa", LEAD)}
    found = page_features(row, LEAD, hides_infobox=True, named_in=["Person.heimat"])
    assert found["named in: Person.heimat"] == 0.5


def test_a_page_in_another_script_shows_the_same_kinds() -> None:
    lead = "ვესა არის თუმის მთვარე."
    row = {"sections": [], "lead_offset": 0, **signals("ვესა (მთვარე)", lead, categories=["მთვარეები"])}
    found = page_features(row, lead, hides_infobox=False)
    assert {"qualifier: მთვარე", "lead: მთვარე", "category word: მთვარეები", "title part: ^ვ"} <= found.keys()


def test_all_links_of_a_page_together_weigh_as_much_as_one() -> None:
    few, many = (seen(LEAD + "".join(f"[[Page {n}]]" for n in range(count))) for count in (0, 50))
    for found in (few, many):
        of_links = [value for name, value in found.items() if name.startswith("link: ")]
        assert math.isclose(sum(value**2 for value in of_links), 1, abs_tol=1e-3)
