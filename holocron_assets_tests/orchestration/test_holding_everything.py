"""A hold of everything: every asset and upkeep heeds it alike, no matter who materializes it, and how."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster import DagsterRunStatus
from sample_dagster import definitions_of, run_job
from sample_holocron import SAMPLE_BATCH, Holocron

from holocron_assets.decisions.controls import ALL, DRAIN, PAUSE, RESUME, control
from holocron_assets.definitions import defs
from holocron_assets.entities.store import store_entities
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import ENTITIES, ENTITY_ALIASES, ENTITY_FACTS, PAGES
from holocron_assets.orchestration.assets import entity_files
from holocron_assets.orchestration.assets.derivations import GROUP as DERIVATIONS
from holocron_assets.orchestration.assets.partitions import (
    BATCHES,
    BATCHES_OF_FILES,
    ENTITY_TYPES,
    SOURCES,
    SOURCES_OF_FILES,
)
from holocron_assets.orchestration.assets.status import operation_status
from holocron_assets.orchestration.runs.failures import failure_of
from holocron_assets.planning.job_names import COMPACTION_JOB, ENTITIES_JOB, OUTCOME_TAG, UPKEEP_JOB

pytestmark = pytest.mark.system

PARTITIONS = {
    BATCHES: SAMPLE_BATCH,
    SOURCES: "sample",
    BATCHES_OF_FILES: "pictures-000001",
    SOURCES_OF_FILES: "pictures",
    ENTITY_TYPES: "Droid",
}
ONLY_READS = operation_status.key
MADE = sorted(
    node.key.to_user_string()
    for node in defs.resolve_asset_graph().asset_nodes
    # What is asked of models is tried in test_holding.py.
    if node.is_materializable and node.group_name != DERIVATIONS and node.key != ONLY_READS
)


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as ephemeral:
        ephemeral.add_dynamic_partitions("batches", [SAMPLE_BATCH])
        ephemeral.add_dynamic_partitions("sources", ["sample"])
        ephemeral.add_dynamic_partitions("file_batches", ["pictures-000001"])
        ephemeral.add_dynamic_partitions("file_sources", ["pictures"])
        yield ephemeral


@pytest.fixture
def holocron(finished_sample: Holocron, tmp_path: Path) -> Holocron:
    return finished_sample.copy_to(tmp_path)


def say(lake: Lake, action: str) -> None:
    assert control(lake, action, ALL, author="ada", reason="the disk is being replaced")


def materialize(
    definitions: dg.Definitions, instance: dg.DagsterInstance, *names: str
) -> dg.ExecuteInProcessResult:
    """Materialize assets by name, as a person does in the UI."""
    job = definitions.resolve_implicit_global_asset_job_def()
    partitions = definitions.resolve_asset_graph().get(dg.AssetKey(names[0])).partitions_def
    return job.execute_in_process(
        instance=instance,
        asset_selection=[dg.AssetKey(name) for name in names],
        partition_key=PARTITIONS.get(partitions) if partitions else None,
        raise_on_error=False,
    )


def outcome(instance: dg.DagsterInstance, result: dg.ExecuteInProcessResult) -> tuple[str, str | None]:
    run = instance.get_run_by_id(result.run_id)
    assert run
    return run.status.value, run.tags.get(OUTCOME_TAG)


@pytest.mark.parametrize("action", [PAUSE, pytest.param(DRAIN, marks=pytest.mark.full)])
def test_no_asset_is_made_anew_while_everything_is_held_and_each_says_what_resumes_it(
    holocron: Holocron, instance: dg.DagsterInstance, action: str
) -> None:
    definitions = definitions_of(holocron)
    say(holocron.lake, action)
    # A drain lets a batch be finished of which pages were read; here there is nothing left to do of it.
    held = [name for name in MADE if (action, name) != (DRAIN, PAGES.name)]
    heeding, said = {}, {}
    for name in held:
        result = materialize(definitions, instance, name)
        heeding[name] = outcome(instance, result)
        said[name] = failure_of(instance, result.run_id).reason
    assert heeding == dict.fromkeys(held, ("CANCELED", "paused"))
    assert [name for name in held if "`holocron resume --all --reason WHY`" not in said[name]] == []
    assert [name for name in held if "by ada: the disk is being replaced" not in said[name]] == []


def test_an_asset_that_was_held_is_made_after_the_resume(
    holocron: Holocron, instance: dg.DagsterInstance
) -> None:
    say(holocron.lake, PAUSE)
    definitions = definitions_of(holocron)
    assert not materialize(definitions, instance, ENTITIES.name).success
    say(holocron.lake, RESUME)
    assert materialize(definitions, instance, ENTITIES.name).success


@pytest.mark.parametrize("job", [UPKEEP_JOB, COMPACTION_JOB, ENTITIES_JOB])
def test_a_job_that_was_queued_before_the_hold_does_nothing(
    holocron: Holocron, instance: dg.DagsterInstance, job: str
) -> None:
    holocron.lake.database.unlink(missing_ok=True)  # which upkeep would write
    holocron.lake.file(ENTITIES, "Droid").unlink()
    say(holocron.lake, PAUSE)
    assert outcome(instance, run_job(holocron, instance, job)) == ("CANCELED", "paused")
    assert not holocron.lake.database.exists()
    assert not holocron.lake.has(ENTITIES, "Droid")


def test_the_status_is_recorded_during_a_pause_too(holocron: Holocron, instance: dg.DagsterInstance) -> None:
    say(holocron.lake, PAUSE)
    result = materialize(definitions_of(holocron), instance, ONLY_READS.to_user_string())
    assert outcome(instance, result) == (DagsterRunStatus.SUCCESS.value, None)


def held_between(holocron: Holocron, monkeypatch: pytest.MonkeyPatch, action: str) -> None:
    """Have somebody hold everything back while entities are stored, as from another process."""

    def holding(snapshot: Any, name: str, **others: Any) -> object:
        control(holocron.lake, action, ALL, author="ada", reason="the disk is being replaced")
        return store_entities(snapshot, name, **others)

    monkeypatch.setattr(entity_files, "store_entities", holding)


@pytest.mark.parametrize("made_by", ["the job", "a person"])
@pytest.mark.parametrize(
    ("action", "ended", "rest_is_made"),
    [(PAUSE, ("CANCELED", "paused"), False), (DRAIN, ("SUCCESS", None), True)],
)
def test_of_a_run_under_way_a_pause_stops_what_follows_and_a_drain_lets_it_be_finished(  # noqa: PLR0913, PLR0917
    holocron: Holocron,
    instance: dg.DagsterInstance,
    monkeypatch: pytest.MonkeyPatch,
    made_by: str,
    action: str,
    ended: tuple[str, str | None],
    rest_is_made: bool,  # noqa: FBT001
) -> None:
    for table in (ENTITIES, ENTITY_ALIASES, ENTITY_FACTS):
        holocron.lake.file(table, "Droid").unlink()
    held_between(holocron, monkeypatch, action)
    if made_by == "the job":
        result = run_job(holocron, instance, ENTITIES_JOB)
    else:
        names = (ENTITIES.name, ENTITY_ALIASES.name, ENTITY_FACTS.name)
        result = materialize(definitions_of(holocron), instance, *names)
    assert outcome(instance, result) == ended
    assert holocron.lake.has(ENTITIES, "Droid")
    assert holocron.lake.has(ENTITY_FACTS, "Droid") is rest_is_made
    assert holocron.lake.has(ENTITY_ALIASES, "Droid") is rest_is_made
