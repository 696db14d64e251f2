"""Freshness of what has an expected age, as Dagster's own daemon evaluates it."""

import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import dagster as dg
import pytest
import time_machine
from dagster._core.definitions.freshness import FreshnessState
from dagster._core.remote_origin import InProcessCodeLocationOrigin
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import InProcessWorkspaceLoadTarget
from dagster._daemon.freshness import FreshnessDaemon

from holocron_assets.lake.place.clock import utc_now
from holocron_assets.orchestration.assets.status import operation_status


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.local_temp(str(tmp_path)) as temporary:
        yield temporary


def states(instance: dg.DagsterInstance) -> dict[str, FreshnessState]:
    """What the daemon says of every asset that has an expected age."""
    code = LoadableTargetOrigin(executable_path=sys.executable, module_name="holocron_assets.definitions")
    target = InProcessWorkspaceLoadTarget(InProcessCodeLocationOrigin(code))
    with WorkspaceProcessContext(instance, target) as workspace:
        for _ in FreshnessDaemon().run_iteration(workspace):
            pass
        nodes = workspace.create_request_context().asset_graph.asset_nodes
        aged = [node.key for node in nodes if node.freshness_policy_or_from_metadata]
    records = instance.get_freshness_state_records(aged)
    return {key.to_user_string(): record.freshness_state for key, record in records.items()}


def test_the_hourly_report_passes_warns_and_fails_as_it_grows_old(instance: dg.DagsterInstance) -> None:
    assert states(instance) == {"operation_status": FreshnessState.UNKNOWN}
    instance.report_runless_asset_event(dg.AssetMaterialization(operation_status.key))
    made = utc_now()
    ages = {
        timedelta(minutes=60): FreshnessState.PASS,
        timedelta(minutes=100): FreshnessState.WARN,
        timedelta(minutes=121): FreshnessState.FAIL,
    }
    for age, state in ages.items():
        with time_machine.travel(made + age):
            assert states(instance) == {"operation_status": state}
