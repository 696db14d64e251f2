"""Where sentences end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holocron_assets.signals.sentences import (
    cut_at_sentence,
    cut_between_words,
    first_sentence,
    sentence_ends,
)
from holocron_assets.signals.vocabulary import page_words


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("It was a ship. It sank.", "It was a ship."),
        ("Dr. Evazan was a surgeon. He fled.", "Dr. Evazan was a surgeon."),
        ("Law vs. Order was a film. It won.", "Law vs. Order was a film."),
        ("George W. Lucas Jr. made it. It won.", "George W. Lucas Jr. made it."),
        ("J. J. Abrams made it. It won.", "J. J. Abrams made it."),
        ("St. Mary was a ship. It sank.", "St. Mary was a ship."),
        ("Pryce Ltd. Corp. made it. It won.", "Pryce Ltd. Corp. made it."),
        ("It lasted ca. 300 years. Then it ended.", "It lasted ca. 300 years."),
        ("It weighed 3.5 tons. It sank.", "It weighed 3.5 tons."),
        ("He (born Jan. 5. Some say 6.) was a man. He died.", "He (born Jan. 5. Some say 6.) was a man."),
        ("He said (oddly. Yes. It was. He left.", "He said (oddly."),
        ("Was it a B? It was.", "Was it a B?"),
        ("It was a “ship.” It sank.", "It was a “ship.”"),
        ("It was... a ship. It sank.", "It was... a ship."),
        ("A was a B", "A was a B"),
        ("A may refer to:", "A may refer to:"),
        ("これは船です。次の文。", "これは船です。"),
        ("هل هذه سفينة؟ نعم.", "هل هذه سفينة؟"),
        ("It was a ship.\nIt sank.", "It was a ship."),
        ("", ""),
    ],
)
def test_the_first_sentence_ends_where_a_reader_would_end_it(text: str, sentence: str) -> None:
    assert first_sentence(text, 1_000) == sentence


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Der 1. FC Pell ist ein Verein. Er spielt.", "Der 1. FC Pell ist ein Verein."),
        ("Pell war im 19. Jahrhundert eine Stadt. Sie lag.", "Pell war im 19. Jahrhundert eine Stadt."),
        ("Sie begann am 3. Mai 1950. Er flog.", "Sie begann am 3. Mai 1950."),
        ("Im 19./20. Jahrhundert war sie groß. Sie lag.", "Im 19./20. Jahrhundert war sie groß."),
        ("Vom 3.-5. Mai war Markt. Er war.", "Vom 3.-5. Mai war Markt."),
        ("Es hat die Nummer 12.", "Es hat die Nummer 12."),
        ("Es hat die Nummer 12.\nEs fuhr.", "Es hat die Nummer 12."),
        ("Hat es die Nummer 12? Es fuhr.", "Hat es die Nummer 12?"),
    ],
)
def test_a_full_stop_after_a_short_number_ends_no_sentence_in_german(text: str, sentence: str) -> None:
    assert first_sentence(text, 1_000, page_words("de").stops) == sentence


def test_a_full_stop_after_a_number_ends_a_sentence_in_english() -> None:
    assert first_sentence("Its number was 12. It sank.", 1_000) == "Its number was 12."


def test_a_sentence_without_an_end_is_cut_between_words() -> None:
    assert first_sentence("word " * 1_000, 1_000) == ("word " * 200).strip()
    assert len(first_sentence("x" * 5_000, 1_000)) == 1_000


def test_a_text_is_cut_at_the_last_sentence_that_fits() -> None:
    text = "One two three. " * 100
    assert cut_at_sentence(text, 10, 100, 150) == text[:89]


def test_a_sentence_longer_than_wanted_is_kept_up_to_the_hard_limit() -> None:
    text = "x" * 120 + ". And more" + "y" * 100
    assert cut_at_sentence(text, 10, 100, 150) == "x" * 120 + "."


def test_a_text_without_sentences_is_cut_at_the_hard_limit() -> None:
    assert len(cut_at_sentence("x" * 500, 10, 100, 150)) == 150


def test_words_are_not_cut_unless_there_is_but_one() -> None:
    assert cut_between_words("one two three", 9) == "one two"
    assert cut_between_words("onetwothree", 9) == "onetwothr"


@given(st.text(alphabet="aB. ()!?\n\"'", max_size=500))
def test_cuts_of_any_text_are_starts_of_it_within_the_limit(text: str) -> None:
    cut = cut_at_sentence(text, 20, 60, 80)
    assert text.startswith(cut)
    assert len(cut) <= 80
    ends = list(sentence_ends(text))
    assert ends == sorted(set(ends))
