"""The review queue: what machines left open and no person settled, the most important first."""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import lru_cache
from importlib.resources import files
from itertools import chain

from holocron_assets.decisions.log import DecisionError, Standing, decisions_mark, standing
from holocron_assets.lake.declaration.keys import content_hash
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
    PAGE_SIGNALS,
    PAGE_TYPES,
    PAGES,
    REVIEW_ITEMS,
)
from holocron_assets.lake.views.database import connect, query

KINDS = ("page", "pair", "entity", "promotion", "statement")
"""The kinds of items, by what they are about."""

MADE_FROM = (
    *(PAGE_SIGNALS, PAGE_TYPES, ENTITIES, ENTITY_ALIASES, ENTITY_MENTIONS, ENTITY_JUDGEMENTS),
    *(ENTITY_FACTS, ENTITY_RELATIONS),
)
"""Tables that the queue is made from. Links only rank it: new links alone do not make it stale."""

_RANKED_BY = (KNOWN_LINKS, PAGE_LINKS, PAGES)
_EXAMPLES = 5
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
    return sorted(rows, key=by_rank)


def by_rank(row: Row) -> tuple[float, str]:
    """The order of the queue, as a key for sorting."""
    return -row["rank"], row["item_id"]


def read_questions(lake: Lake) -> Sequence[Row]:
    """The questions to ask, by rank: the open items, of which those that are alike are one question.

    A question has the columns of an item and two more: `members`, the items that one answer settles, by
    rank; and `settles`, their number. An item by itself has no members and settles one.
    """
    return _questions(lake, lake.mark([REVIEW_ITEMS]), decisions_mark(lake))


@lru_cache(maxsize=2)
def _questions(lake: Lake, items_mark: str, decided_mark: str) -> Sequence[Row]:
    ungrouped = {(row["source"], row["value"]) for row in standing(lake).of_kind("ungroup")}
    groups: dict[object, list[Row]] = {}
    for item in _read(lake, items_mark, decided_mark):
        about = item["source"], item["alike"]
        is_alone = item["alike"] is None or about in ungrouped
        groups.setdefault(item["item_id"] if is_alone else about, []).append(item)
    return sorted(map(_question, groups.values()), key=by_rank)


def _question(members: Sequence[Row]) -> Row:
    first, settles = members[0], len(members)
    if settles == 1:
        return {**first, "members": [], "settles": 1}
    examples = ", ".join(item["subject"] for item in members[:_EXAMPLES])
    more = f" and {settles - _EXAMPLES:,} more" if settles > _EXAMPLES else ""
    sums = {name: sum(item[name] for item in members) for name in ("inbound", "dependants", "rank")}
    return {
        **first,
        "item_id": f"alike-{content_hash(repr((first['source'], first['alike'])))[:16]}",
        "subject": f"{settles:,} {first['alike']}",
        "question": _asked_of_all(first),
        "reason": f"One answer settles {settles:,}: {examples}{more}",
        "entity_type": first["proposed_type"] or first["entity_type"],
        "entity_id": None,
        **sums,
        "rank": round(sums["rank"], 4),
        "uncertainty": sum(item["uncertainty"] for item in members) / settles,
        "members": members,
        "settles": settles,
    }


def _asked_of_all(item: Row) -> str:
    if item["kind"] == "promotion":
        return "Are they all to be promoted?"
    return "Are they all?" if item["proposed_type"] else "What are they all about?"


def fingerprint(question: Row) -> str:
    """A text that changes with the members of a question, and with what is asked of them."""
    members = sorted(item["item_id"] for item in question["members"])
    return content_hash("\n".join([question["alike"], *members]))


def asked_now(lake: Lake, question: Row) -> list[Row]:
    """The questions of today about what a question about several items was about."""
    about = question["source"], question["alike"]
    return [row for row in read_questions(lake) if (row["source"], row["alike"]) == about]


def asked_still(lake: Lake, item_id: str, shown: str) -> Row:
    """A question about several items, as it is asked now.

    Args:
        lake: where the queue is.
        item_id: the id of the question.
        shown: the fingerprint of the question that a person saw.

    Raises:
        DecisionError: it is about other items now than those that the person saw.
    """
    now = next((row for row in read_questions(lake) if row["item_id"] == item_id), None)
    if now is None or fingerprint(now) != shown:
        raise DecisionError("other items are alike now than were shown: look at them again, then decide")
    return now


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
