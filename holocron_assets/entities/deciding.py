"""Decisions that people make about entities and statements: what can be decided, and what is refused."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Literal

from holocron_assets.decisions.log import (
    DecisionError,
    Standing,
    all_decisions,
    answered_with,
    decided_now,
    new_decision,
    one_answer,
    one_step,
    record,
    standing,
    standing_without,
    undo,
    undo_answer,
)
from holocron_assets.entities.identity.clusters import Member, survivor_of
from holocron_assets.entities.names.named import described, named_entity, named_statement, survivor
from holocron_assets.entities.names.visible_text import visible
from holocron_assets.entities.one_now import one_with
from holocron_assets.entities.people import People
from holocron_assets.entities.reviews import has_its_page
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.place.paths import Lake

StateKind = Literal["promote", "suppress"]
StatementKind = Literal["accept", "reject"]

_STATE_KINDS: tuple[StateKind, ...] = ("promote", "suppress")
_STATEMENT_KINDS: tuple[StatementKind, ...] = ("accept", "reject")
_APART = {"canon", "legends"}
_LONGEST_VALUE = 1_000
_WORDS = {
    "classify": "{subject} is of type {value}",
    "template": "articles with the infobox {subject} are of type {value}",
    "category": "articles in {subject} are of type {value}",
    "merge": "{subject} is the same as {other}",
    "split": "{subject} is not the same as {other}",
    "promote": "{subject} belongs in the knowledge base",
    "suppress": "{subject} does not belong in the knowledge base",
    "accept": "{subject}: it is true that {value}",
    "reject": "{subject}: it is not true that {value}",
    "requeue": "{subject} is tried again",
    "ungroup": "in {source}, {value}: they are asked about one by one",
    "undo": "decision {undoes} does not count",
}


def kinds_for_entity(lake: Lake, entity: Row) -> tuple[str, ...]:
    """The kinds of decisions that can be made about the state of an entity of the lake."""
    decided = standing(lake)
    if survivor(lake, entity)["entity_id"] != entity["entity_id"]:
        return ("split",)
    last = decided.states.get(entity["entity_id"])
    return ("merge", "split", *(kind for kind in _STATE_KINDS if last is None or last["kind"] != kind))


def kinds_for_statement(statement_id: str, decided: Standing) -> tuple[StatementKind, ...]:
    """The kinds of decisions that can be made about a fact or relation now."""
    last = decided.statements.get(statement_id)
    return tuple(kind for kind in _STATEMENT_KINDS if last is None or last["kind"] != kind)


def in_words(decision: Row) -> str:
    """A row of table `decisions` in words, as a sentence without a full stop."""
    title, other = decision["title"], decision["other_title"]
    return _WORDS[decision["kind"]].format(
        subject=f"{title!r} of {decision['source']}" if title else decision["entity_id"],
        other=repr(other) if other else decision["other_id"],
        value=decision["value"] or decision["statement_id"],
        undoes=decision["undoes"],
        source=decision["source"],
    )


def merge_warning(one: Row, other: Row, decided: Standing, *, stays: str | None = None) -> str | None:
    """A warning for a person before two entities become one, if there is one.

    Args:
        one: a row of `entities`.
        other: the other one, in any order.
        decided: the decisions that count, also those after the last resolution.
        stays: id of the one that stays; None if the person has yet to choose.
    """
    warnings = [
        f"{described(entity)} is suppressed: {_means(entity, stays)}."
        for entity in (one, other)
        if _is_suppressed(entity, decided)
    ]
    if {one["continuity"], other["continuity"]} == _APART:
        warnings.append("One is of canon and the other of Legends: no machine would merge them.")
    return " ".join(warnings) or None


def _means(suppressed: Row, stays: str | None) -> str:
    """What it means for a merge that one of the two is suppressed."""
    if stays is None:
        return (
            "if it stays, what is merged into it leaves the knowledge base with it; "
            "if it goes, its suppression no longer counts"
        )
    if stays == suppressed["entity_id"]:
        return "what is merged into it leaves the knowledge base with it"
    return "it becomes part of the other, and its suppression no longer counts"


def default_survivor(entities: Iterable[Row], decided: Standing) -> str:
    """The id that stays if some entities are merged and no person chooses one: the same rule as for clusters.

    Args:
        entities: rows of `entities`.
        decided: the decisions that count, whether or not anything was resolved since.
    """
    members = [
        Member(
            **{name: row[name] for name in Member._fields if name in row},
            wiki=row["source"],  # the choice does not depend on it
            is_present=has_its_page(row),
        )
        for row in entities
    ]
    return survivor_of(members, People(decided).held)


def _is_suppressed(entity: Row, decided: Standing) -> bool:
    last = decided.states.get(entity["entity_id"])
    return bool((last["kind"] if last else entity["state"]) in {"suppress", "suppressed"})


def decide_merge(lake: Lake, *, gone: str, into: str, author: str, reason: str) -> Row:
    """Decide that two entities are one.

    Args:
        lake: where they are and the decision goes.
        gone: id of the entity whose id will forward to the other.
        into: id of the entity that stays. If it was merged, the entity that it is now stays, unless that is
            `gone`: then this one stays.
        author: who decides.
        reason: why.

    Returns:
        The row of table `decisions` that was written. `merge_warning` gives a warning about it.

    Raises:
        DecisionError: there is no such entity, both have one id or two types, that is decided already, or
            people keep them, or entities that they merged with them, apart.
    """
    leaving, named = named_entity(lake, gone), named_entity(lake, into)
    with one_step(lake):
        now = survivor(lake, named)
        target = named if now["entity_id"] == survivor(lake, leaving)["entity_id"] else now
        _refuse_no_pair(leaving, target)
        _refuse_repeated(lake, "merge", leaving, target)
        _refuse_kept_apart(lake, leaving, target, named)
        return _recorded(lake, _of_two(lake, "merge", leaving, target, author=author, reason=reason))


def decide_split(lake: Lake, *, one: str, other: str, author: str, reason: str) -> Row:
    """Decide that two entities are not one. No judgement of a machine overrules this.

    Args:
        lake: where they are and the decision goes.
        one: id of an entity.
        other: id of another one of its type, merged with it or not.
        author: who decides.
        reason: why.

    Raises:
        DecisionError: there is no such entity, both have one id or two types, that is decided already, or
            people's merges join them through a third.
    """
    first, second = named_entity(lake, one), named_entity(lake, other)
    _refuse_no_pair(first, second)
    with one_step(lake):
        _refuse_repeated(lake, "split", first, second)
        _refuse_joined(lake, first, second)
        return _recorded(lake, _of_two(lake, "split", first, second, author=author, reason=reason))


def decide_state(lake: Lake, kind: StateKind, *, entity_id: str, author: str, reason: str) -> Row:
    """Decide that an entity is to be in the knowledge base ('promote'), or not ('suppress').

    Args:
        lake: where it is and the decision goes.
        kind: which.
        entity_id: the entity. If it was merged, the entity that it is now is promoted.
        author: who decides.
        reason: why.

    Raises:
        DecisionError: there is no such entity, that is decided already, or an entity that was merged is to be
            suppressed.
    """
    [row] = decide_states(lake, kind, entities=[named_entity(lake, entity_id)], author=author, reason=reason)
    return row


def decide_states(
    lake: Lake, kind: StateKind, *, entities: Sequence[Row], author: str, reason: str
) -> Sequence[Row]:
    """Decide the same of several entities, with one answer: all of it is written, or nothing.

    Args:
        lake: where they are and the decisions go.
        kind: as for `decide_state`.
        entities: rows of `entities`.
        author: who decides.
        reason: why.

    Raises:
        DecisionError: one of the decisions cannot be made.
    """
    with one_step(lake):
        decided, now = standing(lake), decided_now(lake)
        rows = [
            new_decision(
                kind,
                author=author,
                reason=reason,
                source=entity["source"],
                title=entity["title"],
                entity_id=entity["entity_id"],
                now=now,
            )
            for entity in [_of_this_state(lake, kind, named, decided) for named in entities]
        ]
        answer = one_answer(rows)
        record(lake, answer)
    return answer


def _of_this_state(lake: Lake, kind: StateKind, named: Row, decided: Standing) -> Row:
    """The entity whose state a decision about another one sets."""
    entity = survivor(lake, named)
    if kind == "suppress" and entity["entity_id"] != named["entity_id"]:
        raise DecisionError(
            f"{described(named)} is merged into {described(entity)}: split the two first, or suppress the "
            "other"
        )
    last = decided.states.get(entity["entity_id"])
    if last and last["kind"] == kind:
        raise DecisionError(f"it is decided already to {kind} {described(entity)}")
    return entity


def decide_statement(lake: Lake, kind: StatementKind, *, statement_id: str, author: str, reason: str) -> Row:
    """Decide that a fact or relation is true ('accept') or false ('reject').

    Args:
        lake: where it is and the decision goes.
        kind: which.
        statement_id: id of the fact or relation, or the start of it.
        author: who decides.
        reason: why.

    Raises:
        DecisionError: there is no such statement, or that is decided already.
    """
    statement = named_statement(lake, statement_id)
    with one_step(lake):
        if kind not in kinds_for_statement(statement["statement_id"], standing(lake)):
            raise DecisionError(
                f"it is decided already to {kind} {statement['said']!r} of {statement['title']!r}"
            )
        return _recorded(
            lake,
            new_decision(
                kind,
                author=author,
                reason=reason,
                source=statement["source"],
                title=statement["title"],
                entity_id=statement["entity_id"],
                statement_id=statement["statement_id"],
                value=visible(statement["said"], _LONGEST_VALUE),
                now=decided_now(lake),
            ),
        )


def decide_undo(lake: Lake, decision_id: str, *, author: str, reason: str) -> Row:
    """Undo a decision, as `decisions.log.undo` does.

    Raises:
        DecisionError: as there; or that would restore a merge or split that other decisions contradict.
    """
    with one_step(lake):
        _refuse_restored(lake, [decision_id])
        return undo(lake, decision_id, author=author, reason=reason)


def decide_undo_of_answer(lake: Lake, decision_id: str, *, author: str, reason: str) -> Sequence[Row]:
    """Undo a decision and all others of the same answer, as `decisions.log.undo_answer` does.

    Raises:
        DecisionError: as there; or that would restore a merge or split that other decisions contradict.
    """
    with one_step(lake):
        answer = answered_with(all_decisions(lake), decision_id)
        _refuse_restored(lake, [row["decision_id"] for row in answer])
        return undo_answer(lake, decision_id, author=author, reason=reason)


def _of_two(lake: Lake, kind: str, one: Row, other: Row, *, author: str, reason: str) -> Row:  # noqa: PLR0913 - a row's columns
    return new_decision(
        kind,
        author=author,
        reason=reason,
        source=one["source"],
        title=one["title"],
        entity_id=one["entity_id"],
        other_id=other["entity_id"],
        other_title=other["title"],
        now=decided_now(lake),
    )


def _recorded(lake: Lake, row: Row) -> Row:
    record(lake, [row])
    return row


def _refuse_no_pair(one: Row, other: Row) -> None:
    """Refuse a decision about an entity and itself, or one of another type."""
    if one["entity_id"] == other["entity_id"]:
        raise DecisionError(f"both are one entity: {described(one)}")
    if one["entity_type"] != other["entity_type"]:
        raise DecisionError(
            f"{described(one)} and {described(other)} are of two types, {one['entity_type']} and "
            f"{other['entity_type']}, and never one: decide first what type each page is of"
        )


def _refuse_repeated(lake: Lake, kind: str, one: Row, other: Row) -> None:
    """Refuse a decision that was made about the two already; a merge counts in the same direction only."""
    ids = (one["entity_id"], other["entity_id"])
    last = standing(lake).pairs.get(frozenset(ids))
    if last and last["kind"] == kind and (kind == "split" or (last["entity_id"], last["other_id"]) == ids):
        raise DecisionError(f"it is decided already that {in_words(last)}: decision {last['decision_id']}")


def _refuse_joined(lake: Lake, one: Row, other: Row) -> None:
    """Refuse to split entities that people's merges join through a third."""
    pair = frozenset((one["entity_id"], other["entity_id"]))
    _refuse_merged(pair, _people_s(standing(lake), "merge", pair), described(one), described(other))


def _refuse_merged(pair: frozenset[str], merges: Mapping[frozenset[str], Row], one: str, other: str) -> None:
    """Refuse a split if merges join its pair; the message has the two in words."""
    together = one_with(next(iter(pair)), merges)
    if pair <= together:
        made = ", ".join(row["decision_id"] for merged, row in merges.items() if merged <= together)
        raise DecisionError(
            f"people merged {one} and {other} with others that they also merged: "
            f"undo one of the decisions {made} first"
        )


def _refuse_kept_apart(lake: Lake, leaving: Row, target: Row, named: Row) -> None:
    """Refuse to merge entities that people's decisions on other pairs than the named one keep apart.

    Args:
        lake: where the decisions are.
        leaving: what is merged.
        target: what it is merged into.
        named: what the person named as that: `target`, or what was merged into it. Then no older decision is
            replaced: the one on the named pair would stand, and the other was not asked about.
    """
    decided = standing(lake)
    pair = frozenset((leaving["entity_id"], target["entity_id"]))
    merges = _people_s(decided, "merge", pair)
    together = set().union(*(one_with(row["entity_id"], merges) for row in (leaving, target, named)))
    replaced = pair if target["entity_id"] == named["entity_id"] else frozenset()
    _refuse_split(together, _people_s(decided, "split", replaced))


def _refuse_split(together: AbstractSet[str], splits: Mapping[frozenset[str], Row]) -> None:
    """Refuse to make entities one if splits keep any two of them apart."""
    for apart, row in splits.items():
        if apart <= together:
            raise DecisionError(
                f"{row['author']} keeps {row['title']!r} and {row['other_title']!r} apart, which this would "
                f"join: undo decision {row['decision_id']} first"
            )


def _refuse_restored(lake: Lake, decision_ids: Collection[str]) -> None:
    """Refuse to undo decisions if that would restore a merge or split that others contradict."""
    before, after = standing(lake), standing_without(all_decisions(lake), decision_ids)
    merges, splits = _people_s(after, "merge"), _people_s(after, "split")
    for pair, row in after.pairs.items():
        if row == before.pairs.get(pair):
            continue
        if row["kind"] == "merge":
            _refuse_split(one_with(row["entity_id"], merges), splits)
        else:
            _refuse_merged(pair, merges, repr(row["title"]), repr(row["other_title"]))


def _people_s(
    decided: Standing, kind: str, but: frozenset[str] = frozenset()
) -> Mapping[frozenset[str], Row]:
    """People's last decisions about pairs of this kind, without those about one pair."""
    pairs = decided.pairs.items()
    return {pair: row for pair, row in pairs if row["kind"] == kind and pair != but}
