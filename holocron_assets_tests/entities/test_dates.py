"""Dates as wikis write them: what they are, how they sort, and that no text breaks the reading."""

from datetime import date

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from holocron_assets.entities.facts.dates import DateSpan, find_dates, is_date

YEARS = st.integers(0, 40_000)
DAYS = st.dates(date(1000, 1, 1), date(2999, 12, 31))
_BITS = st.sampled_from(
    [
        "BBY",
        "ABY",
        " ",
        "-",
        "\u2013",
        "c. ",
        "by ",
        "between ",
        "and ",
        "after the end of ",
        " or later",
        " or before ",
        "May",
        "25",
        "1977",
        ",",
        "35:3:5",
        "AF",
    ]
)


def spans(text: str) -> list[tuple[str, float | None, float | None]]:
    return [(found.calendar, found.since, found.until) for found in find_dates(text)]


def only(text: str) -> DateSpan:
    [found] = find_dates(text)
    return found


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("19 BBY", -20, -19),
        ("0 BBY", -1, 0),
        ("0 ABY", 0, 1),
        ("3653 BBY", -3654, -3653),
        ("20,000 BBY", -20_001, -20_000),
        ("c. 35 ABY", 35, 36),
        ("Circa 1750 BBY", -1751, -1750),
        ("19\u20134 BBY", -20, -4),
        ("1010 BBY-1000 BBY", -1011, -1000),
        ("5 BBY to 4 ABY", -6, 5),
        ("between 22 and 19 BBY", -23, -19),
        ("from 19 BBY to 4 ABY", -20, 5),
        ("Between c. 5 ABY and c. 9 ABY", 5, 10),
        ("7 ABY/10 ABY", 7, 11),
        ("0 BBY/0 ABY", -1, 1),
        ("Between 35 BBY & 30 BBY", -36, -30),
        ("3 & 4 ABY", 3, 5),
        ("4\u20105 ABY", 4, 6),
        ("during or prior 0 ABY", None, 1),
        ("19 BBY till 4 ABY", -20, 5),
        ("By 4 ABY", None, 5),
        ("prior to 19 BBY", None, -20),
        ("since 19 BBY", -20, None),
        ("after 19 BBY", -19, None),
        # a year with a fraction is a part of that year
        ("22.5 BBY \u2013 19 BBY", -23, -19),
        ("0 BBY\u20134.5 ABY", -1, 5),
        ("between 3.5 ABY and 4 ABY", 3, 5),
        ("21.95 BBY", -22, -21),
        ("25 000 BBY", -25_001, -25_000),
    ],
)
def test_years_that_count_from_an_event_lie_on_both_sides_of_it(
    text: str, since: float | None, until: float | None
) -> None:
    assert spans(text) == [("galactic", since, until)]
    assert only(text).written == text
    assert is_date(text)


@pytest.mark.parametrize("text", ["35:3.5 ABY", "1.2.3 ABY", "ad 5 of 7", "an AD 3.5"])
def test_parts_of_longer_figures_are_no_years(text: str) -> None:
    assert find_dates(text) == []


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("1977", 1977, 1978),
        ("AD 79", 79, 80),
        ("A.D. 79", 79, 80),
        ("14\u201337 AD", 14, 38),
        ("27 BC \u2013 AD 14", -26, 15),
        ("44 BCE to 5 CE", -43, 6),
        ("3,000 BC", -2999, -2998),
        ("10 000 BC", -9999, -9998),
        ("May 1977", 1977 + 4 / 12, 1977 + 5 / 12),
        ("October, 2018", 2018 + 9 / 12, 2018 + 10 / 12),
        ("Sept., 2004", 2004 + 8 / 12, 2004 + 9 / 12),
        ("May 1, 1977", 1977 + 4 / 12, 1977 + 4 / 12 + 1 / 372),
        ("1977-05-01", 1977 + 4 / 12, 1977 + 4 / 12 + 1 / 372),
        ("1st May 1977", 1977 + 4 / 12, 1977 + 4 / 12 + 1 / 372),
        ("1st of May 1977", 1977 + 4 / 12, 1977 + 4 / 12 + 1 / 372),
        ("1st of May, 1977", 1977 + 4 / 12, 1977 + 4 / 12 + 1 / 372),
        ("Sept 1, 2004", 2004 + 8 / 12, 2004 + 8 / 12 + 1 / 360),
        ("Sept. 2004", 2004 + 8 / 12, 2004 + 9 / 12),
        ("31 December 1999", 2000 - 1 / 372, 2000),
        ("1977\u20131983", 1977, 1984),
        ("44 BC", -43, -42),
        ("since 1999", 1999, None),
    ],
)
def test_days_months_and_years_of_the_real_world_are_gregorian(
    text: str, since: float, until: float | None
) -> None:
    found = only(text)
    assert found.calendar == "gregorian"
    assert found.since == pytest.approx(since, abs=1e-9)
    assert found.until == (None if until is None else pytest.approx(until, abs=1e-9))


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("1500\u20131200 BC", -1499, -1198),
        ("between 1500 and 1200 BC", -1499, -1198),
        ("c. 1500 \u2013 c. 1200 BC", -1499, -1198),
        ("1\u20133 July 1863", 1863.5, 1863.5 + 3 / 372),
        ("from 1 to 3 July 1863", 1863.5, 1863.5 + 3 / 372),
        ("July 1\u20133, 1863", 1863.5, 1863.5 + 3 / 372),
        ("1st of June \u2013 3rd of July 1863", 1863 + 5 / 12, 1863.5 + 3 / 372),
        ("1 June \u2013 3 July 1863", 1863 + 5 / 12, 1863.5 + 3 / 372),
        ("31 December \u2013 3 January 1864", 1864 - 1 / 372, 1864 + 3 / 372),
        ("May\u2013June 1977", 1977 + 4 / 12, 1977.5),
        ("June, 2007\u2014November, 2008", 2007 + 5 / 12, 2008 + 11 / 12),
        ("May, 1977 to June, 1977", 1977 + 4 / 12, 1977.5),
        ("May\u2013June, 1977", 1977 + 4 / 12, 1977.5),
        ("from May 1977 to June 1977", 1977 + 4 / 12, 1977.5),
        ("1939\u201345", 1939, 1946),
        ("1939-45", 1939, 1946),
        ("c. 1500 \u2013 c. 1600", 1500, 1601),
    ],
)
def test_a_span_begins_with_the_first_of_its_dates(text: str, since: float, until: float) -> None:
    found = only(text)
    assert (found.written, found.calendar) == (text, "gregorian")
    assert (found.since, found.until) == pytest.approx((since, until), abs=1e-9)


@pytest.mark.parametrize("text", ["29 \u2013 3 AD", "3\u201329 AD", "29 AD \u2013 3 AD"])
def test_a_span_of_years_ends_after_it_begins_whichever_is_written_first(text: str) -> None:
    assert spans(text) == [("gregorian", 3, 30)]


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [("1066\u201387 AD", 1066, 1088), ("987\u201396 AD", 987, 997), ("1087\u201366 AD", 66, 1088)],
)
def test_the_second_year_of_a_span_with_an_era_may_be_short(text: str, since: int, until: int) -> None:
    assert spans(text) == [("gregorian", since, until)]


def test_no_number_is_part_of_two_dates() -> None:
    [found] = find_dates("3 May 2000.20 BBY")
    assert found.written == "3 May 2000"


def test_a_span_of_years_that_count_from_an_event_may_be_about_each() -> None:
    assert spans("c. 3 ABY \u2013 c. 4 ABY") == [("galactic", 3, 5)]
    assert spans("about 3 to about 4 ABY") == [("galactic", 3, 5)]
    assert spans("After 9 ABY \u2013 c. 25 ABY") == [("galactic", 9, 26)]
    assert spans("after 9 ABY\u201325 ABY") == [("galactic", 9, 26)]


@pytest.mark.parametrize(
    ("text", "since"),
    [
        ("after 4\u20135 ABY", 6),
        ("after 1914-1918", 1919),
        ("post-1914\u20131918", 1919),
        ("after 1939-45", 1946),
        ("after January\u2013June 1977", 1977.5),
        ("after 1500\u20131200 BC", -1198),
    ],
)
def test_what_is_after_a_span_begins_at_its_end(text: str, since: float) -> None:
    assert (only(text).since, only(text).until) == (since, None)


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("By c. 5000 BBY", None, -5000),
        ("Prior to c. 25 BBY", None, -26),
        ("Before ~2,000,000 BBY", None, -2_000_001),
        ("From around 15 BBY", -16, None),
        ("after about 4 ABY", 5, None),
        ("In or before 4 ABY", None, 5),
        ("Before or during 32 BBY", None, -32),
        ("Prior or during 5 ABY", None, 6),
        ("During or after c. 230 BBY", -231, None),
        ("Not later than 0 BBY", None, 0),
        ("Till 4 ABY", None, 5),
        ("No earlier than 4 ABY", 4, None),
        ("4 ABY or earlier", None, 5),
        ("c. 230 BBY or later", -231, None),
        ("between 2 and 4 ABY or later", 2, None),
        ("Prior to the Battle of Christophsis in 22 BBY", None, -22),
        ("After the Battle of Endor c. 4 ABY", 4, None),
        ("until the end of the Jedi-Sith War, 19 BBY", -20, -19),
    ],
)
def test_words_around_a_date_that_limit_it_leave_a_side_open(
    text: str, since: float | None, until: float | None
) -> None:
    assert spans(text) == [("galactic", since, until)]


@pytest.mark.parametrize(
    "text", ["In or before 4 ABY", "4 ABY or earlier", "By c. 14 ABY", "Prior to the mission in 21 ABY"]
)
def test_a_date_is_kept_with_the_words_that_limit_it(text: str) -> None:
    assert only(f"Sometime {text}, Kothlis").written == text
    assert is_date(text)


@pytest.mark.parametrize(
    "text",
    [
        "Rediscovered by Celeste Morne in 22 BBY",
        "After the war, 22 BBY",
        "After Endor \u2013 22 BBY",
        "22 BBY or after the war",
    ],
)
def test_words_about_something_else_leave_a_date_exact(text: str) -> None:
    assert spans(text) == [("galactic", -23, -22)]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("Part 2 \u2013 3 July 1863", "3 July 1863"),
        ("Part 2 of May 1977", "May 1977"),
        ("25\u20133 July 1863", "3 July 1863"),
        ("version 1.1\u20133 July 1863", "3 July 1863"),
        ("1999\u201305", "1999"),
        ("1977-10", "1977-10"),
        ("3 to June 1977", "June 1977"),
    ],
)
def test_a_number_before_a_date_that_cannot_begin_a_span_is_no_part_of_it(text: str, written: str) -> None:
    assert only(text).written == written
    assert spans(text) == spans(written)


@pytest.mark.parametrize(
    ("text", "written"),
    [("In March, 2000 men died", ["2000"]), ("In March, 2,000 men", []), ("March, 2000,500", [])],
)
def test_a_number_of_things_after_a_month_is_no_year_of_it(text: str, written: list[str]) -> None:
    assert [found.written for found in find_dates(text)] == written


def test_a_calendar_of_another_wiki_is_a_line_of_data() -> None:
    assert spans("312 AF") == [("drift", 312, 313)]


@pytest.mark.parametrize(
    "text",
    ["", "35:3:5", "February 30, 2001", "10,000 years", "1,977 pages", "12345", "XX BBY", "version 1.1977"],
)
def test_what_is_no_date_is_none(text: str) -> None:
    assert find_dates(text) == []


def test_dates_in_a_text_are_found_with_their_place() -> None:
    text = "Born 41 BBY, Sallow; died on May 25, 1977"
    assert [text[found.start : found.end] for found in find_dates(text)] == ["41 BBY", "May 25, 1977"]
    assert not is_date(text)


@given(YEARS, YEARS)
def test_years_sort_as_they_follow_each_other(one: int, other: int) -> None:
    assume(one < other)
    found = [only(text) for text in (f"{other} BBY", f"{one} BBY", f"{one} ABY", f"{other} ABY")]
    edges = [edge for each in found for edge in (each.since or 0, each.until or 0)]
    assert edges == sorted(edges)


@given(DAYS, DAYS)
def test_days_sort_as_they_follow_each_other(one: date, other: date) -> None:
    first, second = only(one.isoformat()), only(other.strftime("%d %B %Y"))
    assert first.since is not None
    assert second.since is not None
    assert (first.since < second.since) == (one < other)


@given(st.one_of(st.text(max_size=200), st.lists(_BITS, max_size=30).map("".join)))
def test_no_text_raises_and_every_date_lies_in_it(text: str) -> None:
    ended = 0
    for found in find_dates(text):
        assert text[found.start : found.end] == found.written != ""
        assert found.start >= ended
        ended = found.end
        assert found.since is not None or found.until is not None
        assert found.since is None or found.until is None or found.since < found.until


@pytest.mark.parametrize(
    "sentence",
    [
        "He served the Republic until it was dissolved in 19 BBY.",
        "After Ifa Roon was killed in 19 BBY, the guild closed.",
        "She died following a duel with Tam in 19 BBY.",
    ],
)
def test_in_a_sentence_the_words_before_a_date_are_of_a_clause(sentence: str) -> None:
    (found,) = find_dates(sentence, in_prose=True)
    assert (found.written, found.since, found.until) == ("19 BBY", -20, -19)
