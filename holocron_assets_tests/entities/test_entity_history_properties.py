"""What holds of entities and their history whatever a wiki does, in whatever order its pages come."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holocron_assets.entities.history import resolve_entities
from holocron_assets.entities.identity.changes import entity_changes
from holocron_assets.entities.promotion import PromotionPolicy, Thresholds
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.tables import ENTITIES

pytestmark = pytest.mark.system

START = datetime(2026, 3, 1, tzinfo=UTC)
POLICY = PromotionPolicy(
    id="test-1", default=Thresholds(staged=0.8, candidate=0.85, promoted=0.90, requires=("lead",)), types={}
)
TITLES = [f"{name}{suffix}" for name in ("Varn", "Gort", "Élan") for suffix in ("", " (Legends)", "/Legends")]


def as_candidate(page: dict[str, Any]) -> dict[str, Any]:
    return {
        **page,
        "title_key": title_key(page["source"], page["title"]),
        "name": page["title"].removesuffix("/Legends").removesuffix(" (Legends)"),
        "batch": "sample-000001",
        "entity_type": "Species",
        "method": "rules",
        "origin": "page",
        "run_id": "run-candidates",
    }


pages: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "title": st.sampled_from(TITLES),
        "source": st.sampled_from(["sample", "other"]),
        "page_id": st.none() | st.integers(1, 6),
        "revision_id": st.integers(1, 3),
        "continuity": st.sampled_from(["canon", "legends"]),
        "confidence": st.sampled_from([0.80, 0.85, 0.90]),
        "needs_review": st.booleans(),
        "has_lead": st.booleans(),
        "rule_ids": st.lists(st.sampled_from(["a", "b"]), unique=True),
    }
).map(as_candidate)


class Visit(NamedTuple):
    """One run over the wiki as it then was."""

    candidates: list[dict[str, Any]]
    seconds_passed: int


visits = st.lists(
    st.builds(
        Visit,
        st.lists(pages, max_size=8, unique_by=lambda page: page["title_key"]),
        st.integers(-5, 5),
    ),
    min_size=1,
    max_size=6,
)


def resolve(candidates: Sequence[Row], standing: Sequence[Row], now: datetime, run_id: str) -> list[Row]:
    return resolve_entities("Species", candidates, standing, policy=POLICY, now=now, run_id=run_id)


def versions(history: list[Visit]) -> list[list[Row]]:
    """The file after each visit, an empty one first."""
    files: list[list[Row]] = [[]]
    now = START
    for number, visit in enumerate(history):
        now += timedelta(seconds=visit.seconds_passed)
        files.append(resolve(visit.candidates, files[-1], now, f"run-{number}"))
    return files


def current(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["valid_to"] is None]


@given(visits)
def test_every_candidate_ends_in_exactly_one_current_entity_and_no_other_stands(history: list[Visit]) -> None:
    held = [row for row in current(versions(history)[-1]) if row["state"] != "suppressed"]
    assert sorted(row["title_key"] for row in held) == sorted(c["title_key"] for c in history[-1].candidates)
    facts = {row["title_key"]: (row["revision_id"], row["confidence"], row["rule_ids"]) for row in held}
    for candidate in history[-1].candidates:
        expected = (candidate["revision_id"], candidate["confidence"], candidate["rule_ids"])
        assert facts[candidate["title_key"]] == expected


@given(visits)
def test_the_history_of_each_entity_is_unbroken_and_ends_in_one_current_row(history: list[Visit]) -> None:
    by_entity: defaultdict[str, list[Row]] = defaultdict(list)
    for row in versions(history)[-1]:
        by_entity[row["entity_id"]].append(row)
    for rows in by_entity.values():
        assert all(before["valid_to"] == after["valid_from"] for before, after in pairwise(rows))
        assert all(row["valid_from"] < row["valid_to"] for row in rows[:-1])
        assert rows[-1]["valid_to"] is None


@given(visits)
def test_nothing_that_was_ever_said_is_lost_or_reworded(history: list[Visit]) -> None:
    for before, after in pairwise(versions(history)):
        kept = {(row["entity_id"], row["valid_from"]): row for row in after}
        for row in before:
            later = kept[row["entity_id"], row["valid_from"]]
            assert {**later, "valid_to": row["valid_to"]} == row
            assert row["valid_to"] in (None, later["valid_to"])


@given(visits)
def test_running_again_gives_the_same_rows(history: list[Visit]) -> None:
    rows = versions(history)[-1]
    again = resolve(history[-1].candidates, rows, START + timedelta(days=1), "run-again")
    assert again == rows


@given(visits, st.randoms(use_true_random=False))
def test_the_order_of_candidates_and_standing_rows_does_not_matter(history: list[Visit], random: Any) -> None:
    *earlier, last = history
    standing = versions(earlier)[-1]
    expected = resolve(last.candidates, standing, START, "run")
    candidates, shuffled = list(last.candidates), list(standing)
    random.shuffle(candidates)
    random.shuffle(shuffled)
    assert resolve(candidates, shuffled, START, "run") == expected


@given(visits)
def test_a_row_follows_another_only_when_it_says_something_else(history: list[Visit]) -> None:
    says = [name for name in ENTITIES.content_columns if name not in {"valid_from", "valid_to"}]
    rows = versions(history)[-1]
    for before, after in pairwise(rows):
        if before["entity_id"] == after["entity_id"]:
            assert [before[name] for name in says] != [after[name] for name in says]


@given(visits)
def test_a_state_is_dated_from_the_row_that_brought_it(history: list[Visit]) -> None:
    rows = versions(history)[-1]
    for before, after in pairwise(rows):
        if before["entity_id"] == after["entity_id"]:
            same = before["state"] == after["state"]
            assert after["state_at"] == (before["state_at"] if same else after["valid_from"])


@settings(deadline=None)  # the first table of a process takes long
@given(visits)
def test_rows_fit_the_declared_table_and_survive_it(history: list[Visit]) -> None:
    rows = versions(history)[-1]
    assert ENTITIES.to_arrow(rows, "Species").to_pylist() == rows


@given(visits)
def test_the_summary_counts_every_entity_once(history: list[Visit]) -> None:
    for before, after in pairwise(versions(history)):
        changes = entity_changes(before, after)
        counted = changes.new + changes.changed + changes.suppressed + changes.returned + changes.unchanged
        assert counted == sum(changes.by_state.values()) == len(current(after))
        added_rows = len(after) - len(before)
        assert added_rows == changes.new + changes.changed + changes.suppressed + changes.returned
