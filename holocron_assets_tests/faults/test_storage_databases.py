"""Dagster's database fails below a running Holocron: SQLite is locked, PostgreSQL is restarted."""

import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from time import sleep
from typing import Any

import dagster as dg
import pytest
from postgres_server import PostgresServer, postgres_server
from whole_holocron import WholeHolocron, until, whole_holocron

from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.tables import PAGES
from holocron_assets.orchestration.internals.retention import forget_old_runs
from holocron_assets.settings import run_retention

pytestmark = pytest.mark.full

LOCKED_SECONDS = 60


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    with whole_holocron(tmp_path_factory.mktemp("undisturbed"), pages=2) as made:
        made.finish()
        return made.hashes()


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def whole(tmp_path: Path) -> Iterator[WholeHolocron]:
    with whole_holocron(tmp_path, pages=2) as made:
        yield made


def at_the_first_page(whole: WholeHolocron, fault: Callable[[], object]) -> threading.Event:
    """Inject a fault while the wiki is asked for its first page; the answer waits for it."""
    answer, injected = whole.wiki.answer, threading.Event()

    def answer_amid_faults(asked: Mapping[str, str]) -> dict[str, Any]:
        if "titles" in asked and not injected.is_set():
            injected.set()
            fault()
        return answer(asked)

    whole.wiki.answer = answer_amid_faults
    return injected


def pages_of_the_wiki(whole: WholeHolocron) -> list[str]:
    return sorted(row["title"] for row in whole.rows(PAGES) if row["source"] == "tiny")


def goes_on_unattended(whole: WholeHolocron, injected: threading.Event) -> None:
    """Start the daemon, let it work until nothing is left to do, then end it."""
    daemon = whole.start_daemon()
    until(lambda: injected.is_set() or daemon.poll() is not None, "the first page is asked for", seconds=300)
    assert daemon.poll() is None, whole.log.read_text(encoding="utf-8")
    until(lambda: pages_of_the_wiki(whole), "the pages are fetched", seconds=500, every=1)
    until(lambda: not whole.is_busy(), "its runs end", seconds=300, every=1)
    whole.end()


@contextmanager
def locked(home: Path) -> Iterator[None]:
    """Hold every database of Dagster's that there is, as a backup or a person's client may."""
    with ExitStack() as stack:
        for path in [
            *home.glob("history/*.db"),
            *home.glob("history/runs/*.db"),
            *home.glob("schedules/*.db"),
        ]:
            connection = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
            stack.callback(connection.close)
            connection.execute("begin exclusive")
        yield


def lock_for_a_minute(whole: WholeHolocron) -> threading.Thread:
    ready = threading.Event()

    def hold() -> None:
        with locked(Path(whole.holocron.environment["DAGSTER_HOME"])):
            ready.set()
            sleep(LOCKED_SECONDS)

    holding = threading.Thread(target=hold)
    holding.start()
    assert ready.wait(60)
    return holding


@pytest.mark.fault(7, "SQLite locked for a minute in the middle of `holocron run`")
def test_a_run_below_which_sqlite_is_locked_is_taken_up_by_the_next(
    whole: WholeHolocron, undisturbed: dict[str, Any]
) -> None:
    holding: list[threading.Thread] = []
    injected = at_the_first_page(whole, lambda: holding.append(lock_for_a_minute(whole)))
    done = whole.command("run", seconds=600)
    assert injected.is_set()
    if done.returncode:
        assert "database is locked" in done.stdout + done.stderr, done.stdout + done.stderr
        assert "Traceback" not in done.stderr, done.stderr
    holding[0].join()
    whole.finish()
    assert whole.hashes() == undisturbed
    assert pages_of_the_wiki(whole) == ["Lamp"]


@pytest.mark.fault(7, "SQLite locked for a minute below the daemon")
def test_a_daemon_below_which_sqlite_is_locked_goes_on_by_itself(
    whole: WholeHolocron, undisturbed: dict[str, Any]
) -> None:
    injected = at_the_first_page(whole, lambda: lock_for_a_minute(whole))
    goes_on_unattended(whole, injected)
    whole.finish()
    assert whole.hashes() == undisturbed
    assert pages_of_the_wiki(whole) == ["Lamp"]


@pytest.mark.fault(7, "PostgreSQL crashed and restarted in the middle of `holocron run`")
def test_a_run_below_which_postgresql_restarts_is_taken_up_by_the_next(
    whole: WholeHolocron, undisturbed: dict[str, Any], postgres: PostgresServer
) -> None:
    postgres.begin_anew()
    whole.environment["HOLOCRON_POSTGRES_URL"] = postgres.url
    injected = at_the_first_page(whole, postgres.restart)
    done = whole.command("run")
    assert injected.is_set(), done.stdout + done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    whole.finish()
    assert whole.hashes() == undisturbed
    assert pages_of_the_wiki(whole) == ["Lamp"]


@pytest.mark.fault(7, "PostgreSQL crashed and restarted below the daemon")
def test_a_daemon_below_which_postgresql_restarts_goes_on_by_itself(
    whole: WholeHolocron,
    undisturbed: dict[str, Any],
    postgres: PostgresServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    postgres.begin_anew()
    monkeypatch.setenv("HOLOCRON_POSTGRES_URL", postgres.url)
    injected = at_the_first_page(whole, postgres.restart)
    goes_on_unattended(whole, injected)
    whole.finish()
    assert whole.hashes() == undisturbed
    assert pages_of_the_wiki(whole) == ["Lamp"]


@pytest.mark.fault(7, "old runs forgotten in PostgreSQL")
def test_runs_are_forgotten_in_postgresql_as_in_sqlite(
    whole: WholeHolocron, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    postgres.begin_anew()
    whole.environment["HOLOCRON_POSTGRES_URL"] = postgres.url
    whole.finish()
    monkeypatch.setenv("HOLOCRON_POSTGRES_URL", postgres.url)
    key = dg.AssetKey("pages")
    with whole.instance() as instance:
        before = instance.get_latest_materialization_event(key), instance.get_materialized_partitions(key)
        runs = instance.get_runs_count()
        forgotten = forget_old_runs(instance, run_retention({}), now=utc_now() + timedelta(days=91))
        assert forgotten.runs == runs > 0
        after = instance.get_latest_materialization_event(key), instance.get_materialized_partitions(key)
    assert after == before
    assert after[1]
    whole.finish()
