"""A lake that machines share, and its machines: a real S3 server of moto's, and a real PostgreSQL."""

import os
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest
from postgres_server import PostgresServer, postgres_server

from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.shared.mirror import Mirror
from holocron_assets.lake.shared.objects import Objects
from holocron_assets.lake.shared.places import mirrored
from holocron_assets.lake.shared.sessions import Session

BUCKET = "holocron-lake"
KEYS = {
    "AWS_ACCESS_KEY_ID": "of-a-test",
    "AWS_SECRET_ACCESS_KEY": "no-secret",
    "AWS_DEFAULT_REGION": "us-east-1",
}


@dataclass(frozen=True)
class SharedPlace:
    """A store and a server that machines share.

    Attributes:
        store: address of the S3 server.
        postgres: the server of locks.
        url: the lake's; a new one for each test.
    """

    store: str
    postgres: PostgresServer
    url: str

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment variables of a process of a machine."""
        return {
            **KEYS,
            "AWS_ENDPOINT_URL": self.store,
            "HOLOCRON_LAKE": self.url,
            "HOLOCRON_POSTGRES_URL": self.postgres.url,
        }

    def mirror(self, root: Path) -> Mirror:
        """A machine's mirror, not in use yet."""
        return Mirror(root, Objects(self.url), Session(self.postgres.url, self.url))

    @contextmanager
    def machine(self, root: Path) -> Iterator[Lake]:
        """The lake as another machine sees it that has its data folder at `root`."""
        with mirrored(self.mirror(root)) as mirror:
            yield Lake(root)
            mirror.session.connection.close()


@contextmanager
def s3_server(host: str = "127.0.0.1") -> Iterator[str]:
    """A server that speaks S3, with one bucket, in a process of its own."""
    pytest.importorskip("moto.server", reason="needs moto[server] and s3fs")
    pytest.importorskip("s3fs", reason="needs s3fs")
    with socket.socket() as probe:
        probe.bind((host, 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", host, "-p", str(port)]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=quiet, stderr=quiet) as server:  # noqa: S603 - of the package
        try:
            url = f"http://{host}:{port}"
            _make_bucket(url)
            yield url
        finally:
            server.kill()


@contextmanager
def shared_place(address: str = "127.0.0.1") -> Iterator[SharedPlace]:
    """A store and a server, listening at an address; the test is skipped where one cannot be had."""
    with ExitStack() as stack:
        postgres = stack.enter_context(postgres_server(address))
        store = stack.enter_context(s3_server(address))
        monkeypatch = stack.enter_context(pytest.MonkeyPatch.context())
        for name, value in {**KEYS, "AWS_ENDPOINT_URL": store}.items():
            monkeypatch.setenv(name, value)
        yield SharedPlace(store, postgres, f"s3://{BUCKET}/{uuid.uuid4().hex}")


def _make_bucket(url: str) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            urlopen(Request(f"{url}/{BUCKET}", method="PUT", headers=_AUTHORIZED), timeout=5).close()  # noqa: S310
        except (URLError, ConnectionError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
        else:
            return


_AUTHORIZED = {"Authorization": "AWS4-HMAC-SHA256 Credential=of-a-test/20260101/us-east-1/s3/aws4_request"}


def environment_of(place: SharedPlace, root: Path) -> dict[str, str]:
    """The environment of a machine's processes."""
    return {**os.environ, **place.environment, "HOLOCRON_DATA": str(root)}
