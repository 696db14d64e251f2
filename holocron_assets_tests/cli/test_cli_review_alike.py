"""`holocron review` over items that are alike: one line, one question, and one answer for all."""

import json
from pathlib import Path
from typing import Any

import click
import pytest
from alike_lake import PLACE, PLANET_QUESTION, SOURCE, SYSTEM_QUESTION, SYSTEMS, asked
from click.testing import CliRunner
from proposals_lake import GLORB_QUESTION, GLORBS, proposals_lake
from review_lake import copied

from holocron_assets.classify.decided_types import decide_type
from holocron_assets.cli.main import main
from holocron_assets.decisions.log import all_decisions, standing
from holocron_assets.lake.place.paths import Lake

pytestmark = pytest.mark.system


@pytest.fixture
def lake(made_alike_lake: Lake, tmp_path: Path) -> Lake:
    return copied(made_alike_lake, tmp_path)


def review(lake: Lake, *arguments: str, answers: str | None = None) -> str:
    environment = {"HOLOCRON_DATA": str(lake.root), "COLUMNS": "200"}
    result = CliRunner().invoke(
        main, ["review", "--author", "Ada", *arguments], input=answers, env=environment
    )
    assert result.exit_code == 0, result.output
    return result.stdout


def skips_to(lake: Lake, subject: str) -> str:
    """The answers that skip every page before a question."""
    rows = json.loads(review(lake, "--json", "--kind", asked(lake, subject)["kind"]))
    return "s\n" * [row["subject"] for row in rows].index(subject)


def test_the_table_has_one_line_for_what_is_alike_and_counts_both(lake: Lake) -> None:
    output = review(lake, "--kind", "promotion")
    assert PLANET_QUESTION in " ".join(output.split())
    assert "3 questions about 6 items." in output


def test_scripts_get_the_members_of_a_question(lake: Lake) -> None:
    rows = json.loads(review(lake, "--json", "--kind", "page"))
    [question] = (row for row in rows if row["subject"] == SYSTEM_QUESTION)
    assert question["settles"] == len(SYSTEMS)
    assert {row["title"] for row in question["members"]} == set(SYSTEMS)
    assert {row["settles"] for row in rows if not row["members"]} == {1}


def test_a_walk_answers_for_all_lists_them_and_takes_all_back(lake: Lake) -> None:
    answers = skips_to(lake, SYSTEM_QUESTION) + "l\na\nI read them\nu\n1\n\nq\n"
    output = review(lake, "--walk", "--kind", "page", answers=answers)
    assert "Are they all? One answer settles 3:" in output
    assert f"accept the proposal: {PLACE}" in output
    assert output.count("LocationPlace at 0.60: told by a test") == len(SYSTEMS), "l lists each"
    assert f"Taken back: what was decided of {SYSTEM_QUESTION}." in output
    made = all_decisions(lake)
    assert [row["kind"] for row in made] == ["classify"] * 3 + ["undo"] * 3 + ["classify"] * 3
    assert {(row["title"], row["value"]) for row in standing(lake).rows} == {
        (title, PLACE) for title in SYSTEMS
    }
    reason = f"As proposed; one answer for {SYSTEM_QUESTION}"
    assert {row["reason"] for row in standing(lake).rows} == {reason}


def test_a_walk_suppresses_all_of_a_promotion(lake: Lake) -> None:
    review(lake, "--walk", "--kind", "promotion", answers=skips_to(lake, PLANET_QUESTION) + "x\n\nq\n")
    assert [row["kind"] for row in all_decisions(lake)] == ["suppress"] * 3


def test_a_walk_asks_one_by_one_what_is_not_alike_and_regroups_it_on_undo(lake: Lake) -> None:
    answers = skips_to(lake, SYSTEM_QUESTION) + "o\n\nu\no\n\n"
    output = review(lake, "--walk", "--kind", "page", answers=answers + "t\nDroid\nIt is built\nq\n")
    assert output.count("Are they all? One answer settles 3:") == 2
    assert [row["kind"] for row in all_decisions(lake)] == ["ungroup", "undo", "ungroup", "classify"]
    assert all_decisions(lake)[-1]["title"] in output.rpartition("Not alike: ask one by one, of")[2]
    assert SYSTEM_QUESTION not in review(lake, "--kind", "page")


def test_a_walk_decides_nothing_of_members_that_it_did_not_show(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked_for = click.prompt

    def prompt(text: str, **options: Any) -> Any:
        if text == "Reason" and not all_decisions(lake):
            said = {"author": "Bo", "reason": "I know"}
            decide_type(lake, source=SOURCE, title="Osk system", type_name="Droid", **said)
        return asked_for(text, **options)

    monkeypatch.setattr(click, "prompt", prompt)
    answers = skips_to(lake, SYSTEM_QUESTION) + "a\n\na\n\nq\n"
    output = review(lake, "--walk", "--kind", "page", answers=answers)
    assert "Nothing was recorded: other items are alike now than were shown" in " ".join(output.split())
    assert SYSTEM_QUESTION.replace("3", "2") in output
    assert {(row["title"], row["value"], row["author"]) for row in all_decisions(lake)} == {
        ("Osk system", "Droid", "Bo"),
        ("Varn system", PLACE, "Ada"),
        ("Rothe system", PLACE, "Ada"),
    }


def test_a_walk_asks_once_about_a_template_and_says_how_many_pages_the_answer_settles(tmp_path: Path) -> None:
    lake = proposals_lake(tmp_path / "proposals")
    output = review(lake, "--walk", "--kind", "template", answers="l\na\n\nu\na\nI read them\nq\n")
    assert "Of all 14 articles: 8 by rules LocationPlace" in output
    assert output.count("That settles 6 pages of the queue.") == 2
    assert [row["kind"] for row in all_decisions(lake)] == ["template", "undo", "template"]
    [row] = standing(lake).rows
    assert (row["title"], row["value"], row["reason"]) == ("Template:Glorb", PLACE, "I read them")
    assert GLORB_QUESTION not in " ".join(review(lake).split())


def test_a_walk_asks_at_once_about_pages_whose_template_says_nothing(tmp_path: Path) -> None:
    lake = proposals_lake(tmp_path / "proposals")
    output = review(lake, "--walk", "--kind", "template", answers="o\n\no\n\nt\nDroid\n\nq\n")
    assert "11 articles in Category:Lights" in output
    assert "6 pages with the infobox template Glorb have no proposed type" in output
    apart, decided = all_decisions(lake)[:2], all_decisions(lake)[2:]
    assert [row["value"] for row in apart] == ["Template:Glorb", "Category:Lights"]
    assert {(row["kind"], row["title"], row["value"]) for row in decided} == {
        ("classify", title, "Droid") for title in GLORBS
    }
