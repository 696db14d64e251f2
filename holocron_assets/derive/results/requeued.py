"""Dead letters of interrogations that a person requeued."""

import re
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache

from holocron_assets.decisions.log import standing, standing_mark
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import LLM_RUNS
from holocron_assets.lake.views.database import connect

_OF_A_PAGE = re.compile(r"(-?[0-9]+)(#[0-9]+)?")
_DEAD = """
    select interrogation, partition, item_id, source, subject, finished_at
    from llm_runs
    where status = 'dead'
"""

Requeues = Mapping[tuple[str, int], datetime]
"""When a person last requeued each title, by source and title key."""


def letter_key(item_id: str, source: str | None, subject: str) -> tuple[str, int]:
    """The key to requeue a dead item by: its source, and the title key of its page or of a pair's names."""
    page = _OF_A_PAGE.fullmatch(item_id)
    return (source or "", int(page[1]) if page else title_key(source or "", subject))


def requeue_times(lake: Lake) -> Requeues:
    """When each title was requeued last."""
    return {key: row["decided_at"] for key, row in standing(lake).requeues.items()}


def requeues_mark(lake: Lake) -> str:
    """A text that changes when a person requeues something, and with no other decision."""
    return standing_mark(lake, "requeue")


def requeued_partitions(lake: Lake) -> frozenset[tuple[str, str]]:
    """Interrogations and partitions with an item that was given up, and requeued since."""
    if not standing(lake).requeues:
        return frozenset()
    return _partitions(lake, lake.mark([LLM_RUNS]), requeues_mark(lake))


@lru_cache(maxsize=4)
def _partitions(lake: Lake, _runs_mark: str, _requeues_mark: str) -> frozenset[tuple[str, str]]:
    times = requeue_times(lake)
    with connect(lake, tables=[LLM_RUNS]) as connection:
        dead = connection.execute(_DEAD).fetchall()
    return frozenset(
        (name, partition)
        for name, partition, *letter, died_at in dead
        if (decided_at := times.get(letter_key(*letter))) and decided_at >= died_at
    )
