"""What is shown of an item, which answers it has, and where a text says what is claimed of it."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from review_lake import ALSO_NEM, HOSTILE, MENTIONED, NEM, OSK, PAIR, SOURCE, review_lake

from holocron_assets.decisions.log import (
    DecisionError,
    all_decisions,
    decided_now,
    new_decision,
    record,
    standing,
)
from holocron_assets.entities.deciding import default_survivor
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.place.paths import Lake
from holocron_assets.review.choices import Choice, choices_of, decide
from holocron_assets.review.entity_detail import entity_detail, entity_titled, search_entities
from holocron_assets.review.highlights import Mark, apart, found_in, pieces
from holocron_assets.review.item_detail import ItemDetail, item_detail
from holocron_assets.review.queue import read_queue

TYPES = ("Concept", "Droid", "WorkMedia", "Unknown")
CHESS = f"page-{title_key(SOURCE, 'Shoal-chess')}"


@pytest.fixture(scope="module")
def shared_lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return review_lake(tmp_path_factory.mktemp("review"))


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return review_lake(tmp_path)


def detail(lake: Lake, item_id: str) -> ItemDetail:
    return item_detail(lake, next(row for row in read_queue(lake) if row["item_id"] == item_id))


def choices(lake: Lake, item_id: str) -> dict[str, Choice]:
    return {choice.name: choice for choice in choices_of(detail(lake, item_id), TYPES)}


def test_of_an_unsure_page_the_models_answer_is_proposed_and_every_type_can_be_chosen(
    shared_lake: Lake,
) -> None:
    found = list(choices(shared_lake, CHESS).values())
    assert [choice.label for choice in found] == ["WorkMedia", "Concept", "Droid", "Unknown"]
    assert [choice.is_proposal for choice in found] == [True, False, False, False]
    assert [choice.key for choice in found] == ["1", "2", "", ""]
    assert found[0].reason == "As the model says"


def test_of_a_pair_the_models_proposal_comes_first_and_both_pages_are_shown(shared_lake: Lake) -> None:
    assert [
        (choice.kind, choice.is_proposal) for choice in choices(shared_lake, f"pair-{PAIR}").values()
    ] == [
        ("merge", True),
        ("merge", False),
        ("split", False),
    ]
    shown = detail(shared_lake, f"pair-{PAIR}")
    assert {page.row["title"] for page in shown.pages} == {"Nem Sixfinger", "Nem Six-Finger"}
    assert shown.judgement is not None
    assert shown.judgement["proposal"] == "same"


def test_values_side_by_side_are_accepted_and_rejected_by_number(shared_lake: Lake) -> None:
    found = choices(shared_lake, f"statement-{NEM}.homeworld")
    assert {choice.key: choice.label for choice in found.values()} == {
        "1": "Accept Varn",
        "r1": "Reject Varn",
        "2": "Accept Rothe",
        "r2": "Reject Rothe",
    }


def test_evidence_is_marked_where_the_statement_says_it_stands(shared_lake: Lake) -> None:
    shown = detail(shared_lake, f"statement-{NEM}.homeworld")
    (page,) = shown.pages
    marked = [page.wikitext[mark.start : mark.end] for mark in shown.marks(page)]
    assert marked == ["[[Varn]]", "later [[Rothe]]"]


def test_what_rules_matched_is_marked(shared_lake: Lake) -> None:
    shown = detail(shared_lake, CHESS)
    (page,) = shown.pages
    (mark,) = shown.marks(page)
    assert page.wikitext[mark.start : mark.end] == "Game"
    assert mark.label == "The template is for games"


@pytest.mark.parametrize(
    ("item_id", "name", "kind", "column", "value"),
    [
        (CHESS, "classify.Droid", "classify", "value", "Droid"),
        (f"pair-{PAIR}", "split", "split", "other_id", ALSO_NEM),
        (f"promotion-{OSK}", "promote", "promote", "entity_id", OSK),
        ("statement-fact-rank", "reject.fact-rank", "reject", "statement_id", "fact-rank"),
    ],
)
def test_a_choice_becomes_a_decision(  # noqa: PLR0913, PLR0917 - one for each part of the decision
    lake: Lake, item_id: str, name: str, kind: str, column: str, value: str
) -> None:
    decide(lake, choices(lake, item_id)[name], author="Ada", reason="I read it")
    (row,) = all_decisions(lake)
    assert (row["kind"], row["author"], row["reason"]) == (kind, "Ada", "I read it")
    assert value in (row[column], row["entity_id"])


def test_what_contradicts_people_is_refused_and_not_recorded(lake: Lake) -> None:
    promote = choices(lake, f"promotion-{OSK}")["promote"]
    decide(lake, promote, author="Ada", reason="I read it")
    with pytest.raises(DecisionError):
        decide(lake, promote, author="Ada", reason="I read it")
    assert len(all_decisions(lake)) == 1


def test_the_detail_of_an_entity_has_names_members_facts_and_open_items(shared_lake: Lake) -> None:
    detail = entity_detail(shared_lake, NEM)
    assert detail is not None
    assert [member.entity["entity_id"] for member in detail.members] == [MENTIONED]
    assert [line["judgement"] for line in detail.members[0].judgements] == ["same"]
    assert {key: [one.value for one in statements] for key, statements in detail.facts.items()} == {
        "homeworld": ["Varn", "Rothe"],
        "species": ["Saltback"],
    }
    assert {status: [one.value for one in found] for status, found in detail.others.items()} == {
        "unsupported": ["Admiral"]
    }
    assert list(detail.relations) == ["sailed_on"]
    assert [tag["tag_id"] for tag in detail.tags] == ["topic:games"]
    assert {row["kind"] for row in detail.open_items} == {"pair", "statement"}


def test_what_a_person_said_of_a_fact_is_shown_before_the_lake_follows(lake: Lake) -> None:
    decide(lake, choices(lake, "statement-fact-rank")["accept.fact-rank"], author="Ada", reason="I read it")
    detail = entity_detail(lake, NEM)
    assert detail is not None
    (rank,) = detail.facts["rank"]
    assert (rank.status, rank.decision and rank.decision["author"]) == ("accepted", "Ada")


def test_entities_are_found_by_part_of_any_name(shared_lake: Lake) -> None:
    assert [row["entity_id"] for row in search_entities(shared_lake, "LEAKY")] == [NEM]
    assert [row["name"] for row in search_entities(shared_lake, "nem six")] == [
        "Nem Sixfinger",
        "Nem Six-Finger",
    ]
    assert search_entities(shared_lake, "%") == []
    assert (entity_titled(shared_lake, "Osk", None) or {})["entity_id"] == OSK
    assert entity_titled(shared_lake, HOSTILE, SOURCE) is None


def test_a_quote_is_found_in_its_own_capitals_first_and_each_in_a_place_of_its_own() -> None:
    text = "{{Game}} a game, and a Game"
    assert [text[mark.start : mark.end] for mark in found_in(text, [("game", "a"), ("Game", "b")])] == [
        "game",
        "Game",
    ]
    assert found_in(text, [("GAME,", "c")]) == [Mark(11, 16, "c")]
    assert found_in(text, [("chess", "d"), ("", "e"), (" a ", "too short")]) == []


def test_words_of_clean_text_are_found_where_links_and_references_part_them() -> None:
    text = (
        "[[Regency|Prince]]-[[Regent]] '''Caldus'''<ref name='a'>No.</ref>{{C|once}} ruled. "
        "Born [[271 AF]], [[Irrowen]]. Feared [[Kellubane]]s and [[Nem|Nem's kin]]sfolk."
    )
    for quote, start, end in (
        ("Prince-Regent Caldus ruled", "Prince]]", "ruled"),
        ("271 AF, Irrowen", "271 AF]]", "Irrowen"),
        ("Feared Kellubanes", "Feared [[Kellubane", "]]s"),
        ("Kellubanes and Nem's kinsfolk", "Kellubane]]s and", "kin]]sfolk"),
    ):
        (mark,) = found_in(text, [(quote, "a")])
        assert text[mark.start :].startswith(start)
        assert text[: mark.end].endswith(end)
    assert found_in(text, [("Caldus of ruled", "a"), ("aldus ruled", "b"), ("Kellubanesand", "c")]) == []


def test_marks_that_overlap_or_lie_outside_are_left_out() -> None:
    marks = [Mark(5, 9, "second"), Mark(0, 6, "first"), Mark(8, 20, "outside"), Mark(3, 3, "empty")]
    assert apart(marks, 10) == [Mark(0, 6, "first")]


@given(st.text(max_size=300), st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300)), max_size=5))
def test_pieces_of_a_short_text_are_the_text(text: str, spans: list[tuple[int, int]]) -> None:
    marks = apart([Mark(start, end, "x") for start, end in spans], len(text))
    found = pieces(text, marks)
    assert "".join(piece.text for piece in found) == text
    assert sum(piece.label is not None for piece in found) == len(marks)


def test_of_a_long_text_the_beginning_and_what_is_around_evidence_is_shown() -> None:
    text = "a" * 50_000 + "EVIDENCE" + "b" * 50_000
    marks = found_in(text, [("EVIDENCE", "here")])
    found = pieces(text, marks)
    assert [piece.text for piece in found if piece.label] == ["EVIDENCE"]
    assert sum(len(piece.text) + piece.left_out for piece in found) == len(text)
    assert sum(len(piece.text) for piece in found) < 10_000
    assert "".join(piece.text for piece in pieces(text, marks, is_whole=True)) == text


def stays(lake: Lake) -> str:
    """The id that stays by the first choice of the pair."""
    found = choices(lake, f"pair-{PAIR}").values()
    return str(next(choice for choice in found if choice.key == "m").about["into"])


def say_of(lake: Lake, kind: str, identifier: str) -> None:
    said: dict[str, Any] = {"entity_id": identifier, "author": "ada", "reason": "I know"}
    record(lake, [new_decision(kind, **said, now=decided_now(lake))])


def test_the_entity_that_stays_first_is_the_one_that_clusters_choose(lake: Lake) -> None:
    assert stays(lake) == ALSO_NEM  # "Nem Six-Finger" comes before "Nem Sixfinger"
    say_of(lake, "promote", NEM)
    assert stays(lake) == NEM
    say_of(lake, "promote", ALSO_NEM)
    assert stays(lake) == ALSO_NEM
    say_of(lake, "suppress", NEM)
    assert stays(lake) == NEM


def test_of_two_entities_of_one_title_the_smaller_id_stays(lake: Lake) -> None:
    found = detail(lake, f"pair-{PAIR}").entities
    alike = [{**row, "title": "Nem"} for row in found]
    for order in (alike, alike[::-1]):
        assert default_survivor(order, standing(lake)) == min(NEM, ALSO_NEM)


def test_an_entity_whose_page_is_gone_stays_only_where_all_are_gone(lake: Lake) -> None:
    found = {row["entity_id"]: row for row in detail(lake, f"pair-{PAIR}").entities}
    gone = {name: {**row, "review_reason": "page deleted"} for name, row in found.items()}
    assert default_survivor([gone[ALSO_NEM], found[NEM]], standing(lake)) == NEM
    assert default_survivor(gone.values(), standing(lake)) == ALSO_NEM
