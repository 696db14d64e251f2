"""Who is who: which standing entity a page stands for, and the id of a new one."""

import json
import unicodedata
import uuid
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import count

from holocron_assets.lake.schema import Row

_NAMESPACE = uuid.UUID("478d6fd5-c66a-4f8b-a2e8-2b4633156077")


def entity_id(source: str, name: str, continuity: str, *qualifiers: str) -> str:
    """The id of what a source calls by a name in a continuity: the same wherever and whenever it is made.

    Args:
        source: the source's name.
        name: the title without namespace prefix and continuity suffix.
        continuity: as in `page_signals`; canon and Legends are two entities.
        qualifiers: what tells two pages of the same name and continuity apart.

    Returns:
        A version 5 UUID.
    """
    parts = [unicodedata.normalize("NFC", part) for part in (source, name, continuity, *qualifiers)]
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


def match_entities(candidates: Iterable[Row], current: Iterable[Row]) -> dict[int, Row]:
    """Find the standing entity that each page stands for.

    Surest first: the same title and page id; the same page id under another title (MediaWiki keeps the id
    when a page moves); the same title and continuity with another page id (deleted and created again); the
    same name and continuity on another page. So an id survives a rename and a change of continuity, and a new
    canon page does not inherit the entity of the Legends page that was moved away from its title.

    Args:
        candidates: rows of `entity_candidates`.
        current: the current row of every standing entity, suppressed ones included.

    Returns:
        The standing row by the candidate's title key. Nothing is matched twice.
    """
    waiting = sorted(candidates, key=lambda row: (row["source"], row["title"]))
    free = sorted(current, key=lambda row: (row["state"] == "suppressed", row["entity_id"]))
    matched: dict[int, Row] = {}
    for stage in _STAGES:
        found = _match_by(stage, waiting, free)
        matched |= found
        claimed = {row["entity_id"] for row in found.values()}
        waiting = [row for row in waiting if row["title_key"] not in found]
        free = [row for row in free if row["entity_id"] not in claimed]
    return matched


def _match_by(
    key: Callable[[Row], Hashable | None], waiting: Sequence[Row], free: Sequence[Row]
) -> dict[int, Row]:
    best_last: defaultdict[Hashable, list[Row]] = defaultdict(list)
    for row in reversed(free):
        best_last[key(row)].append(row)
    best_last.pop(None, None)
    return {row["title_key"]: rows.pop() for row in waiting if (rows := best_last.get(key(row)))}


def new_ids(candidates: Iterable[Row], taken: AbstractSet[str]) -> dict[int, str]:
    """Ids for pages that stand for an entity not seen before.

    Args:
        candidates: rows of `entity_candidates` without a standing entity.
        taken: ids that stand already.

    Returns:
        The id by title key. Of two pages with one name and continuity ("X (Legends)" and "X/Legends") the
        first by title gets the plain id and the other one made from its title too: no page is lost.
    """
    used = set(taken)
    ids: dict[int, str] = {}
    for row in sorted(candidates, key=lambda row: (row["source"], row["title"])):
        chosen = next(identifier for identifier in _possible_ids(row) if identifier not in used)
        used.add(chosen)
        ids[row["title_key"]] = chosen
    return ids


def _possible_ids(row: Row) -> Iterator[str]:
    identity = (row["source"], row["name"], row["continuity"])
    yield entity_id(*identity)
    yield entity_id(*identity, row["title"])
    for number in count(2):
        yield entity_id(*identity, row["title"], str(number))
