"""The review queue: what machines left open and no person settled, the most important first."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from importlib.resources import files
from itertools import chain

from holocron_assets.classify.decided_types import DECIDED_BY, DecidedTypes, read_decided_types
from holocron_assets.decisions.log import (
    SHARED,
    DecisionError,
    Standing,
    all_decisions,
    answered_with,
    by_time,
    decisions_mark,
    standing,
)
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
    RULE_CLASSIFICATIONS,
    TYPE_PROPOSALS,
)
from holocron_assets.lake.views.database import connect, query

KINDS = ("page", "pair", "entity", "promotion", "statement")
"""The kinds of items, by what they are about."""

ASKED_KINDS = (*SHARED, *KINDS)
"""The kinds of questions: an item's, or about what many open pages share."""

MADE_FROM = (
    *(PAGE_SIGNALS, PAGE_TYPES, TYPE_PROPOSALS, ENTITIES, ENTITY_ALIASES, ENTITY_MENTIONS, ENTITY_JUDGEMENTS),
    *(ENTITY_FACTS, ENTITY_RELATIONS),
)
"""Tables that the queue is made from. Links only rank it: new links alone do not make it stale."""

LEARNED_FROM = 0.5
"""The probability from which on the learned model's type is proposed to people."""

_VOICES = {
    "rules": "by rules",
    "model": "by a model",
    "person": "by people",
    "learned": "by the learned model",
    "prediction": "by the learned model, of open pages",
    "guess": "by a guess",
}
_DECIDED_BY = (
    (PAGE_SIGNALS, DECIDED_BY),
    (RULE_CLASSIFICATIONS, ("title_key", "needs_review", "confidence")),
)
_BATCHES_AT_ONCE = 8  # that are kept while items of several are checked
_RANKED_BY = (KNOWN_LINKS, PAGE_LINKS, PAGES)
_EXAMPLES = 5
_QUEUE = files(__package__).joinpath("queue.sql").read_text(encoding="utf-8")


def review_rows(lake: Lake, source: str) -> list[Row]:
    """The open items of a source, as the lake is now: rows of table `review_items`, by rank.

    Args:
        lake: where everything is.
        source: the source's name.
    """
    with connect(lake, tables=[*MADE_FROM, *_RANKED_BY], made_once=["current_answers"]) as connection:
        found = query(connection, _QUEUE, {"source": source, "learned_from": LEARNED_FROM})
    decided, is_decided = standing(lake), _shared_decisions(lake)
    return still_open([_truly_covered(item, decided, is_decided) for item in found], decided)


def _truly_covered(item: Row, decided: Standing, is_decided: Callable[[str, int], bool]) -> Row:
    """An item as it is, or without decided covers that leave its page open: it is asked about by itself."""
    if decided.shared_types.keys().isdisjoint(item["covered_by"] or ()):
        return item
    if is_decided(item["batch"], item["title_key"]):
        return item
    return {**item, "covered_by": [key for key in item["covered_by"] if key not in decided.shared_types]}


def _shared_decisions(lake: Lake) -> Callable[[str, int], bool]:
    """Whether a decision counts for a page, by its batch and title key; the last batches stay in memory."""
    types_of = read_decided_types(lake)

    @lru_cache(maxsize=_BATCHES_AT_ONCE)
    def of_batch(batch: str) -> tuple[DecidedTypes, Mapping[int, Row], Mapping[int, Row]]:
        signals, rules = (
            {row["title_key"]: row for row in read_partition(lake, table, batch, columns)}
            for table, columns in _DECIDED_BY
        )
        return DecidedTypes(types_of(batch)), signals, rules

    def is_decided(batch: str, key: int) -> bool:
        types, signals, rules = of_batch(batch)
        return types.about(signals[key], rules[key]) is not None

    return is_decided


def read_queue(lake: Lake) -> Sequence[Row]:
    """The open items of all sources, by rank, without those that were decided since the queue was made."""
    return _read(lake, lake.mark([REVIEW_ITEMS]), decisions_mark(lake))


@lru_cache(maxsize=1)
def _read(lake: Lake, items_mark: str, _decisions_mark: str) -> Sequence[Row]:
    return still_open(_made(lake, items_mark), standing(lake))


@lru_cache(maxsize=1)
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

    Pages that share what `type_proposals` has a row for are one question about that; else they are alike as
    their items say. A question has the columns of an item and two more: `members`, the items that one answer
    settles, by rank; and `settles`, their number. An item by itself has no members and settles one.
    """
    return _questions(lake, lake.mark([REVIEW_ITEMS]), lake.mark([TYPE_PROPOSALS]), decisions_mark(lake))


@lru_cache(maxsize=1)
def _questions(lake: Lake, items_mark: str, proposals_mark: str, decided_mark: str) -> Sequence[Row]:
    ungrouped = {(row["source"], row["value"]) for row in standing(lake).of_kind("ungroup")}
    proposals = {
        key: row
        for key, row in _proposals(lake, proposals_mark).items()
        if (row["source"], row["title"]) not in ungrouped
    }
    groups: dict[object, list[Row]] = {}
    for item in _read(lake, items_mark, decided_mark):
        about: object = item["source"], item["alike"]
        is_alone = item["alike"] is None or about in ungrouped
        cover = next((key for key in item["covered_by"] or () if key in proposals), None)
        groups.setdefault(cover or (item["item_id"] if is_alone else about), []).append(item)
    found = (
        _shared_question(members, proposals[about]) if isinstance(about, int) else _question(members)
        for about, members in groups.items()
    )
    return sorted(found, key=by_rank)


@lru_cache(maxsize=2)
def _proposals(lake: Lake, _mark: str) -> Mapping[int, Row]:
    """Rows of table `type_proposals` by their title keys."""
    rows = chain.from_iterable(
        read_partition(lake, TYPE_PROPOSALS, name) for name in lake.partitions(TYPE_PROPOSALS)
    )
    return {row["title_key"]: row for row in rows}


def _shared_question(members: Sequence[Row], proposal: Row) -> Row:
    """The question about what a template or category stands for, whose open pages are the members."""
    question, title, proposed = _question(members), proposal["title"], proposal["proposed_type"]
    if not question["members"]:
        return question
    named = f"with the infobox {title}" if proposal["kind"] == "template" else f"in {title}"
    return {
        **question,
        "item_id": f"{proposal['kind']}-{proposal['title_key']}",
        "kind": proposal["kind"],
        "subject": f"{len(members):,} articles {named}",
        "question": f"Are they all {proposed}?" if proposed else "What are they all about?",
        "reason": f"{question['reason']}{_others(proposal, members)}. "
        f"Of all {proposal['pages']:,} articles: {_known(proposal)}",
        "entity_type": proposed,
        "alike": title,
        "proposed_type": proposed,
        "evidence": proposal["evidence"],
    }


def _others(proposal: Row, members: Sequence[Row]) -> str:
    """What an answer does to open articles that other questions are about, since they share more."""
    count = len(set(proposal["open_keys"]) - {item["title_key"] for item in members})
    if not count:
        return ""
    return f". It also counts for {count:,} open articles of other questions, until these are answered"


def _known(proposal: Row) -> str:
    """What is known of the articles with a template or of a category, in words."""
    return ", ".join(map(_said, proposal["evidence"])) or "nothing is known"


def _said(line: Row) -> str:
    if line["voice"] == "asked":
        return f"a model that was asked about the template says {line['type']}"
    return f"{line['pages']:,} {_VOICES.get(line['voice'], line['voice'])} {line['type']}"


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
    """A text that changes with the members of a question, their pages, and with what is asked of them."""
    members = sorted(f"{item['item_id']} {item['page_id']}" for item in question["members"])
    return content_hash("\n".join([question["alike"], *members]))


def asked_now(lake: Lake, question: Row) -> list[Row]:
    """The questions of today about any of the items that a question was about."""
    items = {row["item_id"] for row in question["members"]}
    return [
        row
        for row in read_questions(lake)
        if not items.isdisjoint(one["item_id"] for one in row["members"] or [row])
    ]


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
    """The decision that settled an item, or a template or category, since the queue was made; else None."""
    decided = standing(lake)
    for key, row in decided.shared_types.items():
        if item_id == f"{row['kind']}-{key}":
            return row
    item = item_made(lake, item_id)
    return _settler(decided)(item) if item else None


def item_made(lake: Lake, item_id: str) -> Row | None:
    """An item as the queue was made last, whether or not it was settled since; None if it has none."""
    made = _made(lake, lake.mark([REVIEW_ITEMS]))
    return next((item for item in made if item["item_id"] == item_id), None)


def settled_with(lake: Lake, decision_id: str) -> str:
    """How much of the queue, as it was made last, a person's answer settled: as in '57 pages'; '' if nothing.

    Args:
        lake: where the queue is.
        decision_id: one of the answer's decisions.
    """
    answer = {row["decision_id"] for row in answered_with(all_decisions(lake), decision_id)}
    settles = _settler(standing(lake))
    kinds = [
        item["kind"]
        for item in _made(lake, lake.mark([REVIEW_ITEMS]))
        if (by := settles(item)) and by["decision_id"] in answer
    ]
    noun = "page" if set(kinds) == {"page"} else "item"
    return f"{len(kinds):,} {noun}{'' if len(kinds) == 1 else 's'}" if kinds else ""


def item_titled(lake: Lake, title: str, source: str | None) -> Row | None:
    """The open item about the type of a page; None if there is none.

    Args:
        lake: where the queue is.
        title: the page's title; an exact match wins over one that differs in upper or lower case.
        source: the page's source; any by default.
    """
    alike = [
        item
        for item in read_queue(lake)
        if item["kind"] == "page"
        and item["title"].lower() == title.lower()
        and source in (None, item["source"])
    ]
    return min(alike, key=lambda item: item["title"] != title, default=None)


def _settler(decided: Standing) -> Callable[[Row], Row | None]:
    """A function that returns the decision that settles an item, or None."""
    merges = sorted((row for row in decided.pairs.values() if row["kind"] == "merge"), key=by_time)
    gone = {row["entity_id"]: row for row in merges}
    joined = {name: row for row in merges for name in (row["entity_id"], row["other_id"])}

    def typed(item: Row) -> Row | None:
        return decided.type_of(item["source"], item["title_key"], item["page_id"])

    def settles(item: Row) -> Row | None:
        if item["kind"] == "statement":
            return _agreed_by(item["statement_ids"], decided)
        if item["kind"] == "pair":
            compared = item["item_id"].removeprefix("pair-").split("+")
            asked = (frozenset((item["entity_id"], item["other_id"])), frozenset(compared))
            return next(filter(None, map(decided.pairs.get, asked)), None)
        if item["kind"] == "page":
            covers = (decided.shared_types.get(key) for key in item["covered_by"] or ())
            return typed(item) or next(filter(None, covers), None)
        decisions = (
            typed(item),
            decided.states.get(item["entity_id"]),
            # A candidate that another was merged into is a candidate still.
            (gone if item["kind"] == "promotion" else joined).get(item["entity_id"]),
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
