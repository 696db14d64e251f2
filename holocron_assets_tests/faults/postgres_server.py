"""A real PostgreSQL server on loopback, to be restarted."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import sqlalchemy as sql


@dataclass(frozen=True)
class PostgresServer:
    """A server with a folder of its own. It refuses to be root, so root gives it to another user."""

    folder: Path
    port: int
    address: str = "127.0.0.1"

    @property
    def url(self) -> str:
        """Named with its driver, as Dagster's own commands want it; `holocron` adds that by itself."""
        return f"postgresql+psycopg2://holocron@{self.address}:{self.port}/postgres"

    def start(self) -> None:
        self._control("start", "-o", f"-p {self.port} -c listen_addresses={self.address} -k {self.folder}")

    def stop(self) -> None:
        """End it as a crash does: every connection is cut, and the log is replayed at the next start."""
        self._control("stop", "-m", "immediate")

    def restart(self) -> None:
        self.stop()
        self.start()

    def begin_anew(self) -> None:
        """Empty the database: each test has a Dagster of its own."""
        engine = sql.create_engine(self.url)
        with engine.begin() as connection:
            connection.execute(sql.text("drop schema public cascade; create schema public"))
        engine.dispose()

    def _control(self, *arguments: str) -> None:
        place = ["-D", str(self.folder / "data"), "-l", str(self.folder / "log"), "-w", "-t", "120"]
        done = _as_another("pg_ctl", *place, *arguments)
        assert done.returncode == 0, (self.folder / "log").read_text(encoding="utf-8")


@contextmanager
def postgres_server(address: str = "127.0.0.1") -> Iterator[PostgresServer]:
    """A new server; the test is skipped where PostgreSQL is not installed."""
    if not shutil.which("initdb") or not shutil.which("pg_ctl"):
        pytest.skip("needs PostgreSQL's initdb and pg_ctl on PATH")
    # Not below pytest's own folder, which no other user may read.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name, socket.socket() as probe:
        folder = Path(name)
        if not os.geteuid():
            os.chown(folder, pwd.getpwnam("nobody").pw_uid, -1)
        made = _as_another("initdb", "-D", str(folder / "data"), "-U", "holocron", "-A", "trust", "--no-sync")
        assert made.returncode == 0, made
        with (folder / "data" / "pg_hba.conf").open("a", encoding="utf-8") as rules:
            rules.write(f"host all all {address}/24 trust\n")
        probe.bind((address, 0))
        port = probe.getsockname()[1]
        probe.close()
        server = PostgresServer(folder, port, address)
        server.start()
        try:
            yield server
        finally:
            server.stop()


def _as_another(*command: str) -> "subprocess.CompletedProcess[str]":
    user = None if os.geteuid() else "nobody"
    return subprocess.run(  # noqa: S603 - of the system
        command,
        user=user,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=800,
    )
