"""A person's word over rules and models, from the command to the entity and back."""

from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from click.testing import CliRunner, Result
from sample_dagster import definitions_of
from sample_holocron import SAMPLE_EXPORT, Holocron

from holocron_assets.cli import main
from holocron_assets.lake.views import connect, query
from holocron_assets.orchestration import local_commands

TITLE = "Issa Dorrane"


def holocron(of: Holocron, *arguments: str) -> Result:
    environment = {**of.environment, "COLUMNS": "100", "HOLOCRON_LLM": "off"}
    return CliRunner().invoke(main, arguments, env=environment)


def done(of: Holocron, *arguments: str) -> str:
    result = holocron(of, *arguments)
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


def run(monkeypatch: pytest.MonkeyPatch, of: Holocron, *arguments: str) -> None:
    """Run everything, as if this process had been started for it."""
    monkeypatch.setattr(local_commands, "open_instance", dg.DagsterInstance.ephemeral)
    monkeypatch.setattr(local_commands, "defs", definitions_of(of))
    done(of, "run", *arguments)


def entities_of(of: Holocron, title: str) -> list[dict[str, Any]]:
    sql = """
        select entity_id, entity_type, state, method, confidence, review_reason
        from entities where title = $title order by state, entity_type
    """
    with connect(of.lake) as connection:
        return query(connection, sql, {"title": title})


def test_a_decision_moves_a_page_and_its_entity_until_it_is_withdrawn(
    finished_sample: Holocron, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = finished_sample.copy_to(tmp_path)
    before = entities_of(of, TITLE)
    said = done(of, "decide", TITLE, "--type", "Droid", "--reason", "She is built", "--author", "Ada")
    assert said.startswith("'Issa Dorrane' of sample is decided to be of type Droid.")
    run(monkeypatch, of)
    told = done(of, "page", TITLE)
    assert "promoted entity of type Droid" in told
    assert "Ada decided on" in told
    assert "She is built" in told
    assert "PersonCharacter by infobox" in told
    promoted, suppressed = entities_of(of, TITLE)
    assert (promoted["entity_type"], promoted["method"], promoted["confidence"]) == ("Droid", "person", 1.0)
    assert suppressed["state"] == "suppressed"
    assert {promoted["entity_id"], suppressed["entity_id"]} == {before[0]["entity_id"]}

    done(of, "decide", TITLE, "--withdraw", "--reason", "I was wrong", "--author", "Ada")
    run(monkeypatch, of)
    promoted, suppressed = entities_of(of, TITLE)
    assert (promoted["entity_type"], promoted["method"]) == ("PersonCharacter", "rules")
    assert (suppressed["entity_type"], suppressed["state"]) == ("Droid", "suppressed")


@pytest.mark.parametrize("arguments", [(), ("--type", "Droid", "--withdraw")])
def test_a_decision_is_a_type_or_a_withdrawal(finished_sample: Holocron, arguments: tuple[str, ...]) -> None:
    result = holocron(finished_sample, "decide", TITLE, "--reason", "x", *arguments)
    assert result.exit_code == 2
    assert "say what the page is with --type, or take your word back with --withdraw" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("Nobody", "--type", "Droid"), "no page is called 'Nobody'"),
        ((TITLE, "--withdraw"), "no decision about 'Issa Dorrane' of sample stands"),
        ((TITLE, "--type", "Droid", "--source", "none"), "none"),
    ],
)
def test_what_cannot_be_decided_is_told(
    finished_sample: Holocron, arguments: tuple[str, ...], problem: str
) -> None:
    result = holocron(finished_sample, "decide", *arguments, "--reason", "x")
    assert result.exit_code == 1
    assert problem in " ".join(result.stderr.split())


def test_a_title_that_two_sources_have_is_decided_in_the_one_that_is_named(
    finished_sample: Holocron, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = finished_sample.copy_to(tmp_path)
    of.add_source("twin", SAMPLE_EXPORT)
    run(monkeypatch, of, "--source", "twin")
    refused = holocron(of, "decide", TITLE, "--type", "Droid", "--reason", "x")
    assert "may be 'Issa Dorrane' of sample or 'Issa Dorrane' of twin" in " ".join(refused.stderr.split())
    assert "of twin is decided" in done(
        of, "decide", TITLE, "--type", "Droid", "--reason", "x", "--source", "twin"
    )
