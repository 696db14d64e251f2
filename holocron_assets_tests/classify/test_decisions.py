from pathlib import Path
from typing import Any

import pytest

from holocron_assets.classify import decisions
from holocron_assets.classify.decisions import (
    DecisionError,
    decide_type,
    look_at_decisions,
    standing_decisions,
)
from holocron_assets.lake.keys import title_key
from holocron_assets.lake.parquet import write_partition
from holocron_assets.lake.paths import Lake
from holocron_assets.lake.schema import Column, Table, type_int
from holocron_assets.lake.tables import DECISIONS, PAGE_SIGNALS

KEYS_ONLY = Table(
    PAGE_SIGNALS.name,
    PAGE_SIGNALS.layer,
    "Signals, as far as decisions look at them",
    key=("title_key",),
    columns=(Column("title_key", type_int, "Title key"),),
)


def lake_of(folder: Path, **batches: list[str]) -> Lake:
    lake = Lake(folder)
    for name, titles in batches.items():
        rows = [{"title_key": title_key("sample", title)} for title in titles]
        write_partition(lake, KEYS_ONLY, name, rows)
    return lake


def decide(lake: Lake, title: str, type_name: str | None, **changed: Any) -> None:
    told = {"source": "sample", "title": title, "type_name": type_name, "author": "ada", "reason": "I know"}
    decide_type(lake, **{**told, **changed})


def standing(lake: Lake) -> dict[str, str]:
    return {row["title"]: row["value"] for row in standing_decisions(lake).values()}


def titles_in(lake: Lake, *batches: str) -> list[list[str]]:
    rows_of = look_at_decisions(lake)
    return [sorted(row["title"] for row in rows_of(batch)) for batch in batches]


def test_the_last_decision_about_a_page_counts(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    for type_name in ("Droid", "Species", "Concept"):
        decide(lake, "Vessa", type_name)
    decide(lake, "Thuum", "Droid")
    assert standing(lake) == {"Vessa": "Concept", "Thuum": "Droid"}
    assert len(lake.partitions(DECISIONS)) == 4


def test_a_withdrawn_decision_counts_no_more_and_may_be_made_again(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    decide(lake, "Vessa", "Droid")
    decide(lake, "Vessa", None)
    assert standing(lake) == {}
    decide(lake, "Vessa", "Species")
    assert standing(lake) == {"Vessa": "Species"}


def test_a_decision_is_about_one_source(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    decide(lake, "Vessa", "Droid", source="other")
    with pytest.raises(DecisionError, match="no decision about 'Vessa' of sample stands"):
        decide(lake, "Vessa", None)


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"type_name": "Robot"}, "'Robot' is no type of page; the types are PersonCharacter, "),
        ({"reason": " "}, "reason"),
    ],
)
def test_what_cannot_be_decided_is_refused_and_leaves_nothing(
    tmp_path: Path, wrong: dict[str, str], problem: str
) -> None:
    with pytest.raises(DecisionError, match=problem):
        decide(Lake(tmp_path), "Vessa", **{"type_name": "Droid", **wrong})
    assert Lake(tmp_path).partitions(DECISIONS) == []


def test_a_batch_is_told_only_of_decisions_about_its_own_pages(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, first=["Vessa", "Thuum"], second=["Osk"], none=[])
    decide(lake, "Thuum", "Droid")
    decide(lake, "Osk", "Droid")
    decide(lake, "Nowhere", "Droid")
    assert titles_in(lake, "first", "second", "none", "missing") == [["Thuum"], ["Osk"], [], []]


def test_another_decision_and_another_version_of_a_batch_are_seen(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, first=["Vessa"])
    decide(lake, "Vessa", "Droid")
    assert titles_in(lake, "first") == [["Vessa"]]
    decide(lake, "Osk", "Droid")
    lake_of(tmp_path, first=["Vessa", "Osk"])
    assert titles_in(lake, "first") == [["Osk", "Vessa"]]
    decide(lake, "Vessa", None)
    assert titles_in(lake, "first") == [["Osk"]]


def test_no_batch_is_read_while_nobody_decided_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = lake_of(tmp_path, first=["Vessa"])
    monkeypatch.setattr(decisions, "read_table", None)
    assert titles_in(lake, "first") == [[]]


def test_a_batch_is_read_once_however_often_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = lake_of(tmp_path, first=["Vessa"])
    decide(lake, "Vessa", "Droid")
    titles_in(lake, "first")
    monkeypatch.setattr(decisions, "read_table", None)
    decide(lake, "Vessa", "Species")
    assert [row["value"] for row in look_at_decisions(lake)("first")] == ["Species"]
