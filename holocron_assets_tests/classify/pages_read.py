"""Rows of table page_signals, written by hand: what was read off a page."""

from collections.abc import Sequence
from typing import Any

from holocron_assets.classify.rules import classify_page
from holocron_assets.lake.declaration.schema import Row


def signals(title: str, lead: str = "", **changed: Any) -> dict[str, Any]:
    """Signals of an article with a lead of one sentence, and whatever else is given."""
    row: dict[str, Any] = {
        "source": "sample",
        "batch": "sample-000001",
        "title": title,
        "title_key": 17,
        "namespace": 0,
        "page_id": 4,
        "revision_id": 40,
        "name": title.removesuffix("/Legends"),
        "continuity": "unknown",
        "continuity_evidence": [],
        "lead_sentence": lead or None,
        "lead_excerpt": lead or None,
        "infobox_template": None,
        "infobox_fields": [],
        "categories": [],
        "is_redirect": False,
        "redirect_target": None,
        "is_disambiguation": False,
        "is_list": False,
        "timeline_markers": [],
    }
    assert changed.keys() <= row.keys()
    return row | changed


def fields(*names: str) -> list[dict[str, str]]:
    return [{"name": name, "value": "something"} for name in names]


def typed(title: str, lead: str = "", **changed: Any) -> Row:
    """The rules' answer for a page (see `signals`)."""
    return classify_page(signals(title, lead, **changed))


def by_lead(lead: str, title: str = "Vessa") -> tuple[str, bool]:
    """Type of a page that has nothing but a lead, and whether that settles it."""
    answer = typed(title, lead)
    return answer["primary_type"], answer["confidence"] >= 0.8


def by_categories(*categories: str, title: str = "Vessa") -> tuple[str, float]:
    answer = typed(title, categories=list(categories))
    return answer["primary_type"], answer["confidence"]


def rules_of(answer: Row) -> Sequence[str]:
    return [piece["rule_id"] for piece in answer["evidence"]]
