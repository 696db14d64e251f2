"""Names that are one in another spelling are asked about, and are never one for sure."""

import pytest
from test_pairs import mention, page, rows_of

AMERICAN, SOUND = "British and American spelling", "two transliterations"


@pytest.mark.parametrize(
    ("one", "other", "spelling"),
    [
        ("Sulphate", "Sulfate", AMERICAN),
        ("Colour of Varn", "Color of Varn", AMERICAN),
        ("Colours of Varn", "Color of Varn", AMERICAN),
        ("Grey", "Gray", AMERICAN),
        ("Centre of Varn", "Center of Varn", AMERICAN),
        ("Varnian Defence", "Varnian Defense", AMERICAN),
        ("Armourer", "Armorer", AMERICAN),
        ("Manoeuvre", "Maneuver", AMERICAN),
        ("Korchaikovsky", "Kortschaikowskij", SOUND),
        ("Khorvan", "Horwan", SOUND),
        ("Tsarina", "Czarina", SOUND),
        ("Корчайковский", "Korchaikovsky", SOUND),
        ("Варн", "Warn", SOUND),
        ("Варнія", "Варнья", SOUND),
    ],
)
def test_names_in_two_spellings_are_a_question_that_says_so(one: str, other: str, spelling: str) -> None:
    first, second = sorted((one, other))
    for records in ((page(one), page(other, "two")), (page(other), mention(one))):
        (row,) = rows_of(*records)
        assert (row["verdict"], row["method"]) == ("unsure", "exact")
        assert row["reason"] == f"{first!r} and {second!r} are one name in {spelling}"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Khan", "Han"),
        ("Varna Vova II", "Warna Wowa III"),
        ("Colour (film)", "Color (novel)"),
        ("Four Varns", "For Varns"),
        ("Rogue", "Rog"),
    ],
)
def test_short_names_and_names_that_something_else_keeps_apart_are_no_pair(one: str, other: str) -> None:
    assert rows_of(page(one), page(other, "two")) == []


def test_two_pages_of_one_wiki_are_no_pair_by_their_spelling() -> None:
    assert rows_of(page("Sulphate"), page("Sulfate")) == []


def test_a_name_that_is_more_alike_for_another_reason_keeps_that_one() -> None:
    (row,) = rows_of(page("Varn Organisation"), page("Varn Organization", "two"))
    assert (row["verdict"], row["method"]) == ("same", "fuzzy")
