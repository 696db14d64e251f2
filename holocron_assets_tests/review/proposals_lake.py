"""A lake whose open pages share an infobox template that no rule knows, or a category, with a queue."""

from pathlib import Path
from typing import Any

from article_lake import article_lake

from holocron_assets.classify.learned.proposals import store_type_proposals
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.place.paths import Lake
from holocron_assets.review.queue import read_questions
from holocron_assets.review.store import store_review

SOURCE = "sample"
PLACE = "LocationPlace"
GLORBS = tuple(f"Glorb {place}" for place in range(6))
LIGHTS = tuple(f"Light {place}" for place in range(5))
GLORB_QUESTION = "6 articles with the infobox Template:Glorb"
LIGHT_QUESTION = "5 articles in Category:Lights"
BLOB_QUESTION = "5 articles with the infobox Template:Blob"


def proposals_lake(folder: Path, **more: dict[str, Any]) -> Lake:
    """The lake; `more` has further columns of pages, by their titles with `_` for a space."""
    pages: list[dict[str, Any]] = [
        {"title": title, "infobox_template": "Glorb", "categories": ["Lights"]} for title in GLORBS
    ]
    pages += [{"title": title, "categories": ["Lights", "Stubs"]} for title in LIGHTS]
    pages += [{"title": f"Blob {place}", "infobox_template": "Blob"} for place in range(5)]
    pages += [_settled(f"Place {place}", PLACE, infobox_template="Glorb") for place in range(8)]
    pages += [_settled(f"Idea {place}", "Concept", categories=["Lights"]) for place in range(40)]
    pages += [
        _settled(f"Stub {place}", name, categories=["Stubs"]) for place, name in enumerate(("Droid", PLACE))
    ]
    pages += [{"title": "Alone"}]
    changed = {title.replace("_", " "): columns for title, columns in more.items()}
    lake = article_lake(folder, sample_000001=[{**page, **changed.get(page["title"], {})} for page in pages])
    make_queue(lake)
    return lake


def make_queue(lake: Lake) -> None:
    """Make the proposals and the queue, as the next run does."""
    store_type_proposals(lake, SOURCE)
    store_review(lake, SOURCE)


def asked(lake: Lake, subject: str) -> Row:
    """The one question of a subject."""
    [found] = (row for row in read_questions(lake) if row["subject"] == subject)
    return found


def _settled(title: str, page_type: str, **columns: Any) -> dict[str, Any]:
    sure = {"primary_type": page_type, "needs_review": False, "confidence": 0.95}
    return {"title": title, **sure, **columns}
