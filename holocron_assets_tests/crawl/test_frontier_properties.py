"""The frontier against a model in plain Python, and whole crawls of random wikis."""

import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from asked_lake import ask_lake
from crawl_rows import (
    HOUR,
    LONG_AGO,
    frontier,
    outcome,
    put_links,
    put_manifest,
    put_outcomes,
    put_seeds,
    statuses,
    wiki_source,
)
from examples import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holocron_assets.crawl.fetch import GroupError, fetch_batch
from holocron_assets.crawl.frontier import known_links
from holocron_assets.crawl.frontier.batches import cut_batches
from holocron_assets.crawl.frontier.known_links import compaction_is_due, make_known_links
from holocron_assets.crawl.frontier.pending import PendingPage, outlook, pending_pages
from holocron_assets.crawl.sources.source import Source
from holocron_assets.crawl.waiting import Group
from holocron_assets.decisions.log import new_decision, record
from holocron_assets.lake import attempts
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake

pytestmark = pytest.mark.system

TITLES = ("A", "B", "C", "D", "E", "Category:F")
ANSWERED = ("ok", "missing", "invalid")


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
    compacted_before: frozenset[int] = frozenset()


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


def read(title: str, *targets: str) -> tuple[Asked, ...]:
    """A batch of one page that links to others."""
    return (Asked(title, "ok", is_due=True, attempts=1, links=tuple((target, "link") for target in targets)),)


NEARER_LATE: Mapping[str, Sequence[str]] = {"A": ["C"], "C": ["D"], "D": ["E"], "B": ["D"]}
"""Of seeds A and B, B is read last, and brings D nearer: only then E is in reach, at depth 2."""


def write(lake: Lake, state: State, now: datetime | None = None) -> None:
    put_seeds(lake, *sorted(state.seeds))
    not_yet = (now or utc_now()) + attempts.DELAYS[-1]
    for number, batch in enumerate(state.batches):
        if number in state.compacted_before:
            make_known_links(lake, state.source)
        name = f"wiki-{number + 1:06d}"
        rows = [
            outcome(
                page.title,
                page.status,
                attempts=page.attempts,
                fetched_at=LONG_AGO + number * HOUR,
                due_at=(LONG_AGO if page.is_due else not_yet) if page.status == "failed" else None,
            )
            for page in batch
        ]
        put_outcomes(lake, name, *rows)
        put_links(lake, name, *[(p.title, *link) for p in batch if p.status == "ok" for link in p.links])
    if state.in_flight:
        put_manifest(lake, f"wiki-{len(state.batches) + 1:06d}", *sorted(state.in_flight))
    last = {page.title: page.status for batch in state.batches for page in batch}
    for title, number in state.requeued_after.items():
        if last.get(title) == "dead":  # nobody requeues what is not
            decision = new_decision(
                "requeue",
                source="wiki",
                title=title,
                author="Ann",
                reason="a test",
                now=LONG_AGO + number * HOUR,
            )
            record(lake, [decision])
    if len(state.batches) in state.compacted_before:
        make_known_links(lake, state.source)


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


@settings(max_examples=examples(40))
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


@settings(max_examples=examples(12))
@given(states, st.integers(0, 4))
def test_known_links_of_everything_change_nothing(state: State, earlier: int) -> None:
    compacted = replace(state, compacted_before=frozenset({earlier, len(state.batches)}))
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other_folder:
        now = utc_now()
        write(Lake(Path(folder)), compacted, now)
        write(Lake(Path(other_folder)), state, now)
        found, wanted = (frontier(Lake(Path(name)), state.source) for name in (folder, other_folder))
    assert without_ways(found) == without_ways(wanted)


@settings(max_examples=examples(24))
@given(states, st.integers(0, 4))
@example(
    State(
        seeds=frozenset("AB"),
        batches=tuple(read(title, *targets) for title, targets in NEARER_LATE.items()),
        in_flight=frozenset(),
        requeued_after={},
        source=wiki_source(depth=2),
    ),
    3,
)
def test_known_links_of_some_batches_hide_no_page_without_saying_so(
    state: State, compacted_before: int
) -> None:
    compacted = replace(state, compacted_before=frozenset({compacted_before}))
    model = Model(state)
    pending = {title for title in model.known if model.status(title) == "pending"}
    with tempfile.TemporaryDirectory() as folder:
        lake = Lake(Path(folder))
        write(lake, compacted)
        found = {title for title, status in statuses(lake, state.source).items() if status == "pending"}
        has_shortcuts = outlook(lake, state.source).has_shortcuts
        assert titles_of(pending_pages(lake, state.source, limit=99)) == found
    assert pending <= found or has_shortcuts
    asked_again = Counter(page.title for batch in state.batches for page in batch)
    # A link that is gone leads on until it is made anew: what it leads to was wanted when that was done.
    assert found <= pending or max(asked_again.values()) > 1


def without_ways(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Rows without the way to a title: of two as short, either will do."""
    return {title: {**row, "via_key": None} for title, row in rows.items()}


def titles_of(pages: Sequence[PendingPage]) -> set[str]:
    return {page.title for page in pages}


@dataclass
class RandomWiki:
    """A reader of a random wiki, some of whose pages fail a number of times."""

    links: Mapping[str, Sequence[str]]
    failures: Mapping[str, int]
    read_ok: Counter[str]
    failed: Counter[str]
    group_sizes: Sequence[int] = (3, 1)
    groups_at_once: int = 2

    def reads_others_than(self, _: Group) -> bool:
        return False

    def give_up(self) -> None:
        pass

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


@settings(max_examples=examples(16))
@given(
    wikis,
    st.dictionaries(titles, st.integers(1, 6), max_size=3),
    st.integers(1, 4),
    st.sampled_from((2, 3, None)),
    st.integers(1, 9),
)
@example(NEARER_LATE, {"B": 3}, 1, 2, 6)
def test_a_crawl_reads_every_page_in_reach_once_and_gives_up_after_four_attempts(
    links: Mapping[str, Sequence[str]],
    failures: Mapping[str, int],
    batch_size: int,
    depth: int | None,
    batches_to_compact: int,
) -> None:
    source = wiki_source(depth=depth, namespaces=(0, 14), batch_size=batch_size)
    wiki = RandomWiki(links, failures, Counter(), Counter())
    with (
        tempfile.TemporaryDirectory() as folder,
        patch.object(attempts, "DELAYS", (timedelta(0),)),
        patch.object(known_links, "_FEWEST_NEW", batches_to_compact),
    ):
        lake = Lake(Path(folder))
        put_seeds(lake, "A", "B")
        while work_on(lake, source, wiki):
            pass
        dead = {row["title"] for row in ask_lake(lake, "from dead_letters")}
        attempted = ask_lake(lake, "select requested_title, attempts from lake.pages")
    reach = within_reach(
        links, {title for title in TITLES if failures.get(title, 0) >= attempts.MAX_ATTEMPTS}, depth
    )
    killed = {title for title in reach if failures.get(title, 0) >= attempts.MAX_ATTEMPTS}
    assert wiki.read_ok == Counter(reach - killed)
    assert dead == killed
    assert max(row["attempts"] for row in attempted) <= attempts.MAX_ATTEMPTS
    assert all(wiki.failed[title] == min(failures.get(title, 0), 4) for title in reach)


def work_on(lake: Lake, source: Source, wiki: RandomWiki) -> bool:
    """Compact what is due, or cut what is pending and read it; say whether there was either."""
    if compaction_is_due(lake, source):
        make_known_links(lake, source)
        return True
    batches = cut_batches(lake, source, now=utc_now())
    for batch in batches:
        rows = fetch_batch(lake, batch, wiki, "test")
        read = [row["title"] for row in rows if row["status"] == "ok"]
        put_links(lake, batch, *[(title, target) for title in read for target in wiki.links.get(title, ())])
    return bool(batches)


def within_reach(links: Mapping[str, Sequence[str]], dead: AbstractSet[str], depth: int | None) -> set[str]:
    """The titles that at most so many links lead to from A and B, by pages that can be read."""
    reach = front = {"A", "B"}
    for _ in range(len(TITLES) if depth is None else depth):
        front = {target for title in front - dead for target in links.get(title, ())} - reach
        reach = reach | front
    return reach
