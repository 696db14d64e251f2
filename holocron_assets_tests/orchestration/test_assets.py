"""Assets of the sample wiki, materialized in this process: what they write, say, refuse and redo."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import dagster as dg
import pytest
from sample_dagster import failure_message, metadata_of, run_job
from sample_holocron import SAMPLE_BATCH, Holocron, list_seeds_and_cut, sample_holocron

from holocron_assets.classify.taxonomy import load_taxonomy
from holocron_assets.lake.declaration.schema import Row, Table
from holocron_assets.lake.files.parquet import Footer, read_footer, read_partition, write_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import (
    ENTITY_CANDIDATES,
    PAGE_LINKS,
    PAGE_SIGNALS,
    PAGE_TYPES,
    PAGES,
    RULE_CLASSIFICATIONS,
    SEED_TITLES,
    SITES,
)
from holocron_assets.orchestration.assets import batches as batch_assets
from holocron_assets.orchestration.assets.partitions import ENTITY_TYPES
from holocron_assets.orchestration.internals.assets import RANGE_TAGS
from holocron_assets.planning import batch_derivations, work
from holocron_assets.planning import batch_steps as steps
from holocron_assets.planning.batch_steps import run_step
from holocron_assets.planning.page_by_page import PageByPage
from holocron_assets.planning.work import batches_to_fetch, batches_to_settle

BATCH_TABLES = (PAGES, PAGE_LINKS, PAGE_SIGNALS, RULE_CLASSIFICATIONS, PAGE_TYPES, ENTITY_CANDIDATES)


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as ephemeral:
        ephemeral.add_dynamic_partitions("sources", ["sample"])
        ephemeral.add_dynamic_partitions("batches", [SAMPLE_BATCH])
        yield ephemeral


def content_ids(holocron: Holocron, partition: str = SAMPLE_BATCH) -> dict[str, str]:
    footers = {table.name: read_footer(holocron.lake, table, partition) for table in BATCH_TABLES}
    return {name: footer.content_id for name, footer in footers.items() if footer}


def times_written(holocron: Holocron) -> dict[str, int]:
    return {t.name: holocron.lake.file(t, SAMPLE_BATCH).stat().st_mtime_ns for t in BATCH_TABLES}


def retries(result: dg.ExecuteInProcessResult) -> list[dg.DagsterEvent]:
    return [event for event in result.all_events if event.is_step_up_for_retry]


def replace_step(
    monkeypatch: pytest.MonkeyPatch,
    table: Table,
    make: Callable[[steps.Inputs, str, PageByPage], Sequence[Row]] | None = None,
) -> None:
    """Let another version of a table's code be the current one."""
    old = next(step for step in steps.BATCH_STEPS if step.table is table)
    derivation = dataclasses.replace(old.derivation, code="of tomorrow")
    new = dataclasses.replace(old, derivation=derivation, make=make or old.make)

    def run(lake: Lake, step: steps.Step, batch: str, run_id: str) -> tuple[Footer, Sequence[Row]]:
        return run_step(lake, new if step is old else step, batch, run_id)

    monkeypatch.setattr(batch_assets, "run_step", run)
    with_new = tuple(derivation if step is old else step.derivation for step in steps.BATCH_STEPS)
    for module in (batch_derivations, work):
        monkeypatch.setattr(module, "BATCH_DERIVATIONS", with_new)


def test_seeds_and_a_whole_batch_are_materialized_and_say_what_is_inside(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    holocron = sample_holocron(tmp_path)
    listed = run_job(holocron, instance, "list_seeds", "sample")
    assert listed.success
    assert metadata_of(listed, SITES)["first_title"] == "Driftpedia"
    assert metadata_of(listed, SEED_TITLES)["dagster/row_count"] == 180
    assert list_seeds_and_cut(holocron) == [SAMPLE_BATCH]

    result = run_job(holocron, instance, "crawl_batch", SAMPLE_BATCH)
    assert result.success
    said = {table.name: metadata_of(result, table) for table in BATCH_TABLES}
    for table in BATCH_TABLES:
        rows = read_partition(holocron.lake, table, SAMPLE_BATCH)
        assert said[table.name]["dagster/row_count"] == len(rows) > 0, table.name
        assert said[table.name]["rows_per_second"] > 0, table.name
        assert said[table.name]["content_id"] == content_ids(holocron)[table.name]
    wanted = read_partition(holocron.lake, PAGES, SAMPLE_BATCH)
    assert said["pages"]["first_title"] == wanted[0]["title"] == "Main Page"
    assert said["pages"]["last_title"] == wanted[-1]["title"]
    assert said["pages"]["status: ok"] == 180
    assert said["pages"]["text_bytes"] == sum(row["size_bytes"] for row in wanted)
    assert said["page_types"]["primary_type: Droid"] == 4
    assert "| PersonCharacter | 19 |" in said["page_types"]["rows_by_primary_type"]


def test_rows_lead_back_to_the_run_that_made_them(
    fetched_sample: Holocron, tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    holocron = fetched_sample.copy_to(tmp_path)
    result = run_job(holocron, instance, "settle_batch", SAMPLE_BATCH)
    for table in (PAGE_TYPES, ENTITY_CANDIDATES):
        runs = {row["run_id"] for row in read_partition(holocron.lake, table, SAMPLE_BATCH)}
        assert runs == {result.run_id}, table.name


def test_a_batch_that_was_not_cut_fails_at_once_and_says_which_command_cuts_one(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    instance.add_dynamic_partitions("batches", ["sample-000099"])
    result = run_job(sample_holocron(tmp_path), instance, "crawl_batch", "sample-000099")
    assert not result.success
    assert "batch 'sample-000099' has no manifest" in failure_message(result)
    assert "holocron crawl" in failure_message(result)
    assert retries(result) == []


def test_a_partition_typed_in_by_hand_fails_at_once_and_is_named(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    instance.add_dynamic_partitions("batches", ["../../etc"])
    result = run_job(sample_holocron(tmp_path), instance, "crawl_batch", "../../etc")
    assert not result.success
    assert "partition '../../etc'" in failure_message(result)
    assert retries(result) == []


def test_a_range_of_batches_in_a_single_run_fails_at_once_and_says_how_to_launch_it(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    others = ["sample-000002", "sample-000003"]
    instance.add_dynamic_partitions("batches", others)
    range_of_batches = dict(zip(RANGE_TAGS, others, strict=True))
    for job in ("crawl_batch", "settle_batch"):
        result = run_job(sample_holocron(tmp_path / job), instance, job, tags=range_of_batches)
        assert not result.success
        assert "launch the range as multiple runs" in failure_message(result)
        assert retries(result) == []


def test_settling_a_batch_that_was_not_fetched_names_what_is_missing(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    holocron = sample_holocron(tmp_path)
    list_seeds_and_cut(holocron)
    result = run_job(holocron, instance, "settle_batch", SAMPLE_BATCH)
    assert not result.success
    assert "table pages has no partition 'sample-000001'" in failure_message(result)
    assert retries(result) == []


def test_rows_that_do_not_fit_leave_the_old_file_and_are_not_retried(
    finished_sample: Holocron, tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    holocron = finished_sample.copy_to(tmp_path)
    before = holocron.lake.file(PAGE_TYPES, SAMPLE_BATCH).read_bytes()
    replace_step(monkeypatch, PAGE_TYPES, make=lambda *_: [{"title": "no other column"}])
    result = run_job(holocron, instance, "settle_batch", SAMPLE_BATCH)
    assert not result.success
    assert "table page_types, partition 'sample-000001'" in failure_message(result)
    assert retries(result) == []
    assert holocron.lake.file(PAGE_TYPES, SAMPLE_BATCH).read_bytes() == before
    folder = holocron.lake.partition_folder(PAGE_TYPES, SAMPLE_BATCH)
    assert [path.name for path in folder.iterdir()] == ["data.parquet"]


def test_materializing_a_batch_again_reads_no_page_again_and_changes_nothing(
    finished_sample: Holocron,
    tmp_path: Path,
    instance: dg.DagsterInstance,
) -> None:
    holocron = finished_sample.copy_to(tmp_path)
    holocron.add_source("sample", tmp_path / "the export is gone.xml")
    before = content_ids(holocron)
    pages = read_partition(holocron.lake, PAGES, SAMPLE_BATCH)
    result = run_job(holocron, instance, "crawl_batch", SAMPLE_BATCH)
    assert result.success
    assert content_ids(holocron) == before
    assert read_partition(holocron.lake, PAGES, SAMPLE_BATCH) == pages


def test_the_same_content_gives_the_same_data_version(
    finished_sample: Holocron, tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    holocron = finished_sample.copy_to(tmp_path)
    versions = []
    for _ in range(2):
        run_job(holocron, instance, "settle_batch", SAMPLE_BATCH)
        record = instance.get_latest_data_version_record(dg.AssetKey("page_signals"))
        assert record is not None
        assert record.asset_materialization is not None
        versions.append((record.asset_materialization.tags or {})["dagster/data_version"])
    assert versions == [content_ids(holocron)["page_signals"]] * 2


def test_a_finished_batch_is_not_stale(finished_sample: Holocron) -> None:
    assert batches_to_settle(finished_sample.lake, [finished_sample.source()]) == []


def test_a_change_of_code_makes_a_batch_stale(
    finished_sample: Holocron, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_step(monkeypatch, RULE_CLASSIFICATIONS)
    (stale,) = batches_to_settle(finished_sample.lake, [finished_sample.source()])
    assert (stale.job, stale.partition) == ("settle_batch", SAMPLE_BATCH)


def test_a_stale_batch_whose_pages_are_gone_is_fetched_again_before_it_is_settled(
    finished_sample: Holocron, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    holocron = finished_sample.copy_to(tmp_path)
    holocron.lake.file(PAGES, SAMPLE_BATCH).unlink()
    replace_step(monkeypatch, RULE_CLASSIFICATIONS)
    sources = [holocron.source()]
    assert batches_to_settle(holocron.lake, sources) == []
    assert [work.partition for work in batches_to_fetch(holocron.lake, sources)] == [SAMPLE_BATCH]


def test_settling_redoes_exactly_the_stale_tables(
    finished_sample: Holocron, tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    holocron = finished_sample.copy_to(tmp_path)
    before = times_written(holocron)
    rule_rows = read_partition(holocron.lake, RULE_CLASSIFICATIONS, SAMPLE_BATCH)
    doubtful = [{**row, "needs_review": True} for row in rule_rows]
    replace_step(monkeypatch, RULE_CLASSIFICATIONS, make=lambda *_: doubtful)
    assert run_job(holocron, instance, "settle_batch", SAMPLE_BATCH).success
    written = {name for name, moment in times_written(holocron).items() if moment != before[name]}
    assert written == {"rule_classifications", "page_types", "entity_candidates"}


def test_a_new_version_that_says_the_same_redoes_only_its_own_table(
    finished_sample: Holocron, tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    holocron = finished_sample.copy_to(tmp_path)
    before = times_written(holocron)
    replace_step(monkeypatch, RULE_CLASSIFICATIONS)
    assert run_job(holocron, instance, "settle_batch", SAMPLE_BATCH).success
    written = {name for name, moment in times_written(holocron).items() if moment != before[name]}
    assert written == {"rule_classifications"}


def test_an_input_replaced_while_it_is_read_leaves_the_result_stale(
    finished_sample: Holocron, tmp_path: Path
) -> None:
    holocron = finished_sample.copy_to(tmp_path)
    lake = holocron.lake
    lake.file(ENTITY_CANDIDATES, SAMPLE_BATCH).unlink()
    candidates = next(step for step in steps.BATCH_STEPS if step.table is ENTITY_CANDIDATES)
    types = read_partition(lake, PAGE_TYPES, SAMPLE_BATCH)

    def replaced_meanwhile(inputs: steps.Inputs, run_id: str, pages: PageByPage) -> Sequence[Row]:
        write_partition(lake, PAGE_TYPES, SAMPLE_BATCH, types[:1])
        return candidates.make(inputs, run_id, pages)

    run_step(lake, dataclasses.replace(candidates, make=replaced_meanwhile), SAMPLE_BATCH, "run")
    assert candidates.derivation.is_stale(lake, SAMPLE_BATCH)


def test_a_taxonomy_type_is_a_partition_of_entities() -> None:
    assert set(ENTITY_TYPES.get_partition_keys()) == set(load_taxonomy().entity_worthy_types)
