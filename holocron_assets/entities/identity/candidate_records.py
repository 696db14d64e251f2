"""Records of a type's candidates: the values by which each is compared with others."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from holocron_assets.entities.identity.evidence.interlanguage import address
from holocron_assets.entities.identity.identity import is_mention
from holocron_assets.entities.identity.records import Record
from holocron_assets.entities.names.aliases import redirects_to
from holocron_assets.entities.snapshot import Snapshot
from holocron_assets.entities.type_now import IdentifiedMark
from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.declaration.schema import Row

_NAMES = frozenset({"name", "mention"})
_BETWEEN = str.maketrans("", "", " -")
_WITH_DIGITS = frozenset({"imdb", "wikidata"})
"""Shipped keys of identifiers, all of whose values have digits. Those of people's rules may have none."""
_NUMBERS = frozenset({"isbn", "issn", "ean"})
"""Shipped keys of identifiers that are numbers, which pages write in several ways."""
_BESIDE_A_NUMBER = re.compile(r"[(\[{<][^)\]}>]*|\b(?:isbn|issn|ean)(?:[- ]?1[03](?=:|\s))?")
"""What stands in brackets, and the names of numbers ("ISBN-13:")."""
_NO_DIGIT = re.compile(r"[^0-9x]|x(?=.*[0-9x])")
_LENGTHS = frozenset({8, 10, 12, 13})
_OF_OLD_BOOKS = 10
_BOOKS = "978"


class _Said(NamedTuple):
    """What is said of a page beside its own row, sorted; see `Record`."""

    names: tuple[str, ...] = ()
    external_ids: tuple[str, ...] = ()
    singled_out_by: tuple[str, ...] = ()
    related: tuple[str, ...] = ()
    to_merge: tuple[str, ...] = ()
    interlanguage: tuple[str, ...] = ()


_NOTHING = _Said()


def records_of(
    candidates: Iterable[Row], snapshot: Snapshot, singling_out: Sequence[Sequence[str]]
) -> Iterator[Record]:
    """The records of candidates.

    Args:
        candidates: rows of `entity_candidates` with `origin` and `entity_id`.
        snapshot: of the lake that says more of them.
        singling_out: sets of keys of facts; if all values of a set are equal, they single a thing out.
    """
    wikis = snapshot.wikis
    for row in candidates:
        said = _said(row["title_key"], snapshot, singling_out)
        yield Record(
            entity_id=row["entity_id"],
            entity_type=row["entity_type"],
            source=row["source"],
            wiki=wikis.get(row["source"], row["source"]),
            page_id=row["page_id"],
            title=row["title"],
            batch=row["batch"],
            continuity=row["continuity"],
            origin=row["origin"],
            name=row["name"],
            names=tuple(name for name in said.names if name != row["name"]),
            external_ids=said.external_ids,
            singled_out_by=said.singled_out_by,
            related=said.related,
            to_merge=said.to_merge,
            addresses=_addresses(row, snapshot),
            interlanguage=said.interlanguage,
        )


def marks_of(
    identified: Iterable[IdentifiedMark], snapshot: Snapshot, singling_out: Sequence[Sequence[str]]
) -> dict[str, str]:
    """By entity id, a mark of all values of its record: if it changes, the record must be compared again.

    Args:
        identified: from `TypeNow.marks`.
        snapshot: of the lake that says more of them.
        singling_out: as in `records_of`.
    """
    wikis, marks = snapshot.wikis, dict[str, str]()
    for one in identified:
        said = _said(one.title_key, snapshot, singling_out)
        own = f"{one.mark:x} {wikis.get(one.source, one.source)} {snapshot.languages.get(one.source, '')}"
        marks[one.entity_id] = own if said is _NOTHING else f"{own} {content_hash(repr(said))}"
    return marks


def _said(key: int, snapshot: Snapshot, singling_out: Sequence[Sequence[str]]) -> _Said:
    redirects, stated = snapshot.redirects_now, snapshot.stated_names.get(key, ())
    to_merge, linked = snapshot.merger_notices.get(key, ()), snapshot.interlanguage_links.get(key, ())
    if not stated and not to_merge and not linked and key not in redirects:
        return _NOTHING
    names = {each["name"] for each in redirects_to(key, redirects)} if key in redirects else set()
    names |= {each["value"] for each in stated if each["kind"] in _NAMES}
    return _Said(
        tuple(sorted(names)),
        tuple(sorted(_identifiers(stated))),
        tuple(_singled_out_by(stated, singling_out)),
        tuple(sorted({each["target"] for each in stated if each["kind"] == "relation"} - {None})),
        to_merge,
        linked,
    )


def _addresses(candidate: Row, snapshot: Snapshot) -> tuple[str, ...]:
    """The addresses of a page and of redirects to it; none of a name that only a list gives."""
    language = snapshot.languages.get(candidate["source"])
    if language is None or is_mention(candidate):
        return ()
    redirects = redirects_to(candidate["title_key"], snapshot.redirects_now)
    titles = {candidate["title"], *(each["from_title"] for each in redirects)}
    return tuple(sorted(address(language, title) for title in titles))


def _singled_out_by(stated: Sequence[Row], singling_out: Sequence[Sequence[str]]) -> Iterator[str]:
    """Each complete set of facts, with its values in order."""
    for keys in singling_out:
        values = [sorted({row["value"].casefold() for row in stated if row["key"] == key}) for key in keys]
        if all(values):
            yield "; ".join(f"{key}={', '.join(each)}" for key, each in zip(keys, values, strict=True))


def _identifiers(stated: Sequence[Row]) -> set[str]:
    ids = ((each["key"], each["value"].casefold()) for each in stated if each["kind"] == "external_id")
    return {f"{key}:{identifier}" for key, value in ids if (identifier := _identifier(key, value))}


def _identifier(key: str, value: str) -> str:
    """An identifier as all write it alike; empty if the value identifies nothing."""
    if key in _NUMBERS:
        return _number(value, is_book=key == "isbn")
    return value.translate(_BETWEEN) if _is_id(key, value) else ""


def _number(value: str, *, is_book: bool) -> str:
    """The digits of "ISBN 0-345-44610-7 (hardcover)", as 13 of them for a book; empty for "TBA 2023"."""
    number = _NO_DIGIT.sub("", _BESIDE_A_NUMBER.sub("", value))
    if len(number) not in _LENGTHS or len(set(number)) == 1:
        return ""
    return _of_thirteen(number) if is_book and len(number) == _OF_OLD_BOOKS else number


def _of_thirteen(number: str) -> str:
    """The ISBN of 13 digits of one of 10."""
    digits = _BOOKS + number[:-1]
    weighed = sum(int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(digits))
    return f"{digits}{-weighed % 10}"


def _is_id(key: str, value: str) -> bool:
    """Whether a value identifies something. Many pages say "-", "unknown" or "IMDb profile"."""
    if any(map(str.isdigit, value)):
        return True
    return key not in _WITH_DIGITS and any(map(str.isalpha, value)) and not any(map(str.isspace, value))
