"""What of a text is markup, and where its templates, tables and links are."""

from hypothesis import given
from hypothesis import strategies as st

from holocron_assets.signals.hidden import FILLER, masked, unmasked, without_hidden
from holocron_assets.signals.outline import Block, nesting, outline
from holocron_assets.signals.quotes import without_quotes

MARKUP = st.text(alphabet="{}[]|<>!-=' \n*ab/refnowki", max_size=300)


def blocks(text: str) -> list[str]:
    return [text[block.start : block.end] for block in outline(text).blocks]


def test_masking_keeps_every_offset() -> None:
    text = "a <!-- b --> c <ref>[[d]]</ref> e <nowiki>[[f]]</nowiki> g"
    hidden = masked(text)
    assert len(hidden) == len(text)
    assert hidden.index("g") == text.index("g")
    assert "[[" not in hidden


def test_what_nowiki_protects_comes_back_as_it_was() -> None:
    assert unmasked(masked("a <nowiki>[[f]] {{g|h}} '''i'''</nowiki> b")) == "a [[f]] {{g|h}} '''i''' b"


def test_an_unclosed_reference_hides_nothing() -> None:
    assert masked("a <ref> b <ref name=x /> c") == f"a <ref> b {FILLER * 14} c"


def test_references_stay_where_links_are_read_and_comments_leave_nothing() -> None:
    assert without_hidden("a<!-- x -->b <ref>c</ref>") == "ab <ref>c</ref>"


@given(MARKUP)
def test_masking_any_text_keeps_its_length(text: str) -> None:
    assert len(masked(text)) == len(text)


def test_only_the_outermost_blocks_are_listed() -> None:
    text = "a {{b|{{c}}|[[d]]}} e [[f|{{g}}]] h"
    assert blocks(text) == ["{{b|{{c}}|[[d]]}}", "[[f|{{g}}]]"]


def test_a_template_that_is_never_closed_hides_none_after_it() -> None:
    found = outline("{{a|b=c\n{{d}} e")
    assert found.unclosed == 0
    assert found.blocks == (Block("template", 8, 13),)


def test_a_link_that_is_never_closed_does_not_keep_its_template_open() -> None:
    assert blocks("{{a|[[b}} c") == ["{{a|[[b}}"]


def test_a_table_may_hold_templates_and_a_template_may_end_in_a_pipe() -> None:
    assert blocks("{|\n|{{a|\n}}\n|b\n|}\nc") == ["{|\n|{{a|\n}}\n|b\n|}"]
    assert blocks("{{a\n|b=\n|}} c") == ["{{a\n|b=\n|}}"]
    assert blocks("{{a|\n{|\n|b\n|}}} c") == ["{{a|\n{|\n|b\n|}}}"]


def test_a_table_inside_a_line_is_no_table() -> None:
    assert blocks("a {| b |} c") == []


@given(MARKUP)
def test_blocks_of_any_text_are_in_order_and_apart(text: str) -> None:
    end = 0
    for block in outline(text).blocks:
        assert end <= block.start < block.end <= len(text)
        end = block.end


def test_nesting_counts_open_brackets_closed_or_not() -> None:
    assert nesting("[[a]] {{b|{{c}}}} d") == 4
    assert nesting("[[a|" * 100) == 200


def test_depth_is_counted_over_templates() -> None:
    assert outline("{{a|" * 3_000 + "}}" * 3_000).deepest == 3_000


def test_apostrophes_are_distinguished_from_bold_and_italic_marks() -> None:
    assert without_quotes("'''''Star''''' ''Falcon'''s '''bold''' don't") == "Star Falcon's bold don't"
    assert without_quotes("the ''Ondrel'''s crew") == "the Ondrel's crew"
    assert without_quotes("''''quoted''''") == "'quoted'"
    assert without_quotes("''a\nb''") == "a\nb"
