"""A person's word over rules and models, from the command to the entity and back."""

from collections import Counter
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from asked_lake import ask_lake
from click.testing import CliRunner, Result
from sample_dagster import definitions_of
from sample_holocron import SAMPLE_BATCH, SAMPLE_EXPORT, Holocron, derive, fetch, list_seeds_and_cut

from holocron_assets.classify.learned.settled import SettledPages
from holocron_assets.cli.main import main
from holocron_assets.cli.work import local_run as local_commands
from holocron_assets.decisions.log import all_decisions
from holocron_assets.planning.batch_derivations import stale_batches

pytestmark = pytest.mark.system

TITLE = "Issa Dorrane"
DROID = ("--type", "Droid")


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
    monkeypatch.setattr(local_commands, "definitions", lambda: definitions_of(of))
    done(of, "run", *arguments)


def entities_of(of: Holocron, title: str) -> list[dict[str, Any]]:
    sql = """
        select entity_id, entity_type, state, method, confidence
        from entities where title = $title order by source
    """
    return ask_lake(of.lake, sql, {"title": title})


def test_a_decision_moves_a_page_and_its_entity_until_it_is_undone(
    finished_sample: Holocron, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = finished_sample.copy_to(tmp_path)
    (before,) = entities_of(of, TITLE)
    said = done(of, "decide", "classify", TITLE, *DROID, "--reason", "She is built", "--author", "Ada")
    assert said.startswith("Decided: 'Issa Dorrane' of sample is of type Droid.")
    run(monkeypatch, of)
    shown = done(of, "page", TITLE)
    assert "promoted entity of type Droid" in shown
    assert "Ada decided on" in shown
    assert "She is built" in shown
    assert "PersonCharacter by infobox" in shown
    (row,) = all_decisions(of.lake)
    assert row["decision_id"] in shown
    (entity,) = entities_of(of, TITLE)
    assert (entity["entity_type"], entity["method"], entity["confidence"]) == ("Droid", "person", 1.0)
    assert entity["entity_id"] == before["entity_id"]

    done(of, "decide", "undo", row["decision_id"], "--reason", "I was wrong", "--author", "Ada")
    run(monkeypatch, of)
    (entity,) = entities_of(of, TITLE)
    assert (entity["entity_type"], entity["method"]) == ("PersonCharacter", "rules")
    assert entity["entity_id"] == before["entity_id"]


def settled_by_type(holocron: Holocron) -> Counter[str]:
    """The pages that teach the learned model, by their type."""
    return Counter(SettledPages(holocron.lake).types(SAMPLE_BATCH).values())


def test_a_decision_on_a_template_types_its_articles_and_teaches_until_it_is_undone(
    finished_sample: Holocron, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = finished_sample.copy_to(tmp_path)
    monkeypatch.setattr(local_commands, "open_instance", dg.DagsterInstance.ephemeral)
    before = settled_by_type(of)
    said = done(
        of, "decide", "template", "game", "WorkMedia", "--reason", "All are played", "--author", "Ada"
    )
    assert said.startswith(
        "Decided: articles with the infobox 'Template:Game' of sample are of type WorkMedia."
    )
    assert said.endswith("It settles 1 unsure article, of 1 in all.")
    (row,) = all_decisions(of.lake)
    assert stale_batches(of.lake, [of.source()]) == [SAMPLE_BATCH]
    assert settled_by_type(of) - before == {"WorkMedia": 1}
    run(monkeypatch, of)
    assert stale_batches(of.lake, [of.source()]) == []
    shown = done(of, "why", "Shoal-chess")
    assert f"about all articles with Template:Game (decision {row['decision_id']}): All are played" in shown
    done(of, "decide", "undo", row["decision_id"], "--reason", "I was wrong", "--author", "Ada")
    assert stale_batches(of.lake, [of.source()]) == [SAMPLE_BATCH]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("template", "Nothing", "Droid"), "no article has the infobox 'Template:Nothing'"),
        (("category", "Nothing", "Droid"), "no article is in 'Category:Nothing'"),
        (("category", "Humans", "Droid", "--source", "none"), "none"),
    ],
)
def test_a_decision_on_what_no_article_has_is_reported(
    finished_sample: Holocron, arguments: tuple[str, ...], problem: str
) -> None:
    result = holocron(finished_sample, "decide", *arguments, "--reason", "x")
    assert result.exit_code == 1
    assert problem in " ".join(result.stderr.split())


def test_a_page_shows_decisions_about_its_entity_whichever_was_named_first(
    finished_sample: Holocron, tmp_path: Path
) -> None:
    of = finished_sample.copy_to(tmp_path)
    done(of, "decide", "split", TITLE, "Orrin Dorrane", "--reason", "two people", "--author", "Ada")
    for title in (TITLE, "Orrin Dorrane"):
        assert "two people" in done(of, "page", title)


def test_a_type_is_needed(finished_sample: Holocron) -> None:
    result = holocron(finished_sample, "decide", "classify", TITLE, "--reason", "x")
    assert result.exit_code == 2
    assert "--type" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("Nobody", *DROID), "no page is called 'Nobody'"),
        ((TITLE, *DROID, "--source", "none"), "none"),
    ],
)
def test_a_decision_that_cannot_be_made_is_reported(
    finished_sample: Holocron, arguments: tuple[str, ...], problem: str
) -> None:
    result = holocron(finished_sample, "decide", "classify", *arguments, "--reason", "x")
    assert result.exit_code == 1
    assert problem in " ".join(result.stderr.split())


def test_a_title_that_two_sources_have_is_decided_in_the_one_that_is_named(
    finished_sample: Holocron, tmp_path: Path
) -> None:
    of = finished_sample.copy_to(tmp_path)
    of.add_source("twin", SAMPLE_EXPORT)
    batches = list_seeds_and_cut(of, "twin")
    fetch(of, batches, "twin")
    derive(of, batches)
    command = ("decide", "classify", TITLE, *DROID, "--reason", "x")
    refused = holocron(of, *command)
    assert "may be 'Issa Dorrane' of sample or 'Issa Dorrane' of twin" in " ".join(refused.stderr.split())
    assert "'Issa Dorrane' of twin is of type Droid" in done(of, *command, "--source", "twin")
