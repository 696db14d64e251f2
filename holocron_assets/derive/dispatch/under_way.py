"""Which items a model is asked about at this moment, read from journals and locks.

The journal records an attempt before it begins, and its end. An attempt that began and did not end is under
way while a process holds the partition's lock; a killed process holds none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from time import time_ns

from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.items.recipe import derivation_of
from holocron_assets.derive.results.kept_answers import scope_of
from holocron_assets.derive.results.result_journals import StateJournal, journal_path
from holocron_assets.lake.journals.journal import Journal
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import LLM_RUNS

_LATELY = timedelta(days=1)
"""If a journal has no new line for longer, nothing is under way: no call lasts so long."""


@dataclass(frozen=True)
class UnderWay:
    """An item that is being asked about.

    Attributes:
        interrogation: what is asked.
        partition: its partition.
        item: the page's title key, or the pair's id; a page that is read in chunks is one item.
    """

    interrogation: str
    partition: str
    item: str


def items_under_way(lake: Lake, interrogations: Sequence[Interrogation]) -> list[UnderWay]:
    """The items that living processes have begun to ask about, without an outcome so far.

    A question of `holocron ask` is not counted: it takes no partition, and lasts seconds.

    Args:
        lake: where journals and locks are.
        interrogations: which may be asked.
    """
    since = time_ns() - _LATELY // timedelta(microseconds=1) * 1000
    found: dict[UnderWay, None] = {}
    partitions, begun = cache(lake.partitions), lake.names_used(LLM_RUNS)
    for interrogation in interrogations:
        for partition in partitions(derivation_of(interrogation).inputs[0]):
            if scope_of(interrogation.name, partition) not in begun:
                continue
            path = journal_path(lake, interrogation, partition)
            marks = Journal(path).marks()
            if not marks or max(marks).mtime_ns < since or not is_worked_on(lake, interrogation, partition):
                continue
            for state in StateJournal(path).states().values():
                if state.began_at is not None:
                    item = state.item_id.partition("#")[0]
                    found[UnderWay(interrogation.name, partition, item)] = None
    return list(found)


def lock_name(interrogation: Interrogation, partition: str) -> str:
    """The name of the lock that a process holds while it asks about a partition's items."""
    return f"derive-{interrogation.name}-{partition}"


def is_worked_on(lake: Lake, interrogation: Interrogation, partition: str) -> bool:
    """Whether a living process works on a partition. A free lock is held for a moment by this check."""
    return lake.is_locked(lock_name(interrogation, partition))
