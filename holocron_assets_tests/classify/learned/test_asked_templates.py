"""What a language model says of an infobox template, asked once: one voice beside its articles."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from article_lake import article_lake
from interrogation_files import read_interrogations
from review_lake import write

from holocron_assets.classify.learned.proposals import stale_type_proposals, store_type_proposals
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.items.items import Item, wanted_items
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import TYPE_PROPOSALS
from holocron_assets.review.queue import read_questions
from holocron_assets.review.store import store_review
from holocron_assets.settings import PROJECT_FOLDER

BATCH, MODEL, PLACE = "sample-000001", "qwen2.5-coder:1.5b", "LocationPlace"
GLORB: Mapping[str, Any] = {
    "infobox_template": "glorb",
    "infobox_fields": [{"name": "mag", "value": "3"}],
    "lead_sentence": "It shines.",
    "wikitext_length": 9,
}
SURE = {"needs_review": False, "confidence": 0.9}


@pytest.fixture(scope="module")
def asking() -> Interrogation:
    shipped = read_interrogations(PROJECT_FOLDER / "data" / "interrogations")
    [found] = [one for one in shipped if one.name == "template_types"]
    return found


def pages(open_ones: int = 5, **settled: int) -> list[dict[str, Any]]:
    """Articles with the template: open ones, and settled ones by type."""
    found = [{"title": f"Glorb {place}", **GLORB} for place in range(open_ones)]
    for name, count in settled.items():
        found += [
            {"title": f"{name} {place}", "primary_type": name, **SURE, **GLORB} for place in range(count)
        ]
    return found


def lake_of(folder: Path, asking: Interrogation, articles: Sequence[dict[str, Any]]) -> Lake:
    article_lake(folder, sample_000001=articles)
    return Lake(folder, (asking.table,))


def items(lake: Lake, asking: Interrogation) -> list[Item]:
    return list(wanted_items(lake, asking, BATCH))


def stands_for(articles: Sequence[dict[str, Any]]) -> str:
    titles: list[str] = [page["title"] for page in articles]
    return min(titles, key=lambda title: title_key("sample", title))


def answered(lake: Lake, asking: Interrogation, title: str, page_type: str) -> None:
    row = {
        "source": "sample",
        "batch": BATCH,
        "title": title,
        "title_key": title_key("sample", title),
        "item_id": str(title_key("sample", title)),
        "primary_type": page_type,
        "model": MODEL,
    }
    write(lake, asking.table, BATCH, [row])
    [written] = read_partition(lake, asking.table, BATCH)
    assert written["title_key"] == row["title_key"]


def proposal(lake: Lake) -> Row:
    store_type_proposals(lake, "sample")
    [found] = read_partition(lake, TYPE_PROPOSALS, "sample")
    return found


def test_a_template_is_asked_about_once_with_its_fields_and_some_articles(
    tmp_path: Path, asking: Interrogation
) -> None:
    articles = pages(9)
    [item] = items(lake_of(tmp_path, asking, articles), asking)
    assert item.problem is None
    assert item.subject == stands_for(articles)
    for shown in ("Template:Glorb", "mag", "Glorb", "It shines."):
        assert shown in item.user
    assert item.user.count("It shines.") == 5


@pytest.mark.parametrize(
    ("articles", "is_asked"),
    [
        (pages(4), False),
        (pages(5, LocationPlace=4), True),
        (pages(5, LocationPlace=4, Droid=1), False),
        (pages(5, LocationPlace=3, Droid=2), True),
    ],
    ids=["few are open", "few are settled", "the settled ones are clear", "the settled ones differ"],
)
def test_only_what_its_articles_do_not_say_is_asked(
    tmp_path: Path,
    asking: Interrogation,
    articles: Sequence[dict[str, Any]],
    is_asked: bool,  # noqa: FBT001 - as the table says
) -> None:
    assert bool(items(lake_of(tmp_path, asking, articles), asking)) is is_asked


def test_where_nothing_is_said_of_the_articles_the_answer_is_proposed(
    tmp_path: Path, asking: Interrogation
) -> None:
    articles = pages(6)
    lake = lake_of(tmp_path, asking, articles)
    assert proposal(lake)["proposed_type"] is None
    answered(lake, asking, stands_for(articles), PLACE)
    assert stale_type_proposals(lake, ["sample"]) == ["sample"]
    row = proposal(lake)
    assert (row["proposed_type"], row["share"], row["settles"]) == (PLACE, 0.55, 6)
    assert row["evidence"] == [{"type": PLACE, "voice": "asked", "pages": 0, "weight": 0.55}]
    assert stale_type_proposals(lake, ["sample"]) == []


@pytest.mark.parametrize(
    ("settled", "said", "proposed"),
    [
        ({"LocationPlace": 3, "Droid": 3}, PLACE, PLACE),
        ({"Droid": 4}, PLACE, None),
        ({"Droid": 20}, PLACE, "Droid"),
        ({"LocationPlace": 3, "Droid": 3}, "Unknown", None),
    ],
    ids=["it tips the balance", "more speaks for another", "the articles are clear", "it does not know"],
)
def test_the_answer_is_one_voice_beside_those_of_the_articles(
    tmp_path: Path, asking: Interrogation, settled: Mapping[str, int], said: str, proposed: str | None
) -> None:
    articles = pages(5, **settled)
    lake = lake_of(tmp_path, asking, articles)
    answered(lake, asking, stands_for(articles), said)
    assert proposal(lake)["proposed_type"] == proposed


def test_the_queue_says_that_a_model_was_asked(tmp_path: Path, asking: Interrogation) -> None:
    articles = pages(6)
    lake = lake_of(tmp_path, asking, articles)
    answered(lake, asking, stands_for(articles), PLACE)
    store_type_proposals(lake, "sample")
    store_review(lake, "sample")
    [question] = read_questions(lake)
    assert (question["kind"], question["proposed_type"]) == ("template", PLACE)
    assert "a model that was asked about the template says LocationPlace" in question["reason"]
