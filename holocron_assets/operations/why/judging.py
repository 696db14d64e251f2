"""Why a page has its type, and why it has an entity or none."""

from collections.abc import Mapping
from typing import Any

from holocron_assets.classify.learned.answers import in_words
from holocron_assets.decisions.log import SHARED
from holocron_assets.entities.identity.candidates import NEVER_ENTITIES, SURE_ENOUGH
from holocron_assets.entities.promotion import entity_from
from holocron_assets.operations.why.answers import Answer, at, named
from holocron_assets.operations.why.fetching import Page

_MOST_EVIDENCE = 8


def why_typed(page: Page) -> list[Answer]:
    """What decided a page's type, with the evidence; empty for a page without a text."""
    if not page.topics["type"]:
        return _untyped(page)
    row = page.topics["type"][0]
    says = f"{_who(row)}: {row['primary_type']} at {row['confidence']:.2f}. {_sentence(row['reason'])}"
    if row["needs_review"]:
        says += f" That is not sure: it is settled from {SURE_ENOUGH:.2f} on."
    because, commands = [], [_decide_type(page)]
    for decision in page.topics["decisions"]:
        if decision["kind"] == "classify" and decision["counts"]:
            because.append(
                f"{decision['author']} decided {decision['value']} at {at(decision['decided_at'])}: "
                f"{decision['reason']}"
            )
            commands = [f"holocron decide undo {decision['decision_id']} --reason WHY"]
    because += [
        f"{answer['model']} says {answer['primary_type']}: {answer['rationale']}"
        for answer in page.topics["models_answers"]
    ]
    because += [in_words(row) for row in page.topics["predictions"]]
    if row["needs_review"]:
        because += [_shared(proposal) for proposal in page.topics["proposals"]]
        commands += [_decide_shared(page, proposal) for proposal in page.topics["proposals"]]
    return [Answer("type", says, (*because, *_evidence(page, row["batch"])), tuple(commands))]


def _shared(proposal: Mapping[str, Any]) -> str:
    """What an answer about a template or category of an open page would settle."""
    proposed = f", which may be {proposal['proposed_type']}" if proposal["proposed_type"] else ""
    return f"one answer about {proposal['title']} settles {proposal['settles']} open articles{proposed}"


def _decide_type(page: Page) -> str:
    """The command that decides the page's type."""
    return (
        f"holocron decide classify {named(page.title)} --source {page.source.name} --type TYPE --reason WHY"
    )


def _decide_shared(page: Page, proposal: Mapping[str, Any]) -> str:
    kind, name = proposal["kind"], proposal["title"].removeprefix(SHARED[proposal["kind"]])
    type_name = proposal["proposed_type"] or "TYPE"
    return f"holocron decide {kind} {named(name)} {type_name} --source {page.source.name} --reason WHY"


def _untyped(page: Page) -> list[Answer]:
    """Why a page that was fetched has no type yet."""
    read = [row for row in page.topics["revisions"] if row["status"] == "ok"]
    if not read:
        return []
    batch = read[-1]["batch"]
    says = f"It has no type yet: batch {batch} was fetched, and the next tables were not made."
    return [Answer("type", says, commands=(f"holocron launch settle_batch --partition {batch}",))]


def _who(row: Mapping[str, Any]) -> str:
    return {
        "model": f"The model {row['model']} decided",
        "learned": "The model that the wiki's own pages taught decided",
        "person": "A person decided",
    }.get(row["method"], "Rules decided")


def _evidence(page: Page, batch: str) -> list[str]:
    """The rules' evidence for any type, the strongest first."""
    own = [row for row in page.topics["classifications"] if row["batch"] == batch]
    found = sorted((one for row in own for one in row["evidence"]), key=lambda one: -one["confidence"])
    line = "{confidence:.2f} {type} by {stage}: {reason} ({matched})"
    return [line.format_map(one) for one in found[:_MOST_EVIDENCE]]


def why_entity(page: Page) -> list[Answer]:
    """Why a page has its entity, or none; empty for a page without a type."""
    if page.topics["entities"]:
        return [_entity(page, page.topics["entities"][0])]
    if not page.topics["type"]:
        return []
    row = page.topics["type"][0]
    decide = _decide_type(page)
    signals = page.topics["signals"][-1] if page.topics["signals"] else {}
    if signals.get("is_redirect"):
        target = signals["redirect_target"]
        leads = repr(target) if target else "another wiki"
        return [Answer("entity", f"None: it is a redirect to {leads}.")]
    if row["primary_type"] in NEVER_ENTITIES:
        return [Answer("entity", f"None: {row['primary_type']} is no type of entities.", commands=(decide,))]
    if row["confidence"] < (least := entity_from(row["primary_type"])):
        says = f"None: its type is not sure enough, {row['confidence']:.2f} of {least:.2f}."
        return [Answer("entity", says, commands=(decide,))]
    says = "None yet: entities are resolved once no batch is in flight, or after ten minutes."
    return [Answer("entity", says, commands=("holocron launch resolve_entities",))]


def _entity(page: Page, entity: Mapping[str, Any]) -> Answer:
    says = f"It is a {entity['state']} entity of type {entity['entity_type']}: {entity['state_reason']}."
    commands = {
        "candidate": (f"holocron decide promote {entity['entity_id']} --reason WHY",),
        "staged": (f"holocron decide promote {entity['entity_id']} --reason WHY",),
        "promoted": (f"holocron decide suppress {entity['entity_id']} --reason WHY",),
    }.get(entity["state"], ())
    because = [f"id {entity['entity_id']}, set by {entity['state_by']}"]
    if entity["merged_into"]:
        because.append(f"it is one with {entity['merged_into_name']!r}, {entity['merged_into']}")
    if entity["review_reason"]:
        because.append(
            f"it waits for a person's review since {at(entity['review_since'])}: {entity['review_reason']}"
        )
    decided = [row for row in page.topics["decisions"] if row["counts"] and row["kind"] != "classify"]
    because += [
        f"{row['author']} decided {row['kind']} at {at(row['decided_at'])}: {row['reason']}"
        for row in decided
    ]
    return Answer("entity", says, tuple(because), commands)


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."
