"""Dagster is asked for failed runs only where its storage may hold some."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest

from holocron_assets.orchestration.internals.failed_runs import may_have_failed_runs
from holocron_assets.orchestration.internals.instance import open_to_read

A_DAY = timedelta(days=1)


@pytest.fixture
def instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dg.DagsterInstance]:
    for name in ("HOLOCRON_POSTGRES_URL", "HOLOCRON_BROKER", "DAGSTER_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOLOCRON_DATA", str(tmp_path))
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "dagster"))
    with open_to_read() as opened:
        yield opened


@dg.job
def working() -> None:
    @dg.op
    def step() -> None: ...

    step()


@dg.job
def failing() -> None:
    @dg.op
    def broken() -> None:
        raise RuntimeError("it broke")

    broken()


def now() -> datetime:
    return datetime.now(UTC)


def test_where_dagster_never_was_nothing_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "nowhere"))
    assert not may_have_failed_runs(now() - A_DAY)


def test_runs_that_went_well_need_no_dagster(instance: dg.DagsterInstance) -> None:
    assert working.execute_in_process(instance=instance).success
    assert not may_have_failed_runs(now() - A_DAY)


def test_a_failed_run_is_read_through_dagster(instance: dg.DagsterInstance) -> None:
    assert not failing.execute_in_process(instance=instance, raise_on_error=False).success
    assert may_have_failed_runs(now() - A_DAY)
    assert may_have_failed_runs(now())
    assert not may_have_failed_runs(now() + A_DAY)


def test_a_damaged_storage_is_read_through_dagster(instance: dg.DagsterInstance, tmp_path: Path) -> None:
    del instance
    (tmp_path / "dagster" / "history" / "runs.db").write_bytes(b"no database")
    assert may_have_failed_runs(now())


def test_with_a_persons_own_configuration_runs_are_read_through_dagster(
    instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    del instance
    (tmp_path / "dagster" / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    assert may_have_failed_runs(now())


@pytest.mark.usefixtures("instance")
def test_runs_in_postgresql_are_read_through_dagster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLOCRON_POSTGRES_URL", "postgresql://localhost/holocron")
    assert may_have_failed_runs(now())
