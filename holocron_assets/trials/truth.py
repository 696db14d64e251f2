"""What is known of a sample's items: by people's decisions, the sheet of marked statements, and rules."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from holocron_assets.classify.decided_types import DECIDED_BY, DecidedTypes, read_decided_types
from holocron_assets.classify.rules import load_rules
from holocron_assets.decisions.log import standing
from holocron_assets.derive.items.items import Item
from holocron_assets.entities.facts.marked_statements import Marked
from holocron_assets.entities.facts.sentences import PageRead
from holocron_assets.entities.facts.vocabulary import load_vocabulary
from holocron_assets.lake.declaration.schema import Row, Table
from holocron_assets.lake.files.parquet import rows_there
from holocron_assets.lake.place.paths import Lake, source_of
from holocron_assets.lake.tables import (
    ENTITIES,
    ENTITY_FACTS,
    ENTITY_RELATIONS,
    PAGE_FACTS,
    PAGE_SIGNALS,
    RULE_CLASSIFICATIONS,
    SITES,
)
from holocron_assets.lake.views.database import connect, query
from holocron_assets.languages.language import language_code, load_language
from holocron_assets.trials.amounts import number_in, same_unit
from holocron_assets.trials.claims import Claim, plain
from holocron_assets.trials.comparison import Basis, Verdict

# A page may say a relation of another entity than its own. An infobox has the unit in the value.
_DECIDED = """
    select
        title_key, 'fact' as kind, '' as subject, fact_key as key, value as other, status,
        if(method = 'model', coalesce(unit, ''), '') as unit
    from lake.entity_facts
    where status in ('accepted', 'rejected') and list_contains($keys, title_key)
    union all
    select
        said.title_key, 'relation', if(of.title_key <> said.title_key, of.name, ''), relation, to_name,
        status, '' as unit
    from lake.entity_relations as said
    left join (
        from lake.entities
        where valid_to is null
        qualify row_number() over (partition by entity_id order by valid_from desc) = 1
    ) as of on of.entity_id = said.from_id
    where status in ('accepted', 'rejected') and list_contains($keys, said.title_key)
"""
_READ = ("source", "title_key", "kind", "key", "value", "target", "number", "unit")


@dataclass(frozen=True)
class Stated:
    """What an infobox says of its page's subject, under a key of the vocabulary.

    Attributes:
        value: the value, as written.
        target: the title that it leads to, if it does.
        number: the value as a number, if it is one.
        unit: the number's unit.
        decimal: the sign before decimals in the wiki's language.
    """

    value: str
    target: str | None = None
    number: float | None = None
    unit: str | None = None
    decimal: str = "."


class Truth:
    """What is known of some items."""

    def __init__(self, lake: Lake, items: Sequence[Item], marked: Iterable[Marked]) -> None:
        """Read it.

        Args:
            lake: where decisions and rules' readings are.
            items: the items.
            marked: the sheet.
        """
        self._decisions = standing(lake)
        self._marked: dict[str, list[Marked]] = defaultdict(list)
        for row in marked:
            self._marked[row.page].append(row)
        keys = {item.row["title_key"] for item in items if "title_key" in item.row}
        batches = sorted({item.partition for item in items if item.interrogation.over == "pages"})
        self._decided = _decided_statements(lake, keys) if self._decisions.statements else {}
        self._decided_types = _decided_types(lake, batches, keys)
        self._stated, self._types = _stated(lake, batches, keys), _certain_types(lake, batches, keys)

    def verdicts(self, item: Item, claim: Claim) -> dict[Basis, Verdict]:
        """How each basis judges a claim about an item; those that do not say are left out."""
        judged: dict[Basis, bool | None] = {
            "people": self._by_people(item, claim),
            "sheet": self._by_sheet(item, claim),
            "rules": self._by_rules(item, claim),
        }
        return {
            basis: "right" if is_right else "wrong"
            for basis, is_right in judged.items()
            if is_right is not None
        }

    def _by_people(self, item: Item, claim: Claim) -> bool | None:
        row = item.row
        if claim.kind == "type":
            decided = self._decided_types.get(row.get("title_key", -1))
            return None if decided is None else decided == claim.other
        if claim.kind == "pair" and "first_id" in row:
            decision = self._decisions.pairs.get(frozenset((row["first_id"], row["second_id"])))
            return None if decision is None else (decision["kind"] == "merge") == (claim.other == "same")
        return self._decided.get((row.get("title_key", -1), claim.identity))

    def _by_sheet(self, item: Item, claim: Claim) -> bool | None:
        for row in self._marked.get(item.row.get("title", ""), ()):
            subject = "" if PageRead(row.page, "").is_own(row.subject) else row.subject
            one = Claim(row.kind, subject, row.key, row.other)
            if one.identity == claim.identity and row.mark != "unclear":
                return row.mark == "right"
        return None

    def _by_rules(self, item: Item, claim: Claim) -> bool | None:
        key = item.row.get("title_key", -1)
        if claim.kind == "type":
            certain = self._types.get(key)
            return None if certain is None else certain == claim.other
        if claim.kind == "pair":
            return None
        seen = _from_the_page(claim, PageRead(item.row.get("title", ""), ""))
        if seen is None:
            return None
        agreeing = [is_stated(seen, stated) for stated in self._stated.get((key, seen.kind, seen.key), ())]
        if True in agreeing:
            return True
        return False if agreeing and None not in agreeing and is_single(seen) else None


def is_stated(claim: Claim, stated: Stated) -> bool | None:
    """Whether an infobox's value is a claim's; None if one is part of the other, or their units differ."""
    known = {plain(stated.value), plain(stated.target or "")} - {""}
    said = plain(claim.other)
    if said in known or plain(f"{claim.other} {claim.unit}") in known:
        return True
    found = number_in(claim.other, stated.decimal)
    if found and stated.number is not None:
        number, unit = found[0], claim.unit or found[1]
        if unit and stated.unit and not same_unit(unit, stated.unit):
            return None
        return number == stated.number
    words = set(said.split())
    return None if any(words & set(one.split()) for one in known) else False


def is_single(claim: Claim) -> bool:
    """Whether only one value of a claim's key can be true, by the vocabulary."""
    file = load_vocabulary().file
    entry = file.facts.get(claim.key) if claim.kind == "fact" else file.relations.get(claim.key)
    return entry is not None and entry.single


def _from_the_page(claim: Claim, page: PageRead) -> Claim | None:
    """A claim as seen from the page's own subject; None if it is about others."""
    if not claim.subject:
        return claim
    relation = load_vocabulary().relations.get(claim.key) if claim.kind == "relation" else None
    if relation is None or relation.inverse is None or not page.is_own(claim.other):
        return None
    return Claim("relation", "", relation.inverse, claim.subject)


def _decided_statements(lake: Lake, keys: Iterable[int]) -> dict[tuple[int, Any], bool]:
    """Whether people accepted each statement that they decided on, by page and identity."""
    with connect(lake, tables=[ENTITIES, ENTITY_FACTS, ENTITY_RELATIONS]) as connection:
        rows = query(connection, _DECIDED, {"keys": list(keys)})
    parts = ("kind", "subject", "key", "other", "unit")
    return {
        (row["title_key"], Claim(*(row[part] for part in parts)).identity): row["status"] == "accepted"
        for row in rows
    }


def _stated(
    lake: Lake, batches: Sequence[str], keys: Iterable[int]
) -> Mapping[tuple[int, str, str], Sequence[Stated]]:
    """What infoboxes say, by title key, kind and key of the vocabulary."""
    words, wanted = load_vocabulary(), set(keys)
    also: dict[str, list[str]] = defaultdict(list)
    for same in words.same_relations():
        if not same["is_turned"]:
            also[same["said"]].append(same["key"])
    decimals = {source: _decimal(lake, source) for source in map(source_of, batches)}
    found: dict[tuple[int, str, str], list[Stated]] = defaultdict(list)
    for row in _rows(lake, PAGE_FACTS, batches, _READ):
        if row["title_key"] in wanted and row["kind"] in {"fact", "relation"}:
            own = words.key_of(row["kind"], row["key"]) or row["key"]
            stated = Stated(row["value"], row["target"], row["number"], row["unit"], decimals[row["source"]])
            for key in {own, *(also[row["key"]] if row["kind"] == "relation" else ())}:
                found[row["title_key"], row["kind"], key].append(stated)
    return found


def _decimal(lake: Lake, source: str) -> str:
    """The sign before decimals in the language of a source's wiki."""
    stated = next((row["language"] for row in rows_there(lake, SITES, source, ("language",))), None)
    return load_language(language_code(stated)).values.decimal


def _decided_types(lake: Lake, batches: Iterable[str], keys: AbstractSet[int]) -> Mapping[int, str]:
    """The types that people decided, of pages or of what these share with others, by title key."""
    decided, found = read_decided_types(lake), {}
    for batch in batches:
        decisions = DecidedTypes(decided(batch))
        rules = {row["title_key"]: row for row in rows_there(lake, RULE_CLASSIFICATIONS, batch)}
        for signals in rows_there(lake, PAGE_SIGNALS, batch, DECIDED_BY):
            key = signals["title_key"]
            if key in keys and key in rules and (decision := decisions.about(signals, rules[key])):
                found[key] = decision["value"]
    return found


def _certain_types(lake: Lake, batches: Iterable[str], keys: Iterable[int]) -> Mapping[int, str]:
    """The types of which the rules are certain, by title key."""
    settled, wanted = load_rules().weighing.settled, set(keys)
    rows = _rows(lake, RULE_CLASSIFICATIONS, batches, ("title_key", "primary_type", "confidence"))
    return {
        row["title_key"]: row["primary_type"]
        for row in rows
        if row["title_key"] in wanted and row["confidence"] >= settled
    }


def _rows(lake: Lake, table: Table, partitions: Iterable[str], columns: Sequence[str]) -> list[Row]:
    return [row for partition in partitions for row in rows_there(lake, table, partition, columns)]
