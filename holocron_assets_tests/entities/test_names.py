"""What names are made of."""

import unicodedata

import pytest

from holocron_assets.entities.identity.policy import DEFAULT_IDENTITY_FILE, load_identity_policy
from holocron_assets.entities.names.names import NameReader

READER = NameReader(load_identity_policy(DEFAULT_IDENTITY_FILE, {"PersonCharacter"}).words)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Varn", "varn"),
        ("R2-D2", "R2 D2"),
        ("Padmé", "Padme"),
        ("Varn (species)", "Varn"),
        ("Varn (species)", "Varn (people)"),
        ("Ki-Adi's", "Kiadis"),
        ("Straße", "STRASSE"),
        ("(Varn)", "Varn"),
        ("Issue 1.12", "Issue 1-12"),
        ("Ёлка", "елка"),
        ("Ἀθήνα", "αθηνα"),
        ("שָׁלוֹם", "שלום"),
        ("مُحَمَّد", "محمد"),
        ("カ\u3099ンタ\u3099ム", "ガンダム"),
        ("葛\U000e0100", "葛"),
        ("C♯", "C#"),
        ("Na⁺", "Na+"),
        ("Varn + Gort", "Varn & Gort"),
        ("Varn+Gort", "Varn/Gort"),
        ("Varn #3", "Varn 3"),
        ("Varn B\u221212", "Varn B-12"),
        ("Varn ~Gort~", "Varn: Gort"),
    ],
)
def test_names_that_are_written_otherwise_are_one(one: str, other: str) -> None:
    assert READER.read(one).key == READER.read(other).key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Varn", "Varn II"),
        ("R2-D2", "R2-D3"),
        ("Ödun", "Adun"),
        ("Issue 1.12", "Issue 11.2"),
        ("½", "12"),
        ("राम", "रोम"),
        ("தமிழ்", "தமழ"),
        ("กี", "กุ"),
        ("ガンダム", "カンタム"),
        ("バス", "パス"),
    ],
)
def test_other_names_are_other_names(one: str, other: str) -> None:
    assert READER.read(one).key != READER.read(other).key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("C", "C++"),
        ("C", "C#"),
        ("C++", "C+"),
        ("C 11", "C++11"),
        ("Varn", "Varn+"),
        ("Varn Gort", "Varn+ Gort"),
        ("Na", "Na⁺"),
        ("B major", "B♭ major"),
        ("Varn∞", "Varn"),
    ],
)
def test_names_that_differ_in_a_symbol_at_the_end_of_a_word_are_two(one: str, other: str) -> None:
    first, second = READER.read(one), READER.read(other)
    assert first.key != second.key
    assert first.designation != second.designation
    assert READER.read(f"Varn ({one})").qualifier != READER.read(f"Varn ({other})").qualifier


@pytest.mark.parametrize("name", ["세종대왕", "ガンダム", "Łódź", "Ёлка"])
def test_syllables_and_kana_are_one_letter_each(name: str) -> None:
    composed, apart = (unicodedata.normalize(form, name) for form in ("NFC", "NFD"))
    [word] = READER.read(composed).stems
    assert len(word) == len(composed)
    assert READER.read(apart).stems == (word,)


def test_vowel_signs_are_part_of_their_word() -> None:
    parts = READER.read("राम हिन्दी")
    assert (parts.words, parts.designation) == (("राम", "हिन्दी"), "")


@pytest.mark.parametrize("name", ["", "???", "(?)", "…", "\u2764\ufe0f"])
def test_a_name_without_letters_and_digits_has_no_key(name: str) -> None:
    assert READER.read(name).key == ""


@pytest.mark.parametrize(
    ("name", "designation"),
    [
        ("Varn II", "2"),
        ("Varn XLIX", "49"),
        ("Varn ii", ""),
        ("CT-7567", "7567"),
        ("Issue 12", "12"),
        ("R60s of Varn", "r60"),
        ("First Battle of Varn", "first"),
        ("Bel A. Arno", "a"),
        ("Mix of Varn", ""),
        ("Varn 7 (of 10)", "7"),
    ],
)
def test_numbers_numerals_and_initials_are_designations(name: str, designation: str) -> None:
    assert READER.read(name).designation == designation


@pytest.mark.parametrize(
    ("plural", "singular"),
    [
        ("Varn pilots", "Varn pilot"),
        ("Varn batteries", "Varn battery"),
        ("Sand wolves", "Sand wolf"),
        ("Varn torpedoes", "Varn torpedo"),
        ("Clansmen", "Clansman"),
    ],
)
def test_plurals_have_the_stems_of_the_singular(plural: str, singular: str) -> None:
    one, other = READER.read(plural), READER.read(singular)
    assert one.stems == other.stems
    assert one.words != other.words


@pytest.mark.parametrize("possessive", ["Bel Arno's", "Bel\u2019s Arno", "Bels' Arno"])
def test_a_possessive_is_the_word_itself(possessive: str) -> None:
    assert READER.read(possessive).words in {("bel", "arno"), ("bels", "arno")}


@pytest.mark.parametrize("name", ["Moss", "Taris", "Rebus", "Gas"])
def test_words_that_only_end_like_a_plural_are_left_alone(name: str) -> None:
    assert READER.read(name).stems == (name.casefold(),)


def test_articles_are_no_words_of_a_name() -> None:
    parts = READER.read("The Órder of the Varn (cult)")
    assert (parts.words, parts.articles, parts.qualifier) == (("order", "of", "varn"), 2, "cult")
    assert READER.read("Theta Varn").articles == 0
