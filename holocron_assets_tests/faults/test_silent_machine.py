"""A machine that falls silent while PostgreSQL has an answer for it keeps its locks for a minute at most."""

import subprocess
import sys
from time import monotonic

import pytest
from postgres_server import postgres_server
from several_machines import fall_silent, network
from whole_holocron import until

from holocron_assets.lake.shared.sessions import Session

HOLDS = """
import sys
from holocron_assets.lake.shared.sessions import Session
session = Session(sys.argv[1], "lake")
assert session.try_lock("harbour")
session.connection.ask("select pg_sleep(3)")
"""
ASKS_LATER = """
import sys
from holocron_assets.lake.shared.sessions import DatabaseGoneError, Session
session = Session(sys.argv[1], "lake")
session.writes()
print("connected", flush=True)
sys.stdin.readline()
try:
    session.writes()
except DatabaseGoneError:
    print("gone", flush=True)
"""
ASLEEP = "select count(*) from pg_stat_activity where state = 'active' and query = 'select pg_sleep(3)'"
MOST_SECONDS = 60
pytestmark = [pytest.mark.full]


def started(name: str, code: str, url: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(  # noqa: S603 - our own
        ["ip", "netns", "exec", name, sys.executable, "-c", code, url],  # noqa: S607
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.fault(7, "a machine that falls silent while PostgreSQL works for it")
def test_the_lock_of_a_machine_that_fell_silent_is_free_and_the_machine_knows_it() -> None:
    with network() as (address, (name, _)), postgres_server(address) as server:
        other = Session(server.url, "lake")
        holder, asker = (started(name, code, server.url) for code in (HOLDS, ASKS_LATER))
        with holder, asker:
            try:
                assert asker.stdin
                assert asker.stdout
                assert asker.stdout.readline() == "connected\n"
                until(lambda: other.connection.ask(ASLEEP)[0][0] == 1, "its statement is under way")
                assert not other.try_lock("harbour")
                fall_silent(name)
                began = monotonic()
                asker.stdin.write("\n")
                asker.stdin.flush()
                until(lambda: other.try_lock("harbour"), "its lock is free", seconds=MOST_SECONDS)
                output, _ = asker.communicate(timeout=began + MOST_SECONDS - monotonic())
                assert output == "gone\n"
            finally:
                holder.kill()
                asker.kill()
        other.connection.close()


def test_machines_reach_postgresql_by_a_unix_socket_too() -> None:
    with postgres_server() as server:
        url = f"postgresql+psycopg2://holocron@/postgres?host={server.folder}&port={server.port}"
        one, other = Session(url, "lake"), Session(url, "lake")
        assert one.try_lock("harbour")
        assert not other.try_lock("harbour")
        one.connection.close()
        until(lambda: other.try_lock("harbour"), "the lock is free")
        other.connection.close()
