import pytest
from pages_read import fields, rules_of, typed


@pytest.mark.parametrize("namespace", [-1, 1, 2, 3, 4, 8, 10, 12, 15, 828])
def test_a_technical_namespace_settles_for_certain_whatever_the_page_says(namespace: int) -> None:
    answer = typed(
        "User:Someone",
        "Someone was a human male pilot who flew.",
        namespace=namespace,
        infobox_template="Character",
        categories=["Pilots"],
    )
    assert (answer["primary_type"], answer["confidence"]) == ("TechnicalSitePage", 1.0)
    assert answer["rule_ids"] == ["title.technical"]
    assert not answer["needs_review"]


@pytest.mark.parametrize(
    ("title", "namespace", "type_name", "confidence"),
    [
        ("Forum:Where to begin", 110, "TechnicalSitePage", 0.95),
        ("Forum:Where to begin", 0, "TechnicalSitePage", 0.95),
        ("Category:Moons", 14, "TechnicalSitePage", 0.90),
        ("File:Moon.png", 6, "TechnicalSitePage", 0.85),
        ("Template:Quote", 0, "TechnicalSitePage", 1.0),
        ("Main Page", 0, "TechnicalSitePage", 0.95),
        ("Timeline of the tidal wars", 0, "ReferenceMeta", 0.95),
        ("List of moons", 0, "ReferenceMeta", 0.90),
        ("Lists of songs", 0, "ReferenceMeta", 0.90),
        ("Vessa/Behind the scenes", 0, "ReferenceMeta", 0.90),
        ("Vessa/Appearances", 0, "ReferenceMeta", 0.85),
        ("Vessa (disambiguation)", 0, "ReferenceMeta", 0.95),
        ("1,004 BC", 0, "TimePeriod", 0.95),
        ("19 BBY", 0, "TimePeriod", 0.95),
        ("35,453 BBY", 0, "TimePeriod", 0.95),
        ("19 BBY/Legends", 0, "TimePeriod", 0.95),
        ("1990s", 0, "TimePeriod", 0.95),
        ("19th century", 0, "TimePeriod", 0.95),
    ],
)
def test_titles_say_what_they_are_with_the_confidence_that_was_agreed(
    title: str, namespace: int, type_name: str, confidence: float
) -> None:
    answer = typed(title, namespace=namespace)
    assert (answer["primary_type"], answer["confidence"]) == (type_name, confidence)


def test_a_redirect_is_reference_and_the_reason_names_its_target() -> None:
    answer = typed("Vess", is_redirect=True, redirect_target="Vessa", infobox_template="Character")
    assert (answer["primary_type"], answer["confidence"]) == ("ReferenceMeta", 1.0)
    assert [piece["matched"] for piece in answer["evidence"]] == ["redirect to Vessa"]


def test_a_redirect_to_another_wiki_is_reference_too() -> None:
    answer = typed("Vess", is_redirect=True, redirect_target=None, infobox_template="Character")
    assert (answer["primary_type"], answer["confidence"]) == ("ReferenceMeta", 1.0)
    assert [piece["matched"] for piece in answer["evidence"]] == ["redirect to another wiki"]


def test_a_disambiguation_is_known_by_its_flag() -> None:
    answer = typed("Vessa", "Vessa may refer to:", is_disambiguation=True)
    assert answer["primary_type"] == "ReferenceMeta"
    assert answer["confidence"] > 0.95


@pytest.mark.parametrize("title", ["Blacklist of Vess", "The List", "Timelines", "Forum", "Vessa/Legends"])
def test_words_inside_a_title_are_not_taken_for_its_opening(title: str) -> None:
    assert typed(title)["primary_type"] == "Unknown"


def test_a_bare_number_is_a_year_only_when_something_confirms_it() -> None:
    alone = typed("1984")
    assert (alone["primary_type"], alone["needs_review"]) == ("TimePeriod", True)
    marked = typed("1984", timeline_markers=["title:year", "category:Years"])
    assert (marked["primary_type"], marked["confidence"]) == ("TimePeriod", 0.95)
    assert typed("1984", timeline_markers=["title:year"])["needs_review"]


def test_a_number_that_names_a_soldier_is_a_person() -> None:
    answer = typed("1138", "1138 was a human male soldier who fought.", infobox_template="Character")
    assert answer["primary_type"] == "PersonCharacter"
    assert answer["confidence"] >= 0.8


def test_a_title_qualifier_speaks_but_a_qualifier_that_is_a_name_does_not() -> None:
    assert rules_of(typed("Vessa (planet)")) == ["place.celestial"]
    assert typed("Vessa (planet)")["needs_review"]
    assert rules_of(typed("Unidentified captain (Harbor City)")) == []


def test_an_infobox_overrules_a_qualifier() -> None:
    answer = typed("Pilot (city)", infobox_template="Character", infobox_fields=fields("gender"))
    assert answer["primary_type"] == "PersonCharacter"
    assert answer["confidence"] >= 0.8


def test_the_last_word_of_a_title_is_weak_evidence_and_a_works_title_is_none() -> None:
    assert rules_of(typed("Battle of Vessa")) == ["event.conflict"]
    assert typed("Battle of Vessa")["needs_review"]
    assert rules_of(typed("Tides: The Last Battle")) == []
    assert rules_of(typed("Battle")) == []
