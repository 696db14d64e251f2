"""Backfills by command: what they would make, what is left out, and when they are refused."""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from dagster import DagsterRunStatus
from dagster._core.code_pointer import ModuleCodePointer
from dagster._core.execution.backfill import PartitionBackfill
from dagster._core.origin import JobPythonOrigin, RepositoryPythonOrigin
from dagster._core.remote_origin import (
    RegisteredCodeLocationOrigin,
    RemoteJobOrigin,
    RemoteRepositoryOrigin,
)
from sample_dagster import run_job
from sample_holocron import Holocron, fetch, list_seeds_and_cut, sample_holocron

from holocron_assets.definitions import defs
from holocron_assets.lake.errors import PermanentError
from holocron_assets.lake.tables import PAGE_LINKS, PAGES
from holocron_assets.operations.controls import PAUSE, HeldBackError, Scope, control
from holocron_assets.orchestration.backfill_choice import chosen_partitions
from holocron_assets.orchestration.backfilling import (
    Backfill,
    BackfillRefusedError,
    Guards,
    plan_backfill,
    refuse_unguarded,
)

BATCHES = [f"wiki-{number:06d}" for number in range(1, 7)]


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as kept:
        kept.add_dynamic_partitions("batches", [*BATCHES, "other-000001"])
        yield kept


@pytest.fixture
def holocron(tmp_path: Path) -> Holocron:
    return sample_holocron(tmp_path)


def under_way(instance: dg.DagsterInstance, job: str, partition: str, status: DagsterRunStatus) -> str:
    """Store a run as the daemon does: Dagster queues only what it can load anew."""
    definition = defs.resolve_job_def(job)
    place = RemoteRepositoryOrigin(RegisteredCodeLocationOrigin("here"), "__repository__")
    code = JobPythonOrigin(job, RepositoryPythonOrigin("python", ModuleCodePointer("a", "defs", None)))
    run = instance.create_run_for_job(
        definition,
        status=status,
        tags={"dagster/partition": partition},
        remote_job_origin=RemoteJobOrigin(place, job),
        job_code_origin=code,
    )
    return run.run_id


def requested(instance: dg.DagsterInstance, asset: str, partitions: list[str]) -> str:
    """A backfill as Dagster keeps it between being asked for and making its runs."""
    graph = defs.get_repository_def().asset_graph
    backfill = PartitionBackfill.from_asset_partitions(
        backfill_id="before",
        asset_graph=graph,
        partition_names=partitions,
        asset_selection=[dg.AssetKey(asset)],
        backfill_timestamp=0.0,
        tags={},
        dynamic_partitions_store=instance,
        all_partitions=False,
        title=None,
        description=None,
        run_config=None,
    )
    instance.add_backfill(backfill)
    return backfill.backfill_id


def test_partitions_that_a_run_makes_or_waits_to_make_are_left_out(instance: dg.DagsterInstance) -> None:
    queued = under_way(instance, "crawl_batch", BATCHES[1], DagsterRunStatus.QUEUED)
    started = under_way(instance, "settle_batch", BATCHES[2], DagsterRunStatus.STARTED)
    under_way(instance, "crawl_batch", BATCHES[3], DagsterRunStatus.SUCCESS)
    plan = plan_backfill(instance, "page_links", BATCHES)
    assert plan.partitions == [BATCHES[0], *BATCHES[3:]]
    assert plan.left_out == {BATCHES[1]: f"run {queued}", BATCHES[2]: f"run {started}"}
    assert (plan.runs, plan.queued) == (4, 1)


def test_a_run_that_makes_other_assets_of_a_partition_leaves_it_in(instance: dg.DagsterInstance) -> None:
    under_way(instance, "settle_batch", BATCHES[0], DagsterRunStatus.STARTED)
    assert plan_backfill(instance, "pages", BATCHES[:1]).partitions == BATCHES[:1]


def test_partitions_that_another_backfill_will_ask_for_are_left_out_and_count_as_waiting(
    instance: dg.DagsterInstance,
) -> None:
    requested(instance, "pages", BATCHES[:2])
    plan = plan_backfill(instance, "pages", BATCHES[:3])
    assert plan.partitions == [BATCHES[2]]
    assert set(plan.left_out.values()) == {"backfill before"}
    assert plan.queued == 2
    assert plan_backfill(instance, "page_links", BATCHES[:3]).left_out == {}


def test_an_asset_that_asks_a_model_takes_a_run_for_each_range(instance: dg.DagsterInstance) -> None:
    assert plan_backfill(instance, "derived_entity_facts", BATCHES).runs == 1
    assert plan_backfill(instance, "derived_entity_facts", [*BATCHES[:2], *BATCHES[4:]]).runs == 2
    assert plan_backfill(instance, "pages", BATCHES).runs == len(BATCHES)


@pytest.mark.parametrize(
    ("changed", "guards", "problem"),
    [
        ({"runs": 101}, Guards(), "it takes 101 runs, and may ask for 100 at once.*--most-runs 101"),
        ({"queued": 101}, Guards(), "101 runs wait already.*--most-queued 101"),
        ({"queued": 1}, Guards(most_queued=0), "1 runs wait already"),
        ({"partitions": []}, Guards(), "nothing is left to do"),
        ({"partitions": [], "left_out": {"wiki-000001": "run 1"}}, Guards(), "1 are queued or running"),
    ],
)
def test_too_much_is_refused_and_told_how_it_would_not_be(
    holocron: Holocron, changed: dict[str, object], guards: Guards, problem: str
) -> None:
    usual: dict[str, object] = {"partitions": BATCHES, "left_out": {}, "runs": 6, "queued": 0}
    with pytest.raises(BackfillRefusedError, match=problem):
        refuse_unguarded(holocron.lake, Backfill("pages", **{**usual, **changed}), guards)  # type: ignore[arg-type]


def test_as_much_as_is_allowed_is_not_refused(holocron: Holocron) -> None:
    refuse_unguarded(holocron.lake, Backfill("pages", BATCHES, {}, 100, 100), Guards())


@pytest.mark.parametrize(
    "scope", [Scope("source", "wiki"), Scope("interrogation", "entity_facts"), Scope("all")]
)
def test_what_a_person_holds_back_is_refused(holocron: Holocron, scope: Scope) -> None:
    control(holocron.lake, PAUSE, scope, author="ada", reason="x")
    with pytest.raises(HeldBackError, match="lets it go on"):
        refuse_unguarded(holocron.lake, Backfill("derived_entity_facts", BATCHES, {}, 1, 0), Guards())


def test_an_asset_of_entities_is_not_held_by_an_interrogation_of_the_same_name(holocron: Holocron) -> None:
    control(holocron.lake, PAUSE, Scope("interrogation", "entity_facts"), author="ada", reason="x")
    refuse_unguarded(holocron.lake, Backfill("entity_facts", ["Droid"], {}, 1, 0), Guards())


def test_partitions_are_named_by_list_source_and_range(
    holocron: Holocron, instance: dg.DagsterInstance
) -> None:
    def chosen(**said: object) -> list[str]:
        return list(chosen_partitions(holocron.lake, instance, "pages", **said))  # type: ignore[arg-type]

    assert chosen() == [*BATCHES, "other-000001"]
    assert chosen(source="other") == ["other-000001"]
    assert chosen(between=(BATCHES[1], BATCHES[3])) == BATCHES[1:4]
    assert chosen(between=(BATCHES[4], None), source="wiki") == BATCHES[4:]
    assert chosen(named=[BATCHES[5], BATCHES[0]]) == [BATCHES[0], BATCHES[5]]
    with pytest.raises(PermanentError, match="no partition wiki-999999"):
        chosen(named=["wiki-999999"])
    with pytest.raises(PermanentError, match="no partition of source 'nobody'"):
        chosen(source="nobody")
    with pytest.raises(PermanentError, match=r"no asset is called 'page'.*there are page"):
        chosen_partitions(holocron.lake, instance, "page")
    with pytest.raises(PermanentError, match=r"views.*has no partitions"):
        chosen_partitions(holocron.lake, instance, "views")


def test_failed_are_those_whose_last_run_failed(holocron: Holocron, instance: dg.DagsterInstance) -> None:
    failed = run_job(holocron, instance, "crawl_batch", BATCHES[0])  # no such batch was cut
    assert not failed.success
    assert chosen_partitions(holocron.lake, instance, "pages", failed=True) == [BATCHES[0]]


def test_stale_are_those_that_the_lake_lacks_or_would_make_otherwise(
    holocron: Holocron, instance: dg.DagsterInstance
) -> None:
    lake = holocron.lake
    (batch,) = list_seeds_and_cut(holocron)
    instance.add_dynamic_partitions("batches", [batch])
    assert chosen_partitions(lake, instance, "pages", stale=True) == [batch]
    fetch(holocron, [batch])
    assert chosen_partitions(lake, instance, "pages", stale=True) == []
    assert chosen_partitions(lake, instance, "page_links", stale=True) == [batch]
    assert run_job(holocron, instance, "settle_batch", batch).success
    assert (lake.has(PAGE_LINKS, batch), lake.has(PAGES, batch)) == (True, True)
    assert chosen_partitions(lake, instance, "page_links", stale=True) == []
    assert chosen_partitions(lake, instance, "derived_entity_facts", stale=True) == [batch]
    instance.add_dynamic_partitions("sources", ["sample"])
    with pytest.raises(PermanentError, match="leave --stale out"):
        chosen_partitions(lake, instance, "sites", stale=True)
