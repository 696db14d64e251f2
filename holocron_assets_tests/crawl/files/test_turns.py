"""Limits of resolvers and hosts: kept, and never so that requests wait for each other."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from examples import examples
from fetching_rig import SwiftClock
from file_server import Asked, FileServer, Wire, answer, file
from hypothesis import given, settings
from hypothesis import strategies as st
from reading_rig import POLITE, a_list, reading, wanted

from holocron_assets.crawl.sources.file_source import Resolver

PDF = b"%PDF-1.7\n"
LONGEST_SECONDS = 60


@st.composite
def plans(draw: st.DrawFn) -> dict[str, Any]:
    """Resolvers and hosts with few places, and files whose redirects lead across the hosts in any order."""
    hosts = st.lists(st.integers(0, 2), min_size=1, max_size=4)
    places = draw(st.lists(st.none() | st.integers(1, 2), min_size=1, max_size=3))
    files = st.lists(st.tuples(st.integers(0, len(places) - 1), hosts), min_size=1, max_size=10)
    return {"places_of_hosts": draw(st.integers(1, 2)), "places_of_resolvers": places, "files": draw(files)}


@pytest.fixture(scope="module")
def servers() -> Iterator[list[FileServer]]:
    with ExitStack() as opened:
        yield [opened.enter_context(FileServer()) for _ in range(3)]


@pytest.mark.system
@settings(max_examples=examples(12))
@given(plan=plans())
def test_no_plan_of_files_and_limits_waits_for_ever(plan: dict[str, Any], servers: list[FileServer]) -> None:
    chain = tuple(
        Resolver(
            use="template",
            name=f"r{number}",
            template=f"http://127.0.0.1:{{port_of_r{number}}}/{{path}}",
            requests_in_flight=places,
        )
        for number, places in enumerate(plan["places_of_resolvers"])
    )
    polite = POLITE.model_copy(update={"requests_in_flight": plan["places_of_hosts"]})
    rows = [
        wanted(str(number), fields=lay_out(servers, number, resolver, hops))
        for number, (resolver, hops) in enumerate(plan["files"])
    ]
    with TemporaryDirectory() as folder, ExitStack() as opened:
        reader = opened.enter_context(reading(Path(folder), a_list(resolvers=chain, politeness=polite)))
        pool = opened.enter_context(ThreadPoolExecutor(len(rows)))
        under_way = [pool.submit(reader.read, [row], "a-run") for row in rows]
        done, late = wait(under_way, timeout=LONGEST_SECONDS)
        if late:
            reader.give_up()
        assert late == set()
        assert {row["status"] for one in done for row in one.result()} == {"ok"}


def lay_out(servers: list[FileServer], number: int, resolver: int, hops: list[int]) -> str:
    """Serve a file after redirects across hosts, and give the fields by which one resolver finds it."""
    for step, host in enumerate(hops):
        is_last = step == len(hops) - 1
        to = None if is_last else servers[hops[step + 1]].url(f"/{number}-{step + 1}")
        servers[host].serve(f"/{number}-{step}", file(PDF) if is_last else answer(302, Location=to))
    return json.dumps({f"port_of_r{resolver}": servers[hops[0]].port, "path": f"{number}-0"})


def test_a_resolvers_limit_counts_over_all_hosts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    SwiftClock(monkeypatch)
    busy = Busy()
    chain = (Resolver(use="direct", requests_in_flight=2),)
    with ExitStack() as opened:
        servers = [opened.enter_context(FileServer()) for _ in range(4)]
        urls = [server.serve(f"/{n}.pdf", busy) for n, server in enumerate(servers * 2)]
        reader = opened.enter_context(reading(tmp_path, a_list(resolvers=chain)))
        pool = opened.enter_context(ThreadPoolExecutor(8))
        rows = list(pool.map(lambda url: reader.read([wanted(url, url)], "a-run")[0], urls))
    assert {row["status"] for row in rows} == {"ok"}
    assert busy.most == 2


class Busy:
    """Serves a file, and counts how many ask for it at once."""

    def __init__(self) -> None:
        self.now = self.most = 0
        self._counting = threading.Lock()
        self._others = threading.Event()

    def __call__(self, wire: Wire, asked: Asked) -> None:
        with self._counting:
            self.now += 1
            self.most = max(self.most, self.now)
        self._others.wait(0.05)  # long enough that others would come, if they might
        with self._counting:
            self.now -= 1
        file(PDF)(wire, asked)
