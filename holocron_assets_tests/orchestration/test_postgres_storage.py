"""Dagster's storage in a real PostgreSQL: the daemon's sensors do on it all that they do on SQLite."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
import sqlalchemy as sql
from dagster_at import dagster_at
from postgres_server import PostgresServer, postgres_server
from whole_holocron import WholeHolocron, until, whole_holocron

from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.tables import ENTITIES, PAGES
from holocron_assets.orchestration.internals.instance import pool_limits
from holocron_assets.orchestration.internals.retention import forget_old_runs
from holocron_assets.settings import PROJECT_FOLDER, run_retention

pytestmark = [pytest.mark.system, pytest.mark.long]

MANY = 60_000
MANY_TAGS = """
insert into event_logs (run_id, event, dagster_event_type, timestamp, asset_key)
select 'r', '', 'ASSET_MATERIALIZATION', now(), concat('["a', n, '"]') from generate_series(1, 60000) as n;
insert into asset_event_tags (event_id, asset_key, key, value, event_timestamp)
select id, asset_key, 'colour', 'red', timestamp from event_logs where run_id = 'r';
insert into asset_event_tags (event_id, asset_key, key, value, event_timestamp)
values ((select min(id) from event_logs), 'none', 'colour', 'red', now());
alter table asset_event_tags drop constraint if exists asset_event_tags_event_id_fkey;
update asset_event_tags set event_id = 0 where asset_key = 'none'
"""

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


def test_forgetting_does_not_compare_each_tag_with_each_event(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @dg.asset
    def lamp() -> dg.MaterializeResult[None]:
        return dg.MaterializeResult(tags={"colour": "red"})

    postgres.begin_anew()
    monkeypatch.setenv("HOLOCRON_POSTGRES_URL", postgres.url)
    shutil.copy(PROJECT_FOLDER / "deploy" / "postgres" / "dagster.yaml", tmp_path)
    with dagster_at(tmp_path) as instance:
        dg.materialize([lamp], instance=instance)
        engine = sql.create_engine(postgres.url)
        with engine.begin() as connection:
            for statement in MANY_TAGS.split(";"):
                connection.execute(sql.text(statement))
        # It would take hours for each tag and event, and takes less than a second.
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PGOPTIONS", "-c work_mem=64kB -c statement_timeout=30000")
            instance.event_log_storage.dispose()
            forget_old_runs(instance, run_retention({}), now=utc_now())
        with engine.connect() as connection:
            [[left]] = connection.execute(sql.text("select count(*) from asset_event_tags"))
        engine.dispose()
    assert left == MANY + 1, "those of events that are gone, and no other, are forgotten"
