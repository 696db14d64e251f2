"""Dead letters of interrogations that a person brought back."""

import re
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache

from holocron_assets.lake.keys import title_key
from holocron_assets.lake.paths import Lake
from holocron_assets.lake.tables import LLM_RUNS, REQUEUES
from holocron_assets.lake.views import connect

_OF_A_PAGE = re.compile(r"(-?[0-9]+)(#[0-9]+)?")
_DEAD = """
    select interrogation, partition, item_id, source, subject, finished_at
    from llm_runs
    where status = 'dead'
"""

Requeues = Mapping[tuple[str, int], datetime]
"""When a person last requeued each title, by source and title key."""


def letter_key(item_id: str, source: str | None, subject: str) -> tuple[str, int]:
    """What a dead item is requeued by: its source, and its page's title key or that of a pair's two names."""
    page = _OF_A_PAGE.fullmatch(item_id)
    return (source or "", int(page[1]) if page else title_key(source or "", subject))


def requeue_times(lake: Lake) -> Requeues:
    """When each title was requeued last; looked up again only when somebody requeued since."""
    return _times(lake, lake.mark([REQUEUES]))


def requeued_partitions(lake: Lake) -> frozenset[tuple[str, str]]:
    """Interrogations and partitions with an item that was given up, and brought back since."""
    times = requeue_times(lake)
    return _partitions(lake, lake.mark([LLM_RUNS, REQUEUES])) if times else frozenset()


@lru_cache(maxsize=4)
def _times(lake: Lake, _mark: str) -> Requeues:
    with connect(lake, tables=[REQUEUES]) as connection:
        rows = connection.execute("select source, title_key, decided_at from last_requeues").fetchall()
    return {(source, key): decided_at for source, key, decided_at in rows}


@lru_cache(maxsize=4)
def _partitions(lake: Lake, _mark: str) -> frozenset[tuple[str, str]]:
    times = requeue_times(lake)
    with connect(lake, tables=[LLM_RUNS]) as connection:
        dead = connection.execute(_DEAD).fetchall()
    return frozenset(
        (name, partition)
        for name, partition, *letter, died_at in dead
        if (decided_at := times.get(letter_key(*letter))) and decided_at >= died_at
    )
