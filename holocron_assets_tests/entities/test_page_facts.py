"""What values of an infobox say by the rules: facts, relations, periods, numbers and dates."""

from typing import Any

import pytest

from holocron_assets.entities.facts.page_facts import page_fact_rows
from holocron_assets.entities.facts.rules import load_rule_book
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.tables import PAGE_FACTS
from holocron_assets.lake.titles import DEFAULT_SITE
from holocron_assets.signals.infobox.values import infobox_values

PAGE = {"source": "sample", "batch": "sample-000001", "title": "X", "title_key": 7, "revision_id": 3}


def rows(
    fields: str,
    template: str = "Character",
    *,
    title: str = "X",
    language: str = "en",
    source: str = "sample",
) -> list[dict[str, Any]]:
    """The rows of a page whose infobox has these fields; each fits the table."""
    rules = load_rule_book(source, language=language)
    text = f"{{{{{template}\n{fields}\n}}}}"
    values = infobox_values(
        text, template, DEFAULT_SITE, lambda field: rules.parts_at_commas(template, field)
    )
    found = [dict(row) for row in page_fact_rows({**PAGE, "title": title}, template, values, rules)]
    PAGE_FACTS.to_arrow(found, "sample-000001")
    for row in found:
        assert text[row["evidence_start"] : row["evidence_end"]]
    return found


def said(fields: str) -> list[tuple[str, str, str]]:
    return [(row["kind"], row["key"], row["value"]) for row in rows(fields)]


def test_a_field_gives_what_its_rules_say_and_a_field_without_rule_gives_nothing() -> None:
    assert said("|homeworld=[[Thuum]]\n|mood=Fine\n|name=Nem Sixfinger") == [
        ("fact", "homeworld", "Thuum"),
        ("relation", "comes_from", "Thuum"),
        ("name", "name", "Nem Sixfinger"),
    ]


@pytest.mark.parametrize(
    ("title", "written"),
    [
        ("Imperial Office of Criminal Investigations", "Imperial Office of<br>Criminal Investigations"),
        ("Imperial Office/Legends", "''Imperial''<br />office"),
        ("Last Guard: The Graphic Novel (2018)", "Last Guard;\n*The [[graphic novel|Graphic Novel]]"),
    ],
)
def test_a_title_that_is_broken_over_lines_is_one_name(title: str, written: str) -> None:
    [row] = rows(f"|title={written} (formerly)\n|homeworld=", title=title)
    assert (row["key"], row["value"]) == ("name", title.removesuffix("/Legends").removesuffix(" (2018)"))
    assert (row["qualifier"], row["position"]) == ("formerly", 0)
    assert row["evidence_end"] - row["evidence_start"] == len(f"{written} (formerly)".lstrip("'"))


@pytest.mark.parametrize("title", ["X", "Tam Nem the Elder", "???"])
def test_several_names_that_are_not_the_title_together_stay_several(title: str) -> None:
    assert [row["value"] for row in rows("|name=Tam<br>Nem", title=title)] == ["Tam", "Nem"]


def test_only_names_are_joined_to_the_title() -> None:
    assert [row["value"] for row in rows("|gender=Tam<br>Nem", title="Tam Nem")] == ["Tam", "Nem"]


def test_a_relation_leads_to_the_title_linked_to() -> None:
    [fact, relation] = rows("|species=[[Tchaan/Legends|Tchaan]] (half)")
    assert (relation["target"], relation["target_key"]) == (
        "Tchaan/Legends",
        title_key("sample", "Tchaan/Legends"),
    )
    assert relation["qualifier"] == fact["qualifier"] == "half"
    assert fact.get("target") is None


def test_a_link_to_a_section_names_a_part_of_a_page_and_has_no_key() -> None:
    [row] = rows("|affiliation=[[Guilds#Lamplighters|Lamplighters]]")
    assert (row["target"], row["target_key"]) == ("Guilds#Lamplighters", None)


def test_of_a_person_with_a_title_before_the_name_the_last_link_counts() -> None:
    [row] = rows("|leader=[[Warden-Captain|Captain]] [[Elowe Marsh]]")
    assert (row["value"], row["target"]) == ("Captain Elowe Marsh", "Elowe Marsh")


@pytest.mark.parametrize(
    ("named", "target"),
    [
        ("[[Warden-Captain]] [[Elowe Marsh]]", "Elowe Marsh"),
        ("[[Jedi]] [[Grand Master]] [[Nem]], the [[Elder]]", "Nem"),
        ("[[Sallow]], [[Osk]]", "Sallow"),
        ("[[Grey Guard]] [[barracks]]", "Grey Guard"),
        ("[[Grey Guard]] of the [[Osk|Osk]]", "Grey Guard"),
    ],
)
def test_a_rank_before_a_name_leads_nowhere_and_a_place_goes_before_the_larger_one(
    named: str, target: str
) -> None:
    [row] = rows(f"|affiliation={named}")
    assert row["target"] == target


@pytest.mark.parametrize(
    ("route", "ends"),
    [
        (
            "[[Osk (planet)|Osk]] - [[Heva]] \u2013 [[Keelia]]",
            [("Osk", "Osk (planet)"), ("Heva", "Heva"), ("Keelia",) * 2],
        ),
        (
            "[[Osk]] / [[Heva]] & [[Osk and Heva]] and [[Osk]] (old)",
            [("Osk",) * 2, ("Heva",) * 2, ("Osk and Heva",) * 2],
        ),
        ("[[Osk]] - [[Hunt for Nem]], [[0 BBY]]", [("Osk - Hunt for Nem, 0 BBY", "Osk")]),
        ("[[Osk]] and [[Heva]]'s moon", [("Osk and Heva's moon", "Osk")]),
        ("Thuum - [[Osk]] - [[Heva]]", [("Thuum - Osk - Heva", "Osk")]),
        ("[[Osk]]-[[Heva]]", [("Osk-Heva", "Osk")]),
    ],
)
def test_links_with_only_a_sign_or_a_word_for_and_between_them_are_a_relation_each(
    route: str, ends: list[tuple[str, str]]
) -> None:
    found = rows(f"|planets={route}", "Trade route")
    assert [(row["value"], row["target"]) for row in found] == ends
    assert {row["qualifier"] for row in found} == {"old" if "old" in route else None}


def test_of_a_class_or_a_model_with_an_adjective_before_it_the_last_link_counts() -> None:
    found = rows(
        "|class=[[Realspace|Space]] [[Transport]]\n|model=[[Osk|Oskian]] [[Z-9 cruise ship]]",
        "Individual ship",
        source="wookieepedia",
    )
    assert [(row["key"], row["target"]) for row in found if row["kind"] == "relation"] == [
        ("of_class", "Transport"),
        ("of_model", "Z-9 cruise ship"),
    ]


@pytest.mark.parametrize(
    ("event", "target"),
    [
        ("[[Battle of Osk (first)|Battle of Osk]]", "Battle of Osk (first)"),
        ("The [[Grey War]] (third phase)", "Grey War"),
        ("[[Nem]] is born", None),
        ("[[Nem]] meets [[Tam]] in the [[Battle of Osk]]", None),
        ("[[Grey]][[War]]", None),
        ("The first light", None),
    ],
)
def test_a_year_leads_to_an_event_only_if_its_link_is_all_that_happened(
    event: str, target: str | None
) -> None:
    fact, *relations = sorted(
        rows(f"|events={event}", "Year", source="wookieepedia"), key=lambda row: str(row["kind"])
    )
    assert (fact["kind"], fact["key"], fact["value"]) == ("fact", "event", fact["evidence"].split(" (")[0])
    assert [(row["key"], row["target"]) for row in relations] == [("includes_event", target)] * bool(target)


def test_a_death_has_a_date_and_a_place() -> None:
    [fact, place] = rows("|death=[[19 BBY]], at [[Sallow]]")
    assert (fact["key"], fact["value"], fact["calendar"], fact["date_from"], fact["date_to"]) == (
        *("died", "19 BBY", "galactic"),
        *(-20, -19),
    )
    assert (place["key"], place["value"], place["target"]) == ("died_on", "Sallow", "Sallow")


def test_a_template_of_a_date_gives_the_date_and_no_place() -> None:
    [about] = rows("|born={{circa|1900}}")
    assert (about["key"], about["value"], about["date_from"]) == ("born", "c. 1900", 1900)
    [day, place] = rows("|born={{birth date and age|1980|5|3}}<br>[[Osk]]")
    assert (day["key"], day["value"], day["calendar"]) == ("born", "1980-05-03", "gregorian")
    assert (place["key"], place["value"]) == ("born_on", "Osk")


@pytest.mark.parametrize(
    ("born", "place"),
    [
        ("[[May 14]], [[1944]], [[Modesto, California|Modesto]]", ("Modesto", "Modesto, California")),
        ("[[May 25|25 May]] [[1977]] in [[London]], [[England]]", ("London, England", "London")),
        ("26.5 [[ABY]], aboard the [[Errant Venture]]", ("Errant Venture", "Errant Venture")),
        ("[[283 AC]], [[Winterfell]]", ("283 AC, Winterfell", "Winterfell")),
        ("19 BBY, Polis Massa", ("Polis Massa", None)),
        ("LV-426", ("LV-426", None)),
        ("[[Yavin 4]]", ("Yavin 4", "Yavin 4")),
        ("In 1977, [[Osk]]", ("Osk", "Osk")),
    ],
)
def test_a_place_of_birth_is_no_date_though_dates_are_links_too(
    born: str, place: tuple[str, str | None]
) -> None:
    [found] = [row for row in rows(f"|born={born}") if row["kind"] == "relation"]
    assert (found["value"], found.get("target")) == place


def test_a_length_of_time_before_a_date_is_no_year() -> None:
    [fact] = rows("|died=Over 1000 years prior to [[21 BBY]]")
    assert (fact["calendar"], fact["value"], fact["date_to"]) == ("galactic", "prior to 21 BBY", -22)


@pytest.mark.parametrize(
    ("destroyed", "place"),
    [
        ("During the [[Hunt for Nem]], over [[Heva]]", ("Heva", "Heva")),
        ("Sometime after [[Order 66]], [[Keelia]]", ("Keelia", "Keelia")),
        ("shortly before the [[Siege]] of [[Osk]]", ("Osk", "Osk")),
        ("Well before [[20 BBY]], [[Osk]]", ("Osk", "Osk")),
        ("[[4 ABY]], during the Long War, Osk", ("Osk", None)),
        ("[[4 ABY]], during the [[Battle of Osk]]", ("Battle of Osk", "Battle of Osk")),
        ("Sometime [[Calendar|ABY]], [[Osk]]", ("Osk", "Osk")),
        ("Eighteen [[month]]s after the [[Battle of Heva]], [[Osk]]", ("Osk", "Osk")),
        ("At least twenty [[year]]s after [[64 BBY]], [[Osk]]", ("Osk", "Osk")),
        ("Between c. [[5 ABY]] and c. [[9 ABY]], [[Osk]]", ("Osk", "Osk")),
        ("Hall of Years, [[Osk]]", ("Hall of Years, Osk", "Osk")),
        ("Long Beach", ("Long Beach", None)),
        ("[[Shortly]], [[Osk]]", ("Osk", "Osk")),
    ],
)
def test_where_something_was_destroyed_follows_what_says_when(
    destroyed: str, place: tuple[str, str | None]
) -> None:
    [found] = [row for row in rows(f"|destroyed={destroyed}") if row["key"] == "destroyed_at"]
    assert (found["value"], found.get("target")) == place


@pytest.mark.parametrize(
    "when",
    [
        *(
            "After the [[Battle of Osk]]",
            "Prior to the race, during the [[war]]",
            "Sometime",
            "Spring, 19 BBY",
        ),
        *(
            "Sometime between [[20 BBY]] and [[18 BBY]]",
            "Mid-summer",
            "[[May 12]], [[1946]]Denver",
            "Between 8[[ ]] and",
        ),
        *("Sometime [[Calendar|BBY]]", "2 [[month]]s ABY", "Possibly [[22 BBY]]", "Long prior [[32 BBY]]"),
        *("[[Decade]]s before [[5000 BBY]]", "Over 1000 [[year]]s before the [[Mission to Osk]]"),
        *("Several thousand [[year]]s prior to the [[Long War]]", "[[0 ABY]], later rebuilt"),
    ],
)
def test_what_only_says_when_names_no_place(when: str) -> None:
    assert [row["key"] for row in rows(f"|destroyed={when}") if row["kind"] == "relation"] == []


def test_nobody_is_born_on_the_event_during_which_it_was() -> None:
    assert rows("|born=During the [[Long War]]") == []


@pytest.mark.parametrize(
    ("language", "born"),
    [
        *(
            ("ru", "25 мая 1977 года, [[Osk]]"),
            ("ru", "[[1977 год]], [[Osk]]"),
            ("ru", "в 1977 году, [[Osk]]"),
        ),
        *(("de", "im Jahr 1977 auf [[Osk]]"), ("de", "während der [[Schlacht]], [[Osk]]")),
        *(
            ("fr", "En l'an 1977, [[Osk]]"),
            ("es", "En el año 1977, [[Osk]]"),
            ("en", "In the year 1977, [[Osk]]"),
        ),
    ],
)
def test_words_for_a_year_are_part_of_the_date_and_no_place(language: str, born: str) -> None:
    [place] = [row for row in rows(f"|born={born}", language=language) if row["kind"] == "relation"]
    assert (place["value"], place["target"]) == ("Osk", "Osk")


@pytest.mark.parametrize(
    ("language", "born"),
    [
        *(("ru", "1977 год"), ("ru", "25 мая 1977 года"), ("de", "Jahr 1977"), ("de", "Winter 1977")),
        *(("fr", "an 4"), ("fr", "l'an 1977"), ("es", "año 1977"), ("es", "después de la [[batalla]]")),
    ],
)
def test_a_year_with_its_word_is_no_place(language: str, born: str) -> None:
    assert [
        row["value"] for row in rows(f"|born={born}", language=language) if row["kind"] == "relation"
    ] == []


@pytest.mark.parametrize(
    "born",
    [
        *("Alive", "Yes", "[[January 1]]", "1st of May", "[[283 AC]]", "[[TA 2931]]", "2E 550", "Age 737"),
        *("c. 570", "24th century", "1990s", "{{C|unknown}}"),
    ],
)
def test_words_and_times_in_place_of_a_place_are_none(born: str) -> None:
    assert [row["key"] for row in rows(f"|born={born}") if row["kind"] == "relation"] == []


@pytest.mark.parametrize(
    ("qualifier", "start", "end", "starts_from", "ends_to"),
    [
        ("formerly", None, "formerly", None, None),
        ("44 BBY", "44 BBY", None, -45, None),
        ("1010 BBY-1000 BBY", "1010 BBY", "1000 BBY", -1011, -1000),
        ("22-19 BBY", "22-19 BBY", "19 BBY", -23, -19),
        ("1500-1200 BC", "1500-1200 BC", "1200 BC", -1499, -1198),
        ("June 2004 \u2013 March 2005", "June 2004", "March 2005", 2004 + 5 / 12, 2005.25),
        ("1\u20133 July 1863", "1\u20133 July 1863", "3 July 1863", 1863.5, 1863.5 + 3 / 372),
        ("June 2004", "June 2004", None, 2004 + 5 / 12, None),
        ("until 4 ABY", None, "4 ABY", None, 5),
        ("till 4 ABY", None, "4 ABY", None, 5),
        ("-22 BBY", None, "22 BBY", None, -22),
        ("1000 BBY-", "1000 BBY", None, -1001, None),
        ("since 4 ABY", "since 4 ABY", None, 4, None),
        ("as a spy", None, None, None, None),
    ],
)
def test_what_stands_in_parentheses_says_since_and_until_when(
    qualifier: str, start: str | None, end: str | None, starts_from: float | None, ends_to: float | None
) -> None:
    [row] = rows(f"|affiliation=[[Grey Guard]] ({qualifier})")
    assert row["qualifier"] == qualifier
    assert (row.get("start_time"), row.get("end_time")) == (start, end)
    assert (row.get("starts_from"), row.get("ends_to")) == pytest.approx((starts_from, ends_to))


@pytest.mark.parametrize(
    ("value", "number", "unit"),
    [
        ("1.93 [[meter]]s", 1.93, "meters"),
        ("1,400 meters", 1400, "meters"),
        ("About 46 meters", 46, "meters"),
        ("12", 12, None),
        ("10 million Tikiarri", 10_000_000, "Tikiarri"),
        ("50% of all", 50, "%"),
        ("1.5-2 meters", None, None),
        ("500 million-1 billion", None, None),
        ("1 to 3 meters", None, None),
        ("Male: 2.1 meters", None, None),
        ("Tall", None, None),
        ("175cm", 175, "cm"),
        ("1,200km/h", 1200, "km/h"),
        ("212th", None, None),
        ("12k", None, None),
        ("1,000s", None, None),
        ("74Z", None, None),
        ("1 or 2", None, None),
        ("75 or 85 metric tons", None, None),
        ("3,000 meters or 17,000 meters", None, None),
        ("10 x 20 m", None, None),
        ("4:13", None, None),
        ("1:04:13", None, None),
        ("4: one each", 4, None),
        ("12 by 5 m", None, None),
        ("3 X-wings", 3, "X-wings"),
        ("14 standard-years", 14, "standard-years"),
        ("14 standard-years to 16", None, None),
        ("Roughly 2 meters", 2, "meters"),
        ("Nearly 8,000", 8000, None),
        ("No more than 10 million", 10_000_000, None),
        ("Just under 2 meters", 2, "meters"),
        ("Slightly taller than 1.65 meters", 1.65, "meters"),
        ("> 2.2 meters", 2.2, "meters"),
        ("\u2248120 meters", 120, "meters"),
        ("1.5 to nearly 2 meters", None, None),
        ("2 1/2 meters", None, None),
        ("2\u00bd meters", None, None),
        ("2 \u00bd meters", None, None),
        ("3 dozen", 36, None),
        ("100 quadrillion", 1e17, None),
        ("9" * 400, None, None),
    ],
)
def test_a_number_has_its_unit_and_a_span_of_numbers_is_none(
    value: str, number: float | None, unit: str | None
) -> None:
    [row] = rows(f"|height={value}")
    assert (row.get("number"), row.get("unit")) == (number, unit)


def test_values_that_say_nothing_are_left_out() -> None:
    assert said("|species=Unknown\n|moons=0\n|affiliation=None\n|children=") == []
    assert said("|armament=\u2014\n|homeworld=-\n|gender=\u2026\n|name=???") == []


def test_a_placeholder_of_the_rules_says_nothing_and_a_link_or_more_words_say_something() -> None:
    left_as_it_was = "|parents=new\n|siblings=New\n|pronouns=new\n|families=''new''"
    assert rows(left_as_it_was, source="wookieepedia") == []
    named = "|parents=[[New]]\n|siblings=New Tam\n|children=new (by Tam)"
    assert [row["value"] for row in rows(named, source="wookieepedia")] == ["New", "New Tam", "new"]
    assert [row["value"] for row in rows("|parents=new")] == ["new"]


@pytest.mark.parametrize(
    "written", ["1\u20135", "13-18", "#1, #5-7", "32 BBY", "Before [[1 ABY]]", "[[19 BBY]]", "c. [[1977]]"]
)
def test_no_relation_leads_to_a_date_or_to_figures(written: str) -> None:
    assert rows(f"|formed from={written}\n|collected issues={written}") == []


@pytest.mark.parametrize("named", ["8D8", "TK329", "[[0-0-0]]", "[[1-5|1\u20135]]", "LV-426"])
def test_a_name_of_figures_and_letters_is_one_and_so_is_a_link(named: str) -> None:
    [row] = rows(f"|formed from={named}")
    assert (row["kind"], row["key"]) == ("relation", "formed_from")


def test_what_comes_before_or_after_may_be_a_year_and_so_may_an_era() -> None:
    found = rows("|preceded by=[[20 BBY]]\n|followed by=[[18 BBY]]\n|era=[[19 BBY]]", "Year")
    assert [(row["key"], row["value"]) for row in found if row["kind"] == "relation"] == [
        ("preceded_by", "20 BBY"),
        ("followed_by", "18 BBY"),
        ("in_era", "19 BBY"),
    ]


def test_only_one_gender_can_be_true_and_several_colors_can() -> None:
    assert [row["is_single"] for row in rows("|gender=Male\n|hair=Black, brown")] == [True, False, False]
