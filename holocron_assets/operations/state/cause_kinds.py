"""Kinds of causes of failures, for labels of metrics: few, and without text of pages, wikis or models."""

import re

from holocron_assets.operations.state.status_rows import FailureCause

_BY_STEP = "page_types"
_BETWEEN = ": "
_LEADS_ON = re.compile(r"invalid|answer(\.\w+)*|.*'\.\.\.'")
"""Parts of a cause that say where something was wrong. The part after it says what was wrong."""

_LONGEST = 120


def kind_of(failure: FailureCause) -> str:
    """What was wrong and where: an outcome, a status, a kind of error; for an answer, place and check.

    A cause has our own text, a colon and others' text, which is left out. For pages that could not be read,
    it begins with the steps that failed.
    """
    steps, clauses = "", failure.cause.split(_BETWEEN)
    if failure.stage == _BY_STEP and len(clauses) > 1:
        steps, clauses = clauses[0] + _BETWEEN, clauses[1:]
    last = next((n for n, clause in enumerate(clauses) if not _LEADS_ON.fullmatch(clause)), len(clauses))
    kind = steps + _BETWEEN.join(clauses[: last + 1])
    return (f"{failure.job}{_BETWEEN}{kind}" if failure.job else kind)[:_LONGEST]
