"""Which records may be one thing, or certainly are, by their names, page ids and identifiers."""

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from holocron_assets.entities.identity.blocking import Mask, Places, Wanted
from holocron_assets.entities.identity.common import (
    Name,
    are_numbered_apart,
    held_by,
    in_common,
    names_of,
    suffixes_agree,
)
from holocron_assets.entities.identity.evidence.interlanguage import contradicts
from holocron_assets.entities.identity.evidence.spelling import (
    Spelling,
    SpellingReader,
    in_another_spelling,
)
from holocron_assets.entities.identity.evidence.weights import SETTLED
from holocron_assets.entities.identity.likeness import Alike, alike
from holocron_assets.entities.identity.policy import Fuzzy, IdentityPolicy, Verdict
from holocron_assets.entities.identity.records import (
    Record,
    are_pages_of_one_wiki,
    reason_beyond_the_name,
)
from holocron_assets.entities.identity.rivals import Pair, Rivals
from holocron_assets.entities.names.names import NameReader
from holocron_assets.lake.declaration.schema import Row

_SIDES = {"canon": 1, "legends": 2}
_BOTH_SIDES = 3
_BESIDES_NAMES = ("page", "identifier", "interlanguage", "notice")
_MORE_SAID = {name: place for place, name in enumerate(("canon", "legends", "both", "real", "unknown"))}


class _Found(NamedTuple):
    """Why two records may be one.

    Attributes:
        score: how alike, between 0 and 1.
        method: 'exact' or 'fuzzy'.
        verdict: the verdict by that alone.
        reason: in words.
        by_name: whether names alone say so.
        is_doubted: whether something contradicts it.
    """

    score: float
    method: str
    verdict: Verdict
    reason: str
    by_name: bool = True
    is_doubted: bool = False


def pair_rows(
    records: Sequence[Record],
    policy: IdentityPolicy,
    *,
    changed: AbstractSet[str] | None = None,
    kept: Iterable[Row] = (),
    reader: NameReader | None = None,
) -> list[Row]:
    """All rows of `entity_pairs` of one type.

    A record in canon and one in legends are two things by definition.

    Args:
        records: all records of the type that may be paired, in any order; where some are compared, those that
            share a block with them are enough.
        policy: the identity policy.
        changed: ids of the records that are new, or have another mark than when they were compared;
            None to compare all.
        kept: standing rows of pairs, which are compared again though neither record changed. With all of
            them the result is the same as that of comparing all, with one exception: in a block that is too
            large to be compared completely (`blocking.REACH`), two unchanged records that are only now near
            each other are not found.
        reader: remembers names that it has parsed by this policy.

    Returns:
        A row for each pair, by its id.
    """
    ordered = sorted(records, key=lambda record: record.entity_id)
    best: dict[Pair, _Found] = {}
    by_name: dict[Pair, float] = {}
    names = names_of(ordered, reader or NameReader(policy.words))
    for pair, found in _all_found(ordered, names, policy, _wanted(ordered, changed, kept)):
        best[pair] = max(best.get(pair, found), found, key=_score)
        if found.by_name:
            by_name[pair] = max(by_name.get(pair, 0.0), found.score)
    against = {(one, other): contradicts(ordered[one], ordered[other]) for one, other in best}
    scores = {pair: found.score for pair, found in best.items() if against[pair] is None}
    rivals = Rivals(scores, ordered, policy.margin)
    return [
        _row(ordered[one], ordered[other], settled, by_name.get((one, other), 0.0))
        for (one, other), found in sorted(best.items())
        if (settled := _settled(found, (one, other), ordered, rivals, against[one, other]))
    ]


_score = attrgetter("score")


def _wanted(records: Sequence[Record], changed: AbstractSet[str] | None, kept: Iterable[Row]) -> Wanted:
    """Pairs to compare, of records whose continuities can be one."""
    sides = np.array([_SIDES.get(record.continuity, 0) for record in records], np.int8)
    is_new = np.array([changed is None or record.entity_id in changed for record in records], np.bool_)
    places = {record.entity_id: place for place, record in enumerate(records)}
    known = [(places.get(row["first_id"]), places.get(row["second_id"])) for row in kept]
    standing = np.array([pair for pair in known if None not in pair], np.int64).reshape(-1, 2)
    codes = standing[:, 0] * len(records) + standing[:, 1]

    def pairs(one: Places, other: Places) -> Mask:
        asked: Mask = is_new[one] | is_new[other]
        if codes.size:
            asked |= np.isin(np.minimum(one, other) * len(records) + np.maximum(one, other), codes)
        asked &= (one != other) & (sides[one] | sides[other] != _BOTH_SIDES)
        return asked

    asked = is_new.copy()
    asked[standing.ravel()] = True
    return Wanted(asked, pairs)


def _all_found(
    records: Sequence[Record], names: Sequence[Name], policy: IdentityPolicy, wanted: Wanted
) -> Iterator[tuple[Pair, _Found]]:
    for common in in_common(records, names, wanted):
        exact = policy.exact[common.kind]
        by_name = common.kind not in _BESIDES_NAMES
        found = _Found(exact.score, "exact", exact.verdict, common.reason, by_name)
        yield _pair(common.one, common.other), found
    fuzzy = policy.fuzzy_of(records[0].entity_type) if records else policy.fuzzy.default
    parts, wanted = [name.parts for name in names], _with_an_own_name(names, wanted)
    for first, second, spelling in in_another_spelling(parts, SpellingReader(policy.spelling), wanted):
        if suffixes_agree(parts[first], parts[second]):
            one, other = names[first], names[second]
            yield _pair(one.record, other.record), _of_spelling(spelling, one, other, policy)
    for pair in alike(parts, fuzzy, policy.words, wanted):
        one, other = names[pair.one], names[pair.other]
        if not are_numbered_apart(one.parts, other.parts):
            yield _pair(one.record, other.record), _of_alike(pair, one, other, fuzzy)


def _of_spelling(spelling: Spelling, one: Name, other: Name, policy: IdentityPolicy) -> _Found:
    exact = policy.exact["spelling"]
    first, second = sorted((one.text, other.text))
    return _Found(exact.score, "exact", exact.verdict, f"{first!r} and {second!r} are one name in {spelling}")


def _of_alike(pair: Alike, one: Name, other: Name, fuzzy: Fuzzy) -> _Found:
    is_same = pair.score >= fuzzy.same and suffixes_agree(one.parts, other.parts)
    reason = _reason(pair, one.text, other.text)
    return _Found(pair.score, "fuzzy", "same" if is_same else "unsure", reason)


def _with_an_own_name(names: Sequence[Name], wanted: Wanted) -> Wanted:
    """Wanted pairs of names, one of which at least is a record's own."""
    is_own = np.array([name.is_own for name in names], np.bool_)
    held = held_by([name.record for name in names], wanted)
    return Wanted(held.places, lambda one, other: (is_own[one] | is_own[other]) & held.pairs(one, other))


def _pair(one: int, other: int) -> Pair:
    return min(one, other), max(one, other)


def _reason(found: Alike, one: str, other: str) -> str:
    first, second = sorted((one, other))
    changes = ", ".join(found.changes) or "how they are written"
    return f"{first!r} and {second!r} are one name but for {changes}"


def _settled(
    found: _Found, pair: Pair, records: Sequence[Record], rivals: Rivals, against: str | None
) -> _Found | None:
    """The finding about a pair, lowered where something contradicts it.

    A wiki's editors keep one page for one thing: whoever gave two pages two titles has decided. So two pages
    of one wiki are at most asked about, and only with a reason beyond the name.
    """
    one, other = (records[place] for place in pair)
    if are_pages_of_one_wiki(one, other):
        against = reason_beyond_the_name(one, other)
        if against is None:
            return None
    elif against is None and found.verdict == "same" and (rival := rivals.of(*pair)):
        against = f"{rival.title!r} of {rival.source} is as like one of them"
    if against is None:
        return found
    return found._replace(verdict="unsure", reason=f"{found.reason}; {against}", is_doubted=True)


def _row(first: Record, second: Record, found: _Found, likeness: float) -> Row:
    columns = ("source", "title", "batch", "origin")
    return {
        "pair_id": f"{first.entity_id}+{second.entity_id}",
        "entity_type": first.entity_type,
        "first_id": first.entity_id,
        "second_id": second.entity_id,
        **{f"first_{name}": getattr(first, name) for name in columns},
        **{f"second_{name}": getattr(second, name) for name in columns},
        "continuity": min(first.continuity, second.continuity, key=_MORE_SAID.__getitem__),
        "score": found.score,
        "method": found.method,
        "verdict": found.verdict,
        "reason": found.reason,
        "evidence": _evidence(found, likeness),
    }


def _evidence(found: _Found, likeness: float) -> list[Row]:
    is_settled = found.verdict == "same" and not found.by_name
    values = {
        "name": round(max(10 * likeness - 9, -1.0), 2),
        SETTLED: float(is_settled),
        "doubt": float(found.is_doubted),
    }
    return [{"name": name, "value": value} for name, value in values.items() if value]
