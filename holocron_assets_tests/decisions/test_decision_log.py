"""The log of people's decisions: what counts, how it is added to, and what an undo does."""

import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holocron_assets.decisions import append_log
from holocron_assets.decisions.log import (
    DecisionError,
    Standing,
    all_decisions,
    decisions_mark,
    new_decision,
    one_answer,
    record,
    standing,
    standing_mark,
    standing_of,
    undo,
    undo_answer,
)
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import Row, Table
from holocron_assets.lake.files.parquet import read_partition, write_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import DECISIONS
from holocron_assets.lake.views.database import connect, query

START = datetime(2026, 3, 1, tzinfo=UTC)
WRITER = Path(__file__).with_name("decide_again_and_again.py")

SAID: dict[str, dict[str, str]] = {
    "classify": {"source": "sample", "title": "Vessa", "value": "Droid"},
    "template": {"source": "sample", "title": "Template:Planet", "value": "LocationPlace"},
    "category": {"source": "sample", "title": "Category:Moons", "value": "LocationPlace"},
    "merge": {"entity_id": "one", "other_id": "two"},
    "split": {"entity_id": "three", "other_id": "two"},
    "promote": {"entity_id": "one"},
    "suppress": {"entity_id": "one"},
    "accept": {"statement_id": "fact"},
    "reject": {"statement_id": "fact"},
    "ungroup": {"source": "sample", "value": "pages with the infobox template Planet"},
    "requeue": {"source": "sample", "title": "Vessa"},
}


def decision(kind: str, second: int = 0, **changed: str) -> Row:
    return made_at(START + timedelta(seconds=second), kind, **changed)


def made_at(now: datetime | None, kind: str, **changed: str) -> Row:
    said: dict[str, Any] = {"author": "ada", "reason": "I know", **SAID.get(kind, {}), **changed}
    return new_decision(kind, author=said.pop("author"), reason=said.pop("reason"), now=now, **said)


def recorded(lake: Lake, kind: str, **changed: str) -> Row:
    row = made_at(None, kind, **changed)
    record(lake, [row])
    return row


def undoing(lake: Lake, row: Row) -> Row:
    return undo(lake, row["decision_id"], author="ben", reason="No")


steps = st.lists(
    st.tuples(
        st.sampled_from([kind for kind in SAID if kind != "requeue"]), st.sampled_from(["one", "three"])
    )
    | st.integers(0, 30),
    max_size=25,
)
"""Decisions of some kind about some entity, and undos of the decision made so many ago."""


def log_of(made: Sequence[tuple[str, str] | int]) -> list[Row]:
    rows: list[Row] = []
    for second, step in enumerate(made):
        if isinstance(step, tuple):
            kind, about = step
            changed = {"entity_id": about} if "entity_id" in SAID[kind] else {}
            rows.append(decision(kind, second, **changed))
        elif rows:
            rows.append(decision("undo", second, undoes=rows[-1 - step % len(rows)]["decision_id"]))
    return rows


def counts(row: Row, rows: Sequence[Row]) -> bool:
    """What is meant, said as simply as can be: nothing that counts undoes it."""
    return not any(counts(other, rows) for other in rows if other["undoes"] == row["decision_id"])


@given(steps)
def test_what_stands_is_what_nothing_that_counts_undoes(made: list[tuple[str, str] | int]) -> None:
    rows = log_of(made)
    standing_now = standing_of(rows)
    wanted = [row for row in rows if row["kind"] != "undo" and counts(row, rows)]
    assert list(standing_now.rows) == wanted
    for kinds, columns, found in (
        (("merge", "split"), ("entity_id", "other_id"), standing_now.pairs),
        (("promote", "suppress"), ("entity_id",), standing_now.states),
        (("accept", "reject"), ("statement_id",), standing_now.statements),
        (("classify",), ("title_key",), standing_now.types),
        (("template", "category"), ("title_key",), standing_now.shared_types),
    ):
        last = {frozenset(row[name] for name in columns): row for row in wanted if row["kind"] in kinds}
        assert [frozenset(key if isinstance(key, frozenset) else [key]) for key in found] == list(last)
        assert list(found.values()) == list(last.values())


@settings(deadline=None, max_examples=25)  # a lake on disk each
@given(steps)
def test_the_view_of_what_stands_says_the_same(
    tmp_path_factory: pytest.TempPathFactory, made: list[tuple[str, str] | int]
) -> None:
    lake = Lake(tmp_path_factory.mktemp("lake"))
    record(lake, log_of(made))
    with connect(lake, tables=[DECISIONS]) as connection:
        rows = query(connection, "select decision_id from standing_decisions order by decision_id")
    assert [row["decision_id"] for row in rows] == [row["decision_id"] for row in standing(lake).rows]


def test_an_undo_brings_back_what_stood_before_and_undoing_that_brings_the_decision_back(
    tmp_path: Path,
) -> None:
    lake = Lake(tmp_path)
    first, second = recorded(lake, "promote"), recorded(lake, "suppress")
    taken_back = undoing(lake, second)
    assert standing(lake).states == {"one": first}
    again = undoing(lake, taken_back)
    assert standing(lake).states == {"one": second}
    undoing(lake, again)
    undoing(lake, first)
    assert standing(lake).states == {}
    assert [row["kind"] for row in all_decisions(lake)] == ["promote", "suppress", *["undo"] * 4]


def test_a_merge_and_a_split_are_of_one_pair_whichever_is_named_first(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    recorded(lake, "merge")
    split = recorded(lake, "split", entity_id="two", other_id="one")
    assert standing(lake).pairs == {frozenset({"one", "two"}): split}


def test_an_undo_names_its_page_and_comes_after_what_it_undoes(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    of_tomorrow = made_at(datetime.now(UTC) + timedelta(days=1), "classify")  # its clock was wrong
    record(lake, [of_tomorrow])
    row = undoing(lake, of_tomorrow)
    assert (row["title_key"], row["author"]) == (title_key("sample", "Vessa"), "ben")
    assert row["decided_at"] > of_tomorrow["decided_at"]
    assert standing(lake).types == {}


def test_an_answer_of_several_decisions_is_undone_as_a_whole_and_others_of_its_moment_stay(
    tmp_path: Path,
) -> None:
    lake = Lake(tmp_path)
    answer = one_answer([decision("promote", entity_id=name) for name in ("one", "two", "three")])
    record(lake, [*answer, decision("promote", entity_id="four")])
    assert [row["decision_id"] for row in answer] == sorted(row["decision_id"] for row in answer)
    undone = undo_answer(lake, answer[1]["decision_id"], author="ben", reason="No")
    assert [row["undoes"] for row in undone] == [row["decision_id"] for row in answer]
    assert set(standing(lake).states) == {"four"}
    undo_answer(lake, undone[0]["decision_id"], author="ben", reason="Yes")
    assert set(standing(lake).states) == {"one", "two", "three", "four"}


def test_of_undos_at_one_moment_only_one_is_recorded(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    row = recorded(lake, "promote")
    start = Barrier(4)

    def undo_at_once(_: int) -> bool:
        start.wait()
        try:
            undoing(lake, row)
        except DecisionError:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(undo_at_once, range(4))) == 1
    assert [line["kind"] for line in all_decisions(lake)] == ["promote", "undo"]


def test_an_undo_names_the_page_also_by_its_id(tmp_path: Path) -> None:
    row = {**decision("classify"), "page_id": 4}
    record(Lake(tmp_path), [row])
    assert undoing(Lake(tmp_path), row)["page_id"] == 4


def test_a_log_of_an_earlier_version_knows_no_page_ids(tmp_path: Path) -> None:
    lake, row = Lake(tmp_path), decision("classify")
    earlier = replace(DECISIONS, columns=tuple(column for column in DECISIONS.columns if not column.added))
    values = {column.name: row[column.name] for column in earlier.columns}
    write_partition(lake, earlier, row["decision_id"], [values])
    assert "page_id" not in values
    assert list(all_decisions(lake)) == [row]
    with connect(lake, tables=[DECISIONS]) as connection:
        [shown] = query(connection, "select title, page_id from standing_decisions")
    assert shown == {"title": "Vessa", "page_id": None}


def test_what_cannot_be_undone_is_refused(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    with pytest.raises(DecisionError, match="there is no decision 'none'"):
        undo(lake, "none", author="ada", reason="x")
    promoted, brought_back = recorded(lake, "promote"), recorded(lake, "requeue")
    undoing(lake, promoted)
    with pytest.raises(DecisionError, match="is undone already"):
        undoing(lake, promoted)
    with pytest.raises(DecisionError, match="is a requeue of 'Vessa', which cannot be undone"):
        undoing(lake, brought_back)
    assert len(all_decisions(lake)) == 3


@pytest.mark.parametrize(
    ("kind", "changed", "problem"),
    [
        ("burn", {}, "'burn' is no kind of decision; the kinds are classify, template, "),
        ("promote", {"author": " "}, "needs an author"),
        ("promote", {"reason": "\n"}, "needs a reason"),
        ("promote", {"reason": "caf\udce9"}, "the reason of a decision has bytes that are not UTF-8"),
        ("promote", {"author": "Ren\udce9"}, "the author of a decision has bytes that are not UTF-8"),
        ("promote", {"author": "a" * 101}, "the author of a decision has at most 100 characters; .* 101"),
        (
            "promote",
            {"reason": "a" * 1001},
            "the reason of a decision has at most 1,000 characters; .* 1,001",
        ),
        ("promote", {"author": "ada\nben"}, r"author 'ada\\nben' has line breaks or control characters"),
        ("promote", {"author": "\x1b[31mada"}, "has line breaks or control characters"),
        ("promote", {"author": "ada\u2028ben"}, "has line breaks or control characters"),
        ("promote", {"entity_id": ""}, "'promote' needs entity_id"),
        ("classify", {"title": "", "value": ""}, "'classify' needs title and value"),
        ("template", {"title": "Category:Moons"}, "'template' is about a title that begins with 'Template:'"),
        ("undo", {}, "'undo' needs undoes"),
        ("merge", {"other_id": "one"}, "a merge is of two entities, and both are one"),
    ],
)
def test_a_decision_says_who_why_and_about_what(kind: str, changed: dict[str, str], problem: str) -> None:
    with pytest.raises(DecisionError, match=problem):
        decision(kind, 0, **changed)


def test_names_of_any_script_and_reasons_of_many_lines_are_accepted() -> None:
    row = decision("promote", author="Ünal \u0645\u06cc\u200c" + "a" * 90, reason="one\n" + "a" * 996)
    assert (len(row["author"]), len(row["reason"])) == (98, 1000)


def test_every_kind_can_be_recorded_and_is_read_as_it_was(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    rows = [decision(kind, second) for second, kind in enumerate(SAID)]
    assert record(lake, rows) == len(rows)
    assert all_decisions(lake) == rows
    assert standing(lake).requeues == {("sample", title_key("sample", "Vessa")): rows[-1]}
    assert lake.partitions(DECISIONS) == [rows[0]["decision_id"]]


def test_what_is_recorded_twice_is_there_once(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    first, second = decision("promote"), decision("suppress", 1)
    record(lake, [first])
    before = decisions_mark(lake)
    assert record(lake, [first]) == 0
    assert decisions_mark(lake) == before
    assert record(lake, [second, first]) == 1
    assert decisions_mark(lake) != before
    assert all_decisions(lake) == [first, second]


def test_the_log_is_read_again_only_where_it_was_added_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = Lake(tmp_path)
    recorded(lake, "promote")
    before = standing(lake)
    assert standing(lake) is before
    monkeypatch.setattr(append_log, "read_partition", None)
    assert standing(Lake(tmp_path)) is before
    read: list[str] = []

    def noted(opened: Lake, table: Table, partition: str) -> list[dict[str, Any]]:
        read.append(partition)
        return read_partition(opened, table, partition)

    monkeypatch.setattr(append_log, "read_partition", noted)
    last = recorded(lake, "suppress")
    assert standing(lake).states == {"one": last}
    assert read == [last["decision_id"]]


def test_the_mark_of_a_kind_changes_with_what_counts_of_that_kind_only(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    empty = standing_mark(lake, "classify")
    recorded(lake, "requeue")
    recorded(lake, "merge")
    assert standing_mark(lake, "classify") == empty
    classified = recorded(lake, "classify")
    mark = standing_mark(lake, "classify")
    assert mark != empty
    undoing(lake, recorded(lake, "classify"))
    assert standing_mark(lake, "classify") == mark
    undoing(lake, classified)
    assert standing_mark(lake, "classify") == empty


def test_an_empty_log_says_nothing(tmp_path: Path) -> None:
    assert standing(Lake(tmp_path)) == Standing([])


def test_processes_that_decide_at_once_lose_nothing(tmp_path: Path) -> None:
    started = [
        subprocess.Popen([sys.executable, WRITER, tmp_path, name, "25"])  # noqa: S603 - our own script
        for name in ("ada", "ben")
    ]
    assert [process.wait(60) for process in started] == [0, 0]
    rows = all_decisions(Lake(tmp_path))
    own = [(row["author"], row["value"]) for row in rows if row["kind"] == "classify"]
    assert sorted(own) == sorted((name, str(number)) for name in ("ada", "ben") for number in range(25))
    shared = [row["entity_id"] for row in rows if row["kind"] == "promote"]
    assert sorted(shared) == sorted(f"entity-{number}" for number in range(25))
