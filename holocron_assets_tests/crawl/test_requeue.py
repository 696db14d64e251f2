"""Bringing dead-lettered pages back."""

from pathlib import Path

import pytest
from asked_lake import ask_lake
from crawl_rows import LONG_AGO, outcome, put_outcomes

from holocron_assets.crawl.frontier.requeue import requeue
from holocron_assets.lake.place.paths import Lake

pytestmark = pytest.mark.system


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = Lake(tmp_path)
    rows = [outcome(title, "dead", attempts=4) for title in ("A", "It's")]
    put_outcomes(lake, "wiki-000001", *rows, outcome("Waiting", "failed", due_at=LONG_AGO), outcome("Fine"))
    put_outcomes(lake, "other-000001", outcome("A", "dead", source="other", attempts=4))
    return lake


def dead(lake: Lake) -> list[tuple[str, str]]:
    return [(row["source"], row["title"]) for row in ask_lake(lake, "from dead_letters order by all")]


def asked(lake: Lake, source: str | None, titles: list[str] | None) -> list[tuple[str, str]]:
    rows = requeue(lake, source=source, titles=titles, author="Ann", reason="mended")
    return [(row["source"], row["title"]) for row in rows]


@pytest.mark.parametrize(
    ("source", "titles", "brought_back"),
    [
        (None, None, [("other", "A"), ("wiki", "A"), ("wiki", "It's")]),
        ("wiki", None, [("wiki", "A"), ("wiki", "It's")]),
        (None, ["A"], [("other", "A"), ("wiki", "A")]),
        ("wiki", ["It's", "Fine", "Waiting", "Unknown"], [("wiki", "It's")]),
        ("wiki", [], []),
        ("nowhere", None, []),
    ],
)
def test_only_what_is_meant_and_dead_comes_back(
    lake: Lake, source: str | None, titles: list[str] | None, brought_back: list[tuple[str, str]]
) -> None:
    before = dead(lake)
    assert asked(lake, source, titles) == brought_back
    assert dead(lake) == [letter for letter in before if letter not in brought_back]
    assert asked(lake, source, titles) == []


def test_the_author_and_reason_of_a_requeue_are_kept(lake: Lake) -> None:
    requeue(lake, source="wiki", titles=["A"], author="Ann", reason="the wiki was mended")
    requeue(lake, source="wiki", titles=["It's"], author="Ben", reason="so was this")
    rows = ask_lake(lake, "select title, author, reason from decisions where kind = 'requeue' order by all")
    assert rows == [
        {"title": "A", "author": "Ann", "reason": "the wiki was mended"},
        {"title": "It's", "author": "Ben", "reason": "so was this"},
    ]
