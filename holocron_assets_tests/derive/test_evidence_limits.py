"""What is cut, and that it is cut the same way whenever."""

from hypothesis import given
from hypothesis import strategies as st

from holocron_assets.derive.evidence.sampling import cut_to_bytes, fair_shares, sampled, table_to_bytes


def test_of_too_many_rows_the_first_the_last_or_evenly_spread_ones_stay() -> None:
    rows = list(range(10))
    assert sampled(rows, 3, "first") == [0, 1, 2]
    assert sampled(rows, 3, "last") == [7, 8, 9]
    assert sampled(rows, 4, "stride") == [0, 2, 5, 7]
    assert sampled(rows, 10, "stride") == rows


@given(st.integers(0, 500), st.integers(1, 100), st.sampled_from(["first", "last", "stride"]))
def test_rows_that_stay_are_in_order_and_each_its_own(count: int, most: int, how: str) -> None:
    kept = list(sampled(range(count), most, how))  # type: ignore[arg-type]  # hypothesis knows no literals
    assert len(kept) == min(count, most)
    assert kept == sorted(set(kept))


@given(st.text(), st.integers(0, 40))
def test_a_cut_text_is_a_start_of_it_that_fits(text: str, limit: int) -> None:
    kept = cut_to_bytes(text, limit)
    assert text.startswith(kept)
    assert len(kept.encode()) <= limit or kept == text


def test_a_text_is_cut_after_a_line_or_else_a_word_or_else_a_character() -> None:
    assert cut_to_bytes("a first line\na second", 16) == "a first line"
    assert cut_to_bytes("some words here", 12) == "some words"
    assert cut_to_bytes("some words here", 10) == "some words"
    assert cut_to_bytes("ääää", 5) == "ää"
    assert cut_to_bytes("word", 4) == "word"


@given(st.lists(st.integers(0, 1_000)), st.integers(0, 5_000))
def test_shares_are_fair(sizes: list[int], budget: int) -> None:
    shares = fair_shares(sizes, budget)
    assert all(share <= size for share, size in zip(shares, sizes, strict=True))
    assert sum(shares) == min(sum(sizes), budget)
    cut = [share for share, size in zip(shares, sizes, strict=True) if share < size]
    assert not cut or max(shares) - min(cut) <= 1


@given(
    st.lists(st.text("abä ", min_size=1, max_size=20), max_size=30),
    st.sampled_from(["first", "last", "stride"]),
    st.integers(0, 200),
)
def test_a_table_keeps_whole_rows_of_its_sample(rows: list[str], how: str, limit: int) -> None:
    text = table_to_bytes("head", rows, how, limit)  # type: ignore[arg-type]  # hypothesis knows no literals
    assert len(text.encode()) <= limit
    header, *kept = text.split("\n")
    if len(kept) > 1:
        assert header == "head"
        assert kept == list(sampled(rows, len(kept), how))  # type: ignore[arg-type]  # the same
