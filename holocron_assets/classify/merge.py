"""The type that counts for a page, merged from every method's answer."""

from holocron_assets.lake.schema import Row


def page_type_row(signals: Row, rules: Row, run_id: str) -> Row:
    """The page's type, with why.

    Args:
        signals: the page's row of table page_signals.
        rules: the page's row of table rule_classifications.
        run_id: the run that makes the row.

    Returns:
        A row of table page_types.
    """
    return {
        "source": signals["source"],
        "batch": signals["batch"],
        "title": signals["title"],
        "title_key": signals["title_key"],
        "namespace": signals["namespace"],
        "page_id": signals["page_id"],
        "revision_id": signals["revision_id"],
        "primary_type": rules["primary_type"],
        "types": rules["types"],
        "confidence": rules["confidence"],
        "method": rules["method"],
        "needs_review": rules["needs_review"],
        "work_medium": rules["work_medium"],
        "canon_context": rules["canon_context"],
        "rule_ids": rules["rule_ids"],
        "reason": _reason(rules),
        "taxonomy_version": rules["taxonomy_version"],
        "run_id": run_id,
    }


def _reason(rules: Row) -> str:
    """The strongest evidence for the answer and, where there is any, the strongest against it."""
    ranked = sorted(rules["evidence"], key=lambda piece: -piece["confidence"])
    speaking = [piece for piece in ranked if piece["type"] == rules["primary_type"]]
    against = [piece for piece in ranked if piece["type"] != rules["primary_type"]]
    reason = _told(speaking[0]) if speaking else "Too little speaks for any type"
    return f"{reason}; against it: {against[0]['type']}, {_told(against[0])}" if against else reason


def _told(piece: Row) -> str:
    return f"{piece['reason']} ({piece['matched']})"
