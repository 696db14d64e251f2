"""What fetches files in tests: a lake, a store, the hosts of loopback, and a clock that waits for nobody."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from holocron_assets.crawl.files.artifact import Candidate
from holocron_assets.crawl.files.transfers.fetching import Fetching
from holocron_assets.crawl.files.transfers.hosts import Hosts
from holocron_assets.crawl.files.transfers.receiving import Wanted
from holocron_assets.crawl.files.transfers.transfer import Held, Transfer
from holocron_assets.crawl.http.client import HttpClient
from holocron_assets.crawl.politeness import limits, shared_state
from holocron_assets.crawl.sources.settings import Politeness
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.store import FileStore
from holocron_assets.lake.place.paths import Lake

FAST = Politeness(
    contact="tests@example.org",
    requests_per_second=100.0,
    burst=100,
    requests_in_flight=8,
    timeout_seconds=5.0,
)


class SwiftClock:
    """A clock for the limits of hosts that moves on by itself when somebody waits. No test sleeps."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ahead = 0.0
        monkeypatch.setattr(limits, "time", self)
        monkeypatch.setattr(shared_state, "time", self)

    def sleep(self, seconds: float) -> None:
        self.ahead += seconds

    def time(self) -> float:
        return time.time() + self.ahead

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead


@dataclass
class Rig:
    """What a test fetches with.

    Attributes:
        lake: where everything goes.
        store: its objects.
        fetching: fetches candidates.
        http: what it sends with.
        attempts: the rows of table `http_attempts`.
    """

    lake: Lake
    store: FileStore
    fetching: Fetching
    http: HttpClient
    attempts: list[Row] = field(default_factory=list)

    def fetch(self, url: str, held: Held | None = None, *, head: bool = False, **wanted: Any) -> Transfer:
        """Fetch an address."""
        return self.fetching.fetch(Candidate("direct", url), want(**wanted), held, head=head)

    def objects(self) -> list[bytes]:
        """The bytes of all objects."""
        return [path.read_bytes() for path in sorted(self.store.folder.glob("??/*"))]

    def parts(self) -> list[str]:
        """What is left of files that did not come whole."""
        return sorted(path.name for path in self.store.parts.glob("*"))


def want(**known: Any) -> Wanted:
    """What a file must be: anything, unless a test says more."""
    anything = {"name": "a file", "size_bytes": None, "sha1": None, "sha256": None, "mime": None}
    limits_of_a_source = {"expect": (), "max_bytes": 10_000_000, "may_be_html": False}
    return Wanted(**{**anything, **limits_of_a_source, **known})


@contextmanager
def rigged(folder: Path, *, deadline_seconds: float = 5.0, politeness: Politeness = FAST) -> Iterator[Rig]:
    """What fetches files into a folder, from loopback."""
    lake = Lake(folder / "data")
    store = FileStore(lake)
    attempts: list[Row] = []
    with ExitStack() as opened:
        http = opened.enter_context(
            HttpClient(
                "Holocron-tests/1 (tests@example.org)",
                deadline_seconds=deadline_seconds,
                private_hosts=["127.0.0.1"],
            )
        )
        hosts = Hosts(
            http,
            politeness,
            folder / "hosts",
            attempts.append,
            source="files",
            scope="files-000001",
            safe_point=lambda: None,
        )
        opened.callback(hosts.close)
        yield Rig(lake, store, Fetching(hosts, store, lambda *_: nullcontext()), http, attempts)
