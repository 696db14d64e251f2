"""Rows of two answers beside each other, what makes them the same, and when an infobox agrees."""

from typing import Any

import pytest
from asked import interrogation

from holocron_assets.trials.claims import Claim, claim_of, compared_columns, identity_of, words_of
from holocron_assets.trials.comparison import JudgedRow, side_by_side, side_totals
from holocron_assets.trials.truth import Stated, is_single, is_stated


def sides(new: str, live: str) -> list[tuple[str, str, bool]]:
    """Each letter is a row that says it, in whatever case."""
    rows = [[{"says": letter} for letter in answer] for answer in (new, live)]
    found = side_by_side(rows[0], rows[1], lambda row: (row["says"].lower(),))
    return [(one.side, one.row["says"], one.is_double) for one in found]


def test_what_both_say_is_one_row_as_the_new_answer_says_it() -> None:
    assert sides("Ab", "ac") == [("same", "A", False), ("new", "b", False), ("live", "c", False)]


def test_what_an_answer_says_twice_is_matched_once() -> None:
    assert sides("aa", "a") == [("same", "a", False), ("new", "a", True)]
    assert sides("a", "aa") == [("same", "a", False), ("live", "a", True)]
    assert sides("", "bb") == [("live", "b", False), ("live", "b", True)]


def test_the_strongest_basis_counts() -> None:
    row = JudgedRow("new", "it", verdicts={"rules": "right", "people": "wrong"})
    assert row.verdict == "wrong"
    totals = side_totals([row, JudgedRow("live", "that"), JudgedRow("same", "both", failed=("kind",))], "new")
    assert (totals.rows, totals.wrong, totals.undecided, totals.failed) == (2, 1, 1, 1)
    assert totals.by_basis["rules"] == {"right": 1, "wrong": 0}


def test_a_row_that_both_have_may_fail_other_checks_in_each() -> None:
    row = JudgedRow("same", "it", failed=("quote",), failed_live=("kind", "hedged"))
    assert side_totals([row], "new").by_check == {"quote": 1}
    assert side_totals([row], "live").by_check == {"kind": 1, "hedged": 1}


@pytest.mark.parametrize(
    ("row", "identity"),
    [
        ({"fact_key": "Home World", "value": "Varn (planet)"}, ("fact", "", "homeworld", "varn")),
        ({"fact_key": "height", "value": "1.8", "unit": "metres"}, ("fact", "", "height", "1 8 metres")),
        ({"from_name": "Roon", "relation": "led", "to_name": "Guard"}, ("relation", "", "leads", "guard")),
        ({"from_name": "Bel", "relation": "led", "to_name": "Guard"}, ("relation", "bel", "leads", "guard")),
        ({"kind": "fact", "key": "steal", "other": "steal"}, ("fact", "", "steal", "steal")),
        ({"primary_type": "Droid", "rationale": "so"}, ("type", "", "primary_type", "droid")),
        ({"same_entity": False}, ("pair", "", "same_entity", "different")),
    ],
)
def test_a_row_is_known_by_its_columns(row: dict[str, Any], identity: tuple[str, ...]) -> None:
    claim = claim_of(row, "Ifa Roon")
    assert claim is not None
    assert claim.identity == identity


def test_other_rows_are_the_same_if_all_but_quotes_is() -> None:
    asked = interrogation()
    columns = compared_columns(asked, interrogation(version=2))
    assert list(columns) == ["kind", "words"]
    row = {"kind": "person", "words": ["A", "b"], "quote": "told so"}
    assert claim_of(row, "Varn") is None
    assert identity_of(row, None, columns) == identity_of({**row, "quote": "or so"}, None, columns)
    assert words_of(row, None, columns) == "kind: person, words: A, b"


@pytest.mark.parametrize(
    ("said", "unit", "stated", "agrees"),
    [
        ("green", "", Stated("Green"), True),
        ("Varn", "", Stated("the world Varn", "Varn (planet)"), True),
        ("1.8", "metres", Stated("1.80 meters", number=1.8, unit="meters"), True),
        ("1.80", "", Stated("1.8 meters", number=1.8, unit="meters"), True),
        ("180", "centimetres", Stated("1.8 meters", number=1.8, unit="meters"), None),
        ("2", "metres", Stated("1.8 meters", number=1.8, unit="meters"), False),
        ("1,5", "metres", Stated("1.5 m", number=1.5, unit="m"), True),
        ("5 °C", "", Stated("-5 °C", number=-5.0, unit="°C"), False),
        ("-5 °C", "", Stated("\u22125 °C", number=-5.0, unit="°C"), True),
        ("\u22125.0", "°C", Stated("-5 °C", number=-5.0, unit="°C"), True),
        ("2-5", "", Stated("2\u20135"), True),
        ("1,500", "metres", Stated("1,500 m", number=1500.0, unit="m"), True),
        ("1,500", "Meter", Stated("1.5 m", number=1.5, unit="m", decimal=","), True),
        ("1.500", "Meter", Stated("1500 m", number=1500.0, unit="m", decimal=","), True),
        ("3 200", "м", Stated("3200 метров", number=3200.0, unit="метров", decimal=","), True),
        ("10", "mm", Stated("10 m", number=10.0, unit="m"), None),
        ("10 mm", "", Stated("10 m", number=10.0, unit="m"), None),
        ("10 m", "", Stated("10 meters long", number=10.0, unit="meters long"), True),
        ("10", "kilometers", Stated("10 km/h", number=10.0, unit="km/h"), None),
        ("10", "kilometers per hour", Stated("10 kph", number=10.0, unit="kph"), True),
        ("6", "feet", Stated("6 ft.", number=6.0, unit="ft."), True),
        ("5", "parsec", Stated("5.0 parsecs", number=5.0, unit="parsecs"), True),
        ("5 of them", "", Stated("5.0 pilots", number=5.0, unit="pilots"), True),
        ("brown", "", Stated("brown and grey"), None),
        ("9 ABY", "", Stated("22 BBY"), False),
    ],
)
def test_an_infobox_agrees_contradicts_or_is_unsure(
    said: str,
    unit: str,
    stated: Stated,
    agrees: bool | None,  # noqa: FBT001 - as the table says
) -> None:
    assert is_stated(Claim("fact", "", "height", said, unit), stated) is agrees


def test_only_what_can_be_true_once_is_contradicted() -> None:
    assert is_single(Claim("fact", "", "born", "22 BBY"))
    assert not is_single(Claim("fact", "", "eye_color", "green"))
    assert not is_single(Claim("fact", "", "steal", "steal"))
