"""Dagster's storage in a real PostgreSQL: the daemon's sensors do on it all that they do on SQLite."""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from postgres_server import PostgresServer, postgres_server
from whole_holocron import WholeHolocron, until, whole_holocron

from holocron_assets.lake.tables import ENTITIES, PAGES
from holocron_assets.orchestration.internals.instance import pool_limits

pytestmark = [pytest.mark.system, pytest.mark.long]

TICKING = ("new_pages", "promotion", "settle")


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def whole(tmp_path: Path) -> Iterator[WholeHolocron]:
    with whole_holocron(tmp_path / "whole", pages=2) as made:
        yield made


def test_sensors_take_pages_to_entities_on_postgresql_and_come_to_the_same(
    whole: WholeHolocron, postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with whole_holocron(tmp_path / "on_sqlite", pages=2) as other:
        other.finish()
        expected = other.hashes()
    monkeypatch.setenv("HOLOCRON_POSTGRES_URL", postgres.url)
    daemon = whole.start_daemon()
    until(
        lambda: whole.lake.partitions(ENTITIES) or daemon.poll() is not None, "entities", seconds=900, every=1
    )
    assert daemon.poll() is None, whole.log.read_text(encoding="utf-8")
    until(lambda: not whole.is_busy(), "the runs end", seconds=600, every=1)
    whole.end()
    with whole.instance() as instance:
        assert "Postgres" in type(instance.event_log_storage).__name__
        assert instance.get_materialized_partitions(dg.AssetKey(PAGES.name)) == {
            "small-000001",
            "tiny-000001",
        }
        states = {state.instigator_name: state for state in instance.all_instigator_state()}
        for name in TICKING:
            ticks = instance.get_ticks(states[name].instigator_origin_id, states[name].selector_id, limit=1)
            assert ticks, f"sensor {name} ticked"
        for pool, limit in pool_limits().items():
            assert instance.event_log_storage.get_concurrency_info(pool).slot_count == limit
    assert not list((whole.holocron.folder / "dagster").rglob("*.db")), "nothing of it is in SQLite"
    whole.finish()
    assert whole.hashes() == expected
