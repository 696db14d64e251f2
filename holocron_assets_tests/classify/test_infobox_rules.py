import pytest
from pages_read import fields, signals, typed

from holocron_assets.classify.rules import classify_page, load_rules


@pytest.mark.parametrize(
    ("template", "type_name"),
    [
        ("Character", "PersonCharacter"),
        ("Droid series", "Droid"),
        ("Species", "Species"),
        ("Space station", "LocationPlace"),
        ("Individual ship", "VehicleCraft"),
        ("Starship_class", "VehicleCraft"),
        ("weapon", "ObjectItem"),
        ("Holocron infobox", "ObjectArtifact"),
        ("Military unit", "Organization"),
        ("Battle", "EventConflict"),
        ("Television episode", "WorkMedia"),
        ("Year", "TimePeriod"),
        ("Title infobox", "Concept"),
        ("Lightsaber form", "Concept"),
    ],
)
def test_templates_of_the_first_wiki_settle_a_page(template: str, type_name: str) -> None:
    answer = typed("Vessa", infobox_template=template)
    assert (answer["primary_type"], answer["confidence"]) == (type_name, 0.95)


@pytest.mark.parametrize(
    ("template", "type_name"),
    [
        ("Infobox planet", "LocationPlace"),
        ("Infobox settlement", "LocationPlace"),
        ("Planet Infobox", "LocationPlace"),
        ("Infobox film director", "PersonCharacter"),
        ("Infobox film", "WorkMedia"),
        ("Infobox football biography", "PersonCharacter"),
        ("Infobox video game character", "PersonCharacter"),
        ("Infobox military conflict", "EventConflict"),
        ("Infobox warship", "VehicleCraft"),
        ("Infobox football club", "Organization"),
        ("Infobox football match", "EventConflict"),
        ("Taxobox", "Species"),
        ("Infobox programming language", "Concept"),
        ("Infobox television season", "WorkMedia"),
    ],
)
def test_the_last_word_of_another_wikis_infobox_decides(template: str, type_name: str) -> None:
    answer = typed("Vessa", infobox_template=template)
    assert answer["primary_type"] == type_name
    assert answer["confidence"] >= 0.8


@pytest.mark.parametrize(
    "template",
    ["Infobox warden", "Infobox software package", "Infobox starting grid", "Infobox manor house rules",
     "Infobox Personnage", "Infobox Gemeinde", "Infobox 都市", "Infobox", "Infobox shipping",
     "Infobox planetary"],
)  # fmt: skip
def test_names_that_only_contain_a_known_word_say_nothing(template: str) -> None:
    answer = typed("Vessa", infobox_template=template)
    assert (answer["primary_type"], answer["confidence"]) == ("Unknown", 0.0)


@pytest.mark.parametrize(
    ("names", "type_name"),
    [
        (("birth_date", "death_date", "occupation"), "PersonCharacter"),
        (("combatant1", "combatant2", "result"), "EventConflict"),
        (("crew", "armament", "max_speed"), "VehicleCraft"),
        (("terrain", "climate", "Population"), "LocationPlace"),
        (("diet", "habitat"), "Species"),
        (("headquarters", "founder", "products"), "Organization"),
        (("director", "producer", "starring", "runtime"), "WorkMedia"),
    ],
)
def test_fields_hint_at_the_type_of_an_unknown_infobox_but_never_settle_it(
    names: tuple[str, ...], type_name: str
) -> None:
    answer = typed("Vessa", infobox_template="Ficha", infobox_fields=fields(*names))
    assert answer["primary_type"] == type_name
    assert answer["needs_review"]


def test_a_name_with_several_meanings_is_settled_only_by_its_fields() -> None:
    assert typed("Vessa system", infobox_template="System")["needs_review"]
    stars = typed(
        "Vessa system", infobox_template="System", infobox_fields=fields("sector", "suns", "region")
    )
    assert (stars["primary_type"], stars["needs_review"]) == ("LocationPlace", False)
    computer = typed("Vessa OS", infobox_template="System", infobox_fields=fields("developer", "licence"))
    assert computer["needs_review"]


@pytest.mark.parametrize(
    ("template", "medium"),
    [
        ("Movie", "film"),
        ("Television series", "tv"),
        ("Video game", "game"),
        ("Book", "book"),
        ("Comic strip", "comic"),
        ("Reference book", "reference"),
        ("Television episode", "episode"),
        ("Short story", "short"),
        ("Soundtrack", "other"),
        ("Media", "unknown"),
        ("Infobox manga", "comic"),
    ],
)
def test_a_work_carries_its_medium(template: str, medium: str) -> None:
    answer = typed("Vessa", infobox_template=template)
    assert (answer["primary_type"], answer["work_medium"]) == ("WorkMedia", medium)


def test_only_works_carry_medium_and_canon_context() -> None:
    answer = typed("Vessa", infobox_template="Planet", continuity="canon")
    assert (answer["work_medium"], answer["canon_context"]) == (None, None)


@pytest.mark.parametrize(
    ("title", "lead", "type_name", "is_settled"),
    [
        ("Marsh troll", "Marsh trolls are found on the shore of Thuum.", "Species", True),
        ("Marsh troll", "The marsh troll is a monster of Thuum.", "Species", True),
        ("Marsh troll", "", "Species", True),
        ("Vessa", "Vessa is found on the shore of Thuum.", "PersonCharacter", False),
        ("Vessa", "Vessa is a monster found on the shore.", "PersonCharacter", False),
        ("Vessa", "Vessa is one of the citizens of Thuum.", "PersonCharacter", True),
    ],
)
def test_an_infobox_for_kinds_of_beings_does_not_settle_the_page_of_one_being(
    title: str, lead: str, type_name: str, *, is_settled: bool
) -> None:
    answer = typed(title, lead, infobox_template="Infobox Monster")
    assert (answer["primary_type"], answer["confidence"] >= 0.8) == (type_name, is_settled)


def test_without_articles_a_name_is_not_told_from_a_kind() -> None:
    book = load_rules("ru")
    row = signals("Волк", "Волк был найден в лесу.", infobox_template="Infobox animal")
    assert classify_page(row, book)["primary_type"] == "Species"
