"""Counts show that a server cut a prompt in silence, and never show it wrongly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holocron_assets.derive.engine.overflow import fewest_tokens, most_tokens, was_cut

PROSE = "Varn was a pilot of the northern fleet, and flew home late. "
WORDS_OF_PROSE = 12


def prose(words: int) -> str:
    return PROSE * (words // WORDS_OF_PROSE)


@pytest.mark.fault(9, "a prompt cut in silence")
@pytest.mark.parametrize("kept", [2, 3, 5])
def test_a_prompt_cut_to_half_a_context_is_detected(kept: int) -> None:
    assert was_cut(prose(6000), tokens_in=2048 + kept, tokens_out=50, num_ctx=4096)


def test_a_table_of_digits_cut_to_half_a_context_is_detected() -> None:
    digits = "1234567890 " * 500  # 500 words, and 5,500 tokens where each digit is one
    assert was_cut(digits, tokens_in=2050, tokens_out=50, num_ctx=4096)


@pytest.mark.fault(9, "a context that fills up while the answer is written")
def test_a_context_that_filled_up_while_the_answer_was_written_is_detected() -> None:
    assert was_cut(prose(100), tokens_in=4000, tokens_out=96, num_ctx=4096)


def test_a_prompt_that_just_fits_is_no_alarm() -> None:
    assert not was_cut(prose(2900), tokens_in=3990, tokens_out=100, num_ctx=4096)


@pytest.mark.parametrize("tokens_in", range(2040, 2070))
def test_a_whole_prompt_of_half_a_context_is_no_alarm(tokens_in: int) -> None:
    assert not was_cut(prose(1560), tokens_in=tokens_in, tokens_out=100, num_ctx=4096)


@pytest.mark.parametrize("tokens_in", [0, 1, 900])
def test_a_server_that_leaves_out_what_it_had_cached_is_no_alarm(tokens_in: int) -> None:
    assert not was_cut(prose(2400), tokens_in=tokens_in, tokens_out=50, num_ctx=4096)


TEXTS = st.text() | st.text("ab 1.,-_\n", max_size=400)


@given(TEXTS)
def test_there_are_never_fewer_tokens_at_most_than_at_least(text: str) -> None:
    assert fewest_tokens(text) <= most_tokens(text)


@given(TEXTS, st.integers(512, 8192), st.integers(0, 100))
def test_a_true_count_of_a_prompt_that_fits_is_never_an_alarm(
    text: str, num_ctx: int, tokens_out: int
) -> None:
    for tokens_in in (fewest_tokens(text), most_tokens(text)):
        if most_tokens(text) + tokens_out < num_ctx:
            assert not was_cut(text, tokens_in=tokens_in, tokens_out=tokens_out, num_ctx=num_ctx)
