"""The review lake with more pages and entities, of which some are alike."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from review_lake import MADE_AT, review_lake, write

from holocron_assets.entities.identity.identity import entity_id
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import ENTITIES, PAGE_SIGNALS, PAGE_TYPES, PAGES
from holocron_assets.review.queue import read_questions
from holocron_assets.review.store import store_review

SOURCE = "sample"
SECOND_BATCH = "sample-000002"
PLACE = "LocationPlace"
SCRIPT = "<script>alert(4)</script>"

SYSTEMS = dict.fromkeys(("Varn system", "Rothe system", "Osk system"), "Star system")
"""Pages of one template, with the template."""

_UNSURE: dict[str, tuple[str | None, str, list[str]]] = {
    **{title: (template, PLACE, ["place.land"]) for title, template in SYSTEMS.items()},
    "A droid that orbits": ("Star system", "Droid", ["droid"]),
    "A moon": ("Moon", PLACE, ["place.land"]),
    "Quartermaster": (None, "Concept", ["concept.role"]),
    "Boatswain": (None, "Concept", ["concept.role", "concept"]),
    "One oddity": (SCRIPT, "Unknown", []),
    "Another oddity": (SCRIPT, "Unknown", []),
    "Nothing known": (None, "Unknown", []),
    "Nothing known either": (None, "Unknown", []),
}
"""Template, type and rules of pages whose type is unsure."""

PLANETS = {"Ithra": "few facts", "Gort": "few facts", "Nal": "few facts", "Ulm": "the page has no lead"}
"""Candidates of one type and template, each with what it lacks."""

LISTED = ("Far Reef", "Near Reef")
"""Candidates that only lists name."""

SYSTEM_QUESTION = "3 pages with the infobox template Star system may be LocationPlace"
RULE_QUESTION = "2 pages with the strongest rule concept.role may be Concept"
ODD_QUESTION = f"2 pages with the infobox template {SCRIPT} have no proposed type"
PLANET_QUESTION = "3 LocationPlace entities with the infobox template Planet, not promoted: few facts"
LISTED_QUESTION = "2 LocationPlace entities that only lists name, not promoted: it has no page"


def alike_lake(folder: Path) -> Lake:
    """The lake, with its queue."""
    lake = review_lake(folder)
    titles = [*_UNSURE, *PLANETS]
    write(lake, PAGES, SECOND_BATCH, [_page(place, title) for place, title in enumerate(titles)])
    write_signals(lake)
    write_types(lake)
    planets = [_planet(title, lacking) for title, lacking in PLANETS.items()]
    write(lake, ENTITIES, PLACE, [*planets, *map(_listed, LISTED)])
    store_review(lake, SOURCE)
    return lake


def write_types(lake: Lake, **changed: Any) -> None:
    """Write the types of the pages, with some columns of the star systems changed."""
    write(lake, PAGE_TYPES, SECOND_BATCH, list(_types(changed)))


def write_signals(lake: Lake, **templates: str) -> None:
    """Write the signals of the pages, some with another template than at first."""
    first = {**{title: about[0] for title, about in _UNSURE.items()}, **dict.fromkeys(PLANETS, "Planet")}
    rows = [_in_batch(name, infobox_template=template) for name, template in {**first, **templates}.items()]
    write(lake, PAGE_SIGNALS, SECOND_BATCH, rows)


def asked(lake: Lake, subject: str) -> Row:
    """The one question of a subject."""
    [found] = (row for row in read_questions(lake) if row["subject"] == subject)
    return found


def titles_of(question: Row) -> set[str]:
    """The titles of the members of a question."""
    return {row["title"] for row in question["members"]}


def _in_batch(title: str, **columns: Any) -> dict[str, Any]:
    return {"title": title, "batch": SECOND_BATCH, **columns}


def _page(place: int, title: str) -> dict[str, Any]:
    asked_for = {
        "requested_title": title,
        "requested_key": title_key(SOURCE, title),
        "position": place,
        "page_id": 200 + place,
    }
    return _in_batch(title, **asked_for, status="ok", wikitext=f"'''{title}'''", revision_at=MADE_AT)


def _types(changed: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for title, (_, type_name, rules) in _UNSURE.items():
        weighted = [{"type": type_name, "weight": 0.6}]
        settled = {"primary_type": type_name, "rules_type": type_name, "rule_ids": rules, "types": weighted}
        columns = {**settled, "confidence": 0.6, "needs_review": True, "method": "rules"}
        yield _in_batch(title, **(columns | (changed if title in SYSTEMS else {})))
    for title in PLANETS:
        sure = {"primary_type": PLACE, "rules_type": PLACE, "rule_ids": ["place.land"], "confidence": 0.95}
        yield _in_batch(title, **sure, needs_review=False, method="rules")


def _planet(title: str, lacking: str) -> dict[str, Any]:
    of_type = {"entity_id": entity_id(SOURCE, title), "entity_type": PLACE, "name": title, "origin": "page"}
    state = {"state": "candidate", "state_reason": f"Not promoted: {lacking}"}
    return _in_batch(title, **of_type, **state, rule_ids=["place.land"], continuity="canon")


def _listed(title: str) -> dict[str, Any]:
    named = {**_planet(title, "it has no page"), "origin": "mention", "rule_ids": [], "page_id": None}
    return {**named, "title": title}
