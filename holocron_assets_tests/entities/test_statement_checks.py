"""Whether a sentence states what a model reads from it: the checks that need no model."""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from evidence_pages import page_parts

from holocron_assets.derive.code.given import code_item
from holocron_assets.entities.facts.checks import Check, Said, check_page, failed_checks
from holocron_assets.entities.facts.rules import load_rule_book
from holocron_assets.entities.facts.sentence_statements import (
    stated_facts,
    stated_relations,
    statements_of_page,
)
from holocron_assets.entities.facts.sentences import PageRead
from holocron_assets.entities.facts.vocabulary import load_vocabulary
from holocron_assets.entities.names.linked_names import linked_names
from holocron_assets.lake.titles import DEFAULT_SITE

WORDS = load_vocabulary()
VALUES = {
    "species": "Corl",
    "gender": "male",
    "homeworld": "Ervane",
    "occupation": "sailor",
    "rank": "captain",
    "born": "12 BBY",
    "died": "40 ABY",
    "height": "1.8",
    "length": "30",
    "mass": "200",
    "color": "red",
    "eye_color": "green",
    "hair_color": "red",
    "skin_color": "blue",
    "type": "fishing boat",
    "class": "Gull-class",
    "designation": "sentient",
    "date": "12 ABY",
    "medium": "novel",
    "outcome": "victory of the Grey Guard",
    "founded": "300 BBY",
    "dissolved": "10 ABY",
    "destroyed": "10 ABY",
    "released": "May 1977",
    "genre": "adventure",
    "population": "3,000",
    "climate": "temperate",
    "terrain": "salt flats",
    "crew": "12",
    "purpose": "fishing",
}
"""The value that each fact's example states, and its counter-example does not."""


def subject_of(sentence: str) -> str:
    """The name that an example begins with."""
    found = re.match(r"(?:The )?((?:[A-Z]\w+|tide clock|anchor)(?: of [A-Z]\w+)?(?: [A-Z]\w+)?)", sentence)
    assert found, sentence
    return found[1]


def examples() -> Iterator[tuple[str, Said, bool]]:
    """What every example of the vocabulary states, and what its counter-example does not."""
    for key, relation in WORDS.file.relations.items():
        for text, is_stated in ((relation.example, True), (relation.counter_example, False)):
            [other] = re.findall(r"\[(.*?)\]", text)
            plain = text.replace("[", "").replace("]", "")
            yield plain, Said("relation", subject_of(plain), key, other, plain), is_stated
    for key, fact in WORDS.facts.items():
        for text, is_stated in ((fact.example, True), (fact.counter_example, False)):
            yield text, Said("fact", subject_of(text), key, VALUES[key], text), is_stated


def failed(title: str, text: str, key: str, other: str, *, subject: str | None = None) -> list[Check]:
    """The checks that a relation fails, if a page's whole text is quoted."""
    said = Said("relation", subject or title, key, other, text)
    return failed_checks(said, PageRead(title, text))


def test_every_example_of_the_vocabulary_is_stated_and_no_counter_example_is() -> None:
    wrong = [
        (said.key, text)
        for text, said, is_stated in examples()
        if bool(failed_checks(said, PageRead(said.subject, text))) is is_stated
    ]
    assert wrong == []


def test_a_relation_read_the_wrong_way_round_is_found_by_its_sentence() -> None:
    text = "The Great Pit was located on the Dune Sea."
    assert failed("Great Pit", text, "located_in", "Dune Sea") == []
    assert failed("Dune Sea", text, "located", "Great Pit") == ["direction"]
    taught = "Ifa Roon taught Bel Arno and Tam Sey to sail."
    assert failed("Ifa Roon", taught, "taught", "Tam Sey") == []
    assert failed("Tam Sey", taught, "taught", "Ifa Roon") == ["direction"]


def test_a_verb_with_another_object_does_not_state_the_relation() -> None:
    text = "TX-828 led an ambush against the Shrikes."
    assert failed("TX-828", text, "led", "Shrikes") == ["pattern"]
    assert failed("TX-828", "TX-828 led the elite Shrikes.", "led", "Shrikes") == []


def test_the_verb_of_a_clause_about_another_is_not_the_subjects() -> None:
    text = "Ifa Roon was taught by Bel Arno, who led the Grey Guard."
    assert failed("Ifa Roon", text, "led", "Grey Guard") == ["pattern"]
    own = "Ifa Roon was a sailor who led the Grey Guard."
    assert failed("Ifa Roon", own, "led", "Grey Guard") == []


@pytest.mark.parametrize(
    "text",
    [
        "Ifa Roon never led the Grey Guard.",
        "According to sailors, Ifa Roon led the Grey Guard.",
        "Ifa Roon might have led the Grey Guard.",
    ],
)
def test_a_sentence_that_denies_or_supposes_states_nothing(text: str) -> None:
    assert failed("Ifa Roon", text, "led", "Grey Guard") == ["hedged"]


def test_the_whole_sentence_counts_and_not_only_the_words_that_are_quoted() -> None:
    page = PageRead("Ifa Roon", "Ifa Roon sailed. According to legend, she led the Grey Guard. She died.")
    said = Said("relation", "Ifa Roon", "led", "Grey Guard", "she led the Grey Guard")
    assert page.sentence(said.evidence) == "According to legend, she led the Grey Guard."
    assert failed_checks(said, page) == ["hedged"]


def test_initials_and_short_forms_do_not_end_a_sentence() -> None:
    page = PageRead("Roon", "J. R. Roon knew Dr. Arno. He led the Guard.")
    assert page.sentence("knew Dr. Arno") == "J. R. Roon knew Dr. Arno."


def test_what_fits_no_key_names_no_end_or_repeats_a_name_is_found() -> None:
    text = "Ifa Roon led the Grey Guard."
    assert failed("Ifa Roon", text, "influenced", "Grey Guard") == ["unmapped"]
    assert failed("Ifa Roon", text, "led", "Salt League") == ["other"]
    assert failed("Ifa Roon", text, "led", "Grey Guard", subject="Bel Arno") == ["subject"]
    assert failed("Ifa Roon", text, "led", "Ifa Roon") == ["repeats"]
    assert failed_checks(
        Said("relation", "Ifa Roon", "led", "Grey Guard", "ruled the Guard"), PageRead("Ifa Roon", text)
    ) == ["quote"]


def test_a_value_of_another_kind_is_no_fact_of_its_key() -> None:
    page = PageRead("Tam Sey", "Tam Sey was born a sailor with bright eyes.")
    for key, value in (("born", "a sailor"), ("eye_color", "bright")):
        assert failed_checks(Said("fact", "Tam Sey", key, value, page.text), page) == ["kind"]


def test_a_date_is_one_of_the_wikis_language() -> None:
    site = replace(DEFAULT_SITE, language="ru")
    given = replace(page_parts("'''Tam Sey''' was born in 19 ДБЯ.", "Tam Sey"), site=site)
    row = {"fact_key": "born", "value": "19 ДБЯ", "evidence": "was born in 19 ДБЯ"}
    answers = {"entity_facts": [row], "relationship_extraction": []}
    of_person = {"primary_type": "PersonCharacter"}
    [check] = check_page(code_item({}, {"page": given}, answers))
    assert check["failed"] == ""
    [stated] = statements_of_page(code_item(of_person, {"page": given}, {}))
    assert (stated["key"], stated["other"]) == ("born", "19 ДБЯ")
    in_english = {"page": replace(given, site=DEFAULT_SITE)}
    [check] = check_page(code_item({}, in_english, answers))
    assert check["failed"] == "kind"
    assert list(statements_of_page(code_item(of_person, in_english, {}))) == []
    assert code_item({}, in_english, {}).content_hash != code_item({}, {"page": given}, {}).content_hash


def test_only_a_part_of_a_longer_name_is_not_the_other_end() -> None:
    assert failed("Ifa Roon", "Ifa Roon served in the Grey Guard's kitchen.", "served_in", "Grey Guard")


def test_infobox_rules_use_the_vocabularys_names() -> None:
    rules = [rule for _, file in load_rule_book("wookieepedia").files for rule in file.rules]
    facts = {rule.key for rule in rules if rule.kind == "fact"}
    relations = {rule.key for rule in rules if rule.kind == "relation"}
    assert not WORDS.facts.keys() - facts, "each fact that models may state is one that infoboxes tell"
    narrower = {key for entry in WORDS.file.relations.values() for key in entry.implied_by}
    assert not narrower - relations, "each narrower relation is one that infoboxes tell"
    single = {rule.key for rule in rules if rule.single}
    assert {key for key, fact in WORDS.facts.items() if fact.single} <= single


def test_a_lead_states_what_stands_between_its_subject_and_a_link_each_once() -> None:
    text = (
        "Ifa Roon (born 12 BBY) was a sailor who served in the Grey Guard. She led the Salt League and the "
        "Grey Guard. Her brother led the Tide Watch. Bel Roon led the Net House. It is unclear whether she "
        "joined Oll Yards."
    )
    links = {name: name for name in ("Grey Guard", "Salt League", "Tide Watch", "Net House", "Oll Yards")}
    found = list(stated_relations(PageRead("Ifa Roon", text), links, "PersonCharacter"))
    assert [(row["key"], row["to_title"]) for row in found] == [
        ("member_of", "Grey Guard"),
        ("fought_in", "Grey Guard"),  # until its type is known: it is no event
        ("leads", "Grey Guard"),
        ("leads", "Salt League"),
    ]
    assert list(stated_relations(PageRead("Ifa Roon", text), links, "LocationPlace")) == []


def test_a_pronoun_after_one_of_another_gender_is_somebody_else() -> None:
    text = "Tam Sey was a sailor. He praised her when she left home and became a captain of the Grey Guard."
    links = {"Grey Guard": "Grey Guard"}
    assert list(stated_relations(PageRead("Tam Sey", text), links, "PersonCharacter")) == []
    he = PageRead("Tam Sey", text.replace("praised her when she", "rejoiced when he"))
    assert "member_of" in {row["key"] for row in stated_relations(he, links, "PersonCharacter")}


def test_the_facts_that_a_lead_states_are_read_where_values_can_be_told() -> None:
    text = (
        "Ifa Roon was a female Corl sailor from Ervane. She was born in 12 BBY and stood 1.8 metres tall. "
        "She had green eyes and red hair. She did not have blue skin. Her brother had a grey-furred coat. "
        "She rescued a male sailor with 3 boats in 4 ABY."
    )
    found = [
        (row["key"], row["other"]) for row in stated_facts(PageRead("Ifa Roon", text), "PersonCharacter")
    ]
    assert found == [
        ("gender", "female"),
        ("born", "12 BBY"),
        ("height", "1.8 metres"),
        ("eye_color", "green"),
        ("hair_color", "red"),
    ]
    boat = "The Kettle was a red boat. The Kettle carried blue salt and was sunk in 4 ABY."
    kettle = stated_facts(PageRead("Kettle", boat), "VehicleCraft")
    assert [(row["key"], row["other"]) for row in kettle] == [("color", "red"), ("destroyed", "4 ABY")]


def test_a_sentence_of_many_adverbs_is_read_at_once() -> None:
    """Each was read in two ways: thirty of them took hours."""
    page = PageRead("Nem Sixfinger", "Nem was a sailor. Nem " + "finally " * 60 + "vexed the Grey Guard.")
    assert list(stated_relations(page, {"Grey Guard": "Grey Guard"}, "PersonCharacter")) == []


def test_a_name_of_a_page_and_its_section_is_the_pages_and_one_of_two_sections_is_none() -> None:
    text = "[[Tam#Youth|Tam]], [[Tam]], [[Moor#North|Moor]], [[Moor#South|Moor]], [[Moor#West|West Moor]]"
    assert linked_names(text) == {"Tam": "Tam", "West Moor": "Moor#West"}


def test_names_of_links_are_read_from_wikitext_but_those_of_two_titles_and_other_namespaces() -> None:
    text = (
        "[[Grey Guard|the ''Guard'']]s, [[Oll_Yards]], [[File:A.png|thumb]], "
        "[[Tam (elder)|Tam]] and [[Tam Sey|Tam]], [[Guilds#Old ones|Lamplighters]], [[#Youth]], "
        "[[Thuum: A History]], [[Image: B.png|thumb]], [[de:Thuum]]"
    )
    assert linked_names(text) == {
        "the Guards": "Grey Guard",
        "Oll_Yards": "Oll Yards",
        "Lamplighters": "Guilds#Old ones",
        "Thuum: A History": "Thuum: A History",
    }


def test_a_link_leads_to_the_title_that_its_wiki_gives_the_page() -> None:
    text = "[[human]], [[human|Human]] and [[Human]]; [[oll_yards#The_pier|pier]], [[Caf&eacute;]], [[a<b]]"
    assert linked_names(text) == {
        "human": "Human",
        "Human": "Human",
        "pier": "Oll yards#The pier",
        "Caf&eacute;": "Caf\u00e9",
    }
    dictionary = replace(DEFAULT_SITE, case_sensitive=frozenset({0}))
    assert linked_names("[[moor]], [[Moor]], [[tide|the sea]], [[Tide|the sea]]", site=dictionary) == {
        "moor": "moor",
        "Moor": "Moor",
    }


def test_a_sentence_leads_to_the_page_that_its_small_link_leads_to() -> None:
    page = page_parts("Ifa Roon was a captain of the [[grey guard]].", "Ifa Roon")
    item = code_item({"primary_type": "PersonCharacter"}, {"page": page}, {})
    assert {row["to_title"] for row in statements_of_page(item) if row["kind"] == "relation"} == {
        "Grey guard"
    }


def test_a_colon_in_a_title_makes_no_namespace_of_several_words_or_of_a_section() -> None:
    text = "[[Star Moor:Second Battle|Second Battle]], [[Thuum#Note:Tides|the tides]], [[User talk:Tam|Tam]]"
    found = linked_names(text)
    assert found == {"Second Battle": "Star Moor:Second Battle", "the tides": "Thuum#Note:Tides"}


@pytest.mark.parametrize(
    ("language", "title"),
    [
        ("de", "Kategorie: Planeten"),
        ("de", "Datei: Thuum.jpg"),
        ("de", "Benutzer Diskussion:Tam"),
        ("es", "Categor\u00eda: Orden"),
        ("fr", "Cat\u00e9gorie : Plan\u00e8tes"),
        (
            "ru",
            "\u041a\u0430\u0442\u0435\u0433\u043e\u0440\u0438\u044f: \u0413\u043e\u0440\u043e\u0434\u0430",
        ),
    ],
)
def test_a_link_to_a_namespace_in_the_pages_language_spoils_no_name(language: str, title: str) -> None:
    assert linked_names(f"[[Thuum]] [[{title}|Thuum]]", language) == {"Thuum": "Thuum"}
