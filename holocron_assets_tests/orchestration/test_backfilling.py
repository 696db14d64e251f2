"""Backfills by command: what they would make, what is left out, and when they are refused."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster import DagsterRunStatus
from dagster._core.code_pointer import ModuleCodePointer
from dagster._core.definitions.assets.graph.asset_graph_subset import AssetGraphSubset
from dagster._core.definitions.events import AssetKeyPartitionKey
from dagster._core.definitions.partitions.context import partition_loading_context
from dagster._core.execution.backfill import BulkActionStatus, PartitionBackfill
from dagster._core.origin import JobPythonOrigin, RepositoryPythonOrigin
from dagster._core.remote_origin import (
    RegisteredCodeLocationOrigin,
    RemoteJobOrigin,
    RemotePartitionSetOrigin,
    RemoteRepositoryOrigin,
)
from dagster._core.storage.tags import ASSET_PARTITION_RANGE_END_TAG, ASSET_PARTITION_RANGE_START_TAG
from file_rows import put_outcomes
from sample_dagster import run_job
from sample_holocron import Holocron, fetch, list_seeds_and_cut, sample_holocron

from holocron_assets.crawl.frontier.file_batches import cut_file_batches
from holocron_assets.crawl.sources.file_list import store_file_list
from holocron_assets.crawl.sources.files import load_file_source
from holocron_assets.decisions.controls import PAUSE, HeldBackError, Scope, control
from holocron_assets.definitions import defs
from holocron_assets.entities.store import store_entities
from holocron_assets.errors import PermanentError
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.tables import ENTITIES, PAGE_LINKS, PAGES, REVIEW_ITEMS
from holocron_assets.orchestration.assets import entity_files
from holocron_assets.orchestration.internals.backfills import OpenBackfill
from holocron_assets.orchestration.runs import open_work
from holocron_assets.orchestration.runs.backfill_choice import chosen_partitions
from holocron_assets.orchestration.runs.backfilling import (
    Backfill,
    BackfillRefusedError,
    Guards,
    failed_partitions,
    plan_backfill,
    refuse_unguarded,
    source_tag,
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


def requested(
    instance: dg.DagsterInstance, asset: str, partitions: list[str], *more: str, name: str = "before"
) -> PartitionBackfill:
    """A backfill of some assets, as Dagster keeps it between being asked for and making its runs."""
    graph = defs.get_repository_def().asset_graph
    backfill = PartitionBackfill.from_asset_partitions(
        backfill_id=name,
        asset_graph=graph,
        partition_names=partitions,
        asset_selection=[dg.AssetKey(one) for one in (asset, *more)],
        backfill_timestamp=0.0,
        tags={},
        dynamic_partitions_store=instance,
        all_partitions=False,
        title=None,
        description=None,
        run_config=None,
    )
    instance.add_backfill(backfill)
    return backfill


def made(
    instance: dg.DagsterInstance, backfill: PartitionBackfill, asset: str, partitions: list[str]
) -> None:
    """Note that runs were asked for of some of a backfill's partitions, as the daemon does."""
    data = backfill.asset_backfill_data
    assert data is not None
    pairs = {AssetKeyPartitionKey(dg.AssetKey(asset), name) for name in partitions}
    graph = defs.get_repository_def().asset_graph
    asked = data.requested_subset | AssetGraphSubset.from_asset_partition_set(pairs, graph)
    with partition_loading_context(dynamic_partitions_store=instance):
        instance.update_backfill(
            backfill.with_asset_backfill_data(
                data.replace_requested_subset(asked), dynamic_partitions_store=instance, asset_graph=graph
            )
        )


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


def test_a_run_of_a_range_keeps_all_of_its_partitions_from_being_made_twice(
    instance: dg.DagsterInstance,
) -> None:
    """Of an asset that takes any number of partitions at once: Dagster's tags name the first and the last."""
    asset = "derived_entity_facts"
    run = instance.create_run_for_job(
        defs.resolve_implicit_global_asset_job_def(),
        status=DagsterRunStatus.STARTED,
        tags={ASSET_PARTITION_RANGE_START_TAG: BATCHES[1], ASSET_PARTITION_RANGE_END_TAG: BATCHES[3]},
        asset_selection=frozenset({dg.AssetKey(asset)}),
    )
    plan = plan_backfill(instance, asset, BATCHES)
    assert plan.left_out == dict.fromkeys(BATCHES[1:4], f"run {run.run_id}")
    assert plan.partitions == [BATCHES[0], *BATCHES[4:]]
    assert plan_backfill(instance, "derived_entity_extraction", BATCHES).left_out == {}
    instance.report_run_canceled(run)
    assert plan_backfill(instance, asset, BATCHES).left_out == {}


def test_runs_that_any_open_backfill_will_ask_for_count_as_waiting(instance: dg.DagsterInstance) -> None:
    requested(instance, "pages", BATCHES[:2], name="one")
    requested(instance, "derived_entity_facts", BATCHES, name="a range")
    assert plan_backfill(instance, "page_links", BATCHES).queued == 2 + 1
    # Dagster makes assets that are alike in one run.
    requested(instance, "page_signals", BATCHES[:4], "page_links", name="alike")
    assert plan_backfill(instance, "page_types", BATCHES).queued == 2 + 1 + 4


def test_an_open_backfill_of_an_asset_that_is_gone_counts_as_no_run(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file of an interrogation was removed while its backfill was open."""
    left = {
        dg.AssetKey("derived_gone"): frozenset({BATCHES[0]}),
        dg.AssetKey("pages"): frozenset(BATCHES[:2]),
    }
    monkeypatch.setattr(open_work, "open_backfills", lambda _: [OpenBackfill("one", None, left, ())])
    assert plan_backfill(instance, "page_links", BATCHES).queued == 2


def test_what_a_backfill_asked_for_already_waits_no_more(instance: dg.DagsterInstance) -> None:
    backfill = requested(instance, "pages", BATCHES[:5])
    made(instance, backfill, "pages", BATCHES[:2])
    plan = plan_backfill(instance, "pages", BATCHES)
    assert (plan.queued, set(plan.left_out)) == (3, set(BATCHES[2:5]))


def test_a_backfill_of_a_job_counts_as_one_of_its_assets_does(instance: dg.DagsterInstance) -> None:
    place = RemoteRepositoryOrigin(RegisteredCodeLocationOrigin("here"), "__repository__")
    instance.add_backfill(
        PartitionBackfill(
            "of a job",
            BulkActionStatus.REQUESTED,
            from_failure=False,
            tags={},
            backfill_timestamp=0.0,
            partition_set_origin=RemotePartitionSetOrigin(
                repository_origin=place, partition_set_name="crawl_batch_partition_set"
            ),
            partition_names=BATCHES[:4],
            last_submitted_partition_name=BATCHES[0],
        )
    )
    plan = plan_backfill(instance, "pages", BATCHES)
    assert (plan.queued, plan.left_out) == (3, dict.fromkeys(BATCHES[1:4], "backfill of a job"))


@pytest.mark.parametrize(
    ("asset", "partitions", "tags"),
    [
        ("pages", BATCHES[:2], {"holocron/source": "wiki"}),
        ("seed_titles", ["wiki"], {"holocron/source": "wiki"}),
        ("pages", [BATCHES[0], "other-000001"], {}),
        ("entities", ["Species"], {}),
        ("files", ["pictures-000001", "pictures-000002"], {"holocron/source": "pictures"}),
        ("file_list", ["pictures"], {"holocron/source": "pictures"}),
    ],
)
def test_a_backfill_is_tagged_with_its_source_and_with_nothing_that_is_none(
    asset: str, partitions: list[str], tags: dict[str, str]
) -> None:
    assert source_tag(Backfill(asset, partitions, {}, 1, 0)) == tags


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
def test_too_large_a_backfill_is_refused_and_the_answer_says_how_to_make_it_smaller(
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


@pytest.mark.parametrize(("asset", "partition"), [("files", "pictures-000001"), ("file_list", "pictures")])
def test_a_held_source_of_files_is_refused(holocron: Holocron, asset: str, partition: str) -> None:
    control(holocron.lake, PAUSE, Scope("source", "pictures"), author="ada", reason="x")
    with pytest.raises(HeldBackError, match="lets it go on"):
        refuse_unguarded(holocron.lake, Backfill(asset, [partition], {}, 1, 0), Guards())


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
    with pytest.raises(PermanentError, match="no partition of source 'Species'"):
        chosen_partitions(holocron.lake, instance, "entities", source="Species")  # a type is no source
    with pytest.raises(PermanentError, match=r"no asset is called 'page'.*there are page"):
        chosen_partitions(holocron.lake, instance, "page")
    with pytest.raises(PermanentError, match=r"no partitions: `holocron launch publish_views` makes it"):
        chosen_partitions(holocron.lake, instance, "views")
    with pytest.raises(BackfillRefusedError, match=f"{BATCHES[1]} comes before {BATCHES[3]}"):
        chosen(between=(BATCHES[3], BATCHES[1]))


def test_partitions_of_files_are_named_by_their_source(
    holocron: Holocron, instance: dg.DagsterInstance
) -> None:
    instance.add_dynamic_partitions("file_batches", ["papers-000001", "pictures-000001"])
    instance.add_dynamic_partitions("file_sources", ["papers", "pictures"])
    assert chosen_partitions(holocron.lake, instance, "files", source="pictures") == ["pictures-000001"]
    assert chosen_partitions(holocron.lake, instance, "file_list", source="pictures") == ["pictures"]


def test_stale_of_files_are_batches_that_are_not_fetched_and_lists_that_are_due(
    holocron: Holocron, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, folder = holocron.lake, holocron.sources_folder
    monkeypatch.setenv("HOLOCRON_SOURCES", str(folder))
    for name in ("papers", "pictures"):
        (folder / f"{name}.jsonl").write_text('{"url": "https://files.example/one.pdf"}\n')
        (folder / f"{name}.yaml").write_text(
            f"name: {name}\nkind: http_files\nenabled: true\nlists: [{{file: {folder / name}.jsonl}}]\n"
            "politeness: {contact: tests@example.org}\n"
        )
    instance.add_dynamic_partitions("file_sources", ["forgotten", "papers", "pictures"])
    assert chosen_partitions(lake, instance, "file_list", stale=True) == ["papers", "pictures"]
    papers = load_file_source(folder / "papers.yaml")
    store_file_list(lake, papers, None, read_url=lambda _: b"")
    assert chosen_partitions(lake, instance, "file_list", stale=True) == ["pictures"]
    (batch,) = cut_file_batches(lake, papers, now=utc_now())
    instance.add_dynamic_partitions("file_batches", [batch])
    assert chosen_partitions(lake, instance, "files", stale=True) == [batch]
    put_outcomes(lake, batch, at=utc_now())
    assert chosen_partitions(lake, instance, "files", stale=True) == []


def test_failed_are_those_whose_last_run_failed(holocron: Holocron, instance: dg.DagsterInstance) -> None:
    failed = run_job(holocron, instance, "crawl_batch", BATCHES[0])  # no such batch was cut
    assert not failed.success
    assert chosen_partitions(holocron.lake, instance, "pages", failed=True) == [BATCHES[0]]


@pytest.mark.system
def test_of_a_run_over_several_partitions_only_those_failed_that_its_steps_name(
    finished_sample: Holocron, tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    holocron = finished_sample.copy_to(tmp_path)

    def broken(snapshot: Any, name: str, **others: Any) -> Any:
        if name == "Droid":
            raise PermanentError("its policy cannot be read")
        return store_entities(snapshot, name, **others)

    for name in ("Droid", "Species"):
        holocron.lake.file(ENTITIES, name).unlink()
    with monkeypatch.context() as breaking:
        breaking.setattr(entity_files, "store_entities", broken)
        assert not run_job(holocron, instance, "resolve_entities").success
    assert failed_partitions(instance, "entities", ["Droid", "Species"]) == ["Droid"]
    assert failed_partitions(instance, "entity_pairs", ["Droid", "Species"]) == []
    assert run_job(holocron, instance, "resolve_entities").success
    assert failed_partitions(instance, "entities", ["Droid", "Species"]) == []


@pytest.mark.system
def test_of_a_run_that_names_no_source_those_failed_that_its_steps_name(
    finished_sample: Holocron, tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    holocron = finished_sample.copy_to(tmp_path)
    instance.add_dynamic_partitions("sources", ["sample", "other"])

    def broken(*_: Any, **__: Any) -> Any:
        raise PermanentError("its queue cannot be read")

    holocron.lake.file(REVIEW_ITEMS, "sample").unlink()
    with monkeypatch.context() as breaking:
        breaking.setitem(entity_files.STORES, "review_items", broken)
        assert not run_job(holocron, instance, "tag_and_review").success
    assert failed_partitions(instance, "review_items", ["sample", "other"]) == ["sample"]
    job = defs.resolve_job_def("tag_and_review")
    instance.create_run_for_job(job, status=DagsterRunStatus.FAILURE)
    assert failed_partitions(instance, "review_items", ["sample", "other"]) == ["sample"], "the last died"
    assert run_job(holocron, instance, "tag_and_review").success
    assert failed_partitions(instance, "review_items", ["sample", "other"]) == []


def test_of_answers_it_is_said_that_runs_do_not_name_what_failed(
    holocron: Holocron, instance: dg.DagsterInstance
) -> None:
    with pytest.raises(PermanentError, match=r"no backfill of 'derived_entity_facts' failed.* say --stale"):
        chosen_partitions(holocron.lake, instance, "derived_entity_facts", failed=True)


@pytest.mark.system
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
