"""`holocron review`: the queue as a table, and deciding item by item over a pipe."""

import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result
from review_lake import ALSO_NEM, MENTIONED, NEM, PAIR, SOURCE, copied

from holocron_assets.cli.main import main
from holocron_assets.decisions.log import DecisionError, all_decisions, standing, undo
from holocron_assets.entities.deciding import decide_split, decide_state, decide_statement
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.files.parquet import write_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import REVIEW_ITEMS
from holocron_assets.review.choices import Choice, decide

pytestmark = pytest.mark.system


@pytest.fixture
def lake(made_review_lake: Lake, tmp_path: Path) -> Lake:
    return copied(made_review_lake, tmp_path)


def review(lake: Lake, *arguments: str, answers: str | None = None) -> Result:
    environment = {"HOLOCRON_DATA": str(lake.root), "COLUMNS": "140"}
    return CliRunner().invoke(main, ["review", *arguments], input=answers, env=environment)


def walk(lake: Lake, *arguments: str, answers: str) -> str:
    result = review(lake, "--walk", "--author", "Ada", *arguments, answers=answers)
    assert result.exit_code == 0, result.output
    return result.output


def test_the_queue_is_a_table_with_the_most_important_first(lake: Lake) -> None:
    output = review(lake).stdout
    places = [output.index(name) for name in ("Nem Sixfinger: homeworld", "Shoal-chess", "Osk")]
    assert places == sorted(places)
    assert "7 items. `holocron review --walk`" in output
    assert "\u202e" not in output


def test_the_queue_can_be_filtered_and_cut(lake: Lake) -> None:
    assert "2 items." in review(lake, "--kind", "statement").stdout
    assert "7 items, 1 of them shown." in review(lake, "--limit", "1").stdout


def test_an_unknown_source_is_reported(lake: Lake) -> None:
    refused = review(lake, "--source", "nope")
    assert refused.exit_code == 1
    assert "nope" in refused.stderr
    assert "Nothing is open" not in refused.output


def test_a_type_is_named_in_any_capitals_and_choosing_one_can_be_left(lake: Lake) -> None:
    output = walk(lake, "--kind", "page", "--limit", "1", answers="t\nRobot\n\nt\ndroid\nIt is built\nq\n")
    assert "'Robot' is no type." in output
    assert [row["value"] for row in all_decisions(lake)] == ["Droid"]


def test_undoing_is_offered_once_there_is_something_to_undo(lake: Lake) -> None:
    output = walk(lake, "--kind", "statement", answers="1\n\nq\n")
    first, second = output.split("Recorded:")
    assert "undo the last decision" not in first
    assert "undo the last decision" in second


def test_what_was_undone_elsewhere_ends_no_walk(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = click.prompt

    def prompt(text: str, **options: Any) -> Any:
        made = all_decisions(lake)
        if text == "Decide" and [row["kind"] for row in made] == ["accept"]:
            undo(lake, made[0]["decision_id"], author="Bo", reason="I know better")
        return asked(text, **options)

    monkeypatch.setattr(click, "prompt", prompt)
    output = walk(lake, "--kind", "statement", answers="1\n\nu\nr\n\nr\n\n")
    assert "Nothing was undone:" in output
    assert [row["kind"] for row in all_decisions(lake)] == ["accept", "undo", "reject"]


@pytest.mark.parametrize("moment", ["Decide", "Reason"])
def test_a_walk_overrides_no_decision_that_another_person_made_meanwhile(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    asked = click.prompt

    def prompt(text: str, **options: Any) -> Any:
        if text == moment and not all_decisions(lake):
            decide_split(lake, one=NEM, other=ALSO_NEM, author="Bo", reason="I know better")
        return asked(text, **options)

    monkeypatch.setattr(click, "prompt", prompt)
    output = " ".join(walk(lake, "--kind", "pair", answers="m\n\n").split())
    assert "Nothing was recorded: Bo decided on " in output
    assert "The reason: I know better." in output
    assert [row["kind"] for row in all_decisions(lake)] == ["split"]


def test_a_walk_shows_an_item_again_that_another_person_decided_about_meanwhile(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = click.prompt

    def prompt(text: str, **options: Any) -> Any:
        if text == "Reason" and not all_decisions(lake):
            decide_state(lake, "suppress", entity_id=NEM, author="Bo", reason="I know better")
        return asked(text, **options)

    monkeypatch.setattr(click, "prompt", prompt)
    output = " ".join(walk(lake, "--kind", "pair", answers="m\n\nq\n").split())
    refused = "Nothing was recorded: it, or what people decided about it, changed since it was shown."
    before, after = output.split(refused)
    assert "I know better" not in before
    assert "I know better" in after, "it is shown again, with the decision"
    assert [row["kind"] for row in all_decisions(lake)] == ["suppress"]
    walk(lake, "--kind", "pair", answers="m\n\n")
    assert [row["kind"] for row in all_decisions(lake)] == ["suppress", "merge"]


def test_a_walk_passes_over_what_a_run_settled_since_it_was_shown(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = click.prompt

    def prompt(text: str, **options: Any) -> Any:
        if text == "Reason":
            write_partition(lake, REVIEW_ITEMS, SOURCE, [])
        return asked(text, **options)

    monkeypatch.setattr(click, "prompt", prompt)
    output = " ".join(walk(lake, "--kind", "pair", answers="m\n\n").split())
    assert "Nothing was recorded: it is open no more: a run settled it since this walk began." in output
    assert all_decisions(lake) == []


def test_what_was_taken_back_can_be_decided_anew_though_a_run_took_it_out_of_the_queue_meanwhile(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = click.prompt

    def prompt(text: str, **options: Any) -> Any:
        if text == "Decide" and all_decisions(lake):
            write_partition(lake, REVIEW_ITEMS, SOURCE, [])
        return asked(text, **options)

    monkeypatch.setattr(click, "prompt", prompt)
    walk(lake, "--kind", "statement", answers="1\n\nu\nr1\n\nq\n")
    assert [row["kind"] for row in all_decisions(lake)] == ["accept", "undo", "reject"]


def test_a_walk_passes_over_what_was_settled_since_it_began(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = click.prompt

    def prompt(text: str, **options: Any) -> Any:
        if not all_decisions(lake):
            for one in ("fact-rank", "fact-rothe"):
                decide_statement(lake, "reject", statement_id=one, author="Bo", reason="I know better")
        return asked(text, **options)

    monkeypatch.setattr(click, "prompt", prompt)
    output = " ".join(walk(lake, "--kind", "statement", answers="s\na\n\nq\n").split())
    assert "is settled: Bo decided on " in output
    assert [row["kind"] for row in all_decisions(lake)] == ["reject", "reject"]


def test_either_of_a_pair_can_stay(lake: Lake) -> None:
    output = walk(lake, "--kind", "pair", answers="M\n\n")
    assert "One thing: Nem Sixfinger stays" in output
    (row,) = all_decisions(lake)
    stays = {NEM: "Nem Sixfinger", ALSO_NEM: "Nem Six-Finger"}[row["other_id"]]
    assert f" M  One thing: {stays} stays" in output


def test_the_reason_of_a_pair_is_shown_once(lake: Lake) -> None:
    assert walk(lake, "--kind", "pair", answers="q\n").count("told by a test. A model proposes") == 1


def test_scripts_get_json(lake: Lake) -> None:
    rows = json.loads(review(lake, "--json", "--kind", "page").stdout)
    assert rows[0]["title_key"] == title_key(SOURCE, "Shoal-chess")
    refused = review(lake, "--json", "--walk")
    assert refused.exit_code == 2
    assert "take one of them" in refused.stderr


def test_a_walk_decides_skips_and_undoes(lake: Lake) -> None:
    output = walk(lake, "--kind", "page", answers="a\n\nu\nt\nDroid\nIt is built\ns\n")
    assert [(row["kind"], row["value"], row["reason"]) for row in all_decisions(lake)] == [
        ("classify", "WorkMedia", "As the model says"),
        ("undo", None, "Taken back on the same walk"),
        ("classify", "Droid", "It is built"),
    ]
    assert "accept the proposal: WorkMedia" in output
    assert ">>Game<<" in output
    assert "Taken back: what was decided of Shoal-chess." in output
    assert "1 decision recorded, 0 left." in output
    assert "\u202e" not in output


def test_a_walk_merges_and_accepts(lake: Lake) -> None:
    output = walk(lake, "--kind", "pair", answers="m\nI know her\n")
    assert "no machine would merge them" in output
    walk(lake, "--kind", "statement", answers="2\n\nr\nNobody says so\n")
    decided = standing(lake)
    assert decided.pairs[frozenset(PAIR.split("+"))]["kind"] == "merge"
    assert {name: row["kind"] for name, row in decided.statements.items()} == {
        "fact-rothe": "accept",
        "fact-rank": "reject",
    }


def test_an_invalid_answer_is_asked_for_again(lake: Lake) -> None:
    output = walk(lake, "--kind", "promotion", answers="zzz\nu\np\n\n")
    assert "'zzz' is none of the answers above." in output
    assert "'u' is none of the answers above." in output, "there is nothing to undo yet"
    assert [row["kind"] for row in all_decisions(lake)] == ["promote"]


@pytest.mark.parametrize("answers", ["q\n", "", "s\nq\n"])
def test_leaving_keeps_what_was_decided(lake: Lake, answers: str) -> None:
    assert "0 decisions recorded" in walk(lake, answers=answers)
    assert list(all_decisions(lake)) == []


def test_what_people_said_before_is_shown(lake: Lake) -> None:
    walk(lake, "--kind", "statement", answers="r1\nShe was never there\nu\nq\n")
    output = walk(lake, "--kind", "statement", answers="q\n")
    assert "She was never there" in output
    assert "reject, taken back" in output
    assert f"statement-{NEM}" not in output, "ids are for machines"


@pytest.mark.parametrize(
    ("command", "choice"),
    [
        (
            ("classify", "Gone", "--type", "Droid"),
            Choice(
                "",
                "",
                "",
                "classify",
                {"source": SOURCE, "pages": [("Gone", None)], "type_name": "Droid"},
                "",
            ),
        ),
        (("merge", NEM, NEM), Choice("", "", "", "merge", {"gone": NEM, "into": NEM}, "")),
        (("split", NEM, NEM), Choice("", "", "", "split", {"one": NEM, "other": NEM}, "")),
        (("suppress", MENTIONED), Choice("", "", "", "suppress", {"entity_id": MENTIONED}, "")),
        (("accept", "no such fact"), Choice("", "", "", "accept", {"statement_id": "no such fact"}, "")),
        (("promote", NEM, "--author", "a\nb"), Choice("", "", "", "promote", {"entity_id": NEM}, "")),
    ],
    ids=["classify", "merge", "split", "suppress", "accept", "author"],
)
def test_the_web_refuses_what_the_command_line_refuses_in_the_same_words(
    lake: Lake, command: tuple[str, ...], choice: Choice
) -> None:
    environment = {"HOLOCRON_DATA": str(lake.root)}
    typed = CliRunner().invoke(main, ["decide", *command, "--reason", "I know"], env=environment)
    assert typed.exit_code == 1
    author = command[-1] if "--author" in command else "ada"
    with pytest.raises(DecisionError) as refused:
        decide(lake, choice, author=author, reason="I know")
    assert str(refused.value) in " ".join(typed.stderr.split())
    assert all_decisions(lake) == []
