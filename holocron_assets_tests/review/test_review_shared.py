"""Templates and categories of open pages: one question for all, and one decision that settles them."""

from pathlib import Path
from typing import Any

import pytest
from proposals_lake import (
    BLOB_QUESTION,
    GLORB_QUESTION,
    GLORBS,
    LIGHT_QUESTION,
    LIGHTS,
    PLACE,
    SOURCE,
    asked,
    make_queue,
)
from review_lake import copied

from holocron_assets.classify.decided_types import decide_shared
from holocron_assets.decisions.log import all_decisions, new_decision, record, undo_answer
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.place.paths import Lake
from holocron_assets.review.choices import Choice, choices_of_alike, decide
from holocron_assets.review.queue import asked_now, read_questions, read_queue, settled_by, settled_with

TYPES = ("Concept", "Droid", PLACE)
SAID: dict[str, Any] = {"author": "Ada", "reason": "I read them"}


@pytest.fixture
def lake(made_proposals_lake: Lake, tmp_path: Path) -> Lake:
    return copied(made_proposals_lake, tmp_path)


def choices(lake: Lake, question: Row) -> dict[str, Choice]:
    return {choice.name: choice for choice in choices_of_alike(lake, question, TYPES)}


def answer(lake: Lake, subject: str, name: str) -> Row:
    return decide(lake, choices(lake, asked(lake, subject))[name], **SAID)


def titles(*questions: Row) -> list[str]:
    return sorted(item["title"] for row in questions for item in row["members"] or [row])


def test_open_pages_that_share_a_template_or_category_are_one_question(lake: Lake) -> None:
    subjects = {row["subject"]: row["kind"] for row in read_questions(lake)}
    assert subjects == {
        GLORB_QUESTION: "template",
        BLOB_QUESTION: "template",
        LIGHT_QUESTION: "category",
        "Alone": "page",
    }
    assert titles(asked(lake, GLORB_QUESTION)) == list(GLORBS), "a template goes before a category"
    assert titles(asked(lake, LIGHT_QUESTION)) == list(LIGHTS)
    assert titles(*read_questions(lake)) == sorted(item["title"] for item in read_queue(lake))


def test_what_settles_most_is_asked_first_with_its_evidence(lake: Lake) -> None:
    first = read_questions(lake)[0]
    assert first["subject"] == GLORB_QUESTION
    assert (first["question"], first["settles"]) == ("Are they all LocationPlace?", 6)
    assert first["reason"].startswith("One answer settles 6: Glorb ")
    assert first["reason"].endswith("Of all 14 articles: 8 by rules LocationPlace")
    assert asked(lake, BLOB_QUESTION)["question"] == "What are they all about?"


def test_the_answer_is_one_decision_that_settles_every_page_until_it_is_undone(lake: Lake) -> None:
    before = read_questions(lake)
    row = answer(lake, GLORB_QUESTION, f"classify.{PLACE}")
    [made] = all_decisions(lake)
    assert made == row
    assert (row["kind"], row["title"], row["value"]) == ("template", "Template:Glorb", PLACE)
    assert row["reason"] == "I read them"
    assert settled_with(lake, row["decision_id"]) == "6 pages"
    assert not {item["title"] for item in read_queue(lake)} & set(GLORBS)
    assert settled_by(lake, before[0]["item_id"]) == row
    undo_answer(lake, row["decision_id"], author="Ada", reason="I was wrong")
    assert read_questions(lake) == before


def test_only_a_clear_type_is_proposed_and_others_are_offered(lake: Lake) -> None:
    assert [one.label for one in choices(lake, asked(lake, GLORB_QUESTION)).values() if one.is_proposal] == [
        PLACE
    ]
    assert [one for one in choices(lake, asked(lake, BLOB_QUESTION)).values() if one.is_proposal] == []
    assert answer(lake, BLOB_QUESTION, "classify.Droid")["title"] == "Template:Blob"


def test_a_page_that_is_decided_by_itself_leaves_the_question(lake: Lake) -> None:
    about: dict[str, Any] = {"source": SOURCE, "title": GLORBS[0], "value": "Droid"}
    row = new_decision("classify", **about, **SAID)
    record(lake, [row])
    assert settled_with(lake, row["decision_id"]) == "1 page"
    assert titles(asked(lake, GLORB_QUESTION.replace("6", "5"))) == list(GLORBS[1:])


def test_pages_that_are_not_alike_are_asked_about_otherwise(lake: Lake) -> None:
    question = asked(lake, GLORB_QUESTION)
    answer(lake, GLORB_QUESTION, "ungroup")
    [lights] = asked_now(lake, question)
    assert (lights["kind"], titles(lights)) == ("category", sorted([*GLORBS, *LIGHTS]))
    answer(lake, lights["subject"], "ungroup")
    [alike] = asked_now(lake, question)
    assert (alike["kind"], titles(alike)) == ("page", list(GLORBS))


def test_a_decided_category_also_settles_what_is_asked_about_by_its_template(lake: Lake) -> None:
    row = answer(lake, LIGHT_QUESTION, "classify.Concept")
    assert settled_with(lake, row["decision_id"]) == "11 pages"
    assert {row["subject"] for row in read_questions(lake)} == {BLOB_QUESTION, "Alone"}


def test_a_question_says_what_its_answer_does_to_articles_of_other_questions(lake: Lake) -> None:
    others = "It also counts for 6 open articles of other questions, until these are answered."
    assert others in asked(lake, LIGHT_QUESTION)["reason"]
    assert "of other questions" not in asked(lake, BLOB_QUESTION)["reason"]


def test_a_page_whose_categories_contradict_each_other_is_asked_about_in_the_next_queue(lake: Lake) -> None:
    answer(lake, LIGHT_QUESTION, "classify.Concept")
    make_queue(lake)
    assert {row["subject"] for row in read_questions(lake)} == {BLOB_QUESTION, "Alone"}
    decide_shared(lake, "category", source=SOURCE, name="Stubs", type_name="Droid", **SAID)
    make_queue(lake)
    assert titles(*read_questions(lake)) == sorted(
        [*LIGHTS, "Alone", *(f"Blob {place}" for place in range(5))]
    )
