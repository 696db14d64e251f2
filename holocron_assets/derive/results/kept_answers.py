"""Answers that the lake's tables hold: the same model is asked the same question only once."""

import json
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from functools import partial

import pyarrow.compute as pc

from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.results.item_states import SUMMED, ItemState
from holocron_assets.derive.results.kept_keys import KeptKeys
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.parquet import read_table, rows_there
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import LLM_RUNS

_KEYS = KeptKeys()
"""Keys of each scope's answers: some 50 KB for each."""


def scope_of(name: str, partition: str) -> str:
    """The partition of `llm_runs` and `llm_attempts` for an interrogation's partition."""
    return f"{name}-{partition}"


def kept_answers(
    lake: Lake, scopes: Mapping[str, AbstractSet[str]], keys: AbstractSet[str]
) -> dict[str, ItemState]:
    """Answers to some questions that the lake's tables hold, by result key.

    Only the files that hold such an answer are read.

    Args:
        lake: where answers are.
        scopes: the result of `answered_scopes`.
        keys: result keys that an answer is wanted for.
    """
    found: dict[str, ItemState] = {}
    for scope, answered in scopes.items():
        if wanted := (keys & answered) - found.keys():
            for row in rows_there(lake, LLM_RUNS, scope):
                if row["result_key"] in wanted and row["status"] == "ok":
                    # The scope that asked holds the cost.
                    found[row["result_key"]] = state_of(row, costs=False)
    return found


def state_of(row: Row, *, costs: bool) -> ItemState:
    """The state of an item by its row of `llm_runs`.

    Args:
        row: the row.
        costs: whether to take over attempts, calls and their cost.
    """
    spent = {name: row[name] if costs else 0 for name in ("calls", *SUMMED)}
    return ItemState(
        item_id=row["item_id"],
        status=row["status"],
        attempts=row["attempts"] if costs else 0,
        due_at=row["due_at"],
        answer=None if row["output"] is None else json.loads(row["output"]),
        parse_strategy=row["parse_strategy"],
        unsupported=row["unsupported"],
        error=row["error"],
        finished_at=row["finished_at"],
        run_id=row["run_id"],
        costs=spent,
    )


def is_of(scope: str, interrogation: Interrogation) -> bool:
    """Whether a scope is of an interrogation or of one of its shadows."""
    return scope.partition("-")[0].partition("_shadow_")[0] == interrogation.key


def answered_scopes(lake: Lake, interrogation: Interrogation) -> dict[str, frozenset[str]]:
    """The keys of the answers that the lake's tables hold, by scope, of an interrogation and its shadows.

    Answers that its shadow got before it went live count, too. Each scope's file is searched once as long as
    it does not change.
    """
    listing, found = lake.listing(LLM_RUNS), {}
    for scope in listing.names:
        if not is_of(scope, interrogation):
            continue
        read = partial(_keys_of_answers, lake, scope)
        found[scope] = _KEYS.of((lake.root, scope), listing.mark(scope), read)
    return found


def _keys_of_answers(lake: Lake, scope: str) -> frozenset[str]:
    rows = read_table(lake, LLM_RUNS, scope, ["result_key", "status"])
    answered = rows.filter(pc.equal(rows.column("status"), "ok"))
    return frozenset(answered.column("result_key").to_pylist())
