"""Chunks of a page: all of its text, in order, none too long."""

from hypothesis import given
from hypothesis import strategies as st

from holocron_assets.derive.evidence.chunks import page_chunks

TEXTS = st.lists(
    st.sampled_from(["== Moons ==", "\n\n", "\n", "word ", "A sentence. ", "long" * 30, "- item", "ä"])
).map("".join)


@given(TEXTS, st.integers(1, 200))
def test_chunks_hold_all_of_a_text_once_and_none_is_too_long(text: str, characters: int) -> None:
    chunks = page_chunks(text, characters)
    assert "".join("".join(chunk.text for chunk in chunks).split()) == "".join(text.split())
    assert all(0 < len(chunk.text) <= characters for chunk in chunks)
    assert all(chunk.text == text[chunk.start : chunk.start + len(chunk.text)] for chunk in chunks)
    assert [chunk.number for chunk in chunks] == list(range(len(chunks)))


def test_a_short_text_is_one_chunk() -> None:
    [chunk] = page_chunks("Varn is a planet.\n\nIt has moons.", 1_000)
    assert (chunk.number, chunk.start, chunk.section) == (0, 0, "")
    assert chunk.text == "Varn is a planet.\n\nIt has moons."


def test_a_heading_goes_with_what_follows_it() -> None:
    text = "One two three.\n\n== Moons ==\n\nFour five six seven."
    assert [chunk.text for chunk in page_chunks(text, 40)] == [
        "One two three.",
        "== Moons ==\n\nFour five six seven.",
    ]


def test_a_chunk_says_which_section_it_starts_in() -> None:
    text = "Lead text.\n\n== Moons ==\n\n" + "\n\n".join(["A paragraph of the section."] * 3)
    assert [chunk.section for chunk in page_chunks(text, 45)] == ["", "Moons", "Moons", "Moons"]


def test_a_section_starts_a_chunk_where_the_one_before_is_half_full() -> None:
    text = "Sixty characters and a few more stand in this paragraph here.\n\n== B ==\n\nShort."
    assert len(page_chunks(text, 100)) == 2
    assert len(page_chunks(text, 1_000)) == 1


def test_a_long_paragraph_is_cut_after_a_sentence() -> None:
    chunks = page_chunks("One sentence. Another sentence. The last.", 35)
    assert [chunk.text for chunk in chunks] == [
        "One sentence. Another sentence.",
        "The last.",
    ]


def test_a_long_list_is_cut_between_its_items() -> None:
    chunks = page_chunks("- Item one\n- Item two\n- Item three", 25)
    assert [chunk.text for chunk in chunks] == ["- Item one\n- Item two", "- Item three"]
