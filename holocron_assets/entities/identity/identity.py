"""Which standing entity a page stands for, and the id of a new one."""

import json
import unicodedata
import uuid
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import count
from operator import itemgetter

from holocron_assets.entities.names.first_titles import NO_FIRST_TITLES, FirstTitles
from holocron_assets.entities.reviews import is_disputed
from holocron_assets.lake.declaration.schema import Row

_NAMESPACE = uuid.UUID("478d6fd5-c66a-4f8b-a2e8-2b4633156077")


def entity_id(source: str, title: str, *qualifiers: str) -> str:
    """The id for a page of a source: the same in every lake and at any time.

    It is made from the full title alone, and not from the page's content. So it stays the same in a rebuilt
    lake, even if name, type or continuity are then read better.

    Args:
        source: the source's name.
        title: the page's title when it was first seen, with namespace prefix and continuity suffix.
        qualifiers: values that differ for pages that had this title one after the other.

    Returns:
        A version 5 UUID.
    """
    parts = [unicodedata.normalize("NFC", part) for part in (source, title, *qualifiers)]
    return str(uuid.uuid5(_NAMESPACE, json.dumps(parts)))


def _same_page(row: Row) -> Hashable:
    return row["title_key"], row.get("page_id")


def _moved_page(row: Row) -> Hashable | None:
    page_id = row.get("page_id")
    return None if page_id is None else (row["source"], page_id)


def _recreated_page(row: Row) -> Hashable | None:
    return None if is_mention(row) else (row["title_key"], row["continuity"])


def _same_identity(row: Row) -> Hashable | None:
    return None if is_mention(row) else (row["source"], row["name"], row["continuity"])


def is_mention(row: Row) -> bool:
    """Whether an entity or candidate has no page: only a list names it."""
    return bool(row["origin"] == "mention")


@dataclass(frozen=True)
class Holders:
    """Current rows of the entities of a type, found by id and by page.

    Attributes:
        by_id: rows by entity id.
        by_page: rows by page id, or by title where a page has none.
    """

    by_id: Mapping[str, Sequence[Row]]
    by_page: Mapping[Hashable, Sequence[Row]]


def holders_of(rows: Iterable[Row]) -> Holders:
    """Current rows of `entities`, to be found by id and by page."""
    by_id: defaultdict[str, list[Row]] = defaultdict(list)
    by_page: defaultdict[Hashable, list[Row]] = defaultdict(list)
    for row in rows:
        by_id[row["entity_id"]].append(row)
        by_page[_moved_page(row) or row["title_key"]].append(row)
    return Holders(by_id, by_page)


def held_in(types: Iterable[Holders], identifier: str) -> list[Row]:
    """The rows that an entity id has in some types."""
    return [row for holders in types for row in holders.by_id.get(identifier, ())]


def last_held(rows: Iterable[Row]) -> Row | None:
    """Of one entity's current rows in several types, the one not suppressed, or else suppressed last.

    Of two that were suppressed at once, it is that of the first type by name, as in the view `entities`.
    """
    return max(sorted(rows, key=itemgetter("entity_type")), key=_held_last, default=None)


def _held_last(row: Row) -> tuple[bool, datetime]:
    return row["state"] != "suppressed", row["valid_from"]


@dataclass(frozen=True)
class Known:
    """Further data about identity, in addition to a type's candidates and entities.

    Attributes:
        elsewhere: entities of other types.
        kept: ids of entities that people promoted or merged.
        taken: ids of more entities of the type, which stand for other candidates.
        away: ids of the type's entities whose page is there, but has another title now, or another type.
        first_titles: the first known titles of moved pages.
    """

    elsewhere: Sequence[Holders] = ()
    kept: AbstractSet[str] = frozenset()
    taken: AbstractSet[str] = frozenset()
    away: AbstractSet[str] = frozenset()
    first_titles: FirstTitles = NO_FIRST_TITLES


def identified(candidates: Sequence[Row], current: Mapping[str, Row], known: Known) -> dict[int, str]:
    """The entity that each page or mention of a type stands for, or will once it is resolved.

    Args:
        candidates: rows of `entity_candidates` of one type, with `origin`.
        current: the current row of every entity of the type, by its id.
        known: further data about identity.

    Returns:
        Ids by title key, without the pages that stand for an entity of another type.
    """
    free = [row for row in candidates if not _is_held_elsewhere(row, known)]
    matched = match_entities(free, current.values(), known.elsewhere, known.away)
    unmatched = [row for row in free if row["title_key"] not in matched]
    minted = new_ids(unmatched, current.keys() | known.taken, known.elsewhere, known.first_titles)
    return {key: row["entity_id"] for key, row in matched.items()} | minted


def _is_held_elsewhere(candidate: Row, known: Known) -> bool:
    """Whether the page stands for an entity of another type, and is not surer than that.

    A thing that only lists name has no page that could be in dispute: it goes to the type of the lists.
    """
    held = held_by_page(known.elsewhere, candidate)
    return any(not is_mention(row) and is_disputed(row, candidate, known.kept) for row in held)


def match_entities(
    candidates: Iterable[Row],
    current: Iterable[Row],
    elsewhere: Sequence[Holders] = (),
    away: AbstractSet[str] = frozenset(),
) -> dict[int, Row]:
    """Find the standing entity that each page stands for.

    The surest way comes first: the same title and page id; the same page id under another title (MediaWiki
    keeps the id when a page moves); the id that the page has in another type; the same title and continuity
    with another page id (deleted and created again); the same name and continuity on another page. A page
    with an id in another type takes the place of no other page. So an id survives a rename and a change of
    continuity, and a new canon page does not inherit the entity of the Legends page that was moved away from
    its title. A thing that only lists name is the same as a page of that title that comes or goes later.

    Args:
        candidates: rows of `entity_candidates`.
        current: the current row of every standing entity, suppressed ones included.
        elsewhere: entities of other types. A page that was retyped took its id with it: a new page at its old
            title does not get that id, also after the retyped page is deleted.
        away: ids of entities whose page is there, but has another title now, or another type: no other page
            takes its place.

    Returns:
        The standing row by the candidate's title key. Nothing is matched twice.
    """
    waiting = by_title = sorted(candidates, key=lambda row: (row["source"], row["title"]))
    free = sorted(current, key=lambda row: (row["state"] == "suppressed", row["entity_id"]))
    matched: dict[int, Row] = {}
    stages: _Stages = (*_OF_ITS_OWN, partial(_match_retyped, elsewhere), *_IN_ITS_PLACE)
    for stage in stages:
        if stage in _IN_ITS_PLACE:
            free = [row for row in free if row["entity_id"] not in away and not _was_retyped(row, elsewhere)]
            waiting = [row for row in waiting if not (free and held_by_page(elsewhere, row))]
        found = stage(waiting, free)
        matched |= found
        claimed = {row["entity_id"] for row in found.values()}
        waiting = [row for row in waiting if row["title_key"] not in found]
        free = [row for row in free if row["entity_id"] not in claimed]
    for row in by_title:
        standing = matched.get(row["title_key"])
        if standing and not _may_hold(row, _standing(elsewhere, standing["entity_id"])):
            del matched[row["title_key"]]
    return matched


def _was_retyped(row: Row, elsewhere: Sequence[Holders]) -> bool:
    """Whether another type has an entity now, or had it after this one."""
    if row["state"] != "suppressed":
        return False
    return any(_held_last(other) > _held_last(row) for other in held_in(elsewhere, row["entity_id"]))


def _match_by(
    key: Callable[[Row], Hashable | None], waiting: Sequence[Row], free: Sequence[Row]
) -> dict[int, Row]:
    best_last: defaultdict[Hashable, list[Row]] = defaultdict(list)
    for row in reversed(free):
        best_last[key(row)].append(row)
    best_last.pop(None, None)
    return {row["title_key"]: rows.pop() for row in waiting if (rows := best_last.get(key(row)))}


def _match_mentions(waiting: Sequence[Row], free: Sequence[Row]) -> dict[int, Row]:
    """Matches by title, where only lists name one of the two."""
    mentions, pages = (list(filter(one, waiting)) for one in (is_mention, lambda row: not is_mention(row)))
    by_title = itemgetter("title_key")
    return _match_by(by_title, mentions, free) | _match_by(by_title, pages, list(filter(is_mention, free)))


def _match_retyped(
    elsewhere: Sequence[Holders], waiting: Sequence[Row], free: Sequence[Row]
) -> dict[int, Row]:
    """Matches of pages that have another type now than the one in which they have their id."""
    matched, by_id = dict[int, Row](), {row["entity_id"]: row for row in free}
    for row in waiting if free else ():
        for held in sorted(held_by_page(elsewhere, row), key=_held_last, reverse=True):
            if not is_mention(row) and (standing := by_id.pop(held["entity_id"], None)):
                matched[row["title_key"]] = standing
                break
    return matched


_Stages = tuple[Callable[[Sequence[Row], Sequence[Row]], dict[int, Row]], ...]
_IN_ITS_PLACE: _Stages = (partial(_match_by, _recreated_page), partial(_match_by, _same_identity))
_OF_ITS_OWN: _Stages = (
    partial(_match_by, _same_page),
    partial(_match_by, _moved_page),
    _match_mentions,
)


def new_ids(
    candidates: Iterable[Row],
    taken: AbstractSet[str],
    elsewhere: Sequence[Holders] = (),
    first_titles: FirstTitles = NO_FIRST_TITLES,
) -> dict[int, str]:
    """Ids for pages of new entities.

    Args:
        candidates: rows of `entity_candidates` without a standing entity.
        taken: ids in use.
        elsewhere: entities of other types, suppressed ones included. A page that was retyped keeps its id; no
            other page gets it.
        first_titles: the first known titles of moved pages. Ids are made from those, so that a lake that saw
            a page move and one that is rebuilt from the same batches have the same ids.

    Returns:
        The id by title key: the one that the page had in another type, or one made from source and title.
        If another page that had the title took that id with it, a number is added, so that no page is lost.
        Pages that had one title in turn get their numbers in that order.
    """
    used = set(taken)
    ids: dict[int, str] = {}
    for row in sorted(candidates, key=lambda row: (first_titles.place_of(row), row["source"], row["title"])):
        possible = (each for each in _possible_ids(row, elsewhere, first_titles) if each not in used)
        chosen = next(each for each in possible if _may_hold(row, held_in(elsewhere, each)))
        used.add(chosen)
        ids[row["title_key"]] = chosen
    return ids


def held_by_page(types: Iterable[Holders], page: Row) -> list[Row]:
    """The rows of the entities in some types that were read from a page."""
    key = _moved_page(page) or page["title_key"]
    return [row for holders in types for row in holders.by_page.get(key, ())]


def _possible_ids(page: Row, elsewhere: Sequence[Holders], first_titles: FirstTitles) -> Iterator[str]:
    held = held_by_page(elsewhere, page)
    yield from (row["entity_id"] for row in sorted(held, key=_held_last, reverse=True))
    title = first_titles.of(page)
    if not first_titles.is_of_another(page):
        yield entity_id(page["source"], title)
    for number in count(2):
        yield entity_id(page["source"], title, str(number))


def _standing(elsewhere: Sequence[Holders], identifier: str) -> list[Row]:
    return [row for row in held_in(elsewhere, identifier) if row["state"] != "suppressed"]


def _may_hold(page: Row, holders: Iterable[Row]) -> bool:
    """Whether no other page than this holds an id in another type."""
    return all(_one_page(page, holder) for holder in holders)


def _one_page(one: Row, other: Row) -> bool:
    page_ids = {_moved_page(one), _moved_page(other)}
    return len(page_ids) == 1 if None not in page_ids else bool(one["title_key"] == other["title_key"])
