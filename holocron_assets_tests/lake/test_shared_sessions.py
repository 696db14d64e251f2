"""Sessions with the server of a shared lake, without one: addresses, a server that is gone, and locks."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import Timeout

from holocron_assets.errors import PermanentError
from holocron_assets.lake.shared.server_locks import ServerLock
from holocron_assets.lake.shared.sessions import Connection, Session

UNREADABLE = "postgresql://holocron:stone%salt@127.0.0.1/holocron"


def test_an_address_that_cannot_be_read_is_named_by_its_variable_alone() -> None:
    with pytest.raises(PermanentError, match="HOLOCRON_POSTGRES_URL is no address") as raised:
        Connection(UNREADABLE).ask("select 1")
    assert "stone" not in str(raised.value)
    assert raised.value.__cause__ is None


class OneServer(Session):
    """A session whose server gives each lock to who asks first, and frees it by its name."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def try_lock(self, name: str) -> bool:
        is_free = name not in self.names
        self.names.add(name)
        return is_free

    def unlock(self, name: str) -> None:
        self.names.discard(name)


def test_to_release_a_lock_that_is_not_held_frees_nobody_elses() -> None:
    session = OneServer()
    holder, other = ServerLock(session, "batch"), ServerLock(session, "batch", blocking=False)
    holder.acquire()
    with pytest.raises(Timeout):
        other.acquire()
    other.release()
    other.release(force=True)
    assert session.names == {"batch"}
    holder.release()
    assert not session.names


def test_a_database_that_is_gone_ends_a_command_with_a_sentence(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "HOLOCRON_DATA": str(tmp_path),
        "HOLOCRON_LAKE": "memory://bucket",
        "HOLOCRON_POSTGRES_URL": "postgresql://holocron:stonesalt@127.0.0.1:1/holocron",
    }
    asked = subprocess.run(  # noqa: S603 - a process has one lake: what is asked in this one is known by now
        [Path(sys.executable).parent / "holocron", "controls"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert asked.returncode == 1
    assert asked.stderr.startswith("Error: PostgreSQL gives no answer")
    assert "stonesalt" not in asked.stderr
