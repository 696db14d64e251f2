"""What people decided, carried to an empty lake by a file, gives the same knowledge base there."""

import json
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from asked_lake import ask_lake
from click.testing import CliRunner
from sample_dagster import definitions_of
from sample_holocron import Holocron, sample_holocron

from holocron_assets.cli.main import main
from holocron_assets.cli.work import local_run as local_commands
from holocron_assets.decisions.log import NEEDED, all_decisions, new_decision, record

SIGNED = ("--reason", "I know", "--author", "ada")

DECIDED = [
    ("classify", "Kettle (droid)", "--type", "PersonCharacter"),
    ("template", "Game", "WorkMedia"),
    ("category", "Regions of the Drift", "LocationPlace"),
    ("merge", "Varrow Hegemony", "Varrow Dominion"),
    ("merge", "Kellubane", "Tchaan"),
    ("split", "Issa Dorrane", "Orrin Dorrane"),
    ("suppress", "Human"),
    ("promote", "Stiltwalk Press"),
    ("suppress", "Second Mercy"),
]

DECIDED_STATES = {
    "Kettle (droid)": ("PersonCharacter", "promoted"),
    "Varrow Hegemony": ("Organization", "merged"),
    "Kellubane": ("Species", "promoted"),
    "Issa Dorrane": ("PersonCharacter", "promoted"),
    "Human": ("Species", "suppressed"),
    "Stiltwalk Press": ("Organization", "adjudicated"),
    "Second Mercy": ("VehicleCraft", "suppressed"),
}
UNDONE_LATER = [("classify", "Kettle (droid)"), ("merge", "Varrow Hegemony"), ("suppress", "Second Mercy")]
RESTORED_STATES = {
    "Kettle (droid)": ("Droid", "promoted"),
    "Varrow Hegemony": ("Organization", "promoted"),
    "Second Mercy": ("VehicleCraft", "promoted"),
}

IDS = "select entity_id, title from entities order by all"
STATEMENTS = """
    select 'fact' as kind, status from all_entity_facts where decision_id is not null
    union all
    select 'relation', status from all_entity_relations where decision_id is not null
    order by all
"""


def done(of: Holocron, *arguments: str) -> str:
    result = CliRunner().invoke(main, arguments, env=of.environment)
    assert result.exit_code == 0, result.output
    return result.stdout


def run(monkeypatch: pytest.MonkeyPatch, of: Holocron) -> None:
    """Run everything, as if this process had been started for it."""
    monkeypatch.setattr(local_commands, "open_instance", dg.DagsterInstance.ephemeral)
    monkeypatch.setattr(local_commands, "definitions", lambda: definitions_of(of))
    done(of, "run")


def knowledge(of: Holocron) -> dict[str, Any]:
    hashes: dict[str, Any] = json.loads(done(of, "hash", "--json"))
    return hashes


def asked(of: Holocron, sql: str) -> list[dict[str, Any]]:
    return ask_lake(of.lake, sql)


def statement(of: Holocron, sql: str) -> str:
    identifier: str = asked(of, sql)[0]["id"]
    return identifier


def made(of: Holocron) -> dict[tuple[str, str], str]:
    """Ids of decisions, by kind and title."""
    return {(row["kind"], row["title"]): row["decision_id"] for row in all_decisions(of.lake)}


def decide_everything(of: Holocron) -> None:
    """Make decisions of every kind, some of which are undone, and one undo of an undo."""
    for kind, *arguments in DECIDED:
        done(of, "decide", kind, *arguments, *SIGNED)
    of_issa = "from entity_facts where title = 'Issa Dorrane' and fact_key ="
    done(of, "decide", "accept", statement(of, f"select fact_id as id {of_issa} 'born'"), *SIGNED)
    done(of, "decide", "reject", statement(of, f"select fact_id as id {of_issa} 'homeworld'"), *SIGNED)
    relation = "select relation_id as id from entity_relations where title = 'Issa Dorrane' order by id"
    done(of, "decide", "reject", statement(of, relation), *SIGNED)
    brought_back = new_decision("requeue", source="sample", title="Nowhere", author="ada", reason="I know")
    apart = new_decision("ungroup", source="sample", value="Template:Year", author="ada", reason="I know")
    record(of.lake, [brought_back, apart])
    done(of, "decide", "undo", made(of)["merge", "Kellubane"], *SIGNED)
    done(of, "decide", "undo", made(of)["suppress", "Human"], *SIGNED)
    done(of, "decide", "undo", all_decisions(of.lake)[-1]["decision_id"], *SIGNED)


def stands(of: Holocron) -> dict[str, tuple[str, str]]:
    """Type and state by title of the entities that people decided about."""
    titles = ", ".join(f"'{title}'" for _, title, *_ in DECIDED)
    rows = asked(of, f"select title, entity_type, state from entities where title in ({titles})")  # noqa: S608 - ours
    return {row["title"]: (row["entity_type"], row["state"]) for row in rows}


@pytest.mark.full
def test_decisions_replayed_on_an_empty_lake_give_the_same_knowledge_base(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = sample_holocron(tmp_path / "one")
    run(monkeypatch, one)
    undecided, ids = knowledge(one), asked(one, IDS)
    decide_everything(one)
    assert {row["kind"] for row in all_decisions(one.lake)} == NEEDED.keys()
    run(monkeypatch, one)
    assert stands(one) == DECIDED_STATES
    assert asked(one, STATEMENTS) == [
        {"kind": "fact", "status": "accepted"},
        {"kind": "fact", "status": "rejected"},
        {"kind": "relation", "status": "rejected"},
    ]
    for kind, title in UNDONE_LATER:
        done(one, "decide", "undo", made(one)[kind, title], *SIGNED)
    run(monkeypatch, one)
    assert stands(one) == {**DECIDED_STATES, **RESTORED_STATES}
    assert [row for row in asked(one, IDS) if row in ids] == ids, "ids stay; what was open is added"

    file = tmp_path / "decisions.jsonl"
    done(one, "decisions", "export", str(file))
    two = sample_holocron(tmp_path / "two")
    done(two, "decisions", "import", str(file))
    run(monkeypatch, two)
    assert knowledge(two) == knowledge(one)
    assert knowledge(one)["sha256"] != undecided["sha256"]
    done(two, "decisions", "export", str(tmp_path / "again.jsonl"))
    assert (tmp_path / "again.jsonl").read_bytes() == file.read_bytes()
