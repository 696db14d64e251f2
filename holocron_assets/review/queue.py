"""The review queue: what machines left open and no person settled, the most important first."""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import lru_cache
from importlib.resources import files
from itertools import chain

from holocron_assets.decisions.log import Standing, decisions_mark, standing
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import (
    ENTITIES,
    ENTITY_ALIASES,
    ENTITY_FACTS,
    ENTITY_JUDGEMENTS,
    ENTITY_MENTIONS,
    ENTITY_RELATIONS,
    KNOWN_LINKS,
    PAGE_LINKS,
    PAGE_TYPES,
    PAGES,
    REVIEW_ITEMS,
)
from holocron_assets.lake.views.database import connect, query

KINDS = ("page", "pair", "entity", "promotion", "statement")
"""The kinds of items, by what they are about."""

MADE_FROM = (
    *(PAGE_TYPES, ENTITIES, ENTITY_ALIASES, ENTITY_MENTIONS, ENTITY_JUDGEMENTS),
    *(ENTITY_FACTS, ENTITY_RELATIONS),
)
"""Tables that the queue is made from. Links only rank it: new links alone do not make it stale."""

_RANKED_BY = (KNOWN_LINKS, PAGE_LINKS, PAGES)
_QUEUE = files(__package__).joinpath("queue.sql").read_text(encoding="utf-8")


def review_rows(lake: Lake, source: str) -> list[Row]:
    """The open items of a source, as the lake is now: rows of table `review_items`, by rank.

    Args:
        lake: where everything is.
        source: the source's name.
    """
    with connect(lake, tables=[*MADE_FROM, *_RANKED_BY]) as connection:
        found = query(connection, _QUEUE, {"source": source})
    return still_open(found, standing(lake))


def read_queue(lake: Lake) -> Sequence[Row]:
    """The open items of all sources, by rank, without those that were decided since the queue was made."""
    return _read(lake, lake.mark([REVIEW_ITEMS]), decisions_mark(lake))


@lru_cache(maxsize=2)
def _read(lake: Lake, items_mark: str, _decisions_mark: str) -> Sequence[Row]:
    return still_open(_made(lake, items_mark), standing(lake))


@lru_cache(maxsize=2)
def _made(lake: Lake, _mark: str) -> Sequence[Row]:
    rows = chain.from_iterable(
        read_partition(lake, REVIEW_ITEMS, name) for name in lake.partitions(REVIEW_ITEMS)
    )
    return sorted(rows, key=lambda row: (-row["rank"], row["item_id"]))


def still_open(items: Sequence[Row], decided: Standing) -> list[Row]:
    """The items that no decision settles.

    Args:
        items: rows of table `review_items`.
        decided: the decisions that count.
    """
    settles = _settler(decided)
    return [item for item in items if settles(item) is None]


def settled_by(lake: Lake, item_id: str) -> Row | None:
    """The decision that settled an item since the queue was made; None if there is none."""
    made = _made(lake, lake.mark([REVIEW_ITEMS]))
    settles = _settler(standing(lake))
    return next((settles(item) for item in made if item["item_id"] == item_id), None)


def item_titled(lake: Lake, title: str, source: str | None) -> Row | None:
    """The open item of a page; None if there is none.

    Args:
        lake: where the queue is.
        title: the page's title; an exact match wins over one that differs in upper or lower case.
        source: the page's source; any by default.
    """
    alike = [
        item
        for item in read_queue(lake)
        if item["title"].lower() == title.lower() and source in (None, item["source"])
    ]
    return min(alike, key=lambda item: item["title"] != title, default=None)


def _settler(decided: Standing) -> Callable[[Row], Row | None]:
    """A function that returns the decision that settles an item, or None."""
    merges = {
        entity_id: row
        for row in decided.of_kind("merge")
        for entity_id in (row["entity_id"], row["other_id"])
    }

    def settles(item: Row) -> Row | None:
        if item["kind"] == "statement":
            return _agreed_by(item["statement_ids"], decided)
        if item["kind"] == "pair":
            return decided.pairs.get(frozenset((item["entity_id"], item["other_id"])))
        if item["kind"] == "page":
            return decided.types.get(item["title_key"])
        decisions = (
            decided.types.get(item["title_key"]),
            decided.states.get(item["entity_id"]),
            merges.get(item["entity_id"]),
        )
        later = (row for row in decisions if row is not None and _is_later(row["decided_at"], item["since"]))
        return next(later, None)

    return settles


def _agreed_by(statement_ids: Sequence[str], decided: Standing) -> Row | None:
    """The last decision on some statements, if one is accepted or all but one of several are rejected."""
    made = [row for name in statement_ids if (row := decided.statements.get(name))]
    unsettled = len(statement_ids) - len(made)
    is_agreed = any(row["kind"] == "accept" for row in made) or unsettled <= (len(statement_ids) > 1)
    return max(made, key=lambda row: (row["decided_at"], row["decision_id"])) if made and is_agreed else None


def _is_later(decided_at: datetime, since: datetime | None) -> bool:
    return since is None or decided_at > since
