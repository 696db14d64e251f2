"""Who is who: which standing entity a page stands for, and the id of a new one."""

import json
import unicodedata
import uuid
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from itertools import chain, count

from holocron_assets.lake.schema import Row

_NAMESPACE = uuid.UUID("478d6fd5-c66a-4f8b-a2e8-2b4633156077")


def entity_id(source: str, title: str, *qualifiers: str) -> str:
    """The id of what a source has a page about: the same wherever and whenever it is made.

    It is made from the full title and nothing that is read off the page, so that it stays the same in a
    rebuilt lake although name, type or continuity are then told better.

    Args:
        source: the source's name.
        title: the page's title when it was first seen, with namespace prefix and continuity suffix.
        qualifiers: what tells pages apart that had this title one after the other.

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


def _recreated_page(row: Row) -> Hashable:
    return row["title_key"], row["continuity"]


def _same_identity(row: Row) -> Hashable:
    return row["source"], row["name"], row["continuity"]


_STAGES: tuple[Callable[[Row], Hashable | None], ...] = (
    _same_page,
    _moved_page,
    _recreated_page,
    _same_identity,
)


def match_entities(
    candidates: Iterable[Row], current: Iterable[Row], elsewhere: Iterable[Row] = ()
) -> dict[int, Row]:
    """Find the standing entity that each page stands for.

    Surest first: the same title and page id; the same page id under another title (MediaWiki keeps the id
    when a page moves); the same title and continuity with another page id (deleted and created again); the
    same name and continuity on another page. So an id survives a rename and a change of continuity, and a new
    canon page does not inherit the entity of the Legends page that was moved away from its title.

    Args:
        candidates: rows of `entity_candidates`.
        current: the current row of every standing entity, suppressed ones included.
        elsewhere: current rows of other types' entities. A page that was retyped took its id with it: who
            comes to its old title does not get it back.

    Returns:
        The standing row by the candidate's title key. Nothing is matched twice.
    """
    waiting = by_title = sorted(candidates, key=lambda row: (row["source"], row["title"]))
    free = sorted(current, key=lambda row: (row["state"] == "suppressed", row["entity_id"]))
    matched: dict[int, Row] = {}
    for stage in _STAGES:
        found = _match_by(stage, waiting, free)
        matched |= found
        claimed = {row["entity_id"] for row in found.values()}
        waiting = [row for row in waiting if row["title_key"] not in found]
        free = [row for row in free if row["entity_id"] not in claimed]
    holders = holders_of(row for row in elsewhere if row["state"] != "suppressed")
    for row in by_title:
        standing = matched.get(row["title_key"])
        if standing and not _may_hold(row, standing["entity_id"], holders):
            del matched[row["title_key"]]
    return matched


def _match_by(
    key: Callable[[Row], Hashable | None], waiting: Sequence[Row], free: Sequence[Row]
) -> dict[int, Row]:
    best_last: defaultdict[Hashable, list[Row]] = defaultdict(list)
    for row in reversed(free):
        best_last[key(row)].append(row)
    best_last.pop(None, None)
    return {row["title_key"]: rows.pop() for row in waiting if (rows := best_last.get(key(row)))}


def new_ids(
    candidates: Iterable[Row], taken: AbstractSet[str], elsewhere: Iterable[Row] = ()
) -> dict[int, str]:
    """Ids for pages that stand for an entity not seen before.

    Args:
        candidates: rows of `entity_candidates` without a standing entity.
        taken: ids that stand already.
        elsewhere: current rows of other types' entities, suppressed ones included. A page that was retyped
            keeps its id; no other page gets it.

    Returns:
        The id by title key: the one that the page had in another type, or one made from source and title.
        Where another page that had the title took that with it, a number is added: no page is lost.
    """
    elsewhere = list(elsewhere)
    used, holders, pages = set(taken), holders_of(elsewhere), _by_page(elsewhere)
    ids: dict[int, str] = {}
    for row in sorted(candidates, key=lambda row: (row["source"], row["title"])):
        possible = chain(_ids_held(row, pages), _possible_ids(row))
        chosen = next(each for each in possible if each not in used and _may_hold(row, each, holders))
        used.add(chosen)
        ids[row["title_key"]] = chosen
    return ids


def _possible_ids(row: Row) -> Iterator[str]:
    yield entity_id(row["source"], row["title"])
    for number in count(2):
        yield entity_id(row["source"], row["title"], str(number))


def _by_page(rows: Iterable[Row]) -> Mapping[Hashable, Sequence[Row]]:
    pages: defaultdict[Hashable, list[Row]] = defaultdict(list)
    for row in rows:
        pages[_moved_page(row) or row["title_key"]].append(row)
    return pages


def _ids_held(page: Row, pages: Mapping[Hashable, Sequence[Row]]) -> Iterator[str]:
    """Ids under which the page stands in other types, the one that it had last first."""
    held = pages.get(_moved_page(page) or page["title_key"], ())
    yield from (row["entity_id"] for row in sorted(held, key=_held_last, reverse=True))


def last_held(rows: Iterable[Row]) -> Row | None:
    """Of current rows of one entity in several types, the one that stands, or stood last."""
    return max(rows, key=_held_last, default=None)


def _held_last(row: Row) -> tuple[bool, datetime]:
    return row["state"] != "suppressed", row["valid_from"]


def holders_of(rows: Iterable[Row]) -> Mapping[str, Sequence[Row]]:
    """Rows of `entities` by entity id."""
    holders: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        holders[row["entity_id"]].append(row)
    return holders


def _may_hold(page: Row, identifier: str, holders: Mapping[str, Sequence[Row]]) -> bool:
    """Whether no other page than this holds the id in another type."""
    return all(_one_page(page, holder) for holder in holders.get(identifier, ()))


def _one_page(one: Row, other: Row) -> bool:
    page_ids = {_moved_page(one), _moved_page(other)}
    return len(page_ids) == 1 if None not in page_ids else bool(one["title_key"] == other["title_key"])
