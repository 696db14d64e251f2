"""`holocron why`: why a page is where it is, in whatever state it is, and the command that changes it."""

import json
import shutil
from collections.abc import Callable
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from crawl_rows import outcome, put_links, put_manifest, put_outcomes, put_seeds, wiki_source
from fake_ollama import FakeOllama
from knowledge_rows import row_of
from sample_holocron import SAMPLE_BATCH, Holocron
from test_given_up import put_unread
from wiki_with_facts import WikiWithFacts
from wiki_with_facts import page as infobox

from holocron_assets.cli.main import main
from holocron_assets.crawl.sources.source import Source
from holocron_assets.decisions.controls import PAUSE, Scope, control
from holocron_assets.decisions.log import all_decisions, new_decision, record, undo
from holocron_assets.derive.dispatch.pools import DispatchSettings
from holocron_assets.derive.interrogations.loading import load_interrogations
from holocron_assets.derive.items.wanted import conditions_of
from holocron_assets.derive.opening import open_lake
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.files.parquet import read_partition, write_partition
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import LLM_RUNS, PAGE_SIGNALS, PAGE_TYPES
from holocron_assets.operations.why.answers import Answer
from holocron_assets.operations.why.asking import _UNMET, why_asked
from holocron_assets.operations.why.explaining import explain
from holocron_assets.operations.why.fetching import Page
from holocron_assets.operations.why.page_report import page_report
from holocron_assets.settings import PROJECT_FOLDER

pytestmark = pytest.mark.system

MODEL = "qwen2.5-coder:1.5b"


def asked(of: Holocron, *arguments: str, **environment: str) -> Result:
    variables = {**of.environment, "COLUMNS": "80", "HOLOCRON_LLM": "off", **environment}
    return CliRunner().invoke(main, ["why", *arguments], env=variables)


def answers(of: Holocron, title: str, **environment: str) -> dict[str, Any]:
    """The answers about one page, by what they are about."""
    result = asked(of, title, "--json", **environment)
    assert result.exit_code == 0, result.output
    [page] = json.loads(result.stdout)
    return {answer["about"]: answer for answer in page["answers"]}


@pytest.fixture(scope="module")
def explain_page(finished_sample: Holocron) -> Callable[[str], dict[str, Any]]:
    """The answers about a page of the finished sample, asked for once."""
    return cache(lambda title: answers(finished_sample, title))


def all_answers(lake: Lake, title: str, source: Source | None = None) -> list[Answer]:
    """All that is said about a page of a made-up wiki."""
    source = source or wiki_source()
    report = page_report(lake, [source], source.name, title)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("HOLOCRON_STATE", str(lake.root / "state"))
        environment.setenv("HOLOCRON_DISPATCH", str(lake.root / "dispatch.yaml"))
        return explain(lake, source, report)


def fetched(lake: Lake, title: str, source: Source | None = None) -> Answer:
    """Why a page of a made-up wiki is fetched or not."""
    return all_answers(lake, title, source)[0]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return open_lake(tmp_path)


def test_a_promoted_page_is_explained_from_request_to_entity(
    explain_page: Callable[[str], dict[str, Any]],
) -> None:
    explained = explain_page("Issa Dorrane")
    assert explained["fetched"]["says"] == "It was fetched: revision 2397."
    assert f"asked for in batch {SAMPLE_BATCH}, as new" in explained["fetched"]["because"]
    assert explained["type"]["says"].startswith(
        "Rules decided: PersonCharacter at 0.99. The template is for "
    )
    assert explained["type"]["because"][0].startswith("0.95 PersonCharacter by infobox: ")
    assert explained["entity"]["says"].startswith("It is a promoted entity of type PersonCharacter: ")
    assert explained["entity"]["commands"][0].startswith("holocron decide suppress ")


def test_an_unsure_page_is_no_entity_and_a_person_can_type_it(
    explain_page: Callable[[str], dict[str, Any]],
) -> None:
    explained = explain_page("Shoal-chess")
    assert explained["type"]["says"].endswith("That is not sure: it is settled from 0.80 on.")
    assert explained["entity"]["says"] == "None: its type is not sure enough, 0.61 of 0.80."
    decide = "holocron decide classify 'Shoal-chess' --source sample --type TYPE --reason WHY"
    assert explained["entity"]["commands"] == explained["type"]["commands"] == [decide]


@pytest.mark.full
def test_what_it_names_as_a_command_does_what_it_says(finished_sample: Holocron, tmp_path: Path) -> None:
    holocron = finished_sample.copy_to(tmp_path)
    words = ["decide", "classify", "Shoal-chess", "--source", "sample", "--type", "Concept"]
    done = CliRunner().invoke(main, [*words, "--reason", "a game"], env=dict(holocron.environment))
    assert done.exit_code == 0, done.output
    types = read_partition(holocron.lake, PAGE_TYPES, SAMPLE_BATCH)
    for row in types:
        if row["title"] == "Shoal-chess":
            row.update(method="person", primary_type="Concept", confidence=1.0, needs_review=False)
    write_partition(holocron.lake, PAGE_TYPES, SAMPLE_BATCH, types)
    explained = answers(holocron, "Shoal-chess")
    assert explained["type"]["says"].startswith("A person decided: Concept at 1.00.")
    assert explained["type"]["because"][0].endswith(": a game")
    [undo] = explained["type"]["commands"]
    arguments = undo.removeprefix("holocron ").replace("WHY", "no").split()
    assert CliRunner().invoke(main, arguments, env=dict(holocron.environment)).exit_code == 0


def test_a_page_is_explained_by_decisions_about_itself_and_not_about_what_had_its_title(
    finished_sample: Holocron, tmp_path: Path
) -> None:
    holocron = finished_sample.copy_to(tmp_path)
    signals = read_partition(holocron.lake, PAGE_SIGNALS, SAMPLE_BATCH, ["title", "page_id"])
    chess = next(row["page_id"] for row in signals if row["title"] == "Shoal-chess")
    said: dict[str, Any] = {"source": "sample", "value": "Concept", "author": "Ada"}
    for title, page_id, reason in (("Chess", chess, "of it"), ("Shoal-chess", chess + 9999, "of another")):
        record(holocron.lake, [new_decision("classify", title=title, page_id=page_id, reason=reason, **said)])
    explained = answers(holocron, "Shoal-chess")["type"]
    reasons = [line.rpartition(": ")[2] for line in explained["because"] if line.startswith("Ada ")]
    assert reasons == ["of it"]


def test_of_the_decisions_about_a_page_an_undo_that_was_undone_does_not_count(
    finished_sample: Holocron, tmp_path: Path
) -> None:
    holocron = finished_sample.copy_to(tmp_path)
    row = new_decision(
        "classify", source="sample", title="Shoal-chess", value="Concept", author="Ada", reason="a game"
    )
    record(holocron.lake, [row])
    for _ in range(2):
        row = undo(holocron.lake, row["decision_id"], author="Ada", reason="checked")
    found = page_report(holocron.lake, [], "sample", "Shoal-chess")["decisions"]
    assert [(row["kind"], row["counts"]) for row in found] == [
        ("classify", True),
        ("undo", False),
        ("undo", True),
    ]


def test_a_page_that_moved_is_explained_by_decisions_about_its_statements_and_no_other_page_is(
    tmp_path: Path,
) -> None:
    wiki, source = WikiWithFacts(tmp_path), wiki_source("wiki")
    text = infobox("Character", "Vex", "|gender=Male\n|masters=[[Bel]]")
    wiki.crawl({"Vex": text})
    wiki.resolve()
    said = wiki.facts("Vex")[0]["fact_id"], wiki.relations("Vex")[0]["relation_id"]
    common: dict[str, Any] = {"source": "wiki", "title": "Vex", "author": "Ada", "reason": "checked"}
    for kind, statement in zip(("reject", "accept"), said, strict=True):
        record(wiki.lake, [new_decision(kind, statement_id=statement, value="so it is", **common)])
    undo(wiki.lake, all_decisions(wiki.lake)[-1]["decision_id"], author="Ada", reason="checked")
    wiki.put_pages({"Vex (pilot)": 1, "Vex": 3})
    wiki.crawl({"Vex (pilot)": text, "Vex": text})
    wiki.resolve()
    moved, other = (page_report(wiki.lake, [source], "wiki", title) for title in ("Vex (pilot)", "Vex"))
    assert [row["kind"] for row in moved["decisions"]] == ["reject", "accept", "undo"]
    assert [row["counts"] for row in moved["decisions"]] == [True, False, True]
    assert other["decisions"] == []


def test_a_page_whose_source_is_gone_is_not_denied(finished_sample: Holocron, tmp_path: Path) -> None:
    own = finished_sample.copy_to(tmp_path / "own")
    (own.sources_folder / "sample.yaml").unlink()
    said = asked(own, "Pell Harbor")
    assert said.exit_code == 1
    assert "'Pell Harbor' is a page of sample, whose file in" in " ".join(said.output.split())


def test_the_target_of_a_redirect_is_shown(explain_page: Callable[[str], dict[str, Any]]) -> None:
    explained = explain_page("Issa Dorrane/Canon")
    assert explained["entity"]["says"] == "None: it is a redirect to 'Issa Dorrane'."
    assert "it is a redirect" in explained["entity_facts"]["because"]


def test_conditions_that_a_page_does_not_meet_are_explained_in_words(
    explain_page: Callable[[str], dict[str, Any]],
) -> None:
    explained = explain_page("Issa Dorrane")
    assert explained["page_classification"]["says"] == "Not asked: it does not want this page."
    assert explained["page_classification"]["because"] == ["its type is surer: below 0.8 is wanted"]
    assert "it is of another type than ReferenceMeta" in explained["entity_extraction"]["because"]


def test_an_interrogation_that_is_off_is_named_so(explain_page: Callable[[str], dict[str, Any]]) -> None:
    explained = explain_page("Issa Dorrane")["template_types"]
    assert explained["says"] == "Not asked: its file says `enabled: false`."


def test_every_condition_that_a_key_sets_has_words() -> None:
    for interrogation in load_interrogations():
        if interrogation.over == "pages":
            conditions, _ = conditions_of(interrogation)
            assert {*conditions} - {interrogation.wants.sql} <= _UNMET.keys()


def test_nobody_is_asked_where_models_are_off(explain_page: Callable[[str], dict[str, Any]]) -> None:
    explained = explain_page("Issa Dorrane")["entity_facts"]
    assert explained["says"] == "Asked for, and not answered yet."
    assert explained["because"] == ["no model is asked: HOLOCRON_LLM is off"]
    assert explained["commands"] == ["holocron ask entity_facts 'Issa Dorrane' --source sample"]


def test_work_of_code_has_its_turn_where_models_are_off(
    explain_page: Callable[[str], dict[str, Any]],
) -> None:
    explained = explain_page("Issa Dorrane")["sentence_statements"]
    assert explained["says"] == "Asked for, and not answered yet."
    assert (
        explained["because"][0].endswith("answers others before it") or "is next" in explained["because"][0]
    )
    assert not [reason for reason in explained["because"] if "no model" in reason]


def test_no_command_asks_a_space(explain_page: Callable[[str], dict[str, Any]]) -> None:
    explained = explain_page("Issa Dorrane")["chunk_embeddings_minilm"]
    assert explained["says"] == "Asked for, and not answered yet."
    assert explained["commands"] == []


def test_the_interrogations_that_come_before_it_are_named(finished_sample: Holocron, tmp_path: Path) -> None:
    for name in ("page_classification", "entity_facts"):
        shutil.copytree(PROJECT_FOLDER / "data" / "interrogations" / name, tmp_path / "two" / name)
    (tmp_path / "spaces").mkdir()
    folders = {"HOLOCRON_INTERROGATIONS": "two", "HOLOCRON_SPACES": "spaces"}
    with FakeOllama(models={MODEL: "1" * 64}) as ollama:
        environment = {"HOLOCRON_LLM": "auto", "OLLAMA_HOST": ollama.url}
        environment |= {name: str(tmp_path / folder) for name, folder in folders.items()}
        first = answers(finished_sample, "Shoal-chess", **environment)["page_classification"]
        later = answers(finished_sample, "Issa Dorrane", **environment)["entity_facts"]
    assert first["because"] == [f"it is next: {MODEL} is asked by the next run"]
    assert later["because"][0] == f"{MODEL} answers others before it"
    assert later["because"][1].startswith(f"before it: page_classification by {MODEL}, priority 800, ")


def test_a_hold_is_shown_with_the_command_that_ends_it(finished_sample: Holocron, tmp_path: Path) -> None:
    holocron = finished_sample.copy_to(tmp_path)
    scope = Scope("interrogation", "entity_facts")
    control(holocron.lake, PAUSE, scope, author="Ada", reason="too dear")
    [held, _] = answers(holocron, "Issa Dorrane")["entity_facts"]["because"]
    assert "by Ada: too dear" in held
    assert "holocron resume --interrogation entity_facts --reason WHY" in held


@pytest.mark.parametrize(
    ("run", "says"),
    [
        ({"status": "ok"}, f"Answered by {MODEL} at "),
        ({"status": "dead", "error": "no JSON"}, "Given up after 4 attempts: no JSON."),
        ({"status": "failed", "error": "no JSON", "due_at": utc_now()}, "Failed 4 times, due again at "),
        ({"status": "ok", "prompt_version": "old"}, "Asked for, and not answered yet."),
    ],
    ids=["answered", "dead", "failed", "asked otherwise"],
)
def test_the_outcome_of_a_question_is_shown(
    finished_sample: Holocron, tmp_path: Path, run: dict[str, Any], says: str
) -> None:
    answer = outcome_of(finished_sample.copy_to(tmp_path), "entity_facts", MODEL, run)
    assert answer.says.startswith(says)


def outcome_of(holocron: Holocron, name: str, model: str, run: dict[str, Any]) -> Answer:
    """What is said of an interrogation about a page, after a run."""
    [asked] = [one for one in load_interrogations() if one.name == name]
    common = {"scope": f"{name}-{SAMPLE_BATCH}", "interrogation": name, "attempts": 4}
    common |= {"partition": SAMPLE_BATCH, "model": model, "prompt_version": asked.prompt_version}
    key = title_key("sample", "Issa Dorrane")
    row = row_of(LLM_RUNS, item_id=str(key), source="sample", **{**common, **run})
    write_partition(holocron.lake, LLM_RUNS, f"{name}-{SAMPLE_BATCH}", [row])
    page = Page(holocron.source(), "Issa Dorrane", key, {"signals": [{"batch": SAMPLE_BATCH}]})
    [answer] = [one for one in why_asked(holocron.lake, page, DispatchSettings()) if one.about == name]
    return answer


def test_artifacts_are_named_for_calls_of_a_model_and_not_for_code(
    finished_sample: Holocron, tmp_path: Path
) -> None:
    copy = finished_sample.copy_to(tmp_path)
    asked = outcome_of(copy, "entity_facts", MODEL, {"status": "failed", "error": "no JSON"})
    by_code = outcome_of(copy, "sentence_statements", "sql", {"status": "failed", "error": "no number"})
    ask = "holocron ask {} 'Issa Dorrane' --source sample"
    assert asked.commands == ("holocron artifacts entity_facts 'Issa Dorrane'", ask.format("entity_facts"))
    assert by_code.commands == (ask.format("sentence_statements"),)


def test_a_pending_page_is_shown_with_how_many_come_before_it(lake: Lake) -> None:
    put_seeds(lake, "A", "B", "C")
    put_outcomes(lake, "wiki-000001", outcome("A"))
    put_links(lake, "wiki-000001", ("A", "C"))
    first, last = fetched(lake, "C"), fetched(lake, "B")
    assert first.says == last.says == "It was not fetched yet. It waits for its turn."
    assert first.because[-1].startswith("0 pages of its source come before it, so it is in batch 1")
    assert last.because[-1].startswith("1 pages of its source come before it, so it is in batch 1")
    assert last.commands == ("holocron crawl --source wiki --title 'B'",)


def test_the_reasons_why_a_source_is_not_asked_are_shown(lake: Lake) -> None:
    put_seeds(lake, "A")
    control(lake, PAUSE, Scope("source", "wiki"), author="Ada", reason="they asked us to")
    answer = fetched(lake, "A", wiki_source(enabled=False))
    assert answer.because[0] == "source wiki is switched off, so nothing asks for it by itself"
    assert "by Ada: they asked us to" in answer.because[1]
    assert answer.commands[:2] == (
        "holocron sources enable wiki",
        "holocron resume --source wiki --reason WHY",
    )


@pytest.mark.parametrize(
    ("status", "columns", "says", "command"),
    [
        ("dead", {"attempts": 4}, "It was given up after 4 attempts: A: dead.", "holocron requeue "),
        ("failed", {}, "It failed once, and is due again at ", "holocron crawl "),
        ("missing", {}, "The wiki has no such page.", "holocron crawl "),
    ],
)
def test_the_outcome_of_a_request_is_shown(
    lake: Lake, status: str, columns: dict[str, Any], says: str, command: str
) -> None:
    put_seeds(lake, "A")
    now = utc_now()
    due: dict[str, Any] = {"due_at": now + timedelta(minutes=9)} if status == "failed" else {}
    put_outcomes(lake, "wiki-000001", outcome("A", status, fetched_at=now, **columns, **due))
    answer = fetched(lake, "A")
    assert answer.says.startswith(says)
    assert answer.commands[0].startswith(command)


def test_a_step_that_gave_a_page_up_is_named_with_the_command_that_tries_again(lake: Lake) -> None:
    put_outcomes(lake, "wiki-000001", outcome("Fine"), outcome("Odd"))
    put_unread(lake, PAGE_SIGNALS, "wiki-000001", "Odd")
    [given_up] = [answer for answer in all_answers(lake, "Odd") if answer.about == "given up"]
    assert given_up.because == ("page_signals, after 1 attempts: Odd: ValueError: 'Odd' is odd",)
    assert given_up.commands[0].startswith("holocron requeue ")
    assert "given up" not in {answer.about for answer in all_answers(lake, "Fine")}


def test_a_page_in_flight_names_its_batch(lake: Lake) -> None:
    put_seeds(lake, "A")
    put_manifest(lake, "wiki-000001", "A")
    answer = fetched(lake, "A")
    assert answer.says.startswith("It is in batch wiki-000001, which was cut at ")
    assert answer.commands == ("holocron launch crawl_batch --partition wiki-000001",)


def test_for_a_page_that_is_not_wanted_the_key_that_excludes_it_is_named(lake: Lake) -> None:
    put_seeds(lake, "A", "Gallery of things")
    answer = fetched(lake, "Gallery of things", wiki_source(exclude=("^Gallery",)))
    assert answer.says == "It is not asked for: a pattern to exclude fits it."
    assert answer.because == ("key `exclude` of the source file of wiki says so",)


def test_a_fetched_page_whose_batch_was_not_settled_has_no_type_yet(fetched_sample: Holocron) -> None:
    explained = answers(fetched_sample, "Issa Dorrane")
    assert explained["type"]["says"].startswith("It has no type yet: ")
    assert explained["type"]["commands"] == [f"holocron launch settle_batch --partition {SAMPLE_BATCH}"]


def test_of_an_unknown_title_the_nearest_are_named(finished_sample: Holocron) -> None:
    result = asked(finished_sample, "Isa Dorane")
    assert result.exit_code == 1
    said = " ".join(result.stderr.split())
    assert "no page is called 'Isa Dorane'" in said
    assert "Nearest are: 'Issa Dorrane' of sample" in said


@pytest.mark.parametrize("title", ["", "'; drop table pages; --"])
def test_any_text_may_be_asked_for(finished_sample: Holocron, title: str) -> None:
    result = asked(finished_sample, title)
    assert (result.exit_code, "no page is called" in result.stderr) == (1, True)


def test_a_person_reads_answers_and_whole_commands(finished_sample: Holocron) -> None:
    said = asked(finished_sample, "Shoal-chess").stdout
    assert said.startswith("Shoal-chess of sample\n")
    assert "    holocron decide classify 'Shoal-chess' --source sample --type TYPE --reason WHY\n" in said
