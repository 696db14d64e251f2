import pytest
from pages_read import by_categories, rules_of, typed


@pytest.mark.parametrize(
    ("category", "type_name"),
    [
        ("Moons of Vessa", "LocationPlace"),
        ("Cities in France", "LocationPlace"),
        ("Outer Reach nebulae", "LocationPlace"),
        ("Droid models", "Droid"),
        ("Droid stubs", "Droid"),
        ("Frigate classes", "VehicleCraft"),
        ("Spacecraft of the Navy", "VehicleCraft"),
        ("Songs by the Hollow Reeds", "WorkMedia"),
        ("Tides: Part One the Flood actors", "PersonCharacter"),
        ("Alliance to Restore the Tide members", "PersonCharacter"),
        ("Batuuan food", "ObjectItem"),
        ("Families", "Organization"),
        ("Battles of the long war", "EventConflict"),
    ],
)
def test_the_plural_head_noun_of_a_category_speaks_but_alone_never_settles(
    category: str, type_name: str
) -> None:
    answer, confidence = by_categories(category)
    assert answer == type_name
    assert confidence < 0.8


def test_two_categories_that_agree_settle_a_page() -> None:
    assert by_categories("Cantinas", "Buildings in Vessa City") == ("LocationPlace", 0.9375)


@pytest.mark.parametrize(
    "category",
    [
        "Shipping", "Ships articles", "Articles about planets", "Planet", "Planets articles", "Wardens",
        "Pages needing moons", "Cleanup", "Stubs", "Articles to be expanded", "Planètes", "Planeten", "惑星",
        "Life on planets and dreams", "Star Wars: Galaxy's Edge", "Entertainment", "Legends articles",
    ],
)  # fmt: skip
def test_topics_upkeep_other_languages_and_parts_of_words_say_nothing(category: str) -> None:
    assert by_categories(category) == ("Unknown", 0.0)


def test_a_page_is_no_member_of_the_category_that_is_named_after_it() -> None:
    assert by_categories("Cantinas", title="Cantina") == ("Unknown", 0.0)
    assert by_categories("Vessa", "Species", title="Species") == ("Unknown", 0.0)


@pytest.mark.parametrize(
    "category", ["1958 births", "Living people", "44 BC deaths", "Individuals of the guild"]
)
def test_only_people_are_born_live_and_die(category: str) -> None:
    answer, confidence = by_categories(category)
    assert answer == "PersonCharacter"
    assert confidence >= 0.8


def test_an_infobox_beats_a_category_that_contradicts_it() -> None:
    answer = typed("Vessa", infobox_template="Planet", categories=["Pilots"])
    assert answer["primary_type"] == "LocationPlace"
    assert {"wookieepedia.place", "person.soldier"} == set(rules_of(answer))
    assert answer["confidence"] < 0.95


def test_an_uncertain_infobox_yields_to_several_categories() -> None:
    answer = typed("Vessa OS", infobox_template="System", categories=["Songs", "Ballads", "Albums"])
    assert answer["primary_type"] == "WorkMedia"
    assert answer["needs_review"]
