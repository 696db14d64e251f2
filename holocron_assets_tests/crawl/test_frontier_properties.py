"""The frontier against a model in plain Python, and whole crawls of random wikis."""

import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

from crawl_rows import (
    HOUR,
    LONG_AGO,
    frontier,
    outcome,
    put_links,
    put_manifest,
    put_outcomes,
    put_seeds,
    wiki_source,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from holocron_assets.crawl import attempts
from holocron_assets.crawl.batches import cut_batches
from holocron_assets.crawl.fetch import Group, GroupError, fetch_batch
from holocron_assets.crawl.requeue import requeue
from holocron_assets.crawl.sources import Source
from holocron_assets.lake.clock import utc_now
from holocron_assets.lake.paths import Lake
from holocron_assets.lake.views import connect, query

TITLES = ("A", "B", "C", "D", "E", "Category:F")
ANSWERED = ("ok", "missing", "invalid")
FAR_AHEAD = LONG_AGO + timedelta(days=100_000)


@dataclass(frozen=True)
class Asked:
    """One page of a finished batch."""

    title: str
    status: str
    is_due: bool
    attempts: int
    links: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class State:
    """All that a lake may hold of one wiki. Its batches follow each other by an hour."""

    seeds: frozenset[str]
    batches: tuple[tuple[Asked, ...], ...]
    in_flight: frozenset[str]
    requeued_after: Mapping[str, int]
    source: Source


titles = st.sampled_from(TITLES)
asked = st.builds(
    Asked,
    title=titles,
    status=st.sampled_from((*ANSWERED, "ok", "ok", "failed", "dead")),
    is_due=st.booleans(),
    attempts=st.integers(1, 3),
    links=st.lists(st.tuples(titles, st.sampled_from(("link", "redirect"))), max_size=4, unique=True).map(
        tuple
    ),
)
states = st.builds(
    State,
    seeds=st.frozensets(titles, max_size=3),
    batches=st.lists(
        st.lists(asked, min_size=1, max_size=4, unique_by=lambda page: page.title).map(tuple), max_size=4
    ).map(tuple),
    in_flight=st.frozensets(titles, max_size=1),
    requeued_after=st.dictionaries(titles, st.integers(0, 4), max_size=2),
    source=st.builds(
        wiki_source,
        depth=st.sampled_from((0, 1, 2, None)),
        namespaces=st.sampled_from(((0,), (0, 14))),
        include=st.sampled_from(((), ("^[A-D]", "F$"))),
        exclude=st.sampled_from(((), ("^B",))),
    ),
)


def write(lake: Lake, state: State) -> None:
    put_seeds(lake, *sorted(state.seeds))
    for number, batch in enumerate(state.batches):
        name = f"wiki-{number + 1:06d}"
        rows = [
            outcome(
                page.title,
                page.status,
                attempts=page.attempts,
                fetched_at=LONG_AGO + number * HOUR,
                due_at=(LONG_AGO if page.is_due else FAR_AHEAD) if page.status == "failed" else None,
            )
            for page in batch
        ]
        put_outcomes(lake, name, *rows)
        put_links(lake, name, *[(p.title, *link) for p in batch if p.status == "ok" for link in p.links])
    if state.in_flight:
        put_manifest(lake, f"wiki-{len(state.batches) + 1:06d}", *sorted(state.in_flight))
    for title, number in state.requeued_after.items():
        with patch("holocron_assets.crawl.requeue.utc_now", lambda at=number: LONG_AGO + at * HOUR):
            requeue(lake, source="wiki", titles=[title], author="Ann", reason="a test")


class Model:
    """What the frontier should say of a state, worked out title by title."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.last: dict[str, tuple[int, Asked]] = {}
        self.answer: dict[str, tuple[int, Asked]] = {}
        for number, batch in enumerate(state.batches):
            for page in batch:
                self.last[page.title] = (number, page)
                if page.status in ANSWERED:
                    self.answer[page.title] = (number, page)
        self.links = {
            title: page.links if page.status == "ok" else () for title, (_, page) in self.answer.items()
        }
        self.depth = self._depths()

    def _depths(self) -> dict[str, int]:
        most = len(TITLES) if self.state.source.depth is None else self.state.source.depth
        depths = dict.fromkeys(self.state.seeds, 0)
        for _ in range(len(TITLES) * (most + 1)):
            for title, depth in list(depths.items()):
                for target, kind in self.links.get(title, ()):
                    further = depth + (kind == "link")
                    if further <= most:
                        depths[target] = min(depths.get(target, further), further)
        return depths

    @property
    def known(self) -> frozenset[str]:
        targets = {target for links in self.links.values() for target, _ in links}
        return self.state.seeds | targets | self.last.keys()

    def inbound(self, title: str) -> int:
        return sum(target == title for links in self.links.values() for target, _ in links)

    def status(self, title: str) -> str:
        if title in self.state.in_flight:
            return "in flight"
        number, last = self.last.get(title, (None, None))
        if last is None:
            return "pending" if self._is_wanted(title) else "skipped"
        if last.status in ANSWERED:
            return "done"
        if last.status == "dead":
            return "pending" if self._was_requeued_since(title, number) else "dead"
        return "pending" if last.is_due else "waiting"

    def failures(self, title: str) -> int:
        _, last = self.last.get(title, (None, None))
        return last.attempts if last and last.status == "failed" else 0

    def _was_requeued_since(self, title: str, number: int | None) -> bool:
        return number is not None and self.state.requeued_after.get(title, -1) >= number

    def _is_wanted(self, title: str) -> bool:
        source = self.state.source
        in_namespace = (14 if title.startswith("Category:") else 0) in source.namespaces
        included = not source.include or title[0] in "ABCD" or title.endswith("F")
        excluded = bool(source.exclude) and title.startswith("B")
        return title in self.depth and in_namespace and included and not excluded


@settings(max_examples=60, deadline=None, derandomize=True)
@given(states)
def test_the_frontier_says_of_every_state_what_a_model_says(state: State) -> None:
    with tempfile.TemporaryDirectory() as folder:
        lake = Lake(Path(folder))
        write(lake, state)
        rows = frontier(lake, state.source)
    model = Model(state)
    assert {title: (row["status"], row["failures"], row["inbound"]) for title, row in rows.items()} == {
        title: (model.status(title), model.failures(title), model.inbound(title)) for title in model.known
    }
    reached = {title: row["depth"] for title, row in rows.items() if title in model.depth}
    assert reached == {title: depth for title, depth in model.depth.items() if title in rows}
    for row in rows.values():
        assert (row["reason"] is None) == (row["status"] in {"done", "in flight"})


@dataclass
class RandomWiki:
    """A reader of a random wiki, some of whose pages fail a number of times."""

    links: Mapping[str, Sequence[str]]
    failures: Mapping[str, int]
    read_ok: Counter[str]
    failed: Counter[str]
    group_sizes: Sequence[int] = (3, 1)
    groups_at_once: int = 2

    def read(self, group: Group, run_id: str) -> list[dict[str, Any]]:
        assert run_id == "test"
        bad = [
            page["title"]
            for page in group
            if self.failed[page["title"]] < self.failures.get(page["title"], 0)
        ]
        if bad and len(group) > 1:
            raise GroupError("one of them")
        self.failed.update(bad)
        if bad:
            raise GroupError("this one")
        self.read_ok.update(page["title"] for page in group)
        return [
            outcome(page["title"], fetched_at=utc_now(), batch=page["batch"], position=page["position"])
            for page in group
        ]


wikis = st.dictionaries(titles, st.lists(titles, max_size=3, unique=True), max_size=len(TITLES))


@settings(max_examples=12, deadline=None, derandomize=True)
@given(wikis, st.dictionaries(titles, st.integers(1, 6), max_size=3), st.integers(1, 4))
def test_a_crawl_reads_every_page_in_reach_once_and_gives_up_after_four_attempts(
    links: Mapping[str, Sequence[str]], failures: Mapping[str, int], batch_size: int
) -> None:
    source = wiki_source(depth=None, namespaces=(0, 14), batch_size=batch_size)
    wiki = RandomWiki(links, failures, Counter(), Counter())
    with tempfile.TemporaryDirectory() as folder, patch.object(attempts, "DELAYS", (timedelta(0),)):
        lake = Lake(Path(folder))
        put_seeds(lake, "A")
        while batches := cut_batches(lake, source, now=utc_now()):
            for batch in batches:
                rows = fetch_batch(lake, batch, wiki, "test")
                read = [row["title"] for row in rows if row["status"] == "ok"]
                put_links(
                    lake, batch, *[(title, target) for title in read for target in links.get(title, ())]
                )
        with connect(lake) as connection:
            dead = {row["title"] for row in query(connection, "from dead_letters")}
            attempted = query(connection, "select requested_title, attempts from lake.pages")
    reach, todo = set(), ["A"]
    while todo:
        title = todo.pop()
        if title not in reach:
            reach.add(title)
            todo += () if failures.get(title, 0) >= attempts.MAX_ATTEMPTS else links.get(title, ())
    killed = {title for title in reach if failures.get(title, 0) >= attempts.MAX_ATTEMPTS}
    assert wiki.read_ok == Counter(reach - killed)
    assert dead == killed
    assert max(row["attempts"] for row in attempted) <= attempts.MAX_ATTEMPTS
    assert all(wiki.failed[title] == min(failures.get(title, 0), 4) for title in reach)
