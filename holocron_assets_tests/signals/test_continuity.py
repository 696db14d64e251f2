"""Which continuity a page belongs to."""

import pytest
from signal_pages import signals

LEAD = "\n'''Issa''' was a captain."


@pytest.mark.parametrize(
    ("title", "top", "categories", "continuity"),
    [
        ("Issa/Legends", "", [], "legends"),
        ("Issa/Canon", "", [], "canon"),
        ("Issa (Legends)", "", [], "legends"),
        ("Issa", "{{Top|leg}}", [], "legends"),
        ("Issa", "{{top|fga|old|can|title=''x''}}", [], "canon"),
        ("Issa", "{{Top|italics=1|LEG<!-- x -->}}", [], "legends"),
        ("Issa", "{{Eras|legends}}", [], "legends"),
        ("Issa", "{{Top|rwm}}", [], "real"),
        ("Issa", "{{Top|real}}", [], "real"),
        ("Issa", "{{Top|canon=Other Issa}}", [], "legends"),
        ("Issa", "{{Top|legends=Other Issa}}", [], "canon"),
        ("Issa", "{{Top|canon=}}", [], "unknown"),
        ("Issa", "{{Top}}", [], "unknown"),
        ("Issa", "{{Top|old|imp}}", [], "unknown"),
        ("Issa", "", ["Canon articles"], "canon"),
        ("Issa", "", ["Captains", "Legends articles"], "legends"),
        ("Issa", "", ["Real-world people"], "real"),
        ("Issa", "", ["Legends audiobooks"], "unknown"),
        ("Issa", "{{Planet|leg|name=x|moons=2}}", [], "unknown"),
        ("Issa/Legacy", "", [], "unknown"),
        # conflicts: the title decides before markers, and markers before categories
        ("Issa/Legends", "{{Top|can}}", ["Canon articles"], "legends"),
        ("Issa", "{{Top|leg}}", ["Canon articles"], "legends"),
        ("Issa", "{{Top|leg|rwm}}", [], "real"),
        ("Issa", "{{Top|can|leg}}", [], "both"),
        ("Issa", "", ["Canon articles", "Legends articles"], "both"),
    ],
)
def test_continuity_follows_the_strongest_marker(
    title: str, top: str, categories: list[str], continuity: str
) -> None:
    assert signals(top + LEAD, title, categories=categories)["continuity"] == continuity


def test_every_marker_is_evidence_strongest_first() -> None:
    row = signals("{{Top|can}}" + LEAD + "[[Category:Legends articles]]", "Issa/Legends")
    assert row["continuity_evidence"] == [
        "title:/Legends=legends",
        "template:Top|can=canon",
        "category:Legends articles=legends",
    ]


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Issa/Legends", "Issa"),
        ("Issa (Legends)", "Issa"),
        ("Issa (captain)", "Issa (captain)"),
        ("Issa (captain)/Legends", "Issa (captain)"),
        ("A/B coupling", "A/B coupling"),
        ("User:Jim/Legends", "Jim"),
        ("/Legends", "/Legends"),
        ("Legends", "Legends"),
    ],
)
def test_the_name_is_the_title_without_namespace_and_continuity_suffix(title: str, name: str) -> None:
    assert signals(LEAD, title)["name"] == name
