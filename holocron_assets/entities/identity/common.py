"""Pages, identifiers and names that records have in common exactly."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple
from zlib import crc32

import numpy as np

from holocron_assets.entities.identity.blocking import Wanted, neighbours
from holocron_assets.entities.identity.evidence.spelling import SpellingReader
from holocron_assets.entities.identity.likeness import blocks_of as name_blocks
from holocron_assets.entities.identity.policy import ExactKind
from holocron_assets.entities.identity.records import Record, page_of
from holocron_assets.entities.names.names import NameParts, NameReader, WordRules


class Name(NamedTuple):
    """A name of a record.

    Attributes:
        record: place of the record.
        is_own: whether it is the record's own name, and no further one.
        text: as written.
        parts: the parsed name.
    """

    record: int
    is_own: bool
    text: str
    parts: NameParts


class Common(NamedTuple):
    """Something that two records have in common.

    Attributes:
        one: place of the first.
        other: place of the second.
        kind: its name in the identity policy.
        reason: in words.
    """

    one: int
    other: int
    kind: ExactKind
    reason: str


def names_of(records: Sequence[Record], reader: NameReader) -> list[Name]:
    """All names of records that have a letter or digit, each record's own first.

    A further name that is the own one without what that has in parentheses has the same in parentheses:
    "Jak" says nothing more of "Jak (Coruscanti)". Its editors added that because others are called Jak, too.
    """
    names = list[Name]()
    for place, record in enumerate(records):
        names.append(Name(place, is_own=True, text=record.name, parts=reader.read(record.name)))
        names += [_further_name(place, text, reader.read(text), names[-1]) for text in record.names]
    return [name for name in names if name.parts.key]


def _further_name(place: int, text: str, parts: NameParts, own: Name) -> Name:
    if own.parts.qualifier and not parts.qualifier and _is_one_name(parts, own.parts):
        parts = parts._replace(qualifier=own.parts.qualifier)
        text = own.text if parts.key == own.parts.key else text
    return Name(place, is_own=False, text=text, parts=parts)


def _is_one_name(one: NameParts, other: NameParts) -> bool:
    """Whether names differ at most in articles, plural and what is in parentheses."""
    return one.key == other.key or (one.stems, one.designation) == (other.stems, other.designation)


def blocks_of(record: Record, reader: NameReader, spelling: SpellingReader, rules: WordRules) -> list[int]:
    """Numbers of all that a record may have in common with others: two without a common number are no pair.

    Pages, identifiers, titles that notices and links of other languages name, and the blocks of its names.
    Two things may have one number.
    """
    titles = [*record.to_merge, *([record.title] if record.origin == "page" else ())]
    texts = {f"page {page_of(record)}", *(f"identifier {each}" for each in record.external_ids)}
    texts |= {f"title {record.wiki} {title}" for title in titles}
    texts |= {f"address {each}" for each in (*record.addresses, *record.interlanguage)}
    for name in names_of([record], reader):
        texts.add(f"name {name.parts.key}")
        blocks = (*name_blocks(name.parts, rules), spelling.block_of(name.parts))
        texts |= {f"{kind} {block}" for kind, block in enumerate(blocks) if block}
    return sorted(crc32(text.encode()) for text in texts - {"page None"})


def in_common(records: Sequence[Record], names: Sequence[Name], wanted: Wanted) -> Iterator[Common]:
    """All that pairs of records have in common; a pair comes once for each such thing.

    Args:
        records: the records.
        names: their names.
        wanted: which pairs to compare.
    """
    pages = [(place, page) for place, record in enumerate(records) if (page := page_of(record))]
    for one, other in _sharing([str(page) for _, page in pages], [place for place, _ in pages], wanted):
        first, second = pages[one][0], pages[other][0]
        yield Common(
            first, second, "page", f"both are page {records[first].page_id} of {records[first].wiki}"
        )
    held = [(place, each) for place, record in enumerate(records) for each in record.external_ids]
    for one, other in _sharing([each for _, each in held], [place for place, _ in held], wanted):
        yield Common(held[one][0], held[other][0], "identifier", f"both are {held[one][1]}")
    yield from _linked_across_languages(records, wanted)
    yield from _proposed_by_notices(records, wanted)
    keys, holders = [name.parts.key for name in names], [name.record for name in names]
    for one, other in _sharing(keys, holders, wanted):
        if not are_numbered_apart(names[one].parts, names[other].parts):
            yield _of_one_name(names[one], names[other])


def _linked_across_languages(records: Sequence[Record], wanted: Wanted) -> Iterator[Common]:
    """Pairs of pages of which one links to the other in another language, or both link to one third page."""
    held = [
        (place, each)
        for place, record in enumerate(records)
        for each in (*record.addresses, *record.interlanguage)
    ]
    for one, other in _sharing([each for _, each in held], [place for place, _ in held], wanted):
        (first, shared), second = held[one], held[other][0]
        linking = [place for place in (first, second) if shared in records[place].interlanguage]
        if linking:
            who = "both link" if len(linking) > 1 else f"{records[linking[0]].title!r} links"
            yield Common(first, second, "interlanguage", f"{who} to {shared!r}")


def _proposed_by_notices(records: Sequence[Record], wanted: Wanted) -> Iterator[Common]:
    """Pairs of pages of one wiki, of which a notice on one proposes to merge it with the other."""
    titled = {
        (record.wiki, record.title): place for place, record in enumerate(records) if record.origin == "page"
    }
    named = [
        (place, titled[record.wiki, title])
        for place, record in enumerate(records)
        for title in record.to_merge
        if (record.wiki, title) in titled
    ]
    one, other = (np.array(side, np.int64) for side in (zip(*named, strict=True) if named else ((), ())))
    for first, second in zip(one[kept := wanted.pairs(one, other)], other[kept], strict=True):
        yield Common(int(first), int(second), "notice", "a notice proposes to merge them")


def suffixes_agree(one: NameParts, other: NameParts) -> bool:
    """Whether no text in parentheses makes two names different."""
    return one.qualifier == other.qualifier or not (one.qualifier and other.qualifier)


def are_numbered_apart(one: NameParts, other: NameParts) -> bool:
    """Whether numbers in parentheses make two names different: "Soldier (1)" is not "Soldier (2)"."""
    return not suffixes_agree(one, other) and all(
        any(map(str.isdigit, parts.qualifier)) for parts in (one, other)
    )


def held_by(holders: Sequence[int], wanted: Wanted) -> Wanted:
    """Wanted pairs of records, as pairs of places: `holders` gives the record of each place."""
    of = np.array(holders, np.int64)
    return Wanted(wanted.places[of], lambda one, other: wanted.pairs(of[one], of[other]))


def _sharing(things: Sequence[str], holders: Sequence[int], wanted: Wanted) -> Iterator[tuple[int, int]]:
    """Pairs of places with the same value whose records are a wanted pair."""
    one, other = neighbours(things, [""] * len(things), held_by(holders, wanted))
    return zip(one.tolist(), other.tolist(), strict=True)


def _of_one_name(one: Name, other: Name) -> Common:
    kind = _kind(one, other)
    return Common(one.record, other.record, kind, _reason(one, other, kind))


def _kind(one: Name, other: Name) -> ExactKind:
    if not suffixes_agree(one.parts, other.parts):
        return "suffix"
    if one.is_own and other.is_own:
        return "title" if one.parts.qualifier == other.parts.qualifier else "name"
    return "alias" if one.is_own or other.is_own else "aliases"


def _reason(one: Name, other: Name, kind: ExactKind) -> str:
    if kind == "aliases":
        return f"both also go by {one.text!r}"
    if kind == "alias":
        own, also = (one, other) if one.is_own else (other, one)
        return f"{own.text!r} is what the other also goes by: {also.text!r}"
    if one.text == other.text:
        return f"both are called {one.text!r}"
    return f"{one.text!r} and {other.text!r} are one name"
