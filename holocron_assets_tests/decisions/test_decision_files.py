"""Decisions as a file that git holds, and back."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holocron_assets.decisions.files import Imported, export_decisions, import_decisions
from holocron_assets.decisions.log import DecisionError, all_decisions, new_decision, record, standing
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import DECISIONS

START = datetime(2026, 3, 1, tzinfo=UTC)
TYPES = ("Droid", "Species")
NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=100)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)

LINE = {
    "decision_id": "20260301T000000000000-0123456789ab",
    "kind": "promote",
    "entity_id": "one",
    "author": "ada",
    "reason": "I know",
    "decided_at": "2026-03-01T00:00:00.000000+00:00",
}


def lake_with(folder: Path, *rows: Row) -> Lake:
    lake = Lake(folder)
    record(lake, rows)
    return lake


def three_decisions() -> list[Row]:
    classified = new_decision(
        "classify", author="ada", reason="two\nlines", source="sample", title="Ünna", value="Droid", now=START
    )
    merged = new_decision(
        "merge",
        author="ben",
        reason="one thing",
        entity_id="a",
        other_id="b",
        now=START + timedelta(seconds=1),
    )
    undone = new_decision(
        "undo", author="ada", reason="no", undoes=merged["decision_id"], now=START + timedelta(days=1)
    )
    return [classified, merged, undone]


def test_a_file_holds_a_line_for_each_decision_and_only_what_was_said(tmp_path: Path) -> None:
    classified, merged, undone = three_decisions()
    lake = lake_with(tmp_path / "lake", undone, merged, classified)
    file = tmp_path / "decisions.jsonl"
    assert export_decisions(lake, file) == 3
    lines = file.read_text(encoding="utf-8").splitlines()
    assert lines[0] == (
        f'{{"decision_id": "{classified["decision_id"]}", "kind": "classify", "source": "sample", '
        '"title": "Ünna", "value": "Droid", "author": "ada", "reason": "two\\nlines", '
        '"decided_at": "2026-03-01T00:00:00.000000+00:00"}'
    )
    assert [json.loads(line)["kind"] for line in lines] == ["classify", "merge", "undo"]


def test_an_export_makes_no_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*kept: make it first"):
        export_decisions(Lake(tmp_path / "lake"), tmp_path / "kept" / "decisions.jsonl")
    assert not (tmp_path / "kept").exists()


def test_what_the_lake_has_already_is_imported_again_though_its_type_is_gone(tmp_path: Path) -> None:
    rows, file = three_decisions(), tmp_path / "decisions.jsonl"
    lake = lake_with(tmp_path / "lake", *rows)
    export_decisions(lake, file)
    assert import_decisions(lake, file, types=()) == Imported(3, 0)


def test_a_clock_that_is_slightly_fast_is_accepted(tmp_path: Path) -> None:
    lake, file = Lake(tmp_path), tmp_path / "decisions.jsonl"
    file.write_text(changed(decided_at=(datetime.now(UTC) + timedelta(minutes=5)).isoformat()))
    assert import_decisions(lake, file, types=TYPES) == Imported(1, 1)


@settings(deadline=None, max_examples=30)  # two lakes on disk each
@given(
    st.lists(
        st.tuples(NAMES.filter(str.strip), TEXTS, st.integers(0, 3), st.none() | st.integers(1, 9)),
        max_size=8,
    )
)
def test_decisions_come_back_as_they_were_and_as_the_same_bytes(
    tmp_path_factory: pytest.TempPathFactory, said: list[tuple[str, str, int, int | None]]
) -> None:
    folder = tmp_path_factory.mktemp("lakes")
    rows = [
        new_decision(
            "classify",
            author=title,
            reason=reason,
            source="wiki",
            title=title,
            page_id=page_id,
            value="Droid",
            now=START + timedelta(seconds=second),
        )
        for title, reason, second, page_id in said
    ]
    one, other = lake_with(folder / "one", *rows), Lake(folder / "other")
    export_decisions(one, folder / "first")
    assert import_decisions(other, folder / "first", types=TYPES) == Imported(len(rows), len(rows))
    assert all_decisions(other) == all_decisions(one)
    export_decisions(other, folder / "second")
    assert (folder / "second").read_bytes() == (folder / "first").read_bytes()


def test_what_is_imported_twice_is_there_once_and_a_longer_file_adds_what_is_new(tmp_path: Path) -> None:
    rows, file = three_decisions(), tmp_path / "decisions.jsonl"
    export_decisions(lake_with(tmp_path / "short", *rows[:2]), file)
    lake = Lake(tmp_path / "lake")
    assert import_decisions(lake, file, types=TYPES) == Imported(2, 2)
    assert import_decisions(lake, file, types=TYPES) == Imported(2, 0)
    assert len(standing(lake).pairs) == 1
    export_decisions(lake_with(tmp_path / "long", *rows), file)
    assert import_decisions(lake, file, types=TYPES) == Imported(3, 1)
    assert standing(lake).pairs == {}
    assert len(lake.partitions(DECISIONS)) == 2


def test_files_of_two_people_may_be_joined_in_any_order(tmp_path: Path) -> None:
    rows = three_decisions()
    export_decisions(lake_with(tmp_path / "one", *rows), tmp_path / "one.jsonl")
    other = new_decision("suppress", author="eve", reason="x", entity_id="c", now=START)
    export_decisions(lake_with(tmp_path / "two", other, rows[0]), tmp_path / "two.jsonl")
    joined = tmp_path / "joined.jsonl"
    lines = (tmp_path / "one.jsonl").read_text().splitlines()[::-1]
    joined.write_text("\r\n".join([*lines, "", (tmp_path / "two.jsonl").read_text()]))
    lake = Lake(tmp_path / "lake")
    assert import_decisions(lake, joined, types=TYPES) == Imported(4, 4)
    assert sorted(row["author"] for row in all_decisions(lake)) == ["ada", "ada", "ben", "eve"]


@pytest.mark.parametrize("kind", ["accept", "reject", "ungroup"])
@pytest.mark.parametrize("value", ["homeworld: Tal\nor \x1b[1mOsk", "x" * 2_000])
def test_an_export_with_any_text_of_a_page_is_imported_again(tmp_path: Path, kind: str, value: str) -> None:
    row = new_decision(
        kind,
        author="ada",
        reason="x",
        source="wiki",
        entity_id="one",
        statement_id="a" * 32,
        value=value,
        now=START,
    )
    export_decisions(lake_with(tmp_path / "lake", row), tmp_path / "decisions.jsonl")
    other = Lake(tmp_path / "other")
    assert import_decisions(other, tmp_path / "decisions.jsonl", types=TYPES) == Imported(1, 1)
    assert all_decisions(other) == [row]


def changed(**said: Any) -> str:
    return json.dumps({name: value for name, value in {**LINE, **said}.items() if value is not None})


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (json.dumps(LINE)[:-20], "it is no JSON"),
        ("<<<<<<< HEAD", "it is no JSON"),
        ("[]", "it is no JSON object"),
        ("[" * 100_000, "it is no JSON"),
        (changed(title="Lamp\0"), "its title 'Lamp.x00' is longer than 1,000 characters, or holds control"),
        (changed(other_title="a" * 1_001), "its other_title 'aaa.* is longer than 1,000 characters"),
        (changed(decided_at="0001-01-01T00:00:00+23:59"), "decided_at is no time"),
        (changed(verdict="x"), "a decision has no 'verdict'"),
        (changed(title_key=7), "a decision has no 'title_key'"),
        (changed(kind="classify", source="a", title="A", value="Nonsense"), "'Nonsense' is no type of page"),
        (changed(kind="template", source="a", title="Template:A", value="No"), "'No' is no type of page"),
        (changed(kind="category", source="a", title="A", value="Droid"), "begins with 'Category:'"),
        (changed(decided_at="2999-03-01T00:00:00Z"), "at 2999-03-01 00:00 UTC, which has not come yet"),
        (changed(author="a" * 101), "author of a decision has at most 100 characters; this one has 101"),
        (changed(kind="withdraw"), "'withdraw' is no kind of decision"),
        (changed(author=7), "'author' is not string"),
        (changed(author=None), "'author' is empty"),
        (changed(reason=""), "needs a reason"),
        (changed(reason="\ud800"), "'reason' is not string"),
        (changed(entity_id=None), "'promote' needs entity_id"),
        (changed(decision_id="../../etc"), "is no id of a decision"),
        (changed(decided_at="yesterday"), "decided_at is no time: 'yesterday'"),
        (changed(decided_at=None), "decided_at is no time: None"),
        (changed(decided_at="2026-03-01T00:00:00"), "decided_at has no time zone"),
        (changed(kind="undo", undoes="20260101T000000000000-0123456789ab"), "neither the file nor the lake"),
        (changed(kind="undo", undoes=LINE["decision_id"]), "which was decided later"),
    ],
)
def test_a_wrong_line_is_named_and_nothing_is_written(tmp_path: Path, line: str, problem: str) -> None:
    lake, file = Lake(tmp_path), tmp_path / "decisions.jsonl"
    good = changed(decision_id="20260301T000000000000-ffffffffffff")
    file.write_text(f"{good}\n\n{line}\n{good}\n")
    with pytest.raises(DecisionError, match=f"decisions.jsonl, line 3: .*{problem}.* Nothing was imported"):
        import_decisions(lake, file, types=TYPES)
    assert all_decisions(lake) == []


def test_bytes_that_are_no_text_are_named_by_line(tmp_path: Path) -> None:
    file = tmp_path / "decisions.jsonl"
    file.write_bytes(json.dumps(LINE).encode() + b"\n\xff\xfe\n")
    with pytest.raises(DecisionError, match="line 2: it is no JSON"):
        import_decisions(Lake(tmp_path), file, types=TYPES)


@pytest.mark.parametrize("is_in_the_lake", [True, False])
def test_a_decision_that_was_edited_is_refused(tmp_path: Path, *, is_in_the_lake: bool) -> None:
    lake, file = Lake(tmp_path), tmp_path / "decisions.jsonl"
    file.write_text(json.dumps(LINE))
    if is_in_the_lake:
        import_decisions(lake, file, types=TYPES)
    before = list(all_decisions(lake))
    file.write_text(f"{json.dumps(LINE)}\n{changed(author='eve', entity_id='two')}\n")
    with pytest.raises(DecisionError, match=f"line 2: decision {LINE['decision_id']} is known with another "):
        import_decisions(lake, file, types=TYPES)
    assert all_decisions(lake) == before


def test_an_undo_of_a_requeue_is_refused(tmp_path: Path) -> None:
    requeue: Mapping[str, Any] = {**LINE, "kind": "requeue", "source": "wiki", "title": "A"}
    later = {"decided_at": "2026-03-02T00:00:00Z", "decision_id": "20260302T000000000000-0123456789ab"}
    file = tmp_path / "decisions.jsonl"
    file.write_text(f"{json.dumps(requeue)}\n{changed(kind='undo', undoes=LINE['decision_id'], **later)}\n")
    with pytest.raises(
        DecisionError, match=r"line 2: decision .* is a requeue of 'A', which cannot be undone"
    ):
        import_decisions(Lake(tmp_path), file, types=TYPES)
