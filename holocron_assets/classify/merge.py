"""The type that counts for a page, merged from every method's answer: a person's, a model's, the rules'."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from holocron_assets.classify.learned.answers import in_words
from holocron_assets.classify.model_weighing import (
    ModelWeighing,
    Standing,
    load_model_weighing,
    weigh_answer,
)
from holocron_assets.classify.rules import METHOD, NOT_SAID, canon_context, load_rules
from holocron_assets.classify.taxonomy import UNKNOWN, WORK, load_taxonomy
from holocron_assets.decisions.log import SHARED
from holocron_assets.lake.declaration.schema import Row

MODEL = "model"
LEARNED = "learned"
PERSON = "person"

_COMPARED: Mapping[Standing, str] = {
    "same": "which is the rules' best guess too",
    "listed": "for which something in the rules speaks, though they would rather say",
    "alone": "of which the rules know nothing",
    "against": "though the rules would say",
}


class Answer(NamedTuple):
    """The answer that counts for a page, by any method."""

    type: str
    types: list[dict[str, Any]]
    confidence: float
    method: str
    needs_review: bool
    reason: str


def page_type_row(  # noqa: PLR0913 - a row of each input
    signals: Row,
    rules: Row,
    run_id: str,
    *,
    model: Row | None = None,
    learned: Row | None = None,
    decision: Row | None = None,
    weighing: ModelWeighing | None = None,
) -> Row:
    """The page's type and the reason for it.

    A person's decision counts first, then rules that are sure. Where they are not, the surest of the rules,
    the language model and the learned model counts.

    Args:
        signals: the page's row of table page_signals.
        rules: its row of table rule_classifications.
        run_id: the run that makes the row.
        model: its row of table derived_page_classification, if a model was asked.
        learned: its row of table type_predictions, if there is one. One of another revision does not count.
        decision: the row of table decisions that counts, if a person decided.
        weighing: how reliable a model's answers are; by default the project's file.

    Returns:
        A row of table page_types.
    """
    if learned and learned["revision_id"] != signals["revision_id"]:
        learned = None
    answer = counting_answer(rules, model, decision, weighing or load_model_weighing(), learned)
    agreeing = model if model and model["primary_type"] == answer.type else None
    return {
        **{name: signals[name] for name in ("source", "batch", "title", "title_key", "namespace")},
        "page_id": signals["page_id"],
        "revision_id": signals["revision_id"],
        "primary_type": answer.type,
        "types": answer.types,
        "confidence": answer.confidence,
        "method": answer.method,
        "needs_review": answer.needs_review,
        **_work(answer.type, signals, rules, model),
        "rule_ids": _rule_ids(rules, answer.type),
        "reason": answer.reason,
        "taxonomy_version": rules["taxonomy_version"],
        "rules_type": rules["primary_type"],
        "rules_confidence": rules["confidence"],
        "model": model["model"] if model else None,
        "model_type": model["primary_type"] if model else None,
        "model_confidence": model["confidence"] if model else None,
        "learned_type": learned["primary_type"] if learned else None,
        "learned_probability": learned["probability"] if learned else None,
        "description": agreeing["description"] if agreeing else None,
        "tags": agreeing["tags"] if agreeing else None,
        "run_id": run_id,
    }


def counting_answer(
    rules: Row, model: Row | None, decision: Row | None, weighing: ModelWeighing, learned: Row | None = None
) -> Answer:
    """The answer that counts for a page; the arguments are those of `page_type_row`."""
    if decision:
        return _persons_answer(decision)
    by_rules = _rules_answer(rules)
    if rules["confidence"] >= load_rules().weighing.settled:
        return by_rules
    answer = by_rules
    if model and model["primary_type"] != UNKNOWN:
        answer = _surer(
            answer, _models_answer(rules, model, weighing), f"{model['model']} says {model['primary_type']}"
        )
    if learned and not learned["abstains"]:
        answer = _surer(answer, _learned_answer(learned), f"the learned model says {learned['primary_type']}")
    return answer


def _surer(standing: Answer, other: Answer, said: str) -> Answer:
    """The surer one of two answers; the first, if they are equally sure, with what the other said."""
    if other.confidence > standing.confidence:
        return other
    return standing._replace(reason=f"{standing.reason}; {said}")


def _persons_answer(decision: Row) -> Answer:
    value, shared = decision["value"], ""
    if decision["kind"] in SHARED:
        shared = f" about all articles with {decision['title']} (decision {decision['decision_id']})"
    decided_at = f"{decision['decided_at']:%Y-%m-%d}"
    reason = f"{decision['author']} decided on {decided_at}{shared}: {decision['reason']}"
    return Answer(value, [{"type": value, "weight": 1.0}], 1.0, PERSON, needs_review=False, reason=reason)


def _models_answer(rules: Row, model: Row, weighing: ModelWeighing) -> Answer:
    worth = weigh_answer(rules, model, weighing)
    is_unsure = worth.confidence < load_rules().weighing.settled
    return Answer(
        type=model["primary_type"],
        types=_weighted(rules, model, worth.confidence),
        confidence=worth.confidence,
        method=MODEL,
        needs_review=is_unsure or model["needs_review"] or not model["supported"],
        reason=f"{model['model']} says {model['primary_type']}, {_compared(rules, worth.standing)}: "
        f"{model['rationale']}",
    )


def _learned_answer(learned: Row) -> Answer:
    """The answer of the model that the wiki's own settled pages taught; its probability is calibrated."""
    types = [("primary_type", "probability"), ("second_type", "second_probability")]
    return Answer(
        type=learned["primary_type"],
        types=[{"type": learned[name], "weight": learned[weight]} for name, weight in types],
        confidence=learned["probability"],
        method=LEARNED,
        needs_review=learned["probability"] < load_rules().weighing.settled,
        reason=in_words(learned),
    )


def _rules_answer(rules: Row) -> Answer:
    return Answer(
        rules["primary_type"],
        rules["types"],
        rules["confidence"],
        METHOD,
        rules["needs_review"],
        _reason(rules),
    )


def _compared(rules: Row, standing: Standing) -> str:
    compared = _COMPARED[standing]
    if standing not in {"listed", "against"}:
        return compared
    return f"{compared} {rules['primary_type']} ({rules['confidence']:.2f})"


def _weighted(rules: Row, model: Row, confidence: float) -> list[dict[str, Any]]:
    """The model's type with its confidence; the types of other evidence share the rest."""
    others: dict[str, float] = {}
    for weighted in (*rules["types"], *model["types"]):
        weight = min(round(weighted["weight"] * (1 - confidence), 4), confidence)
        others[weighted["type"]] = max(weight, others.get(weighted["type"], 0.0))
    others.pop(model["primary_type"], None)
    ranked = sorted(others.items(), key=lambda entry: (-entry[1], entry[0]))
    return [
        {"type": name, "weight": weight} for name, weight in [(model["primary_type"], confidence), *ranked]
    ]


def _work(page_type: str, signals: Row, rules: Row, model: Row | None) -> dict[str, str | None]:
    """Medium and continuity of a work: as the rules say, else as the model says."""
    if page_type != WORK:
        return {"work_medium": None, "canon_context": None}
    stated = canon_context(signals, load_taxonomy())
    answers = [rules, *([model] if model else [])]
    return {
        "work_medium": _first_said(answer["work_medium"] for answer in answers),
        "canon_context": _first_said([stated, *(answer["canon_context"] for answer in answers)]),
    }


def _first_said(values: Iterable[str | None]) -> str:
    return next((value for value in values if value and value != NOT_SAID), NOT_SAID)


def _rule_ids(rules: Row, page_type: str) -> list[str]:
    """The rules that support a type, strongest first."""
    if page_type == rules["primary_type"]:
        return list(rules["rule_ids"])
    speaking = [piece for piece in rules["evidence"] if piece["type"] == page_type]
    speaking.sort(key=lambda piece: -piece["confidence"])
    return list(dict.fromkeys(piece["rule_id"] for piece in speaking))


def _reason(rules: Row) -> str:
    """The strongest evidence for the answer and, if there is any, the strongest against it."""
    ranked = sorted(rules["evidence"], key=lambda piece: -piece["confidence"])
    speaking = [piece for piece in ranked if piece["type"] == rules["primary_type"]]
    against = [piece for piece in ranked if piece["type"] != rules["primary_type"]]
    reason = _in_words(speaking[0]) if speaking else "Too little speaks for any type"
    return f"{reason}; against it: {against[0]['type']}, {_in_words(against[0])}" if against else reason


def _in_words(piece: Row) -> str:
    return f"{piece['reason']} ({piece['matched']})"
