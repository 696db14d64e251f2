"""What people decided about something before: decisions, and whether each was taken back."""

from collections.abc import Collection
from typing import NamedTuple

from holocron_assets.decisions.log import all_decisions, answered_with, concerns, undone
from holocron_assets.entities.deciding import in_words
from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.place.paths import Lake


class PastDecision(NamedTuple):
    """A decision.

    Attributes:
        row: of table `decisions`.
        is_undone: whether it was taken back.
        others: how many more decisions the same answer made.
    """

    row: Row
    is_undone: bool
    others: int = 0


def decisions_about(
    lake: Lake,
    *,
    pages: Collection[Row] = (),
    entity_ids: Collection[str] = (),
    statement_ids: Collection[str] = (),
) -> list[PastDecision]:
    """Decisions about any of these, newest first. Undoing is shown as `is_undone` of the decision undone.

    Args:
        lake: where they are.
        pages: rows with `source`, `title_key` and `page_id`.
        entity_ids: ids of entities.
        statement_ids: ids of facts and relations.
    """
    made = all_decisions(lake)
    gone = undone(made)
    ids, statements = set(entity_ids), set(statement_ids)
    return [
        PastDecision(row, row["decision_id"] in gone)
        for row in reversed(made)
        if row["kind"] != "undo"
        and (
            {row["entity_id"], row["other_id"]} & ids
            or row["statement_id"] in statements
            or (row["kind"] in {"classify", "requeue"} and any(concerns(row, page) for page in pages))
        )
    ]


def fingerprint_of(decisions: Collection[PastDecision]) -> str:
    """A text that changes with those of some decisions that count."""
    return content_hash("\n".join(one.row["decision_id"] for one in decisions if not one.is_undone))


def decision_of(lake: Lake, decision_id: str) -> PastDecision | None:
    """One decision, by its id; None if there is none. It is undone if its whole answer is."""
    made = all_decisions(lake)
    found = next((row for row in made if row["decision_id"] == decision_id), None)
    if found is None:
        return None
    answer = {row["decision_id"] for row in answered_with(made, decision_id)}
    return PastDecision(found, is_undone=answer <= undone(made), others=len(answer) - 1)


def who_decided(decision: Row) -> str:
    """Who decided what, when and why: a row of table `decisions` in two sentences."""
    when = f"{decision['decided_at']:%Y-%m-%d %H:%M}"
    return f"{decision['author']} decided on {when}: {in_words(decision)}. The reason: {decision['reason']}"
