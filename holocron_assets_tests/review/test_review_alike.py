"""Items that are alike: one question over many, ranked by what its answer changes, and one answer for all."""

from pathlib import Path

import pytest
from alike_lake import (
    LISTED,
    LISTED_QUESTION,
    ODD_QUESTION,
    PLACE,
    PLANET_QUESTION,
    RULE_QUESTION,
    SECOND_BATCH,
    SOURCE,
    SYSTEM_QUESTION,
    SYSTEMS,
    asked,
    titles_of,
    write_signals,
    write_types,
)
from review_lake import copied

from holocron_assets.classify.taxonomy import load_taxonomy
from holocron_assets.decisions.files import export_decisions, import_decisions
from holocron_assets.decisions.log import DecisionError, all_decisions, standing, undo, undo_answer
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.parquet import read_partition, write_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import ENTITIES, PAGE_TYPES, PAGES
from holocron_assets.review.choices import Choice, choices_of, choices_of_alike, decide
from holocron_assets.review.item_detail import item_detail
from holocron_assets.review.queue import asked_now, asked_still, fingerprint, read_questions, read_queue
from holocron_assets.review.store import stale_review, store_review

TYPES = ("Concept", "Droid", PLACE)


@pytest.fixture
def lake(made_alike_lake: Lake, tmp_path: Path) -> Lake:
    return copied(made_alike_lake, tmp_path)


def choices(lake: Lake, question: Row) -> dict[str, Choice]:
    return {choice.name: choice for choice in choices_of_alike(lake, question, TYPES)}


def answer(lake: Lake, subject: str, name: str, reason: str = "I read them") -> Row:
    return decide(lake, choices(lake, asked(lake, subject))[name], author="Ada", reason=reason)


def answer_alone(lake: Lake, title: str, type_name: str) -> Row:
    about = {"source": SOURCE, "pages": [(title, None)], "type_name": type_name}
    return decide(lake, Choice("", "", "", "classify", about, ""), author="Ada", reason="I read it")


def subjects(lake: Lake) -> list[str]:
    return [row["subject"] for row in read_questions(lake)]


def test_pages_of_one_template_and_proposed_type_are_one_question_and_others_are_single(lake: Lake) -> None:
    assert titles_of(asked(lake, SYSTEM_QUESTION)) == set(SYSTEMS)
    assert titles_of(asked(lake, RULE_QUESTION)) == {"Quartermaster", "Boatswain"}
    assert titles_of(asked(lake, ODD_QUESTION)) == {"One oddity", "Another oddity"}
    for single in ("A droid that orbits", "A moon", "Nothing known", "Nothing known either"):
        assert asked(lake, single)["members"] == []


def test_promotions_of_one_type_template_and_reason_are_one_question(lake: Lake) -> None:
    assert titles_of(asked(lake, PLANET_QUESTION)) == {"Ithra", "Gort", "Nal"}
    assert asked(lake, "Ulm")["members"] == [], "it lacks something else"
    assert titles_of(asked(lake, LISTED_QUESTION)) == set(LISTED)


def test_every_open_item_is_in_one_question(lake: Lake) -> None:
    found = [item for row in read_questions(lake) for item in row["members"] or [row]]
    assert sorted(item["item_id"] for item in found) == sorted(row["item_id"] for row in read_queue(lake))
    assert sum(row["settles"] for row in read_questions(lake)) == len(read_queue(lake))


def test_a_question_ranks_by_the_sum_of_what_its_members_change(lake: Lake) -> None:
    question = asked(lake, SYSTEM_QUESTION)
    assert question["rank"] == pytest.approx(sum(row["rank"] for row in question["members"]))
    assert question["rank"] > max(row["rank"] for row in question["members"])
    order = subjects(lake)
    assert order.index(SYSTEM_QUESTION) < order.index("Shoal-chess"), "no single page changes as much"
    ranks = [row["rank"] for row in read_questions(lake)]
    assert ranks == sorted(ranks, reverse=True)


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"model_type": "Droid"},
        {"model_type": "Unknown"},
        {"rules_type": "Unknown"},
        {"primary_type": "Unknown", "rules_type": "Unknown", "types": []},
        {"rules_type": "Unknown", "learned_type": "Droid", "learned_probability": 0.6},
        {"rules_type": "Unknown", "learned_type": "Droid", "learned_probability": 0.4},
        {
            "primary_type": "Unknown",
            "rules_type": "Unknown",
            "types": [],
            "learned_type": "Droid",
            "learned_probability": 0.4,
        },
    ],
)
def test_the_type_proposed_for_all_is_the_type_proposed_for_each(lake: Lake, changed: dict[str, str]) -> None:
    write_types(lake, **changed)
    store_review(lake, SOURCE)
    [question] = (row for row in read_questions(lake) if titles_of(row) >= set(SYSTEMS))
    for item in question["members"]:
        single = choices_of(item_detail(lake, item), TYPES)
        proposed = next((choice.label for choice in single if choice.is_proposal), None)
        assert item["proposed_type"] == proposed
    offered = choices_of_alike(lake, question, TYPES)
    assert [choice.label for choice in offered if choice.is_proposal] == (
        [question["proposed_type"]] if question["proposed_type"] else []
    )
    assert (f"may be {question['proposed_type']}" in question["subject"]) == bool(question["proposed_type"])


def test_an_answer_is_a_decision_about_each_with_the_reason_that_it_was_for_all(lake: Lake) -> None:
    answer(lake, SYSTEM_QUESTION, f"classify.{PLACE}")
    made = all_decisions(lake)
    assert {(row["title"], row["value"], row["author"]) for row in made} == {
        (title, PLACE, "Ada") for title in SYSTEMS
    }
    assert {row["reason"] for row in made} == {f"I read them; one answer for {SYSTEM_QUESTION}"}
    assert SYSTEM_QUESTION not in subjects(lake)
    store_review(lake, SOURCE)
    assert not set(SYSTEMS) & set(subjects(lake))


def test_an_answer_for_all_is_about_the_pages_that_were_shown(lake: Lake) -> None:
    types = read_partition(lake, PAGE_TYPES, SECOND_BATCH)
    ids = {row["title_key"]: 300 + place for place, row in enumerate(types)}
    known = [{**row, "page_id": ids[row["title_key"]]} for row in types]
    write_partition(lake, PAGE_TYPES, SECOND_BATCH, known)
    shown = fingerprint(asked(lake, SYSTEM_QUESTION))
    store_review(lake, SOURCE)
    answer(lake, SYSTEM_QUESTION, f"classify.{PLACE}")
    made = all_decisions(lake)
    assert {row["page_id"] for row in made} == {ids[title_key(SOURCE, title)] for title in SYSTEMS}
    undo_answer(lake, made[0]["decision_id"], author="Ada", reason="Too quick")
    with pytest.raises(DecisionError, match="other items are alike now"):
        asked_still(lake, asked(lake, SYSTEM_QUESTION)["item_id"], shown)


@pytest.mark.parametrize("length", [980, 1000])
def test_a_reason_as_long_as_one_may_be_is_kept_whole_with_what_room_is_left(lake: Lake, length: int) -> None:
    typed = "x" * length
    answer(lake, SYSTEM_QUESTION, f"classify.{PLACE}", reason=typed)
    told = f"{typed}; one answer for {SYSTEM_QUESTION}"[:1000]
    assert {row["reason"] for row in all_decisions(lake)} == {told}


@pytest.mark.parametrize("kind", ["promote", "suppress"])
def test_all_of_a_promotion_are_promoted_or_suppressed(lake: Lake, kind: str) -> None:
    answer(lake, PLANET_QUESTION, kind)
    assert {(row["kind"], row["title"]) for row in all_decisions(lake)} == {
        (kind, title) for title in ("Ithra", "Gort", "Nal")
    }
    assert subjects(lake).count("Ulm") == 1
    assert PLANET_QUESTION not in subjects(lake)


def test_undoing_takes_back_the_whole_answer_and_nothing_else(lake: Lake) -> None:
    alone = answer_alone(lake, "A moon", PLACE)
    first = answer(lake, SYSTEM_QUESTION, "classify.Droid")
    undo_answer(lake, first["decision_id"], author="Ada", reason="I was wrong")
    assert titles_of(asked(lake, SYSTEM_QUESTION)) == set(SYSTEMS)
    assert [row["decision_id"] for row in standing(lake).rows] == [alone["decision_id"]]
    with pytest.raises(DecisionError, match="undone already"):
        undo_answer(lake, first["decision_id"], author="Ada", reason="I was wrong")


def test_of_an_answer_one_decision_can_be_undone_and_then_the_others(lake: Lake) -> None:
    answer(lake, SYSTEM_QUESTION, "classify.Droid")
    first, second, third = all_decisions(lake)
    undo(lake, second["decision_id"], author="Ada", reason="This one is not")
    undo_answer(lake, first["decision_id"], author="Ada", reason="Nor are they")
    undone = [row["undoes"] for row in all_decisions(lake) if row["kind"] == "undo"]
    assert undone == [second["decision_id"], first["decision_id"], third["decision_id"]]


@pytest.mark.parametrize("subject", [SYSTEM_QUESTION, PLANET_QUESTION])
def test_if_one_decision_cannot_be_made_none_is(lake: Lake, subject: str) -> None:
    name = "promote" if subject == PLANET_QUESTION else f"classify.{PLACE}"
    choice = choices(lake, asked(lake, subject))[name]
    if subject == PLANET_QUESTION:
        [gone] = (row for row in read_partition(lake, ENTITIES, PLACE) if row["title"] == "Gort")
        rows = [row for row in read_partition(lake, ENTITIES, PLACE) if row != gone]
        write_partition(lake, ENTITIES, PLACE, rows)
    else:
        rows = [row for row in read_partition(lake, PAGES, SECOND_BATCH) if row["title"] != "Osk system"]
        write_partition(lake, PAGES, SECOND_BATCH, rows)
    with pytest.raises(DecisionError, match=r"no page is called 'Osk system'|there is no entity"):
        decide(lake, choice, author="Ada", reason="I read them")
    assert list(all_decisions(lake)) == []


@pytest.mark.parametrize(("author", "reason"), [("", "I read them"), ("Ada", " "), ("Ada", "x" * 1001)])
def test_an_answer_without_author_or_with_an_unreadable_reason_is_refused_whole(
    lake: Lake, author: str, reason: str
) -> None:
    choice = choices(lake, asked(lake, SYSTEM_QUESTION))["classify.Droid"]
    with pytest.raises(DecisionError):
        decide(lake, choice, author=author, reason=reason)
    assert list(all_decisions(lake)) == []


def test_a_type_is_offered_only_where_there_is_a_page_that_gets_it(lake: Lake) -> None:
    [item, _] = asked(lake, LISTED_QUESTION)["members"]
    assert set(choices(lake, asked(lake, LISTED_QUESTION))) == {"promote", "suppress", "ungroup"}
    assert [one.name for one in choices_of(item_detail(lake, item), TYPES)] == ["promote", "suppress"]
    pages = read_partition(lake, PAGES, SECOND_BATCH)
    keys = [title_key(SOURCE, title) for title in LISTED]
    known = [
        {**page, "title": title, "title_key": key, "requested_title": title, "requested_key": key}
        for page, title, key in zip(pages, LISTED, keys, strict=False)
    ]
    write_partition(lake, PAGES, SECOND_BATCH, [*pages[len(known) :], *known])
    assert "classify.Droid" in choices(lake, asked(lake, LISTED_QUESTION))
    assert "classify.Droid" in {one.name for one in choices_of(item_detail(lake, item), TYPES)}


def test_a_member_that_is_decided_alone_leaves_and_the_last_one_left_is_single(lake: Lake) -> None:
    question = asked(lake, SYSTEM_QUESTION)
    answer_alone(lake, "Osk system", "Droid")
    two = asked(lake, SYSTEM_QUESTION.replace("3", "2"))
    assert titles_of(two) == {"Varn system", "Rothe system"}
    assert two["item_id"] == question["item_id"]
    answer_alone(lake, "Varn system", "Droid")
    assert asked(lake, "Rothe system")["settles"] == 1
    assert [row["subject"] for row in asked_now(lake, question)] == ["Rothe system"]


def test_a_question_is_known_again_only_while_its_members_and_its_type_stay(lake: Lake) -> None:
    shown = asked(lake, SYSTEM_QUESTION)
    store_review(lake, SOURCE)
    assert asked_still(lake, shown["item_id"], fingerprint(shown)) == shown
    write_signals(lake, **{"A moon": "Star system"})
    store_review(lake, SOURCE)
    with pytest.raises(DecisionError, match="other items are alike"):
        asked_still(lake, shown["item_id"], fingerprint(shown))
    write_signals(lake)
    write_types(lake, rules_type="Droid")
    store_review(lake, SOURCE)
    with pytest.raises(DecisionError, match="other items are alike"):
        asked_still(lake, shown["item_id"], fingerprint(shown))


def test_pages_that_come_after_an_answer_are_a_new_question(lake: Lake) -> None:
    answer(lake, SYSTEM_QUESTION, f"classify.{PLACE}")
    write_signals(lake, **{"A moon": "Star system"})
    store_review(lake, SOURCE)
    assert asked(lake, "A moon")["settles"] == 1
    assert title_key(SOURCE, "A moon") not in standing(lake).types


def test_what_is_not_alike_is_asked_one_by_one_until_that_is_undone(lake: Lake) -> None:
    row = answer(lake, SYSTEM_QUESTION, "ungroup")
    assert (row["kind"], row["source"]) == ("ungroup", SOURCE)
    for _ in range(2):
        assert set(SYSTEMS) <= set(subjects(lake))
        assert SYSTEM_QUESTION not in subjects(lake)
        store_review(lake, SOURCE)
    assert RULE_QUESTION in subjects(lake), "the others stay one question"
    undo(lake, row["decision_id"], author="Ada", reason="They are")
    assert titles_of(asked(lake, SYSTEM_QUESTION)) == set(SYSTEMS)


def test_answers_for_several_survive_export_and_import(lake: Lake, tmp_path: Path) -> None:
    answer(lake, SYSTEM_QUESTION, f"classify.{PLACE}")
    answer(lake, ODD_QUESTION, "ungroup")
    file = tmp_path / "decisions.jsonl"
    export_decisions(lake, file)
    other = Lake(tmp_path / "other")
    assert import_decisions(other, file, types=load_taxonomy().types).added == len(SYSTEMS) + 1
    assert all_decisions(other) == all_decisions(lake)
    undo_answer(other, all_decisions(other)[0]["decision_id"], author="Bo", reason="No")
    assert [row["kind"] for row in standing(other).rows] == ["ungroup"]


def test_a_question_names_a_template_as_the_wiki_writes_it(lake: Lake) -> None:
    write_signals(lake, **dict.fromkeys(SYSTEMS, "ßtar system"))
    store_review(lake, SOURCE)
    assert titles_of(asked(lake, SYSTEM_QUESTION.replace("Star", "ßtar"))) == set(SYSTEMS)


def test_the_queue_is_stale_when_another_template_is_read(lake: Lake) -> None:
    assert stale_review(lake, [SOURCE]) == []
    write_signals(lake, **{"Osk system": "Nebula"})
    assert stale_review(lake, [SOURCE]) == [SOURCE]
    store_review(lake, SOURCE)
    assert titles_of(asked(lake, SYSTEM_QUESTION.replace("3", "2"))) == {"Varn system", "Rothe system"}
