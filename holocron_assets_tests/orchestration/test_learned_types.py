"""The learned model of the sample wiki: when it is trained, what it says, and what it leaves as it was."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from click.testing import CliRunner
from embedded import DIGEST, embedded_lake, space
from sample_dagster import definitions_of, metadata_of, run_job
from sample_holocron import SAMPLE_BATCH, Holocron

from holocron_assets.classify.decided_types import decide_shared, decide_types
from holocron_assets.classify.learned import store
from holocron_assets.classify.learned.settled import SettledPages
from holocron_assets.classify.learned.store import (
    stale_type_models,
    stale_type_predictions,
    store_type_model,
    store_type_predictions,
)
from holocron_assets.classify.rules import is_open
from holocron_assets.cli.main import main
from holocron_assets.crawl.sources.files import read_sources
from holocron_assets.decisions.log import standing, undo
from holocron_assets.lake.files.parquet import read_footer, read_partition, write_partition
from holocron_assets.lake.tables import PAGE_TYPES, RULE_CLASSIFICATIONS, TYPE_MODEL, TYPE_PREDICTIONS
from holocron_assets.lake.views.database import connect
from holocron_assets.planning.job_names import LEARN_JOB, SETTLE_JOB
from holocron_assets.planning.loop import learning_step
from holocron_assets.planning.work import Work, batches_to_settle, types_to_learn

SAMPLE = "sample"


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as ephemeral:
        ephemeral.add_dynamic_partitions("sources", [SAMPLE])
        ephemeral.add_dynamic_partitions("batches", [SAMPLE_BATCH])
        yield ephemeral


@pytest.fixture(scope="module")
def learned(finished_sample: Holocron, tmp_path_factory: pytest.TempPathFactory) -> Holocron:
    """The sample, with a model though the rules leave only a few of its pages open. Copy it to change it."""
    holocron = finished_sample.copy_to(tmp_path_factory.mktemp("learned"))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(store, "FEWEST_OPEN_PAGES", 1)
        store_type_model(holocron.lake, SAMPLE)
        store_type_predictions(holocron.lake, SAMPLE)
    return holocron


@pytest.fixture
def sample(learned: Holocron, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Holocron:
    """A copy of it."""
    monkeypatch.setattr(store, "FEWEST_OPEN_PAGES", 1)
    return learned.copy_to(tmp_path)


def predictions(holocron: Holocron) -> dict[str, dict[str, Any]]:
    return {row["title"]: row for row in read_partition(holocron.lake, TYPE_PREDICTIONS, SAMPLE)}


def unsettled(holocron: Holocron) -> list[str]:
    rules = read_partition(holocron.lake, RULE_CLASSIFICATIONS, SAMPLE_BATCH)
    return [row["title"] for row in rows_open(rules)]


def rows_open(rules: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rules if is_open(row)]


def decide(holocron: Holocron, titles: list[str]) -> None:
    said = {"type_name": "Concept", "author": "Bo", "reason": "It says so"}
    decide_types(holocron.lake, source=SAMPLE, pages=[(title, None) for title in titles], **said)


def test_the_model_is_asked_about_what_the_rules_leave_open(sample: Holocron) -> None:
    found = predictions(sample)
    assert found.keys() == set(unsettled(sample))
    footer = read_footer(sample.lake, TYPE_MODEL, SAMPLE)
    assert footer
    assert {row["model_version"] for row in found.values()} == {footer.content_id}


def test_a_model_of_the_same_lake_has_the_same_content(sample: Holocron) -> None:
    before = read_footer(sample.lake, TYPE_MODEL, SAMPLE)
    after, _ = store_type_model(sample.lake, SAMPLE)
    assert before
    assert after.content_id == before.content_id


def test_a_source_with_few_open_pages_learns_nothing(finished_sample: Holocron, tmp_path: Path) -> None:
    assert predictions(finished_sample) == {}
    assert model_rows(finished_sample) == []
    holocron = finished_sample.copy_to(tmp_path)
    for table in (TYPE_MODEL, TYPE_PREDICTIONS):
        holocron.lake.file(table, SAMPLE).unlink()
    assert types_to_learn(holocron.lake) == []


def test_a_source_gets_a_model_once_enough_pages_are_open(
    finished_sample: Holocron, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    holocron = finished_sample.copy_to(tmp_path)
    open_pages = len(rows_open(read_partition(holocron.lake, RULE_CLASSIFICATIONS, SAMPLE_BATCH)))
    assert 0 < open_pages < store.FEWEST_OPEN_PAGES
    monkeypatch.setattr(store, "FEWEST_OPEN_PAGES", open_pages + 1)
    assert stale_type_models(holocron.lake, [SAMPLE]) == []
    reclassify(holocron, lambda row: {**row, "needs_review": True})
    assert stale_type_models(holocron.lake, [SAMPLE]) == [SAMPLE]


def reclassify(holocron: Holocron, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Write the rules' answers again, changed."""
    footer = read_footer(holocron.lake, RULE_CLASSIFICATIONS, SAMPLE_BATCH)
    assert footer
    rows = read_partition(holocron.lake, RULE_CLASSIFICATIONS, SAMPLE_BATCH)
    write_partition(
        holocron.lake,
        RULE_CLASSIFICATIONS,
        SAMPLE_BATCH,
        [change(row) for row in rows],
        code_version=footer.code_version,
        inputs=footer.inputs,
    )


def test_a_type_that_the_model_is_sure_of_counts_until_a_person_decides(
    sample: Holocron, instance: dg.DagsterInstance
) -> None:
    make_sure(sample, 3)
    sure = {title: row for title, row in predictions(sample).items() if not row["abstains"]}
    assert len(sure) == 3
    settle(sample, instance)
    typed = types(sample)
    for title, said in sure.items():
        assert (typed[title]["method"], typed[title]["primary_type"]) == ("learned", said["primary_type"])
        assert typed[title]["confidence"] == typed[title]["learned_probability"] == said["probability"]
        assert typed[title]["reason"].startswith("the learned model says ")
        assert not typed[title]["needs_review"]
    decide(sample, list(sure))
    settle(sample, instance)
    assert {types(sample)[title]["method"] for title in sure} == {"person"}


def test_what_is_learned_types_pages_in_the_same_step(sample: Holocron, instance: dg.DagsterInstance) -> None:
    sample.lake.file(TYPE_PREDICTIONS, SAMPLE).unlink()
    sources = list(read_sources(sample.sources_folder)[0].values())
    jobs: list[str] = []

    def run(work: Sequence[Work]) -> bool:
        jobs.extend(one.job for one in work)
        return bool(work) and all(run_job(sample, instance, one.job, one.partition).success for one in work)

    assert learning_step(sample.lake, sources, run)
    assert jobs == [LEARN_JOB, SETTLE_JOB]
    assert not learning_step(sample.lake, sources, run)
    said = predictions(sample)
    assert {types(sample)[title]["learned_type"] for title in said} == {
        row["primary_type"] for row in said.values()
    }


def test_what_the_model_abstains_from_stays_as_the_rules_left_it(
    sample: Holocron, instance: dg.DagsterInstance
) -> None:
    before = types(sample)
    settle(sample, instance)
    for title, said in predictions(sample).items():
        if said["abstains"]:
            typed = types(sample)[title]
            assert (typed["learned_type"], typed["method"]) == (said["primary_type"], "rules")
            assert typed["primary_type"] == before[title]["primary_type"]


def make_sure(holocron: Holocron, count: int) -> None:
    """Let the model be sure of some pages; it learned from too few to be sure by itself."""
    footer = read_footer(holocron.lake, TYPE_PREDICTIONS, SAMPLE)
    assert footer
    rows = read_partition(holocron.lake, TYPE_PREDICTIONS, SAMPLE)
    sure = [{**row, "probability": 0.9, "abstains": False} for row in rows[:count]]
    write_partition(
        holocron.lake,
        TYPE_PREDICTIONS,
        SAMPLE,
        [*sure, *rows[count:]],
        code_version=footer.code_version,
        inputs=footer.inputs,
    )


def settle(holocron: Holocron, instance: dg.DagsterInstance) -> None:
    """Settle the batch, which is asked for since the model, or a person, says something new."""
    sources = read_sources(holocron.sources_folder)[0].values()
    assert [work.partition for work in batches_to_settle(holocron.lake, sources)] == [SAMPLE_BATCH]
    assert run_job(holocron, instance, SETTLE_JOB, SAMPLE_BATCH).success
    assert batches_to_settle(holocron.lake, sources) == []


def types(holocron: Holocron) -> dict[str, dict[str, Any]]:
    return {row["title"]: row for row in read_partition(holocron.lake, PAGE_TYPES, SAMPLE_BATCH)}


def test_a_model_that_is_trained_leaves_nothing_to_learn(sample: Holocron) -> None:
    assert types_to_learn(sample.lake) == []


def test_a_source_without_a_classified_page_has_no_model(finished_sample: Holocron) -> None:
    assert stale_type_models(finished_sample.lake, ["another"]) == []
    assert stale_type_predictions(finished_sample.lake, ["another"]) == []


def test_a_few_decisions_train_no_model_and_a_tenth_of_all_pages_do(sample: Holocron) -> None:
    decide(sample, unsettled(sample)[:2])
    assert stale_type_models(sample.lake, [SAMPLE]) == []
    settled = [row for row in read_partition(sample.lake, PAGE_TYPES, SAMPLE_BATCH) if row["namespace"] == 0]
    decide(sample, [row["title"] for row in settled if row["primary_type"] == "LocationPlace"])
    assert stale_type_models(sample.lake, [SAMPLE]) == [SAMPLE]


def test_decisions_in_place_of_ones_that_were_undone_train_the_model(sample: Holocron) -> None:
    settled = [row for row in read_partition(sample.lake, PAGE_TYPES, SAMPLE_BATCH) if row["namespace"] == 0]
    places = [row["title"] for row in settled if row["primary_type"] == "LocationPlace"]
    decide(sample, places)
    store_type_model(sample.lake, SAMPLE)
    assert stale_type_models(sample.lake, [SAMPLE]) == []
    for row in standing(sample.lake).of_kind("classify"):
        undo(sample.lake, row["decision_id"], author="Bo", reason="They are ships")
    decide(sample, places)
    assert stale_type_models(sample.lake, [SAMPLE]) == [SAMPLE]


def test_one_decision_about_a_template_trains_the_model(sample: Holocron) -> None:
    with connect(sample.lake, relations=["page_signals"]) as connection:
        sql = "select infobox_template from page_signals where infobox_template is not null"
        [(template, *_), *_] = connection.execute(sql).fetchall()
    decide_shared(
        *(sample.lake, "template"),
        source=SAMPLE,
        name=template,
        type_name="Concept",
        author="Bo",
        reason="It says so",
    )
    assert stale_type_models(sample.lake, [SAMPLE]) == [SAMPLE]
    store_type_model(sample.lake, SAMPLE)
    assert stale_type_models(sample.lake, [SAMPLE]) == []


def test_a_batch_that_is_classified_otherwise_trains_the_model(sample: Holocron) -> None:
    reclassify(sample, lambda row: {**row, "confidence": row["confidence"] / 2})
    assert stale_type_models(sample.lake, [SAMPLE]) == [SAMPLE]


def test_vectors_that_come_train_the_model_and_it_sees_them(sample: Holocron) -> None:
    by_rules = {RULE_CLASSIFICATIONS.name: "1"}
    lake = embedded_lake(sample.lake.root, space(), inputs=by_rules)
    assert stale_type_models(lake, [SAMPLE]) == [SAMPLE]
    store_type_model(lake, SAMPLE)
    kind = f"meaning by words {DIGEST[:8]}"
    assert any(row["feature"].startswith(kind) for row in model_rows(sample))
    assert stale_type_predictions(lake, [SAMPLE]) == [SAMPLE]
    store_type_predictions(lake, SAMPLE)
    said = {reason["feature"] for row in predictions(sample).values() for reason in row["reasons"]}
    assert kind in said
    assert stale_type_models(lake, [SAMPLE]) == []


def test_vectors_of_a_batch_that_come_after_its_predictions_make_these_anew(sample: Holocron) -> None:
    by_rules = {RULE_CLASSIFICATIONS.name: "1"}
    lake = embedded_lake(sample.lake.root, space(), inputs=by_rules)
    lake.file(space().table, SAMPLE_BATCH).unlink()
    store_type_model(lake, SAMPLE)
    store_type_predictions(lake, SAMPLE)
    assert stale_type_predictions(lake, [SAMPLE]) == []
    embedded_lake(sample.lake.root, space(), inputs=by_rules)
    assert stale_type_predictions(lake, [SAMPLE]) == [SAMPLE]


def test_a_persons_decision_teaches(sample: Holocron) -> None:
    [before] = [row["weights"] for row in model_rows(sample) if row["feature"] == "any page"]
    assert "Concept" in {weight["type"] for weight in before}
    title = unsettled(sample)[0]
    decide(sample, [title])
    taught = SettledPages(sample.lake).types(SAMPLE_BATCH)
    [decision] = standing(sample.lake).types.values()
    assert taught[decision["title_key"]] == "Concept"


def model_rows(holocron: Holocron) -> list[dict[str, Any]]:
    return read_partition(holocron.lake, TYPE_MODEL, SAMPLE)


def test_a_page_that_the_rules_settle_now_is_asked_about_no_more(sample: Holocron) -> None:
    first = rows_open(read_partition(sample.lake, RULE_CLASSIFICATIONS, SAMPLE_BATCH))[0]
    settled = {"confidence": 0.95, "needs_review": False}
    reclassify(sample, lambda row: {**row, **settled} if row["title"] == first["title"] else row)
    assert stale_type_predictions(sample.lake, [SAMPLE]) == [SAMPLE]
    before = predictions(sample)
    store_type_predictions(sample.lake, SAMPLE)
    assert predictions(sample) == {title: row for title, row in before.items() if title != first["title"]}


@pytest.mark.parametrize("is_contradicted", [False, True])
def test_a_page_that_contradicts_its_infobox_is_strange_to_the_model(
    sample: Holocron, *, is_contradicted: bool
) -> None:
    def is_place(row: dict[str, Any]) -> bool:
        return any((one["stage"], one["type"]) == ("infobox", "LocationPlace") for one in row["evidence"])

    rules = read_partition(sample.lake, RULE_CLASSIFICATIONS, SAMPLE_BATCH)
    place = next(row for row in rules if row["confidence"] >= 0.9 and is_place(row))
    pieces = [one for one in place["evidence"] if one["type"] == "LocationPlace"]
    against = {**pieces[0], "stage": "lead", "type": "PersonCharacter"}
    left_open = {"confidence": 0.7, "evidence": [*pieces, *([against] if is_contradicted else [])]}
    reclassify(sample, lambda row: {**row, **left_open} if row["title"] == place["title"] else row)
    store_type_predictions(sample.lake, SAMPLE)

    said = predictions(sample)[place["title"]]
    assert said["primary_type"] == "LocationPlace"
    assert said["is_familiar"] is not is_contradicted
    assert said["abstains"] or not is_contradicted


def test_a_batch_without_a_change_keeps_its_predictions(
    sample: Holocron, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("the batch was read again")

    before = predictions(sample)
    monkeypatch.setattr(store, "_predicted", fail)
    store_type_predictions(sample.lake, SAMPLE)
    assert predictions(sample) == before


def test_a_run_that_learns_trains_and_asks_the_model_once(
    sample: Holocron, instance: dg.DagsterInstance
) -> None:
    sample.lake.file(TYPE_MODEL, SAMPLE).unlink()
    [work] = types_to_learn(sample.lake)
    assert work.job == LEARN_JOB
    result = run_job(sample, instance, LEARN_JOB, None)
    assert result.success
    assert metadata_of(result, TYPE_MODEL)["settled_pages"] > 100
    assert types_to_learn(sample.lake) == []


def test_a_person_who_materializes_a_model_sees_how_right_it_is(
    sample: Holocron, instance: dg.DagsterInstance
) -> None:
    job = definitions_of(sample).resolve_implicit_global_asset_job_def()
    result = job.execute_in_process(
        instance=instance, partition_key=SAMPLE, asset_selection=[dg.AssetKey(TYPE_MODEL.name)]
    )
    said = metadata_of(result, TYPE_MODEL)
    assert 0 < said["macro_f1"] <= 1
    assert 0 <= said["calibration_error"] < 0.3
    for picture in ("calibration", "confusion"):
        assert "](data:image/png;base64," in str(said[picture])


@pytest.mark.system
def test_why_says_what_the_learned_model_says(sample: Holocron) -> None:
    title, said = next(iter(predictions(sample).items()))
    result = CliRunner().invoke(
        main, ["why", title, "--json"], env={**sample.environment, "HOLOCRON_LLM": "off"}
    )
    assert result.exit_code == 0, result.output
    assert "the learned model " in result.stdout
    assert f"{said['primary_type']} at {said['probability']:.2f}" in result.stdout
