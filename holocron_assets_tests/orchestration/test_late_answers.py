"""What a model or a person says after a batch was settled: it is settled again, and no other batch is."""

from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from sample_dagster import definitions_of
from sample_holocron import SAMPLE_BATCH, Holocron

from holocron_assets.classify.decided_types import decide_type
from holocron_assets.decisions.log import undo
from holocron_assets.derive.opening import open_lake
from holocron_assets.lake.files.parquet import read_footer, read_partition, write_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import BATCH_PAGES, PAGE_SIGNALS, PAGE_TAGS, PAGE_TYPES
from holocron_assets.lake.tables.classify import MODEL_TABLE
from holocron_assets.planning.batch_derivations import TAGS_DERIVATION, TYPES_DERIVATION
from holocron_assets.planning.batch_steps import BATCH_STEPS, run_step
from holocron_assets.planning.work import batches_to_settle

(ANSWERS,) = (table for table in TYPES_DERIVATION.optional_inputs if table.name == MODEL_TABLE)
(LISTS,) = TAGS_DERIVATION.optional_inputs
OTHER_BATCH = "sample-000002"


@pytest.fixture
def sample(finished_sample: Holocron, tmp_path: Path) -> Holocron:
    return finished_sample.copy_to(tmp_path)


def settle(lake: Lake, batch: str = SAMPLE_BATCH) -> None:
    for step in BATCH_STEPS:
        run_step(lake, step, batch, "run-2")


def page_types(lake: Lake, batch: str = SAMPLE_BATCH) -> dict[str, dict[str, Any]]:
    return {row["title"]: row for row in read_partition(lake, PAGE_TYPES, batch)}


def to_settle(holocron: Holocron) -> list[str | None]:
    return [work.partition for work in batches_to_settle(holocron.lake, [holocron.source()])]


def unsure_page(lake: Lake) -> dict[str, Any]:
    """A page of which the rules guess a type, but are not sure."""
    return next(
        row
        for _, row in sorted(page_types(lake).items())
        if row["needs_review"] and row["confidence"] < 0.8 and row["primary_type"] != "Unknown"
    )


def answer(lake: Lake, page: dict[str, Any], page_type: str, model: str = "qwen2.5-coder:1.5b") -> None:
    """Write what a model answered about one page of the batch."""
    row = {
        **{name: page[name] for name in ("source", "batch", "title", "title_key", "revision_id")},
        "item_id": str(page["title_key"]),
        "position": 0,
        "primary_type": page_type,
        "types": [],
        "confidence": 1.0,
        "needs_review": False,
        "supported": True,
        "description": "A thing.",
        "tags": [],
        "rationale": "It says so",
        **dict.fromkeys(("model_digest", "result_key", "run_id"), "any"),
        "model": model,
    }
    write_partition(lake, ANSWERS, page["batch"], [row])


def test_types_are_settled_without_a_model_first_and_again_when_it_has_answered(sample: Holocron) -> None:
    lake = sample.lake
    page = unsure_page(lake)
    assert (page["method"], page["model"]) == ("rules", None)
    assert to_settle(sample) == []
    answer(lake, page, page["primary_type"])
    assert to_settle(sample) == [SAMPLE_BATCH]
    settle(lake)
    assert to_settle(sample) == []
    settled = page_types(lake)[page["title"]]
    assert (settled["method"], settled["model"]) == ("model", "qwen2.5-coder:1.5b")
    assert settled["rules_confidence"] == page["confidence"]


def test_the_same_words_of_another_model_are_another_answer(sample: Holocron) -> None:
    page = unsure_page(sample.lake)
    answer(sample.lake, page, page["primary_type"])
    settle(sample.lake)
    answer(sample.lake, page, page["primary_type"], model="another")
    assert to_settle(sample) == [SAMPLE_BATCH]


def test_what_a_model_reads_of_a_list_unsettles_the_lists_batch(sample: Holocron) -> None:
    lake, page = sample.lake, page_types(sample.lake)["List of members of the Concord of Nine"]
    named = {
        **{name: page[name] for name in ("source", "batch", "title", "title_key", "revision_id")},
        "item_id": f"{page['title_key']}#0",
        "chunk": 0,
        "position": 0,
        "supported": True,
        "evidence": "Humans",
        "name": "Humans",
        "type": "Species",
        "aliases": [],
        "attributes": [],
        **dict.fromkeys(("model", "model_digest", "result_key", "run_id"), "any"),
    }
    write_partition(lake, LISTS, SAMPLE_BATCH, [named])
    assert to_settle(sample) == [SAMPLE_BATCH]
    settle(lake)
    assert to_settle(sample) == []
    tags = read_partition(lake, PAGE_TAGS, SAMPLE_BATCH)
    assert [row["tag_id"] for row in tags if row["target_kind"] == "chunk"] == ["type:species"]


def test_an_answer_touches_no_page_but_its_own(sample: Holocron) -> None:
    before = page_types(sample.lake)
    page = unsure_page(sample.lake)
    answer(sample.lake, page, page["primary_type"])
    settle(sample.lake)
    after = page_types(sample.lake)
    changed = {title for title in before if {**after[title], "run_id": ""} != {**before[title], "run_id": ""}}
    assert changed == {page["title"]}


def test_a_decision_unsettles_only_the_batches_that_hold_its_page(sample: Holocron) -> None:
    lake = sample.lake
    copy_batch(lake, without="Issa Dorrane")
    assert to_settle(sample) == []
    decided = decide_type(
        lake, source="sample", title="Issa Dorrane", type_name="Droid", author="ada", reason="I know"
    )
    assert to_settle(sample) == [SAMPLE_BATCH]
    untouched = read_footer(lake, PAGE_TYPES, OTHER_BATCH)
    settle(lake)
    settle(lake, OTHER_BATCH)
    assert to_settle(sample) == []
    assert page_types(lake)["Issa Dorrane"]["method"] == "person"
    assert read_footer(lake, PAGE_TYPES, OTHER_BATCH) == untouched
    undo(lake, decided["decision_id"], author="ada", reason="No")
    assert to_settle(sample) == [SAMPLE_BATCH]


def test_each_word_said_since_is_other_work(sample: Holocron) -> None:
    """A run that was made for an earlier answer must not delay, or give up, the one for the next."""
    keys = set()
    for page_type in ("Droid", "Species"):
        decide_type(
            sample.lake, source="sample", title="Issa Dorrane", type_name=page_type, author="a", reason="r"
        )
        (work,) = batches_to_settle(sample.lake, [sample.source()])
        keys.add(work.key)
    assert len(keys) == 2


def test_a_person_materializes_types_with_and_without_a_models_answers(sample: Holocron) -> None:
    job = definitions_of(sample).resolve_implicit_global_asset_job_def()
    for answered in (False, True):
        page = unsure_page(sample.lake) if answered else {}
        if answered:
            answer(sample.lake, page, page["primary_type"])
        with dg.DagsterInstance.ephemeral() as instance:
            instance.add_dynamic_partitions("batches", [SAMPLE_BATCH])
            result = job.execute_in_process(
                instance=instance,
                partition_key=SAMPLE_BATCH,
                asset_selection=[dg.AssetKey(PAGE_TYPES.name)],
            )
            assert result.success
    assert page_types(sample.lake)[page["title"]]["method"] == "model"


def test_types_depend_on_the_models_answers_in_the_graph(sample: Holocron) -> None:
    graph = definitions_of(sample).resolve_asset_graph()
    assert dg.AssetKey(MODEL_TABLE) in graph.get(dg.AssetKey(PAGE_TYPES.name)).parent_keys


def test_a_lake_is_opened_with_the_tables_of_interrogations(tmp_path: Path) -> None:
    assert MODEL_TABLE in {table.name for table in open_lake(tmp_path).derived_tables}


def copy_batch(lake: Lake, *, without: str) -> None:
    """Make a second batch of the same pages, but one."""
    for table in (BATCH_PAGES, *(step.derivation.inputs[0] for step in BATCH_STEPS[:1])):
        rows = [
            {**row, "batch": OTHER_BATCH}
            for row in read_partition(lake, table, SAMPLE_BATCH)
            if without not in {row["title"], row.get("requested_title")}
        ]
        write_partition(lake, table, OTHER_BATCH, rows)
    settle(lake, OTHER_BATCH)
    assert without not in {row["title"] for row in read_partition(lake, PAGE_SIGNALS, OTHER_BATCH)}
