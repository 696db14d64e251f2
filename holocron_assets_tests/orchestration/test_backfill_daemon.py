"""`holocron backfill` while a real daemon runs: refused while held, made once, and found by its tag."""

from pathlib import Path
from time import monotonic, sleep

import pytest
from dagster import DagsterRunStatus
from sample_holocron import sample_holocron
from small_and_open import small_and_open

from holocron_assets.lake.tables import PAGE_LINKS, RUN_TAGS
from holocron_assets.orchestration.assets.partitions import BATCHES
from holocron_assets.orchestration.internals.instance import open_instance
from holocron_assets.orchestration.runs.backfilling import launch_backfill, plan_backfill

pytestmark = pytest.mark.full


def test_a_backfill_is_made_once_by_the_daemon_and_refused_while_its_source_is_held(tmp_path: Path) -> None:
    with small_and_open(tmp_path) as whole:
        whole.finish()
        batches = whole.lake.partitions(PAGE_LINKS)
        source = batches[0].rpartition("-")[0]
        wanted = ("backfill", "page_links", "--source", source, "--tag", "experiment=first")
        because = ("--source", source, "--reason", "x")
        # No daemon yet: what is asked for stays asked for.
        assert whole.command("pause", *because).returncode == 0
        held = whole.command(*wanted)
        assert (held.returncode, "lets it go on" in held.stderr) == (2, True), held.stderr
        assert whole.command("resume", *because).returncode == 0
        assert whole.command(*wanted, "--dry-run").returncode == 0
        started = whole.command(*wanted)
        assert started.returncode == 0, started.stdout + started.stderr
        again = whole.command(*wanted)
        assert again.returncode == 2, "Dagster has made no run of it yet, and it is known all the same"
        assert "queued or running already" in again.stderr

        whole.start_daemon()
        deadline = monotonic() + 2400
        while not (made := [run for run in whole.runs() if run.tags.get("experiment") == "first"]) or any(
            not run.is_finished for run in made
        ):
            assert monotonic() < deadline
            sleep(1)
        assert {run.status for run in made} == {DagsterRunStatus.SUCCESS}
        own = {name for name in batches if name.rpartition("-")[0] == source}
        assert {run.tags["dagster/partition"] for run in made} == own
        assert {row["run_id"] for row in whole.rows(RUN_TAGS)} == {run.run_id for run in made}


def test_a_backfill_may_be_of_more_partitions_than_an_argument_of_a_process_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in sample_holocron(tmp_path).environment.items():
        monkeypatch.setenv(name, value)
    names = [f"wookieepedia-{number:06d}" for number in range(1, 14_001)]
    with open_instance() as instance:
        instance.add_dynamic_partitions(str(BATCHES.name), names)
        made = launch_backfill(plan_backfill(instance, "page_signals", names), {})
        [stored] = instance.get_backfills()
    assert stored.backfill_id == made
    assert stored.asset_backfill_data is not None
    assert stored.asset_backfill_data.target_subset.num_partitions_and_non_partitioned_assets == len(names)
