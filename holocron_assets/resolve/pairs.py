"""Which standing entities may be one: they go by the same name, however that is written."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from operator import attrgetter, itemgetter
from typing import NamedTuple

from holocron_assets.lake.schema import Row

MOST_TOGETHER = 20
"""Entities of one name that are compared each with each. Of more, neighbours are: work stays linear."""

_SUFFIX = re.compile(r"\s*\([^()]*\)\s*$")


class _Name(NamedTuple):
    """A name of an entity: its own, or one more that it goes by."""

    is_own: bool
    text: str


class _Likeness(NamedTuple):
    score: float
    reason: str
    is_exact: bool


def name_key(name: str) -> str:
    """What is left of a name without case, accents, punctuation, spaces and a suffix in parentheses.

    Args:
        name: a title or an alias.

    Returns:
        Letters and digits; empty for a name that has none.
    """
    bare = _SUFFIX.sub("", name) or name
    decomposed = unicodedata.normalize("NFKD", bare.casefold())
    return "".join(character for character in decomposed if character.isalnum())


def pair_rows(entities: Iterable[Row], aliases: Iterable[Row]) -> list[Row]:
    """All rows of `entity_pairs` of one type.

    Only entities of one continuity are paired: one in canon and one in legends are two by definition.

    Args:
        entities: current rows of `entities` of one type; suppressed ones are passed over.
        aliases: their rows of `entity_aliases`.

    Returns:
        A row for each pair, by its id.
    """
    held = {row["entity_id"]: row for row in entities if row["state"] != "suppressed"}
    found: dict[tuple[str, str], _Likeness] = {}
    for names in _by_name(held, aliases):
        for one, other in _compared(names, held):
            pair = (min(one, other), max(one, other))
            likeness = _likeness(names[one], names[other], held[one], held[other])
            found[pair] = max(likeness, found.get(pair, likeness), key=attrgetter("score"))
    return [_row(held[first], held[second], found[first, second]) for first, second in sorted(found)]


def _by_name(held: Mapping[str, Row], aliases: Iterable[Row]) -> Iterator[Mapping[str, _Name]]:
    """Entities of one continuity that share a name, each with the best of its names that are so."""
    groups: defaultdict[tuple[str, str], dict[str, _Name]] = defaultdict(dict)
    names = [(identifier, _Name(is_own=True, text=row["name"])) for identifier, row in held.items()]
    names += [
        (row["entity_id"], _Name(is_own=False, text=row["alias"]))
        for row in sorted(aliases, key=itemgetter("entity_id", "kind", "alias"))
        if row["entity_id"] in held
    ]
    for identifier, name in names:
        if key := name_key(name.text):
            groups[held[identifier]["continuity"], key].setdefault(identifier, name)
    return (group for group in groups.values() if len(group) > 1)


def _compared(names: Mapping[str, _Name], held: Mapping[str, Row]) -> Iterator[tuple[str, str]]:
    if len(names) <= MOST_TOGETHER:
        return combinations(names, 2)
    return pairwise(sorted(names, key=lambda identifier: (held[identifier]["title"], identifier)))


def _likeness(one: _Name, other: _Name, first: Row, second: Row) -> _Likeness:
    if one.is_own and other.is_own:
        return _Likeness(1.0, f"both are called {one.text!r}", is_exact=True)
    if one.is_own or other.is_own:
        named, owner = (other, second) if one.is_own else (one, first)
        return _Likeness(0.9, f"{owner['name']!r} also goes by {named.text!r}", is_exact=False)
    return _Likeness(0.8, f"both also go by {one.text!r}", is_exact=False)


def _row(first: Row, second: Row, likeness: _Likeness) -> Row:
    sides: Sequence[tuple[str, Row]] = (("first", first), ("second", second))
    columns = {"id": "entity_id", "source": "source", "title": "title", "batch": "batch"}
    return {
        "pair_id": f"{first['entity_id']}+{second['entity_id']}",
        "entity_type": first["entity_type"],
        **{f"{side}_{name}": row[column] for side, row in sides for name, column in columns.items()},
        "continuity": first["continuity"],
        **likeness._asdict(),
    }
