"""Answers of other partitions, also those that only journals hold: of killed runs, and to former questions.

A scope's rows of `llm_runs` hold answers to today's questions about today's pages. Its journal also holds
earlier ones. They are used again when a prompt or a model comes back, also if the page has moved.
"""

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path

from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.results.item_states import ItemState
from holocron_assets.derive.results.kept_answers import answered_scopes, is_of, kept_answers
from holocron_assets.derive.results.kept_keys import KeptKeys
from holocron_assets.derive.results.result_journals import StateJournal
from holocron_assets.lake.journals.journal import Journal
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import LLM_RUNS

_ANSWERED = re.compile(rb'"key":"([0-9a-f]+)","counts":true,"status":"ok"')
"""Quotation marks in an answer's texts are escaped, so that no text can contain this."""

_KEYS = KeptKeys()
"""Keys of answers that a journal holds and `llm_runs` does not."""


def answers_elsewhere(
    lake: Lake, interrogation: Interrogation, keys: AbstractSet[str]
) -> dict[str, ItemState]:
    """Answers to some questions that any partition of an interrogation or its shadows got, by result key.

    Args:
        lake: where answers are.
        interrogation: the interrogation of the questions.
        keys: result keys that an answer is wanted for.
    """
    if not keys:  # to look for answers takes as long as there are files of them
        return {}
    scopes = answered_scopes(lake, interrogation)
    found = kept_answers(lake, scopes, keys)
    return found | _journaled(lake, interrogation, scopes, keys - found.keys())


def _journaled(
    lake: Lake,
    interrogation: Interrogation,
    published: Mapping[str, frozenset[str]],
    keys: AbstractSet[str],
) -> dict[str, ItemState]:
    """Answers to some questions that a journal holds and no table does.

    Each journal is searched once as long as it does not change, and only those that hold such an answer are
    read: 400 of 500 items, some 200 MB, take half a second the first time, and 10 ms afterwards.
    """
    found: dict[str, ItemState] = {}
    if not keys:
        return found
    for path in lake.journals(LLM_RUNS, interrogation.key):
        scope = path.parent.name
        if is_of(scope, interrogation):
            beyond = _keys_beyond(path, published.get(scope, frozenset()))
            if wanted := (keys & beyond) - found.keys():
                states = StateJournal(path).states()
                found |= {key: one for key in wanted if (one := states.get(key)) and one.status == "ok"}
    return found


def _keys_beyond(path: Path, published: frozenset[str]) -> frozenset[str]:
    """Keys of answers that a journal holds and its scope's table does not."""
    # The hash stands for the keys that are published: they need not stay in memory with it.
    state = Journal(path).marks(), hash(published)
    return _KEYS.of(path, state, lambda: _keys_of_answers(path) - published)


def _keys_of_answers(path: Path) -> frozenset[str]:
    # Not parsed as JSON: journals take most of the disk, and nearly all of them hold no further answers.
    found = (_ANSWERED.search(line) for line in Journal(path).lines())
    return frozenset(match[1].decode() for match in found if match)
