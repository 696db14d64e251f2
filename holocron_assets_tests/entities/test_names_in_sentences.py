"""Where texts name something: whole, by a part that stands alone, or as another by a longer name."""

import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holocron_assets.entities.facts.sentence_statements import stated_facts, stated_relations
from holocron_assets.entities.facts.sentences import PageRead, mentions
from holocron_assets.entities.names.naming import NAME, Names, plain_names, words_of

_TITLES = ("Dela Orne", "Dela Orne/Legends", "Éa Orne", "the Orne", "Orne (ship)", "Dela of the Orne", "It")
_WORDS = (
    *(
        "Dela",
        "Orne",
        "Dela Orne",
        "Dela\u00a0 Orne",
        "Ornes",
        "Orne's",
        "-Orne",
        "Dela-Orne",
        "orne",
        "DELA",
    ),
    *("Éa", "Berl", "McDela", "he", "Her", "it", "the", "of", "and", ",", "."),
)


def _found_by_pattern(page: PageRead, text: str) -> Iterator[tuple[int, int, bool]]:
    """The same, as one regular expression for all names of a page."""

    def either(*names: str) -> str:
        named = "|".join(re.escape(name).replace(r"\ ", r"\s+") for name in plain_names(*names))
        return rf"(?<![\w-])(?:{named})(?:s|es)?(?!\w)"

    whole, parts = either(page.short_title, page.title), page.names - {page.short_title, page.title}
    pattern = whole
    if parts:
        part = either(*parts)
        before = rf"(?:(?!{whole}){NAME}\s+)+(?!{whole}){part}"
        pattern = rf"{whole}|(?P<another>{before}|{part}\s+(?!{whole}){NAME})|{part}"
    for found in re.finditer(pattern, text):
        yield found.start(), found.end(), not found.groupdict().get("another")


@given(
    st.sampled_from(_TITLES),
    st.lists(st.sampled_from(_WORDS), max_size=9),
    st.lists(st.sampled_from(("", " ", "  ")), min_size=9, max_size=9),
)
def test_names_are_found_where_a_regular_expression_of_them_finds_them(
    title: str, words: list[str], spaces: list[str]
) -> None:
    text = "".join(word + space for word, space in zip(words, spaces, strict=False))
    page = PageRead(title, text)
    assert list(page.name(title).places(text)) == list(_found_by_pattern(page, text))


@pytest.mark.parametrize(
    ("sentence", "named"),
    [
        ("Dela Orne flew home.", ["Dela Orne"]),
        ("Dela  Orne flew with Orne's crew.", ["Dela  Orne", "Orne"]),
        ("The Ornes flew home.", []),
        ("the Ornes flew home.", ["Ornes"]),
        ("Berl Orne flew home, and Orne Station was lost.", []),
        ("The old Orne flew home before Berl met her.", ["Orne", "her"]),
        ("Ornette and half-Orne flew home.", []),
        ("He met a friend when she flew home.", ["He"]),
        ("Her ship was lost.", ["Her"]),
    ],
)
def test_a_sentence_names_its_subject_by_a_name_or_a_pronoun(sentence: str, named: list[str]) -> None:
    subject = PageRead("Dela Orne", sentence).subject("Dela Orne")
    places = mentions(subject, sentence, owner=True)
    assert [sentence[place.start : place.end] for place in places] == named


def test_whom_a_page_links_has_no_parts_and_no_pronouns() -> None:
    names = PageRead("Dela Orne", "").subject("Berl Tane (pilot)")
    assert names == Names(words_of("Berl Tane"))
    text = "He and Berl met Berl Tane."
    assert [text[place.start : place.end] for place in mentions(names, text)] == ["Berl Tane"]


@pytest.mark.parametrize("other", ["Ólafur", "Östen", "Čeněk", "Ωmega", "Юрий", "Đorđe", "ǅevad"])
def test_a_first_name_with_any_capital_makes_a_longer_name(other: str) -> None:
    page = PageRead("Anna Björk", f"{other} Björk was a male sailor. Björk {other} was a male captain.")
    assert [place for text in page.sentences for place in mentions(page.subject(page.title), text)] == []
    assert list(stated_facts(page, "PersonCharacter")) == []


def test_a_sentence_begins_with_any_capital() -> None:
    page = PageRead("Anna Björk", "Anna Björk met him. Ólafur was a sailor. “Östen” was not. élan was.")
    assert list(page.sentences) == [
        "Anna Björk met him.",
        "Ólafur was a sailor.",
        "“Östen” was not. élan was.",
    ]


def test_a_subject_with_any_capital_is_another_one() -> None:
    text = "Anna Björk met Ólafur who led the Grey Guard."
    page = PageRead("Anna Björk", text)
    assert list(stated_relations(page, {"Grey Guard": "Grey Guard"}, "PersonCharacter")) == []
