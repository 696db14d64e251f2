"""The evidence of a rule that fired."""

from typing import Any, NamedTuple

from holocron_assets.classify.rule_file import Context, Reading, Rule

# Names of stages in rows: the title's qualifier and its own words belong to the title stage.
_STAGES: dict[Context, str] = {
    "title": "title",
    "qualifier": "title",
    "title_word": "title",
    "infobox": "infobox",
    "category": "category",
    "lead": "lead",
}


class Evidence(NamedTuple):
    """One rule that fired: the type it supports, its confidence (0 to 1), the reason, the matched text."""

    rule_id: str
    stage: str
    type: str
    confidence: float
    reason: str
    matched: str
    work_medium: str | None

    def read_as(self, reading: Reading) -> "Evidence":
        """The same evidence with another meaning of its noun."""
        return self._replace(type=reading.type, confidence=reading.confidence, work_medium=None)

    def as_row(self) -> dict[str, Any]:
        """The struct that table rule_classifications holds."""
        row = self._asdict()
        del row["work_medium"]
        return row


def fired(rule: Rule, context: Context, matched: str) -> Evidence:
    """The evidence of a rule that fired on a text in a context."""
    return Evidence(
        rule_id=rule.id,
        stage=_STAGES[context],
        type=rule.type,
        confidence=rule.confidence[context],
        reason=rule.reason,
        matched=matched,
        work_medium=rule.work_medium,
    )
