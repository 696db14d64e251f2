"""What people decide by command: about entities and statements, and what they see of it later."""

import json
import shlex
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import pytest
from asked_lake import ask_lake
from click.testing import CliRunner, Result
from known_entities import FACT, RELATION, known_as, lake_of_entities
from sample_holocron import Holocron

from holocron_assets.cli.main import main
from holocron_assets.decisions.log import DecisionError, all_decisions, new_decision, record, standing
from holocron_assets.entities.deciding import decide_merge, decide_split
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.place.paths import Lake

DOCS = Path(__file__).parents[2] / "docs" / "decisions.md"
SIGNED = ("--reason", "I know", "--author", "ada")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return lake_of_entities(tmp_path)


def holocron(lake: Lake, *arguments: str) -> Result:
    environment = {"HOLOCRON_DATA": str(lake.root), "HOLOCRON_STATE": str(lake.root), "COLUMNS": "120"}
    return CliRunner().invoke(main, arguments, env=environment)


def said(lake: Lake, *arguments: str) -> str:
    result = holocron(lake, *arguments)
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


def complaint(lake: Lake, *arguments: str) -> str:
    result = holocron(lake, *arguments)
    assert result.exit_code == 1, result.output
    return " ".join(result.stderr.split())


@pytest.mark.parametrize(
    ("command", "statement", "recorded"),
    [
        (
            ("merge", "Varn", "Gort"),
            "'Varn' of sample is the same as 'Gort'",
            {"kind": "merge", "entity_id": known_as("Varn"), "other_id": known_as("Gort")},
        ),
        (
            ("split", "Osk", "varn/legends", "--source", "other"),
            "'Osk' of other is not the same as 'Varn/Legends'",
            {
                "kind": "split",
                "entity_id": known_as("Osk", "other"),
                "other_id": known_as("Varn/Legends"),
            },
        ),
        (
            ("promote", known_as("Gorts")),
            "'Gort' of sample belongs in the knowledge base",
            {"kind": "promote", "entity_id": known_as("Gort")},
        ),
        (
            ("suppress", "Unit 4", "--type", "Droid"),
            "'Unit 4' of sample does not belong in the knowledge base",
            {"kind": "suppress", "entity_id": known_as("Unit 4")},
        ),
        (
            ("accept", FACT),
            "'Varn' of sample: it is true that homeworld: Tal",
            {"kind": "accept", "statement_id": FACT},
        ),
        (
            ("reject", RELATION[:8]),
            "'Varn' of sample: it is not true that lives_on: Tal",
            {"kind": "reject", "statement_id": RELATION},
        ),
    ],
)
def test_a_decision_is_recorded_with_author_and_reason_and_printed(
    lake: Lake, command: tuple[str, ...], statement: str, recorded: dict[str, Any]
) -> None:
    answer = said(lake, "decide", *command, *SIGNED)
    (row,) = all_decisions(lake)
    assert answer.startswith(
        f"Decided: {statement}. `holocron decide undo {row['decision_id']}` takes it back."
    )
    wanted = {**recorded, "author": "ada", "reason": "I know"}
    assert {name: row[name] for name in wanted} == wanted


def test_a_merge_of_canon_and_legends_prints_a_warning(lake: Lake) -> None:
    assert "no machine would merge them" in said(lake, "decide", "merge", "Varn/Legends", "Varn", *SIGNED)
    assert "no machine" not in said(lake, "decide", "merge", "Gort", "Varn", *SIGNED)


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        (("merge", "Varn", "Unit 4"), "are of two types, Species and Droid"),
        (("merge", "Varn", "Varn"), "both are one entity: 'Varn' of sample"),
        (("merge", "Varn", "Osk"), "'Osk' may be 'Osk' of other (Species, "),
        (("split", "Nobody", "Varn"), "no entity is called 'Nobody'"),
        (("promote", "Varn", "--type", "Droid"), "no entity of type Droid is called 'Varn'"),
        (("suppress", "Gorts"), "split the two first"),
        (("accept", "00000000"), "no fact or relation has the id '00000000'"),
        (("undo", "7"), "no decision has '7' in the id"),
        (("promote", "Varn", "--reason", " "), "a decision needs a reason"),
    ],
)
def test_a_decision_that_cannot_be_made_is_reported_and_leaves_nothing(
    lake: Lake, command: tuple[str, ...], problem: str
) -> None:
    assert problem in complaint(lake, "decide", *command[:1], *SIGNED, *command[1:])
    assert all_decisions(lake) == []


@pytest.mark.parametrize("kind", ["merge", "split", "promote", "suppress", "accept", "reject", "undo"])
def test_every_decision_wants_a_reason(lake: Lake, kind: str) -> None:
    result = holocron(lake, "decide", kind, "a", *(["b"] if kind in {"merge", "split"} else []))
    assert result.exit_code == 2
    assert "--reason" in result.stderr


def test_a_decision_is_undone_by_any_part_of_its_id_and_so_is_the_undo(lake: Lake) -> None:
    said(lake, "decide", "suppress", "Varn", *SIGNED)
    (row,) = all_decisions(lake)
    tail = row["decision_id"][-12:]
    assert f"decision {row['decision_id']} does not count" in said(lake, "decide", "undo", tail, *SIGNED)
    assert standing(lake).states == {}
    assert "is undone already" in complaint(lake, "decide", "undo", tail, *SIGNED)
    said(lake, "decide", "undo", all_decisions(lake)[-1]["decision_id"], *SIGNED)
    assert list(standing(lake).states) == [known_as("Varn")]
    assert "3 decisions have '20' in the id" in complaint(lake, "decisions", "show", "20")


def test_the_list_shows_what_was_decided_and_what_counts(lake: Lake) -> None:
    assert said(lake, "decisions", "list") == "0 decisions"
    said(lake, "decide", "merge", "Varn", "Gort", *SIGNED)
    said(lake, "decide", "promote", "Élan", *SIGNED)
    merged, promoted = all_decisions(lake)
    said(lake, "decide", "undo", merged["decision_id"], "--reason", "[bold]no", "--author", "ben")
    listed = json.loads(holocron(lake, "decisions", "list", "--json").stdout)
    assert [(row["kind"], row["author"], row["counts"]) for row in listed] == [
        ("merge", "ada", False),
        ("promote", "ada", True),
        ("undo", "ben", True),
    ]
    shown = said(lake, "decisions", "list")
    assert "no: undone" in shown
    assert "[bold]no" in shown
    assert shown.endswith("3 decisions")
    only = json.loads(holocron(lake, "decisions", "list", "--kind", "promote", "--json").stdout)
    assert [row["decision_id"] for row in only] == [promoted["decision_id"]]


def test_one_decision_is_shown_with_what_undid_it(lake: Lake) -> None:
    said(lake, "decide", "promote", "Varn", *SIGNED)
    (made,) = all_decisions(lake)
    said(lake, "decide", "undo", made["decision_id"], *SIGNED)
    shown = json.loads(holocron(lake, "decisions", "show", made["decision_id"], "--json").stdout)
    assert (shown["counts"], shown["undone_by"]) == (False, [all_decisions(lake)[-1]["decision_id"]])
    assert "'Varn' of sample belongs in the knowledge base" in said(
        lake, "decisions", "show", made["decision_id"]
    )


def test_decisions_are_carried_to_another_lake_by_a_file(lake: Lake, tmp_path: Path) -> None:
    said(lake, "decide", "split", "Varn", "Gort", *SIGNED)
    file, other = tmp_path / "decisions.jsonl", Lake(tmp_path / "other")
    assert said(lake, "decisions", "export", str(file)).endswith("decisions.jsonl: 1 decision")
    assert "1 decision, of which 1 were new" in said(other, "decisions", "import", str(file))
    assert "1 decision, of which 0 were new" in said(other, "decisions", "import", str(file))
    assert all_decisions(other) == all_decisions(lake)
    file.write_text(file.read_text() + "{\n")
    assert "'nofile.jsonl' does not exist" in holocron(other, "decisions", "import", "nofile.jsonl").stderr
    assert "decisions.jsonl, line 2: it is no JSON" in complaint(other, "decisions", "import", str(file))


def test_a_file_of_decisions_goes_into_a_folder_that_is_there_and_names_types_that_there_are(
    lake: Lake, tmp_path: Path
) -> None:
    said(lake, "decide", "split", "Varn", "Gort", *SIGNED)
    message = complaint(lake, "decisions", "export", str(tmp_path / "none" / "decisions.jsonl"))
    assert "there is no folder" in message
    row = new_decision(
        "classify", source="sample", title="Varn", value="Nonsense", author="eve", reason="of another lake"
    )
    record(lake, [row])
    file = tmp_path / "decisions.jsonl"
    said(lake, "decisions", "export", str(file))
    message = complaint(Lake(tmp_path / "other"), "decisions", "import", str(file))
    assert "line 2: 'Nonsense' is no type of page; the types are PersonCharacter, " in message


def test_a_merge_into_an_entity_suppressed_just_now_prints_a_warning(lake: Lake) -> None:
    said(lake, "decide", "suppress", "Gort", *SIGNED)
    assert "leaves the knowledge base with it" in said(lake, "decide", "merge", "Varn", "Gorts", *SIGNED)


def test_a_merge_of_a_suppressed_entity_into_another_says_that_its_suppression_ends(lake: Lake) -> None:
    said(lake, "decide", "suppress", "Gort", *SIGNED)
    printed = said(lake, "decide", "merge", "Gort", "Varn", *SIGNED)
    assert "its suppression no longer counts" in printed
    assert "leaves the knowledge base" not in printed


@pytest.mark.system
def test_the_examples_of_the_docs_can_be_typed_along(finished_sample: Holocron, tmp_path: Path) -> None:
    lake = finished_sample.copy_to(tmp_path / "sample").lake
    facts = ask_lake(lake, "select fact_id from entity_facts where title = 'Issa Dorrane' limit 1")
    for line in DOCS.read_text(encoding="utf-8").splitlines():
        if line.startswith("    holocron "):
            command = line.replace("FACT_ID", facts[0]["fact_id"]).replace(
                "decisions.jsonl", f"{tmp_path}/d.jsonl"
            )
            if "DECISION_ID" in command:
                command = command.replace("DECISION_ID", all_decisions(lake)[0]["decision_id"])
            said(lake, *shlex.split(command, comments=True)[1:])
    assert [row["kind"] for row in all_decisions(lake)] == [
        *(
            "classify",
            "template",
            "category",
            "merge",
            "split",
            "promote",
            "suppress",
            "accept",
            "reject",
            "undo",
        )
    ]


def test_a_list_of_many_decisions_names_what_only_has_an_id(lake: Lake) -> None:
    row = new_decision("merge", entity_id="one", other_id="two", author="eve", reason="of another lake")
    record(lake, [row])
    assert "one is the same as two" in said(lake, "decisions", "list")


def test_a_merge_and_a_split_that_contradict_it_are_never_both_recorded(lake: Lake) -> None:
    varn, gort, elan = map(known_as, ("Varn", "Gort", "Élan"))
    decide_merge(lake, gone=varn, into=gort, author="ada", reason="I know")

    def decides(decide: Callable[[], Row]) -> bool:
        try:
            decide()
        except DecisionError:
            return False
        return True

    signed = {"author": "ben", "reason": "I know"}
    with ThreadPoolExecutor(2) as pool:
        with lake.lock("decisions"):
            merged = pool.submit(decides, lambda: decide_merge(lake, gone=gort, into=elan, **signed))
            split = pool.submit(decides, lambda: decide_split(lake, one=varn, other=elan, **signed))
            wait([merged, split], timeout=2)  # both come as far as they can
        assert sorted([merged.result(), split.result()]) == [False, True]
