"""The rows of `llm_runs` and `llm_attempts`: the outcome of each item of a scope, and each call."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from holocron_assets.derive.items.items import Item
from holocron_assets.derive.results.item_states import SUMMED, ItemState
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.parquet import read_footer, rows_there, write_partition
from holocron_assets.lake.journals.journal import Journal
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import LLM_ATTEMPTS, LLM_RUNS


def run_row(item: Item, state: ItemState, scope: str, *, result_key: str) -> dict[str, Any]:
    """The row of `llm_runs` of an item with an outcome, without the model.

    Args:
        item: what was asked about.
        state: its state.
        scope: of the row.
        result_key: of the item.
    """
    # Two items with the same request are asked about once; the first has the cost.
    own = item.item_id == state.item_id
    return {
        "scope": scope,
        "interrogation": item.interrogation.name,
        "partition": item.partition,
        "item_id": item.item_id,
        "source": item.source,
        "subject": item.subject,
        "result_key": result_key,
        "prompt_version": item.interrogation.prompt_version,
        "evidence_hash": item.bundle.content_hash,
        "inputs_hash": item.inputs_hash,
        "status": state.status,
        "parse_strategy": state.parse_strategy,
        "attempts": state.attempts if own else 0,
        "calls": int(state.costs["calls"]) if own else 0,
        **{name: state.costs[name] if own else 0 for name in SUMMED},
        "unsupported": state.unsupported,
        "output": None if state.answer is None else json.dumps(state.answer, ensure_ascii=False),
        "error": state.error,
        "due_at": state.due_at,
        "finished_at": state.finished_at,
        "run_id": state.run_id,
    }


def write_runs(lake: Lake, scope: str, rows: Sequence[Row], inputs: Mapping[str, str]) -> None:
    """Write the rows of `llm_runs` of a scope.

    Answers about items that are not asked about now stay: they answer the same question later.

    Args:
        lake: where.
        scope: whose.
        rows: the items that have an outcome.
        inputs: inputs for the file's footer; see `settled.runs_inputs`.
    """
    before = rows_there(lake, LLM_RUNS, scope)
    written = {row["item_id"] for row in rows}
    kept = [row for row in before if row["status"] == "ok" and row["item_id"] not in written]
    after = [_clean(row) for row in [*rows, *kept]]
    footer = read_footer(lake, LLM_RUNS, scope)
    # A scope with a journal has a file, also one without rows: if it lacked one, that would count as lost.
    is_of_now = footer.inputs == inputs if footer else not Journal(lake.journal(LLM_RUNS, scope)).marks()
    if after != before or not is_of_now:
        write_partition(lake, LLM_RUNS, scope, after, inputs=inputs)


def write_attempts(lake: Lake, scope: str, calls: Iterable[Row]) -> None:
    """Add rows to those of `llm_attempts` of a scope.

    Args:
        lake: where.
        scope: whose.
        calls: the rows; one that is there already is not added again.
    """
    before = rows_there(lake, LLM_ATTEMPTS, scope)
    known = {row["call_id"]: row for row in before}
    for call in calls:
        known.setdefault(call["call_id"], dict(call))
    if len(known) > len(before):  # a new file would make all that depends on it stale
        write_partition(lake, LLM_ATTEMPTS, scope, [_clean(call) for call in known.values()])


def _clean(row: Row) -> dict[str, Any]:
    """A row as columns take it: a model can write half of a surrogate pair, and Arrow cannot."""
    return {
        name: value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
        for name, value in row.items()
    }
