"""The choices of an item: what a person can decide about it, in the terminal or on the web."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from holocron_assets.classify.decided_types import decide_shared, decide_types
from holocron_assets.decisions.log import (
    LONGEST,
    SHARED,
    TYPE_KINDS,
    DecisionError,
    decided_now,
    new_decision,
    record,
    refuse_unsaid,
)
from holocron_assets.entities.deciding import (
    StateKind,
    decide_merge,
    decide_split,
    decide_state,
    decide_statement,
    decide_states,
)
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.place.paths import Lake
from holocron_assets.review.item_detail import ENTITIES_OF_A_PAIR, ItemDetail, Page, have_pages
from holocron_assets.review.queue import LEARNED_FROM
from holocron_assets.review.reading import reading
from holocron_assets.review.statements import Statement

_SURE_OF_NOTHING = "Unknown"
_MOST_OFFERED = 3


@dataclass(frozen=True)
class Choice:
    """A decision that a person may make about an item.

    Attributes:
        name: identifies it among the item's choices.
        key: the key to type for it; empty if it is chosen from a list.
        label: the text shown to people.
        kind: kind of the decision.
        about: what it is about: arguments of the function that records this kind of decision.
        reason: the default reason, which a person may replace.
        is_proposal: whether it is what the machines propose.
        answers: the question about several items that it answers, in words; empty for one item.
    """

    name: str
    key: str
    label: str
    kind: str
    about: Mapping[str, Any] = field(hash=False)
    reason: str
    is_proposal: bool = False
    answers: str = ""

    @property
    def is_type(self) -> bool:
        """Whether it says which type something has."""
        return self.kind in TYPE_KINDS


def decide(lake: Lake, choice: Choice, *, author: str, reason: str) -> Row:
    """Record a person's choice; returns the row of table `decisions`, or the first of an answer for several.

    Raises:
        DecisionError: it is refused, as `holocron decide` would refuse it.
    """
    arguments = {**choice.about, "author": author, "reason": reason}
    if choice.answers:
        return _decide_alike(lake, choice, arguments)
    match choice.kind:
        case "merge":
            return decide_merge(lake, **arguments)
        case "split":
            return decide_split(lake, **arguments)
        case "promote" | "suppress":
            return decide_state(lake, choice.kind, **arguments)
        case "accept" | "reject":
            return decide_statement(lake, choice.kind, **arguments)
        case _:
            return decide_types(lake, **arguments)[0]


def _decide_alike(lake: Lake, choice: Choice, arguments: dict[str, Any]) -> Row:
    """Record an answer for several items."""
    if choice.kind in SHARED:
        return decide_shared(lake, choice.kind, **arguments)[0]
    if choice.kind == "ungroup":
        row = new_decision("ungroup", now=decided_now(lake), **arguments)
        record(lake, [row])
        return row
    refuse_unsaid("a decision", arguments["author"], arguments["reason"])
    # Without room for all of it, what is added is cut: what a person typed is kept whole.
    arguments["reason"] = f"{arguments['reason']}; one answer for {choice.answers}"[: LONGEST["reason"]]
    if choice.kind == "classify":
        return decide_types(lake, **arguments)[0]
    ids = arguments.pop("entity_ids")
    with reading(lake) as reader:
        entities = reader.entities(ids)
    if lost := [name for name in ids if name not in entities]:
        raise DecisionError(f"there is no entity {lost[0]!r}")
    kind: StateKind = "promote" if choice.kind == "promote" else "suppress"
    return decide_states(lake, kind, entities=list(entities.values()), **arguments)[0]


def choices_of_alike(lake: Lake, question: Row, types: Sequence[str]) -> list[Choice]:
    """What can be decided about all items of a question at once.

    Args:
        lake: where they are.
        question: a question of several members, as `read_questions` gives it.
        types: the taxonomy's types.
    """
    members, source = question["members"], question["source"]
    pages = {"source": source, "pages": [(item["title"], item["page_id"]) for item in members]}
    if question["kind"] in SHARED:
        found = _shared_choices(question, types)
    elif question["kind"] == "page":
        guesses = [question["proposed_type"], *(item["entity_type"] for item in members)]
        reasons = {name: "Read on some of the pages" for name in guesses if name}
        reasons |= {name: "As proposed" for name in guesses[:1] if name}
        found = _type_choices(pages, reasons, types)
    else:
        ids = [item["entity_id"] for item in members]
        found = [replace(choice, about={"entity_ids": ids}) for choice in state_choices(members[0])]
        with reading(lake) as reader:
            entities = list(reader.entities(ids).values())
        found += _type_choices(pages, {}, types) if have_pages(lake, entities) else []
    apart = {"source": source, "value": question["alike"]}
    found.append(Choice("ungroup", "o", "Not alike: ask one by one", "ungroup", apart, "They are not alike"))
    return [replace(choice, answers=question["subject"]) for choice in found]


def _shared_choices(question: Row, types: Sequence[str]) -> list[Choice]:
    """A choice for each type that a template or category may stand for; proposed and known ones first."""
    proposed = question["proposed_type"]
    known = [line["type"] for line in question["evidence"]]
    reasons = {name: "Known of some of them" for name in [proposed, *known] if name}
    if proposed:
        reasons[proposed] = "As proposed"
    about = {"source": question["source"], "name": question["alike"]}
    return [
        replace(
            choice,
            kind=question["kind"],
            reason=reasons.get(choice.label, "Read on some of them"),
            is_proposal=choice.label == proposed,
        )
        for choice in _type_choices(about, reasons, types)
    ]


def choices_of(detail: ItemDetail, types: Sequence[str]) -> list[Choice]:
    """What can be decided about an item. The proposal comes first, and types without any evidence last.

    Args:
        detail: what is known of it.
        types: the taxonomy's types.
    """
    item = detail.item
    match item["kind"]:
        case "pair":
            found = list(_of_pair(detail))
        case "statement":
            found = list(_of_statements(detail.statements))
        case "page":
            found = type_choices(item, detail.pages[0] if detail.pages else None, types)
        case _:
            states = [choice for entity in detail.entities for choice in state_choices(entity)]
            found = states + (type_choices(item, None, types) if detail.has_page else [])
    return sorted(found, key=lambda choice: not choice.is_proposal)


def type_choices(about: Row, page: Page | None, types: Sequence[str]) -> list[Choice]:
    """A choice for each type. Types with any evidence come first.

    Args:
        about: a row with `source`, `title` and `page_id` of the page that a person sees.
        page: the page with its evidence, if known.
        types: the taxonomy's types.
    """
    pages = {"source": about["source"], "pages": [(about["title"], about["page_id"])]}
    return _type_choices(pages, _reasons_by_type(page.type) if page and page.type else {}, types)


def _type_choices(about: Mapping[str, Any], reasons: Mapping[str, str], types: Sequence[str]) -> list[Choice]:
    """A choice for each type; types with a reason come first, and the first of them is the proposal."""
    offered = list(reasons)[:_MOST_OFFERED]
    order = [*offered, *(name for name in types if name not in offered)]
    return [
        Choice(
            name=f"classify.{name}",
            key=str(place) if name in offered else "",
            label=name,
            kind="classify",
            about={**about, "type_name": name},
            reason=reasons.get(name, "Read on the page"),
            is_proposal=name in offered and place == 1,
        )
        for place, name in enumerate(order, start=1)
    ]


def state_choices(entity: Row) -> list[Choice]:
    """Promoting an entity, and suppressing it."""
    about = {"entity_id": entity["entity_id"]}
    return [
        Choice("promote", "p", "Promote: hold it for true", "promote", about, "It is what it is held for"),
        Choice("suppress", "x", "Suppress: leave it out", "suppress", about, "It is no thing of its own"),
    ]


def statement_choices(statement: Statement) -> tuple[Choice, Choice]:
    """Accepting a statement, and rejecting it."""
    name = statement.statement_id
    about = {"statement_id": name}
    return (
        Choice(f"accept.{name}", "a", "Accept", "accept", about, "The page says so"),
        Choice(f"reject.{name}", "r", "Reject", "reject", about, "The page does not say so"),
    )


def split_choice(member: Row, survivor: Row) -> Choice:
    """Splitting a member off its cluster."""
    about = {"one": member["entity_id"], "other": survivor["entity_id"]}
    return Choice(f"split.{member['entity_id']}", "", "Split off", "split", about, "They are two things")


def _reasons_by_type(page_type: Row) -> dict[str, str]:
    """Types with evidence, each with a reason to choose it; the model's type first, as rules were unsure."""
    weighted = {
        line["type"]: f"Some evidence speaks for it, at {line['weight']:.2f}" for line in page_type["types"]
    }
    voices = {"model_type": "the model says", "rules_type": "the rules say"}
    if (page_type["learned_probability"] or 0) >= LEARNED_FROM:
        voices["learned_type"] = "the learned model says"
    named = {page_type[name]: f"As {said}" for name, said in reversed(voices.items())}
    order = [*(page_type[name] for name in voices), *weighted]
    return {name: named.get(name) or weighted[name] for name in order if name and name != _SURE_OF_NOTHING}


def _of_pair(detail: ItemDetail) -> Iterator[Choice]:
    if len(detail.entities) != ENTITIES_OF_A_PAIR:
        return
    survivor, other = sorted(detail.entities, key=lambda row: row["entity_id"] != detail.survivor_id)
    proposal = detail.judgement["proposal"] if detail.judgement else None
    yield replace(_merge("m", other, survivor), is_proposal=proposal == "same")
    yield _merge("M", survivor, other)
    split = {"one": other["entity_id"], "other": survivor["entity_id"]}
    yield Choice("split", "d", "Two things", "split", split, "They are two things", proposal == "different")


def _merge(key: str, gone: Row, into: Row) -> Choice:
    """Merging two entities. The label names the one that stays, with its source if both have one title."""
    # The name says which one stays too: while a form is open, a run may turn the two round.
    name = f"merge.{into['entity_id']}"
    stays = into["title"] if into["title"] != gone["title"] else f"{into['title']} of {into['source']}"
    about = {"gone": gone["entity_id"], "into": into["entity_id"]}
    return Choice(name, key, f"One thing: {stays} stays", "merge", about, "Both tell of one thing")


def _of_statements(statements: Sequence[Statement]) -> Iterator[Choice]:
    """Accepting and rejecting; if there are several statements, each has a number."""
    for number, statement in enumerate(statements, start=1):
        for choice in statement_choices(statement):
            if len(statements) == 1:
                yield choice
            else:
                key = str(number) if choice.kind == "accept" else f"r{number}"
                yield replace(choice, key=key, label=f"{choice.label} {statement.value}")
