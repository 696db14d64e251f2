"""What of a text is markup, and where its templates, tables and links are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holocron_assets.signals.hidden import FILLER, masked, unmasked, without_hidden
from holocron_assets.signals.outline import Block, nesting, outline
from holocron_assets.signals.quotes import without_quotes

PIECES = ("{{!}}", "[[", "]]", "<tabber>", "</tabber>", "|-|", *"{}[]|<>!-=' \n*ab/refnowki")
MARKUP = st.lists(st.sampled_from(PIECES), max_size=300).map("".join)


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


@pytest.mark.parametrize(
    "text",
    [
        "<tabber>\n|-|Canon=\n{{Box|a=b}}\n|-|Legends={{Box|c=d}} e\n</tabber> f",
        "<Tabber>Canon={{Box|a=b}}\n|-|\nLegends=\n{{Box|c=d}} e</TABBER > f",
        "<tabber>Canon=\n{{Box|a=b}}\n|-|Legends=\n{{Box|c=d}} e f",  # the text is cut here
    ],
)
def test_the_content_of_tabs_is_shown_and_the_words_on_them_are_not(text: str) -> None:
    shown = masked(text)
    assert unmasked(shown).split() == ["{{Box|a=b}}", "{{Box|c=d}}", "e", "f"]
    assert shown.index("c=d") == text.index("c=d")


def test_a_tab_without_words_on_it_keeps_all_it_shows() -> None:
    assert unmasked(masked("<tabber>\n{{Box|a=b}}\n|-|\nc</tabber>")) == "\n{{Box|a=b}}\n\nc"


def test_a_pipe_written_by_a_template_is_one_in_links_alone() -> None:
    text = "{{Box|a=[[File:B.png{{!}}thumb{{!}}c]] {{!}} [[d{{!}}e]]}} f"
    assert unmasked(masked(text)) == "{{Box|a=[[File:B.png|thumb|c]] {{!}} [[d|e]]}} f"
    assert len(masked(text)) == len(text)


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
