"""Which records are one entity. This depends on judgements alone, not on time or order of arrival."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from holocron_assets.lake.declaration.schema import Row


class Member(NamedTuple):
    """The values of a record that decide which records it may be merged with, and its rank among them.

    Attributes:
        entity_id: its id.
        source: its source.
        wiki: the place of the wiki that the source reads.
        title: its page, or the title that the mention means.
        page_id: the wiki's id of its page, if it has one.
        continuity: 'canon', 'legends', 'both', 'real' or 'unknown'.
        origin: 'page' or 'mention'.
        is_present: whether a page or a list names it today.
    """

    entity_id: str
    source: str
    wiki: str
    title: str
    page_id: int | None
    continuity: str
    origin: str
    is_present: bool


class Held(NamedTuple):
    """Entities whose state people decided.

    Attributes:
        promoted: ids of those that they promoted.
        suppressed: ids of those that they suppressed.
    """

    promoted: AbstractSet[str] = frozenset()
    suppressed: AbstractSet[str] = frozenset()


class Merge(NamedTuple):
    """Why an entity was merged into another.

    Attributes:
        into_id: the entity that it was merged into.
        judged_by: who or what judged so.
        reason: why.
    """

    into_id: str
    judged_by: str
    reason: str


def followed(rows: Sequence[Row], members: Mapping[str, Member], held: Held) -> list[Row]:
    """Decide for each judgement whether it is followed.

    People's judgements come first, their newest merge before older ones. What they keep apart stays apart,
    also through third entities. Machines' judgements follow, the most alike first. None is followed that
    would join canon and legends, two pages of one wiki, entities that people keep apart or suppressed, or two
    that people promoted.

    Args:
        rows: rows of `entity_judgements` of one type, in any order, without `is_followed` and `refused`.
        members: every entity that they are about, by id.
        held: whose state people decided.

    Returns:
        The rows with both columns, by pair id.
    """
    clusters = _Clusters(members, held, _apart(rows))
    refused: dict[str, str | None] = {}
    for row in sorted(filter(_is_of_person, rows), key=lambda row: str(row["decision_id"]), reverse=True):
        if row["judgement"] == "same":
            refused[row["pair_id"]] = clusters.join(row, by_machine=False)
    for row in sorted(rows, key=lambda row: _machine_order(row, held)):
        if row["judgement"] == "same" and not _is_of_person(row):
            refused[row["pair_id"]] = clusters.join(row, by_machine=True)
    return [
        {**row, "is_followed": _stands(row, refused), "refused": refused.get(row["pair_id"])}
        for row in sorted(rows, key=lambda row: str(row["pair_id"]))
    ]


def merges(rows: Iterable[Row], members: Mapping[str, Member], held: Held) -> dict[str, Merge]:
    """The survivor of each merged entity's cluster; no id leads through a third entity.

    The survivor is the target of a person's merge; else the entity that a person suppressed, or promoted;
    then a page before a mention, then the first by source and title. An entity that no page or list names
    survives only if that is so of all.

    Args:
        rows: rows of `entity_judgements` of one type, with `is_followed`.
        members: every entity that they are about, by id.
        held: whose state people decided.

    Returns:
        For the id of each merged entity, what it is merged into.
    """
    edges = [row for row in rows if row["is_followed"] and row["judgement"] == "same"]
    found: dict[str, Merge] = {}
    for cluster in _connected(edges):
        survivor = _survivor(cluster, members, held)
        for row in _strongest_last(cluster):
            for one in {row["first_id"], row["second_id"]} - {survivor}:
                found[one] = Merge(survivor, row["judged_by"], row["reason"])
    return found


def _machine_order(row: Row, held: Held) -> tuple[bool, float, str]:
    """The most alike first; those that people suppressed come last, since they join nothing else."""
    is_unwanted = not held.suppressed.isdisjoint((row["first_id"], row["second_id"]))
    return is_unwanted, -(row["score"] or 0), row["pair_id"]


def _apart(rows: Iterable[Row]) -> Mapping[str, AbstractSet[str]]:
    apart: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        if row["judgement"] == "different":
            apart[row["first_id"]].add(row["second_id"])
            apart[row["second_id"]].add(row["first_id"])
    return apart


def _is_of_person(row: Row) -> bool:
    return bool(row["method"] == "person")


def _stands(row: Row, refused: Mapping[str, str | None]) -> bool:
    if row["judgement"] == "same":
        return refused[row["pair_id"]] is None
    return bool(row["judgement"] == "different")


class _Clusters:
    """Groups of ids, which grow edge by edge."""

    def __init__(
        self, members: Mapping[str, Member], held: Held, apart: Mapping[str, AbstractSet[str]]
    ) -> None:
        self._members = members
        self._held = held
        self._apart = apart
        self.group: dict[str, list[str]] = {}

    def join(self, row: Row, *, by_machine: bool) -> str | None:
        """Join two groups; returns why not if they must stay apart."""
        one, other = (self.group.setdefault(row[side], [row[side]]) for side in ("first_id", "second_id"))
        if one is other:
            return None
        if problem := self._refusal(one, other, by_machine=by_machine):
            return problem
        small, large = sorted((one, other), key=len)
        large += small
        self.group.update(dict.fromkeys(small, large))
        return None

    def _refusal(self, one: Sequence[str], other: Sequence[str], *, by_machine: bool) -> str | None:
        if any(not self._apart.get(name, frozenset()).isdisjoint(other) for name in one):
            return "a person keeps apart what it would join"
        if not by_machine:
            return None
        first, second = ([self._members[name] for name in group] for group in (one, other))
        return next((problem for refuse in _REFUSALS if (problem := refuse(first, second, self._held))), None)


def _mixes_continuities(one: Sequence[Member], other: Sequence[Member], _held: Held) -> str | None:
    first, second = ({member.continuity for member in group} for group in (one, other))
    mixes = ("canon" in first and "legends" in second) or ("legends" in first and "canon" in second)
    return "it would join canon and legends" if mixes else None


def _joins_pages_of_one_wiki(one: Sequence[Member], other: Sequence[Member], _held: Held) -> str | None:
    for first in one:
        for second in other:
            if _are_pages_of_one_wiki(first, second) and not _one_page(first, second):
                return f"it would join {first.title!r} and {second.title!r}, which are pages of one wiki"
    return None


def _are_pages_of_one_wiki(one: Member, other: Member) -> bool:
    return one.origin == other.origin == "page" and one.wiki == other.wiki


def _one_page(one: Member, other: Member) -> bool:
    """Whether two sources read the same page of a wiki."""
    if one.page_id is not None and other.page_id is not None:
        return one.page_id == other.page_id
    return one.title == other.title


def _is_unwanted(one: Sequence[Member], other: Sequence[Member], held: Held) -> str | None:
    unwanted = [member.title for member in (*one, *other) if member.entity_id in held.suppressed]
    if not unwanted or _are_mentions(one, held) or _are_mentions(other, held):
        return None
    return f"a person suppressed {unwanted[0]!r}"


def _are_mentions(group: Sequence[Member], held: Held) -> bool:
    """Whether these are mentions only, which are suppressed with the only entity that they can mean."""
    decided = held.promoted | held.suppressed
    return all(member.origin == "mention" and member.entity_id not in decided for member in group)


def _are_held_each(one: Sequence[Member], other: Sequence[Member], held: Held) -> str | None:
    each = all(any(member.entity_id in held.promoted for member in group) for group in (one, other))
    return "a person holds each of both for true" if each else None


_REFUSALS: tuple[Callable[[Sequence[Member], Sequence[Member], Held], str | None], ...] = (
    _mixes_continuities,
    _joins_pages_of_one_wiki,
    _is_unwanted,
    _are_held_each,
)


def _connected(edges: Sequence[Row]) -> list[list[Row]]:
    """The edges of each cluster."""
    clusters = _Clusters({}, Held(), {})
    for row in edges:
        clusters.join(row, by_machine=False)
    by_cluster: defaultdict[int, list[Row]] = defaultdict(list)
    for row in edges:
        by_cluster[id(clusters.group[row["first_id"]])].append(row)
    return list(by_cluster.values())


def _survivor(edges: Sequence[Row], members: Mapping[str, Member], held: Held) -> str:
    ids = {edge[side] for edge in edges for side in ("first_id", "second_id")}
    into = {edge["into_id"] for edge in edges if edge["into_id"]}
    if not into:
        return survivor_of([members[name] for name in ids], held)
    ends = into - {end for edge in edges if edge["into_id"] for end in _other_end(edge)}
    present = {name for name in ids if members[name].is_present} or ids
    pool = next(found for names in (ends, into, ids) if (found := names & present))
    return min((members[name] for name in pool), key=lambda member: _rank(member, held)).entity_id


def survivor_of(members: Iterable[Member], held: Held) -> str:
    """The id that stays when some records are merged and no person chooses one: the only rule for it.

    A record that a person suppressed is chosen first: machines merge only names from lists with it. Next
    are those that a page or a list names today, in this order: promoted by a person, page, source,
    title, id.

    Args:
        members: the records.
        held: the entities whose state people decided.
    """
    every = list(members)
    pool = (
        [member for member in every if member.entity_id in held.suppressed]
        or [member for member in every if member.is_present]
        or every
    )
    return min(pool, key=lambda member: _rank(member, held)).entity_id


def _other_end(edge: Row) -> set[str]:
    return {edge["first_id"], edge["second_id"]} - {edge["into_id"]}


def _rank(member: Member, held: Held) -> tuple[bool, bool, str, str, str]:
    is_promoted = member.entity_id in held.promoted
    return not is_promoted, member.origin != "page", member.source, member.title, member.entity_id


def _strongest_last(edges: Iterable[Row]) -> list[Row]:
    by_id = sorted(edges, key=lambda row: str(row["pair_id"]), reverse=True)
    return sorted(by_id, key=lambda row: (_is_of_person(row), row["decision_id"] or "", row["score"] or 0.0))
