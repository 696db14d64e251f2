"""A lake with something of every kind to review: small, whole, and made of declared rows alone."""

import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from holocron_assets.entities.identity.identity import entity_id
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import Row, Table
from holocron_assets.lake.files.parquet import write_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import (
    ENTITIES,
    ENTITY_ALIASES,
    ENTITY_FACTS,
    ENTITY_JUDGEMENTS,
    ENTITY_RELATIONS,
    ENTITY_TAGS,
    PAGE_LINKS,
    PAGE_SIGNALS,
    PAGE_TYPES,
    PAGES,
    RULE_CLASSIFICATIONS,
    SITES,
    TYPE_PREDICTIONS,
)
from holocron_assets.review.store import store_review

SOURCE = "sample"
BATCH = "sample-000001"
PERSON = "PersonCharacter"
MADE_AT = datetime(2026, 3, 1, tzinfo=UTC)
HOSTILE = "<script>alert(1)</script> \"quoted\" & 'sly' \u202egpj.exe"

NEM, ALSO_NEM, MENTIONED, QUAY, OSK = (
    entity_id(SOURCE, title)
    for title in ("Nem Sixfinger", "Nem Six-Finger", "N. Sixfinger", "Old Quay", "Osk")
)
PAIR = "+".join(sorted([NEM, ALSO_NEM]))

_NEM_TEXT = """{{Character
|name=Nem Sixfinger
|homeworld=[[Varn]], later [[Rothe]]
|species=[[Saltback]]
}}
'''Nem Sixfinger''' was a player of shoal-chess from [[Varn]]. She sailed on the ''Patient Heron''.
"""
_TEXTS = {
    "Shoal-chess": "{{Game\n|players=2 to 9\n}}\n'''Shoal-chess''' was a game of [[Nem Sixfinger]]'s.\n",
    HOSTILE: "<img src=x onerror=alert(2)> said {{Game}} \u202eolleh\n</div></main><script>alert(3)</script>",
    "Nem Sixfinger": _NEM_TEXT,
    "Nem Six-Finger": "'''Nem Six-Finger''' is told of in [[The Heron's Debt]].\n",
    "Old Quay": "'''Old Quay''' was a quay.\n",
    "Osk": "{{Planet}}\n",
}
_SOME = {
    pa.string(): "told by a test",
    pa.int64(): 0,
    pa.float64(): 0.9,
    pa.bool_(): False,
    pa.timestamp("us", tz="UTC"): MADE_AT,
}


def review_lake(folder: Path) -> Lake:
    """The lake, with its queue."""
    lake = Lake(folder)
    write(lake, SITES, SOURCE, [{"namespaces": [], "extensions": []}])
    write(lake, PAGES, BATCH, [_page(place, title) for place, title in enumerate(_TEXTS)])
    write(lake, PAGE_SIGNALS, BATCH, [_signals(title) for title in _TEXTS])
    write(lake, PAGE_TYPES, BATCH, [_type(title) for title in _TEXTS])
    write(lake, RULE_CLASSIFICATIONS, BATCH, [_rules(title) for title in _TEXTS])
    write(lake, TYPE_PREDICTIONS, SOURCE, [_prediction(title) for title in ("Shoal-chess", HOSTILE)])
    write(lake, PAGE_LINKS, BATCH, [_link(title, "Shoal-chess") for title in ("Osk", "Old Quay")])
    write(lake, ENTITIES, PERSON, _people())
    write(lake, ENTITIES, "LocationPlace", [_entity("Old Quay"), _entity("Osk")])
    names = {NEM: "Nem Sixfinger", ALSO_NEM: "Nem Six-Finger"}
    write(
        lake, ENTITY_ALIASES, PERSON, [_alias(NEM, "The Leaky Compass"), *map(_alias, names, names.values())]
    )
    write(lake, ENTITY_JUDGEMENTS, PERSON, _judgements())
    write(lake, ENTITY_FACTS, PERSON, _facts())
    write(lake, ENTITY_RELATIONS, PERSON, [_relation()])
    write(
        lake,
        ENTITY_TAGS,
        PERSON,
        [{"entity_id": NEM, "tag_id": "topic:games", "from_title": "Nem Sixfinger"}],
    )
    store_review(lake, SOURCE)
    return lake


def copied(lake: Lake, folder: Path) -> Lake:
    """A lake that holds the same, to be changed."""
    shutil.copytree(lake.root, folder, dirs_exist_ok=True)
    return Lake(folder, lake.derived_tables)


def write(lake: Lake, table: Table, partition: str, rows: Sequence[Row]) -> None:
    """Write rows, with something in every column that they leave out and that must hold something."""
    write_partition(lake, table, partition, [_whole(table, row) for row in rows])


def _whole(table: Table, row: Row) -> Row:
    named = {"source": SOURCE, "batch": BATCH, "revision_id": 7, "entity_type": PERSON}
    if "title" in row:
        named["title_key"] = title_key(SOURCE, row["title"])
    given = {**named, **row}
    return {
        column.name: given.get(column.name, None if column.nullable else _SOME.get(column.type, []))
        for column in table.columns
    }


def _page(place: int, title: str) -> dict[str, Any]:
    key = title_key(SOURCE, title)
    asked = {"requested_title": title, "requested_key": key, "position": place, "page_id": 100 + place}
    return {"title": title, **asked, "status": "ok", "wikitext": _TEXTS[title], "revision_at": MADE_AT}


def _signals(title: str) -> dict[str, Any]:
    lead = _TEXTS[title].rpartition("'''")[0] and f"{title} was told of, <b>boldly</b>."
    fields = [{"name": "homeworld", "value": "Varn"}] if title == "Nem Sixfinger" else []
    return {"title": title, "lead_excerpt": lead or None, "infobox_fields": fields}


def _type(title: str) -> dict[str, Any]:
    is_unsure = title in {"Shoal-chess", HOSTILE}
    types = [{"type": "Concept", "weight": 0.61}, {"type": "WorkMedia", "weight": 0.23}]
    settled = {
        "primary_type": "Concept" if is_unsure else PERSON,
        "confidence": 0.61 if is_unsure else 0.95,
        "needs_review": is_unsure,
        "types": types,
        "rules_type": "Concept",
        "method": "rules",
    }
    asked = {"model": "small:1b", "model_type": "WorkMedia", "model_confidence": 0.8}
    return {"title": title, **settled, **(asked if title == "Shoal-chess" else {})}


def _prediction(title: str) -> Row:
    reasons = [("title word: chess", 1.5), (f"link: {HOSTILE}", -0.5)]
    return {
        "title": title,
        "primary_type": "WorkMedia",
        "probability": 0.93,
        "second_type": "Concept",
        "second_probability": 0.05,
        "reasons": [{"feature": feature, "weight": weight} for feature, weight in reasons],
    }


def _rules(title: str) -> dict[str, Any]:
    fired = {
        "rule_id": "infobox.game",
        "stage": "infobox",
        "type": "Concept",
        "confidence": 0.72,
        "reason": "The template is for games",
        "matched": "Game",
    }
    return {"title": title, "primary_type": "Concept", "evidence": [fired] if "Game" in _TEXTS[title] else []}


def _link(from_title: str, target: str) -> dict[str, Any]:
    keys = {"from_key": title_key(SOURCE, from_title), "target_key": title_key(SOURCE, target)}
    return {"from_title": from_title, "target": target, "kind": "link", **keys}


def _entity(title: str, state: str = "candidate", **more: Any) -> dict[str, Any]:
    reasons = {"Old Quay": {"review_reason": "page deleted", "review_since": MADE_AT, "state": "suppressed"}}
    columns = {"entity_id": entity_id(SOURCE, title), "title": title, "name": title, "continuity": "canon"}
    of_type = {} if title.startswith("N") else {"entity_type": "LocationPlace"}
    return {**columns, **of_type, "origin": "page", "state": state, **reasons.get(title, {}), **more}


def _people() -> list[dict[str, Any]]:
    return [
        _entity("Nem Sixfinger", "promoted"),
        _entity("Nem Six-Finger", "promoted", continuity="legends"),
        _entity("N. Sixfinger", "merged", origin="mention", merged_into=NEM),
    ]


def _alias(identifier: str, alias: str) -> dict[str, Any]:
    return {"entity_id": identifier, "alias": alias, "kind": "redirect"}


def _judgements() -> list[dict[str, Any]]:
    first, second = PAIR.split("+")
    proposed = {"proposal": "same", "proposed_by": "small:1b", "proposal_confidence": 0.7}
    unsure = {"pair_id": PAIR, "first_id": first, "second_id": second, "judgement": "unsure", "score": 0.93}
    one, other = sorted([NEM, MENTIONED])
    same = {"pair_id": f"{one}+{other}", "first_id": one, "second_id": other, "judgement": "same"}
    return [{**unsure, **proposed}, {**same, "is_followed": True, "reason": "one name, once normalised"}]


def fact(fact_id: str, key: str, value: str, evidence: str, **more: Any) -> dict[str, Any]:
    """A row of `entity_facts` of Nem Sixfinger."""
    place = _NEM_TEXT.find(evidence)
    span = {"evidence_start": place, "evidence_end": place + len(evidence)} if place >= 0 else {}
    statement = {
        "fact_id": fact_id,
        "entity_id": NEM,
        "fact_key": key,
        "value": value,
        "title": "Nem Sixfinger",
    }
    said = {"evidence": evidence, "supported": place >= 0, "method": "infobox", "status": "stated"}
    return {**statement, **span, **said, "rule_id": "generic:field", **more}


def _facts() -> list[dict[str, Any]]:
    return [
        fact("fact-varn", "homeworld", "Varn", "[[Varn]]", is_disputed=True),
        fact("fact-rothe", "homeworld", "Rothe", "later [[Rothe]]", is_disputed=True, confidence=0.8),
        fact("fact-species", "species", "Saltback", "species=[[Saltback]]"),
        fact("fact-rank", "rank", "Admiral", "she was an admiral", status="unsupported", method="model"),
    ]


def _relation() -> dict[str, Any]:
    said = {"evidence": "She sailed on the ''Patient Heron''", "supported": True, "status": "stated"}
    statement = {
        "relation_id": "relation-heron",
        "from_id": NEM,
        "relation": "sailed_on",
        "to_name": "Patient Heron",
    }
    return {**statement, **said, "title": "Nem Sixfinger", "method": "model", "model": "small:1b"}
