"""What templates and categories are proposed to stand for, from what is known of their articles."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from article_lake import article_lake

from holocron_assets.classify.learned.proposals import (
    FEWEST_OPEN,
    stale_type_proposals,
    store_type_proposals,
)
from holocron_assets.decisions.log import new_decision, record
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import TYPE_PROPOSALS

PLACE = "LocationPlace"
SETTLED = {"needs_review": False, "confidence": 0.9}


def open_pages(count: int = FEWEST_OPEN, **columns: Any) -> list[dict[str, Any]]:
    return [{"title": f"Open {place}", **columns} for place in range(count)]


def settled_pages(count: int, page_type: str, **columns: Any) -> list[dict[str, Any]]:
    named = {"primary_type": page_type, **SETTLED, **columns}
    return [{"title": f"{page_type} {place}", **named} for place in range(count)]


def learned(page_type: str, probability: float) -> dict[str, Any]:
    return {"primary_type": page_type, "probability": probability, "abstains": probability < 0.8}


def proposals(folder: Path, *pages: dict[str, Any], **others: list[dict[str, Any]]) -> Sequence[Row]:
    lake = article_lake(folder, sample_000001=pages, **others)
    store_type_proposals(lake, "sample")
    return read_partition(lake, TYPE_PROPOSALS, "sample")


def test_a_template_of_open_pages_gets_the_type_of_those_that_are_settled(tmp_path: Path) -> None:
    glorb: dict[str, Any] = {"infobox_template": "Glorb"}
    settled = settled_pages(6, PLACE, **glorb)
    [row] = proposals(tmp_path, *open_pages(**glorb), *settled, {"title": "Other"})
    assert (row["kind"], row["title"]) == ("template", "Template:Glorb")
    assert row["title_key"] == title_key("sample", "Template:Glorb")
    assert (row["pages"], row["settles"], row["proposed_type"], row["share"]) == (11, 5, PLACE, 0.9)
    assert row["evidence"] == [{"type": PLACE, "voice": "rules", "pages": 6, "weight": 5.4}]
    assert set(row["examples"]) == {page["title"] for page in open_pages()}
    assert set(row["open_keys"]) == {title_key("sample", page["title"]) for page in open_pages()}


def test_a_prediction_counts_by_its_probability_and_a_guess_or_an_abstention_does_not(tmp_path: Path) -> None:
    sure, unsure = {"learned": learned(PLACE, 0.9)}, {"learned": learned("Droid", 0.7)}
    moons = open_pages(7, categories=["Moons"])
    for page in moons[:5]:
        page.update(sure)
    moons[5].update(unsure)
    moons[6].update(unsure, primary_type="Concept", confidence=0.5)
    [row] = proposals(tmp_path, *moons)
    assert row["title"] == "Category:Moons"
    assert (row["proposed_type"], row["share"]) == (PLACE, 0.9)
    assert row["evidence"] == [
        {"type": PLACE, "voice": "prediction", "pages": 5, "weight": 4.5},
        {"type": "Concept", "voice": "guess", "pages": 1, "weight": 0.0},
    ]


@pytest.mark.parametrize(
    ("settled", "share"),
    [
        ([*settled_pages(4, PLACE), *settled_pages(3, "Droid")], 0.5143),
        (settled_pages(4, PLACE), 0.9),
        (settled_pages(6, PLACE, confidence=0.75), 0.75),
        ([], None),
    ],
    ids=["several types", "few pages", "unsure", "nothing"],
)
def test_without_clear_evidence_a_template_is_a_question_without_a_proposal(
    tmp_path: Path, settled: list[dict[str, Any]], share: float | None
) -> None:
    glorb: dict[str, Any] = {"infobox_template": "Glorb"}
    [row] = proposals(tmp_path, *open_pages(**glorb), *({**page, **glorb} for page in settled))
    assert (row["proposed_type"], row["share"]) == (None, share)


def test_what_few_open_articles_share_or_a_rule_settles_is_no_row(tmp_path: Path) -> None:
    few = open_pages(FEWEST_OPEN - 1, infobox_template="Glorb", categories=["Moons"])
    no_articles = [
        {**few[0], "title": "A", "namespace": 2},
        {**few[0], "title": "B", "is_redirect": True},
    ]
    known = [{**page, "title": f"Known {page['title']}"} for page in open_pages(infobox_template="planet")]
    elsewhere = open_pages(infobox_template="Glorb")
    assert proposals(tmp_path, *few, *no_articles, *known, other_000001=elsewhere) == []


def test_what_settles_most_comes_first(tmp_path: Path) -> None:
    glorbs = open_pages(6, infobox_template="glorb", categories=["Lights"])
    lights = [{"title": f"Light {place}", "categories": ["Lights"]} for place in range(3)]
    rows = proposals(tmp_path, *glorbs, *lights)
    assert [(row["title"], row["settles"]) for row in rows] == [
        ("Category:Lights", 9),
        ("Template:Glorb", 6),
    ]


def test_proposals_are_made_again_only_when_what_is_known_has_changed(tmp_path: Path) -> None:
    pages = open_pages(infobox_template="Glorb")
    lake = article_lake(tmp_path, sample_000001=pages)
    assert stale_type_proposals(lake, ["sample", "without pages"]) == ["sample"]
    store_type_proposals(lake, "sample")
    about: dict[str, Any] = {"source": "sample", "title": "Template:Glorb", "value": PLACE}
    record(lake, [new_decision("template", author="Ada", reason="So it is", **about)])
    assert stale_type_proposals(Lake(tmp_path), ["sample"]) == []
    article_lake(tmp_path, sample_000001=[*pages, {"title": "Another"}])
    assert stale_type_proposals(lake, ["sample"]) == ["sample"]


def test_a_batch_of_another_source_makes_no_proposals_stale(tmp_path: Path) -> None:
    lake = article_lake(tmp_path, sample_000001=[{"title": "Salt", "learned": learned(PLACE, 0.9)}])
    store_type_proposals(lake, "sample")
    article_lake(tmp_path, other_000001=[{"title": "Glass", "learned": learned(PLACE, 0.9)}])
    assert stale_type_proposals(lake, ["sample", "other"]) == ["other"]
    article_lake(tmp_path, sample_000002=[{"title": "Sand"}])
    assert stale_type_proposals(lake, ["sample", "other"]) == ["sample", "other"]
