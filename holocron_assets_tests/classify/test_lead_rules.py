import pytest
from pages_read import by_lead, fields, rules_of, typed

from holocron_assets.classify.rule_file import Rule
from holocron_assets.classify.rules import load_rules

RULES_OF_NOUNS = [rule for rule in load_rules().rules.values() if rule.nouns and "lead" in rule.confidence]


@pytest.mark.parametrize(
    ("lead", "type_name"),
    [
        ("Vessa was a human male Jedi Knight who flew.", "PersonCharacter"),
        ("Vessa was a star destroyer commander in the navy.", "PersonCharacter"),
        ("Vessa was originally a wealthy and cunning smuggler.", "PersonCharacter"),
        ("Vessa is an American actress.", "PersonCharacter"),
        ("Vessa served as the captain of a freighter.", "PersonCharacter"),
        ("Vessa was the planet's capital city.", "LocationPlace"),
        ("Vessa is one of the nine moons of Thuum.", "LocationPlace"),
        ("Vessa was the name of a planet in the Outer Reach.", "LocationPlace"),
        ("Vessa was a drinking and dining establishment on Thuum.", "LocationPlace"),
        ("Vessa were a species of winged reptiles.", "Species"),
        ("Vessa was a sentient species from Thuum.", "Species"),
        ("Vessa is the third episode of the second season of the show.", "WorkMedia"),
        ("Vessa is a 2015 novel by Someone.", "WorkMedia"),
        ("Vessa is a first-person shooter video game developed by Someone.", "WorkMedia"),
        ("Vessa was a type of T-47 airspeeder.", "VehicleCraft"),
        ("Vessa was a droid model made by Someone.", "Droid"),
        ("Vessa were small, round droids that rolled.", "Droid"),
        ("Vessa was a masculine-programmed protocol droid.", "Droid"),
        ("Vessa was a noble family from Thuum.", "Organization"),
        ("Vessa was the royal family of Thuum.", "Organization"),
        ("Vessa was a monastic order of monks.", "Organization"),
        ("Vessa was a sovereign state.", "Organization"),
        ("Vessa was a resistance movement on Thuum.", "Organization"),
        ("Vessa is a high school.", "LocationPlace"),
        ("Vessa was the battle that ended the war.", "EventConflict"),
        ("Vessa was a lightsaber form that relied on the wrist.", "Concept"),
        ("Vessa was a rare crystal found in caves.", "ObjectItem"),
        ("Vessa was an era of peace.", "TimePeriod"),
    ],
)
def test_the_last_noun_after_the_verb_says_what_the_subject_is(lead: str, type_name: str) -> None:
    assert by_lead(lead) == (type_name, True)


@pytest.mark.parametrize(
    ("lead", "type_name"),
    [
        ("Vessa was a warship built in secret.", "VehicleCraft"),
        ("Vessa was a warden of the north.", "Unknown"),
        ("Vessa was a starship captain.", "PersonCharacter"),
        ("Vessa was a planetary shield.", "ObjectItem"),
        ("Vessa was a manhunt.", "Unknown"),
        ("Vessa was a friendship.", "Unknown"),
        ("Vessa is a third-person, open-world nightmare.", "Unknown"),
        ("Vessa was a human settlement on Thuum.", "LocationPlace"),
        ("Vessa was a pilot droid.", "Droid"),
        ("Vessa was a droid pilot.", "PersonCharacter"),
        ("Vessa was a bounty hunters' guild.", "Organization"),
    ],
)
def test_words_inside_words_and_words_before_the_head_do_not_decide(lead: str, type_name: str) -> None:
    assert by_lead(lead)[0] == type_name


@pytest.mark.parametrize(
    ("lead", "type_name"),
    [
        ("Vessa is a British company making cars.", "Organization"),
        ("Vessa was a mercenary company selling its services.", "Organization"),
        ("Vessa is a river running through Thuum.", "LocationPlace"),
        ("Vessa was a military training exercise.", "Unknown"),
        ("Vessa was a wedding ring.", "ObjectItem"),
        ("Vessa was a group meeting.", "EventConflict"),
    ],
)
def test_a_participle_follows_the_head_and_one_before_a_singular_belongs_to_it(
    lead: str, type_name: str
) -> None:
    assert by_lead(lead)[0] == type_name


@pytest.mark.parametrize("rule", RULES_OF_NOUNS, ids=lambda rule: rule.id)
def test_each_noun_that_a_rule_lists_for_leads_fires_it(rule: Rule) -> None:
    for noun in sorted(rule.nouns or ()):
        assert rules_of(typed("Vessa", f"Vessa is a {noun} in Thuum."))[0] == rule.id, noun


@pytest.mark.parametrize(
    ("lead", "type_name"),
    [
        ("Vessa is a plane of existence.", "LocationPlace"),
        ("Vessa is a form of government on Thuum.", "Concept"),
        ("Vessa is a box set that holds films.", "WorkMedia"),
        ("Vessa was a salty body of water.", "LocationPlace"),
        ("Vessa was a body of men.", "Organization"),
        ("Vessa was a captain and soldier of fortune who flew.", "PersonCharacter"),
        ("A body of water was found on Thuum.", "LocationPlace"),
    ],
)
def test_a_noun_of_several_words_is_read_past_a_preposition(lead: str, type_name: str) -> None:
    assert by_lead(lead)[0] == type_name


@pytest.mark.parametrize(
    ("lead", "type_name"),
    [
        ("Vessa was a popular cantina on Thuum.", "LocationPlace"),
        ("Vessa was a cantina popular with pilots.", "LocationPlace"),
        ("Vessa was one of the most popular cantinas on Thuum.", "LocationPlace"),
        ("Vessa was a small, sparsely populated planet.", "LocationPlace"),
        ("Vessa was a loyal and dedicated soldier.", "PersonCharacter"),
        ("Vessa was a well known smuggler.", "PersonCharacter"),
        ("Vessa was the last known living smuggler.", "PersonCharacter"),
        ("Vessa was a native of Thuum.", "PersonCharacter"),
        ("Vessa was a native living on Thuum.", "PersonCharacter"),
        ("Vessa was a native tribe.", "Organization"),
        ("Vessa were native animals of Thuum.", "Species"),
        ("Vessa were native to Thuum.", "Unknown"),
        ("Vessa were all native to Thuum.", "Unknown"),
        ("Vessa was a wermo native to Thuum.", "Unknown"),
        ("Vessa was a set of tools.", "ObjectItem"),
        ("Vessa were known simply as Osk, and were pirates.", "PersonCharacter"),
    ],
)
def test_an_adjective_that_may_also_follow_a_noun_does_not_end_the_phrase_before_its_noun(
    lead: str, type_name: str
) -> None:
    assert by_lead(lead)[0] == type_name


@pytest.mark.parametrize(
    ("lead", "type_name"),
    [
        ("Vessa was a cantina run by Robb.", "LocationPlace"),
        ("Vessa was a song originally sung in Huttese.", "WorkMedia"),
        ("Vessa was an actor best known for a song.", "PersonCharacter"),
        ("Vessa was a droid first produced on Thuum.", "Droid"),
        ("Vessa was a city just north of Thuum.", "LocationPlace"),
        ("Vessa was a family active today.", "Organization"),
        ("Vessa was a smuggler once captured droids.", "PersonCharacter"),
        ("Vessa was a captain, first seen in a film.", "PersonCharacter"),
        ("Vessa was a speeder run.", "Unknown"),
        ("Vessa was a Jedi fact.", "Concept"),
        ("Vessa was a desert lily on Thuum.", "Unknown"),
        ("Vessa was an oil well run by Robb.", "LocationPlace"),
    ],
)
def test_a_noun_is_read_before_the_participle_or_adverb_that_follows_it(lead: str, type_name: str) -> None:
    assert by_lead(lead)[0] == type_name


def test_a_sentence_that_defines_nothing_still_names_its_subject() -> None:
    assert by_lead("A cantina was located on the planet Thuum.", "Thuum cantina")[0] == "LocationPlace"
    assert by_lead("A male Rulian guard attacked a settlement.", "Unidentified guard")[0] == "PersonCharacter"
    assert (
        by_lead("During the long war, a smuggler sold spice.", "Unidentified smuggler")[0]
        == "PersonCharacter"
    )
    assert by_lead("Vessa, a dealer in arms, was active on Thuum.") == ("PersonCharacter", False)


def test_a_stub_that_only_repeats_its_title_says_nothing() -> None:
    assert rules_of(typed("Tides: The Last Battle", "The Last Battle.")) == []
    assert rules_of(typed("Tides: The Last Battle", "The Last Battle was a tide war song.")) == ["work.music"]


def test_a_role_of_anyone_is_a_concept_and_a_role_of_somebody_is_a_person() -> None:
    assert by_lead("A captain was an officer who led a company.", "Captain")[0] == "Concept"
    assert by_lead("A captain was an officer who led a company.", "Captain (rank)")[0] == "Concept"
    assert by_lead("Tailors were artisans who made clothes.", "Tailor")[0] == "Concept"
    assert by_lead("Captain Vessa was an officer who led a company.", "Captain Vessa") == (
        "PersonCharacter",
        True,
    )
    assert by_lead("A tall captain was the hero of Thuum.", "Unidentified captain")[0] == "PersonCharacter"


def test_one_animal_with_a_name_is_somebody_and_its_kind_is_a_species() -> None:
    assert by_lead("Vessa was a female marsh-cat.") == ("PersonCharacter", True)
    assert by_lead("Vessa was a marsh-cat.") == ("PersonCharacter", False)
    assert by_lead("The marsh-cat was a small mammal.", "Marsh-cat") == ("Species", True)


def test_a_pronoun_and_a_kind_with_a_proper_name_together_make_a_person() -> None:
    kind = typed("Vessa", "Vessa was a Rulian from Thuum.")
    assert (kind["primary_type"], kind["needs_review"]) == ("PersonCharacter", True)
    lead = "Vessa was a Rulian from Thuum."
    with_pronoun = typed("Vessa", lead, lead_excerpt=f"{lead} She sold maps.")
    assert with_pronoun["confidence"] >= 0.8
    assert rules_of(with_pronoun) == ["lead.he_or_she", "lead.proper_kind"]


def test_a_cue_never_argues_with_a_head_noun() -> None:
    lead = "Vessa was a starship."
    answer = typed("Vessa", lead, lead_excerpt=f"{lead} She was fast.")
    assert rules_of(answer) == ["vehicle"]
    assert not answer["needs_review"]


@pytest.mark.parametrize(
    "lead",
    ["Vessa may refer to several things:", "Vessa could mean one of the following:", "Vessa can refer to:",
     "This is a list of moons.", "The following is a chronology of the war.", "There is a total of songs.",
     "There are a total of 12 moons.", "Vessa is a term that may refer to:",
     "Vessa is the surname of the following people:", "Vessa was the name of several ships:"],
)  # fmt: skip
def test_a_lead_that_offers_meanings_or_announces_a_list_is_reference(lead: str) -> None:
    assert by_lead(lead) == ("ReferenceMeta", True)


@pytest.mark.parametrize(
    "lead", ["Vessa is the common name of several fungi.", "Ida Vessa took the name of several forebears."]
)
def test_a_lead_that_says_what_has_the_name_offers_no_meanings(lead: str) -> None:
    assert by_lead(lead) == ("Unknown", False)


@pytest.mark.parametrize("kind", ["male given name", "masculine given name", "female first name", "surname"])
def test_a_name_that_people_have_is_no_person(kind: str) -> None:
    assert by_lead(f"Vessa is a {kind}.") == ("Concept", True)


def test_dates_of_life_speak_for_a_person_but_dates_of_a_magazine_do_not() -> None:
    assert by_lead("Ann Vessa (born 4 May 1970) sells maps.") == ("PersonCharacter", True)
    assert by_lead("Ann Vessa (b. 4 May 1970) sells maps.") == ("PersonCharacter", True)
    assert by_lead("Ann Vessa (d. c. 1970) sold maps.") == ("PersonCharacter", True)
    assert by_lead("Vessa (1950 - 1990) was a magazine.") == ("WorkMedia", True)


def test_a_span_of_years_makes_a_person_with_a_word_of_persons_only() -> None:
    assert by_lead("Ann Vessa (1900-1970) was an English aviatrix.") == ("PersonCharacter", False)
    assert by_lead("Ann Vessa (1900-1970) was an English painter.") == ("PersonCharacter", True)
    aviatrix = "Ann Vessa (1900-1970) was an English aviatrix."
    told = typed("Ann Vessa", aviatrix, lead_excerpt=f"{aviatrix} She flew to Thuum.")
    assert (told["primary_type"], told["needs_review"]) == ("PersonCharacter", False)


def test_a_season_is_a_work_if_it_is_one_of_a_show() -> None:
    told = typed("Vessa", "Vessa is the second season of the television series Osk.")
    assert (told["primary_type"], told["work_medium"], told["needs_review"]) == ("WorkMedia", "tv", False)
    assert by_lead("The 2012 season was the 17th season of the Osk Series.") == ("WorkMedia", False)
    assert by_lead("Vessa is a trading card.") == ("WorkMedia", True)


@pytest.mark.parametrize(
    "lead",
    [
        "",
        "Vessa is the third chapter of Osk.",
        "Vessa is the 12th chapter of Osk.",
        "Vessa is a chapter of Osk.",
    ],
)
def test_a_chapter_of_a_comic_is_no_settled_organization(lead: str) -> None:
    of_comic = typed(
        "Vessa",
        lead,
        infobox_template="Chapter Box",
        infobox_fields=fields("title", "chapter", "pages"),
        categories=["Volume 1 Chapters", "Osk chapters", "Chapters"],
    )
    assert of_comic["needs_review"]
    assert typed("Vessa", lead, categories=["Chapters"])["needs_review"]


def test_a_chapter_that_is_counted_is_rather_a_works_and_any_other_a_groups() -> None:
    assert by_lead("Vessa is the third chapter of Osk.") == ("WorkMedia", False)
    assert by_lead("Vessa was the 90th and final chapter in the Osk manga.") == ("WorkMedia", False)
    assert by_lead("Vessa is a chapter of the Space Marines.") == ("Organization", False)
    knights = typed("Vessa", "Vessa is a chapter of the Space Marines.", categories=["Space Marine Chapters"])
    assert (knights["primary_type"], knights["needs_review"]) == ("Organization", True)


@pytest.mark.parametrize(
    "lead", ["", "Osk.", ".", "was a", "is is is", "A", "the", ",,,", "X was", "“", "was the of"]
)
def test_scraps_say_nothing_and_break_nothing(lead: str) -> None:
    assert by_lead(lead) == ("Unknown", False)
