from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from listed_wiki import SOURCE, ListedWiki, droid

from holocron_assets.classify import decided_types as decisions
from holocron_assets.classify.decided_types import decide_type, read_decided_types
from holocron_assets.decisions.log import DecisionError, decided_now, new_decision, record, standing, undo
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import Column, Row, Table, type_int
from holocron_assets.lake.files.parquet import write_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import DECISIONS, PAGE_SIGNALS

KEYS_ONLY = Table(
    PAGE_SIGNALS.name,
    PAGE_SIGNALS.layer,
    "Signals, as far as decisions read them",
    key=("title_key",),
    columns=(
        Column("title_key", type_int, "Title key"),
        Column("page_id", type_int, "Page id", nullable=True),
    ),
)


def lake_of(folder: Path, **batches: list[str]) -> Lake:
    return lake_with_ids(folder, {name: dict.fromkeys(titles) for name, titles in batches.items()})


def lake_with_ids(folder: Path, batches: Mapping[str, Mapping[str, int | None]]) -> Lake:
    lake = Lake(folder)
    for name, pages in batches.items():
        rows = [
            {"title_key": title_key("sample", title), "page_id": page_id} for title, page_id in pages.items()
        ]
        write_partition(lake, KEYS_ONLY, name, rows)
    return lake


def decide(lake: Lake, title: str, type_name: str, page_id: int | None = None) -> Row:
    """Record a decision about a page that the lake need not have."""
    row = new_decision(
        "classify",
        source="sample",
        title=title,
        page_id=page_id,
        value=type_name,
        author="ada",
        reason="I know",
        now=decided_now(lake),
    )
    record(lake, [row])
    return row


def take_back(lake: Lake, decision: Row) -> None:
    undo(lake, decision["decision_id"], author="ada", reason="I was wrong")


def types_that_stand(lake: Lake) -> dict[str, str]:
    return {row["title"]: row["value"] for row in standing(lake).types.values()}


def titles_in(lake: Lake, *batches: str) -> list[list[str]]:
    rows_of = read_decided_types(lake)
    return [sorted(row["title"] for row in rows_of(batch)) for batch in batches]


def test_the_last_decision_about_a_page_counts_until_it_is_undone(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    decide(lake, "Thuum", "Droid")
    first, last = decide(lake, "Vessa", "Species"), decide(lake, "Vessa", "Concept")
    assert types_that_stand(lake) == {"Vessa": "Concept", "Thuum": "Droid"}
    take_back(lake, last)
    assert types_that_stand(lake) == {"Vessa": "Species", "Thuum": "Droid"}
    take_back(lake, first)
    assert types_that_stand(lake) == {"Thuum": "Droid"}


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"type_name": "Robot"}, "'Robot' is no type of page; the types are PersonCharacter, "),
        ({"reason": " "}, "needs a reason"),
        ({"author": ""}, "needs an author"),
        ({}, "no page is called 'Vessa': nothing can be decided about it"),
    ],
)
def test_what_cannot_be_decided_is_refused_and_leaves_nothing(
    tmp_path: Path, wrong: dict[str, str], problem: str
) -> None:
    said = {"source": "sample", "title": "Vessa", "author": "ada", "reason": "I know"}
    with pytest.raises(DecisionError, match=problem):
        decide_type(Lake(tmp_path), **{**said, "type_name": "Droid", **wrong})
    assert Lake(tmp_path).partitions(DECISIONS) == []


def test_a_batch_gets_only_decisions_about_its_own_pages(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, first=["Vessa", "Thuum"], second=["Osk"], none=[])
    decide(lake, "Thuum", "Droid")
    decide(lake, "Osk", "Droid")
    decide(lake, "Nowhere", "Droid")
    assert titles_in(lake, "first", "second", "none", "missing") == [["Thuum"], ["Osk"], [], []]


def test_another_decision_and_another_version_of_a_batch_are_seen(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, first=["Vessa"])
    vessa = decide(lake, "Vessa", "Droid")
    assert titles_in(lake, "first") == [["Vessa"]]
    decide(lake, "Osk", "Droid")
    lake_of(tmp_path, first=["Vessa", "Osk"])
    assert titles_in(lake, "first") == [["Osk", "Vessa"]]
    take_back(lake, vessa)
    assert titles_in(lake, "first") == [["Osk"]]


def test_a_batch_gets_only_decisions_about_types(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, first=["Vessa"], sample=["Thuum"])
    columns: dict[str, Any] = {"author": "ada", "reason": "I know", "source": "sample", "title": "Vessa"}
    requeued = new_decision("requeue", **columns)
    merged = new_decision("merge", entity_id="one", other_id="two", **columns)
    record(lake, [requeued, merged])
    assert titles_in(lake, "first") == [[]]
    record(lake, [merged, decide(lake, "Vessa", "Droid")])
    assert titles_in(lake, "first") == [["Vessa"]]


def test_no_batch_is_read_while_nobody_decided_on_a_type(
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
    assert [row["value"] for row in read_decided_types(lake)("first")] == ["Species"]


def test_a_decision_goes_with_its_page_and_not_with_the_title(tmp_path: Path) -> None:
    batches: dict[str, dict[str, int | None]] = {
        "sample-000001": {"Vex": 7},
        "sample-000002": {"Vex (planet)": 1, "Osk": 2},
        "another-000001": {"Thuum": 1},
        "withoutids-000001": {"Vex": None},
    }
    lake = lake_with_ids(tmp_path, batches)
    decide(lake, "Vex", "LocationPlace", page_id=1)
    assert titles_in(lake, *batches) == [[], ["Vex"], [], ["Vex"]]


def test_the_newest_decision_about_a_page_counts_whether_it_names_the_page_or_the_title(
    tmp_path: Path,
) -> None:
    lake = lake_with_ids(tmp_path, {"sample-000001": {"Vex (planet)": 1}})
    decide(lake, "Vex (planet)", "Droid")
    by_id = decide(lake, "Vex", "Species", page_id=1)
    assert [row["value"] for row in read_decided_types(lake)("sample-000001")] == ["Species"]
    by_title = decide(lake, "Vex (planet)", "Concept")
    assert [row["value"] for row in read_decided_types(lake)("sample-000001")] == ["Concept"]
    take_back(lake, by_title)
    take_back(lake, by_id)
    assert [row["value"] for row in read_decided_types(lake)("sample-000001")] == ["Droid"]


def test_what_a_person_decided_stays_with_a_page_that_moves_and_leaves_what_comes_to_its_title(
    tmp_path: Path,
) -> None:
    wiki = ListedWiki(tmp_path)
    wiki.crawl({"Vex": "'''Vex''' came and went."})
    said = {"source": SOURCE, "title": "Vex", "author": "ada", "reason": "I know"}
    assert decide_type(wiki.lake, **said, type_name="LocationPlace")["page_id"] == 1
    wiki.put_pages({"Vex (planet)": 1, "Vex": 2})
    wiki.crawl({"Vex (planet)": "'''Vex''' came and went.", "Vex": droid("Vex")})
    types = wiki.query("select title, primary_type, method from page_types order by title")
    assert [tuple(row.values()) for row in types] == [
        ("Vex", "Droid", "rules"),
        ("Vex (planet)", "LocationPlace", "person"),
    ]
