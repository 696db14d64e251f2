"""Sensors that meet damaged files: they name them, and ask for what is missing then."""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from sample_holocron import SAMPLE_BATCH, Holocron, list_seeds_and_cut, sample_holocron
from watched import Watched

from holocron_assets.decisions.log import new_decision, record
from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.files.damage import DamagedPartitionError
from holocron_assets.lake.files.quarantine import all_set_aside
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import BATCH_PAGES, DECISIONS, PAGES, SITES
from holocron_assets.orchestration.sensors.crawl_and_entities import new_pages, settle
from holocron_assets.planning.job_names import BATCH_JOB


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield instance


def cut(lake: Lake, table: Table, partition: str) -> None:
    file = lake.file(table, partition)
    file.write_bytes(file.read_bytes()[:-1])


@pytest.mark.fault(3, "damaged pages, met by a sensor")
def test_damaged_pages_are_set_aside_by_the_tick_that_meets_them_and_fetched_again(
    tmp_path: Path, fetched_sample: Holocron, instance: dg.DagsterInstance
) -> None:
    watched = Watched(fetched_sample.copy_to(tmp_path), instance)
    lake = watched.holocron.lake
    cut(lake, PAGES, SAMPLE_BATCH)
    cut(lake, SITES, "sample")
    watched.tick(settle)
    watched.tick(new_pages)
    assert {aside.table for aside in all_set_aside(lake)} == {"pages", "sites"}
    assert (BATCH_JOB, SAMPLE_BATCH) in watched.tick(new_pages).work


@pytest.mark.fault(3, "a damaged manifest of a batch that was fetched")
def test_a_lost_manifest_is_made_again_from_its_pages(
    tmp_path: Path, fetched_sample: Holocron, instance: dg.DagsterInstance
) -> None:
    watched = Watched(fetched_sample.copy_to(tmp_path), instance)
    lake = watched.holocron.lake
    cut(lake, BATCH_PAGES, SAMPLE_BATCH)
    watched.tick(new_pages)
    assert {aside.table for aside in all_set_aside(lake)} == {"batch_pages"}
    assert lake.has(BATCH_PAGES, SAMPLE_BATCH)


@pytest.mark.fault(3, "a damaged file of people's decisions, met by sensors")
def test_without_what_people_decided_pages_are_fetched_and_nothing_else_is_done(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    watched = Watched(sample_holocron(tmp_path), instance)
    lake = watched.holocron.lake
    list_seeds_and_cut(watched.holocron)
    row = new_decision("classify", author="Ann", reason="it is", source="sample", title="X", value="Person")
    record(lake, [row])
    cut(lake, DECISIONS, row["decision_id"])
    assert (BATCH_JOB, SAMPLE_BATCH) in watched.tick(new_pages).work
    with pytest.raises(DamagedPartitionError, match="restore this file from a backup"):
        watched.tick(settle)
    assert lake.file(DECISIONS, row["decision_id"]).exists()
