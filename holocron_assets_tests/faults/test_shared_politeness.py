"""Machines that share a lake ask a host as much as one would, by one clock, whichever of them dies."""

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from time import monotonic

import pytest
from postgres_server import PostgresServer, postgres_server

from holocron_assets.crawl.errors import HostBusy
from holocron_assets.crawl.http.outcomes import Answer
from holocron_assets.crawl.politeness.limits import HostLimits
from holocron_assets.crawl.politeness.rules import judge
from holocron_assets.crawl.politeness.shared_state import state_on_server
from holocron_assets.crawl.sources.settings import Politeness
from holocron_assets.lake.shared.places import mirror_of
from holocron_assets.lake.shared.sessions import Connection, DatabaseGoneError

HOST = "wiki.example:443"
RATE = 20.0
HELD_UP = 0.25  # seconds
pytestmark = [pytest.mark.full]


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgres_server() as started:
        yield started


@pytest.fixture
def shared(server: PostgresServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> PostgresServer:
    """A server that knows no host yet, and processes that are set to share a lake."""
    assert mirror_of(tmp_path) is None
    monkeypatch.setenv("HOLOCRON_LAKE", "s3://not-asked/here")
    monkeypatch.setenv("HOLOCRON_POSTGRES_URL", server.url)
    Connection(server.url).ask("truncate holocron.hosts")
    return server


@pytest.fixture
def machines(shared: PostgresServer, tmp_path: Path) -> Iterator[list[HostLimits]]:
    """The limits of one host on two machines."""
    assert shared.port
    politeness = Politeness(contact="test@example.org", requests_per_second=RATE, requests_in_flight=1)
    with ExitStack() as stack:
        folders = [tmp_path / name for name in ("one", "other")]
        yield [stack.enter_context(HostLimits(HOST, politeness, folder)) for folder in folders]


def test_two_machines_together_keep_the_rate_of_one(machines: list[HostLimits]) -> None:
    sent: list[float] = []
    ends_at = monotonic() + 3

    def ask(limits: HostLimits) -> None:
        while monotonic() < ends_at:
            with limits.turn():
                sent.append(monotonic())

    threads = [threading.Thread(target=ask, args=(limits,)) for limits in machines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 5 < len(sent) <= 3 * RATE + 2
    # A thread may be held up between its turn and the clock, so single gaps say nothing; windows do.
    moments = sorted(sent)
    for first, begin in enumerate(moments):
        for last, end in enumerate(moments[first:], start=first):
            assert last - first <= RATE * (end - begin + HELD_UP) + 1, "no more than one machine alone"


def test_what_one_machine_learns_holds_the_other(machines: list[HostLimits]) -> None:
    one, other = machines
    answer = Answer(
        sent_at=one.now(),
        status=503,
        complete=True,
        is_expected=False,
        is_challenge=False,
        api_error=None,
        elapsed_seconds=0.1,
        headers={"retry-after": "60"},
    )
    one.learn(lambda state: judge(state, answer, one.now(), 0.0))
    with pytest.raises(HostBusy, match="server errors"), other.turn():
        pass
    known = state_on_server(HOST)
    assert known
    assert 50 < known.not_before - one.now() <= 60


def test_the_servers_clock_counts_and_not_that_of_a_machine(
    machines: list[HostLimits], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = machines
    with one.turn():
        pass
    before = one.state()
    monkeypatch.setattr(time, "time", lambda: 4e9)  # a century ahead
    with other.turn():
        pass
    assert 0 < other.state().seen_at - before.seen_at < 60


@pytest.mark.fault(7, "a machine gone that has a request under way")
def test_the_place_of_a_machine_that_is_gone_is_free(
    machines: list[HostLimits], shared: PostgresServer
) -> None:
    one, other = machines
    with ExitStack() as gone:
        gone.enter_context(one.turn())
        refused = HostLimits(HOST, other.politeness, other.folder.parent, queue_seconds=0.5)
        with refused, pytest.raises(HostBusy, match="others of us are asking it"), refused.turn():
            pass
        Connection(shared.url).ask(
            "select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and granted"
        )
        with other.turn():
            pass


@pytest.mark.fault(7, "PostgreSQL restarted below a machine that crawls")
def test_a_server_that_was_restarted_is_met_again(machines: list[HostLimits], shared: PostgresServer) -> None:
    one, _ = machines
    with one.turn():
        pass
    shared.restart()
    with pytest.raises(DatabaseGoneError), one.turn():
        pass
    with one.turn():
        pass
